"""Two reports of the same suites, compared: what got better or worse, by how much, and which cases did it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from pytest_mcpeval.core.declaration import Better, KindDeclaration
from pytest_mcpeval.core.gate import SLACK
from pytest_mcpeval.core.statistics import sign_flip_test
from pytest_mcpeval.loading.messages import counted
from pytest_mcpeval.reports.json_report import REPORT_VERSION

Change = Literal["worse", "better", "changed", "same"]
"""``changed``: something differs, and nothing says that it is better or worse."""

LEVEL = 0.05
"""Of the paired tests of one suite together: each is held against its share of it (Bonferroni)."""

_NOT_ASKED = "missing"
_JUDGED = frozenset({"passed", "wrong", "tolerated"})
"""Outcomes that count as hits and misses of a suite that is measured as a whole."""
_BAD = frozenset({"failed", "error", "inconclusive", _NOT_ASKED})
_DEEPEST = 4


class ReportError(Exception):
    """A report that cannot be compared. The text says which one, and what to do."""


@dataclass(frozen=True)
class Figure:
    """A number of a suite in both reports; None where one does not have it. ``better`` None: nobody knows."""

    name: str
    before: float | None
    after: float | None
    better: Better | None

    @property
    def delta(self) -> float:
        """The change; 0 where a report does not have the number."""
        return self.after - self.before if self.before is not None and self.after is not None else 0.0

    @property
    def change(self) -> Change:
        """Whether the number moved to the better side."""
        if math.isclose(self.delta, 0, abs_tol=SLACK):
            return "same" if (self.before is None) == (self.after is None) else "changed"
        if self.better is None:
            return "changed"
        return "better" if (self.delta > 0) == (self.better == "higher") else "worse"


@dataclass(frozen=True)
class PairedTest:
    """A paired sign-flip test over the cases that both reports have.

    ``before`` and ``after`` are means. ``p`` is one-sided, in the direction of the change: how probable a
    change at least as large is by chance. ``rose`` and ``fell`` count cases, ``cases`` all pairs.
    ``is_significant``: p is below the share of `LEVEL` that this test has.
    """

    name: str
    cases: int
    before: float
    after: float
    rose: int
    fell: int
    p: float
    is_significant: bool

    @property
    def change(self) -> Change:
        """Whether the values moved beyond chance, and where to."""
        if not self.is_significant:
            return "changed"
        return "worse" if self.after < self.before else "better"

    @property
    def words(self) -> str:
        """The change in words."""
        moved, direction = (self.fell, "fell") if self.after < self.before else (self.rose, "rose")
        opposite = (self.rose, "rose") if direction == "fell" else (self.fell, "fell")
        counts = f"{moved} of {counted(self.cases, 'case')} {direction}, {opposite[0]} {opposite[1]}"
        return f"{self.name} {direction} from {self.before:.4g} to {self.after:.4g}: {counts}"


@dataclass(frozen=True)
class CaseChange:
    """A case whose outcome differs; ``message`` is what the second report says of it."""

    id: str
    before: str
    after: str
    message: str


@dataclass(frozen=True)
class GateChange:
    """A gate whose verdict differs."""

    name: str
    before: str
    after: str
    message: str


@dataclass(frozen=True)
class SuiteComparison:
    """One suite in two reports.

    ``new_failures`` are cases that fail, or have no result, in the second report alone; ``lost`` are the
    other ones that passed in the first report alone, and ``won`` those that pass in the second alone.
    ``changed_answers`` are cases with the same outcome and another answer. ``data_changed``: the data file is
    another one.
    """

    key: str
    kind: str
    figures: Sequence[Figure]
    tests: Sequence[PairedTest]
    gates: Sequence[GateChange]
    won: Sequence[CaseChange]
    lost: Sequence[CaseChange]
    new_failures: Sequence[CaseChange]
    changed_answers: Sequence[str]
    added: Sequence[str]
    removed: Sequence[str]
    data_changed: bool
    change: Change
    reasons: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True)
class Comparison:
    """Two reports. ``only_before`` and ``only_after`` are suites that one of them has alone."""

    before: str
    after: str
    suites: Sequence[SuiteComparison]
    only_before: Sequence[str]
    only_after: Sequence[str]

    @property
    def change(self) -> Change:
        """The whole: worse where one suite is, or is gone."""
        found = [one.change for one in self.suites]
        if "worse" in found or self.only_before:
            return "worse"
        if "better" in found:
            return "better"
        return "changed" if "changed" in found or self.only_after else "same"

    @property
    def headline(self) -> str:
        """The verdict in words."""
        gone = [f"{key} is in the first report only" for key in self.only_before]
        for change in ("worse", "better"):
            found = [one for one in self.suites if one.change == change]
            # A gate that fails says most.
            found.sort(key=lambda one: not one.gates)
            reasons = [f"{one.key}: {one.reasons[0]}" for one in found]
            if reasons := [*reasons, *(gone if change == "worse" else ())]:
                more = f"; and {counted(len(reasons) - 1, 'other suite')}" if len(reasons) > 1 else ""
                return f"{change}: {reasons[0]}{more}"
        return {"changed": "changed, neither better nor worse", "same": "no change"}[self.change]

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "version": 1,
            "change": self.change,
            "headline": self.headline,
            "before": self.before,
            "after": self.after,
            "onlyBefore": list(self.only_before),
            "onlyAfter": list(self.only_after),
            "suites": {one.key: _as_json(one) for one in self.suites},
        }


def read_report(path: Path) -> Mapping[str, Any]:
    """The content of ``report.json``; ``path`` is that file or its directory.

    Raises:
        ReportError: There is none, or it is of another version.
    """
    file = path / "report.json" if path.is_dir() else path
    try:
        found = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        where = f"{path} holds no report.json" if path.is_dir() else f"{path} does not exist"
        raise ReportError(f"{where}: run pytest --mcpeval --mcpeval-report=DIR, and name DIR") from None
    except (OSError, ValueError, RecursionError) as error:
        raise ReportError(f"{file} cannot be read: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("suites"), dict) or "verdict" not in found:
        raise ReportError(f"{file} is not a report of pytest --mcpeval")
    if found.get("version") != REPORT_VERSION:
        version = found.get("version")
        raise ReportError(
            f"{file} is of version {version}, and this reads version {REPORT_VERSION}: run again"
        )
    return found


def compared(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    names: tuple[str, str],
    declared: Callable[[str], KindDeclaration | None],
) -> Comparison:
    """Two reports, each as `read_report` returns it; ``declared`` returns what is declared of a kind.

    Raises:
        ReportError: A report lacks what every report has.
    """
    one, other = before["suites"], after["suites"]
    try:
        return Comparison(
            before=names[0],
            after=names[1],
            suites=[_suite(key, before, after, declared) for key in one if key in other],
            only_before=[key for key in one if key not in other],
            only_after=[key for key in other if key not in one],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"a report is damaged: {type(error).__name__}: {error}; run again") from None


def _suite(
    key: str,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    declared: Callable[[str], KindDeclaration | None],
) -> SuiteComparison:
    old, new = before["suites"][key], after["suites"][key]
    kind = declared(new["kind"])
    old_cases, new_cases = _cases(old), _cases(new)
    shared = [name for name in old_cases if name in new_cases]
    changes = [
        CaseChange(name, _outcome(old_cases[name]), _outcome(new_cases[name]), new_cases[name]["message"])
        for name in shared
    ]
    lost = [one for one in changes if one.before == "passed" and one.after in ("wrong", "tolerated")]
    won = [one for one in changes if one.after == "passed" and one.before in _BAD | {"wrong", "tolerated"}]
    new_failures = [one for one in changes if one.after in _BAD and one.before not in _BAD]
    pairs = [(old_cases[name], new_cases[name]) for name in shared]
    tests = _paired_tests([pair for pair in pairs if _are_judged(pair)], kind)
    gates = list(_gates(key, before, after))
    runs = [report["run"].get("suites", {}).get(key, {}) for report in (before, after)]
    figures = list(_figures(old["metrics"], new["metrics"], kind.figures if kind else {}))
    answers = [
        one.id
        for one in changes
        if one.before == one.after
        and _answer(old_cases[one.id], runs[0]) != _answer(new_cases[one.id], runs[1])
    ]
    found = {
        "added": [name for name in new_cases if name not in old_cases],
        "removed": [name for name in old_cases if name not in new_cases],
    }
    worse = [*_worse_reasons(new_failures, tests, gates)]
    better = [*_better_reasons(won, tests, gates)]
    differs = won or lost or gates or answers or any(found.values())
    differs = differs or any(one.change != "same" for one in figures)
    change: Change = "worse" if worse else "better" if better else "changed" if differs else "same"
    return SuiteComparison(
        key=key,
        kind=new["kind"],
        figures=figures,
        tests=tests,
        gates=gates,
        won=won,
        lost=lost,
        new_failures=new_failures,
        changed_answers=answers,
        **found,
        data_changed=old["digest"] != new["digest"],
        change=change,
        reasons=worse or better,
    )


def _cases(suite: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    missing = {name: {"id": name, "outcome": _NOT_ASKED, "message": "no result"} for name in suite["missing"]}
    return {**{case["id"]: case for case in suite["cases"]}, **missing}


def _outcome(case: Mapping[str, Any]) -> str:
    return str(case["outcome"])


def _are_judged(pair: tuple[Mapping[str, Any], Mapping[str, Any]]) -> bool:
    return all(case["outcome"] in _JUDGED | {"failed"} for case in pair)


def _paired_tests(
    pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], kind: KindDeclaration | None
) -> list[PairedTest]:
    values: dict[str, list[tuple[float, float]]] = {}
    for old, new in pairs:
        one, other = (_values(case, kind) for case in (old, new))
        for name in (name for name in one if name in other):
            values.setdefault(name, []).append((one[name], other[name]))
    return [
        _paired_test(name, values[name], LEVEL / len(values))
        for name in values
        if any(a != b for a, b in values[name])
    ]


def _values(case: Mapping[str, Any], kind: KindDeclaration | None) -> Mapping[str, float]:
    """The values of a case: of one that was asked several times, their means."""
    if kind is None:
        return {}
    runs = [kind.paired_values(run) for run in case.get("runs") or [case]]
    return {name: math.fsum(run[name] for run in runs) / len(runs) for name in runs[0]}


def _paired_test(name: str, values: Sequence[tuple[float, float]], level: float) -> PairedTest:
    differences = [new - old for old, new in values]
    before, after = (math.fsum(side) / len(values) for side in zip(*values, strict=True))
    # The test asks for a fall; turned round, for a rise.
    p = sign_flip_test(differences if after < before else [-one for one in differences]).p
    rose, fell = sum(one > SLACK for one in differences), sum(one < -SLACK for one in differences)
    return PairedTest(name, len(values), before, after, rose, fell, p, p < level)


def _gates(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[GateChange]:
    old = {gate["name"]: gate for gate in before["gates"] if gate["suite"] == key}
    for gate in after["gates"]:
        if gate["suite"] == key and gate["name"] in old and old[gate["name"]]["verdict"] != gate["verdict"]:
            yield GateChange(gate["name"], old[gate["name"]]["verdict"], gate["verdict"], gate["message"])


def _worse_reasons(
    failures: Sequence[CaseChange], tests: Sequence[PairedTest], gates: Sequence[GateChange]
) -> Iterator[str]:
    for gate in gates:
        if gate.after in ("failed", "error"):
            yield f"gate {gate.name} {gate.after}: {gate.message}"
    for test in tests:
        if test.change == "worse":
            yield test.words
    if failures:
        yield f"{counted(len(failures), 'new failure')}: {', '.join(one.id for one in failures[:3])}" + (
            ", …" if len(failures) > 3 else ""
        )


def _better_reasons(
    won: Sequence[CaseChange], tests: Sequence[PairedTest], gates: Sequence[GateChange]
) -> Iterator[str]:
    for gate in gates:
        if gate.after == "passed" and gate.before in ("failed", "error"):
            yield f"gate {gate.name} passed"
    for test in tests:
        if test.change == "better":
            yield test.words
    mended = [one for one in won if one.before in _BAD]
    if mended:
        yield f"{counted(len(mended), 'case')} that failed {'passes' if len(mended) == 1 else 'pass'} now"


def _figures(
    old: Mapping[str, Any], new: Mapping[str, Any], declared: Mapping[str, Better]
) -> Iterator[Figure]:
    before, after = declared_numbers(old, declared), declared_numbers(new, declared)
    for name in {**before, **after}:
        better = next((better for pattern, better in declared.items() if _fits(name, pattern)), None)
        yield Figure(name, before.get(name), after.get(name), better)


def declared_numbers(metrics: Mapping[str, Any], declared: Mapping[str, Better]) -> dict[str, float]:
    """The numbers of a suite that its kind declares, in that order; all of a kind that declares none."""
    found = dict(numbers(metrics))
    if not declared:
        return found
    return {name: found[name] for pattern in declared for name in found if _fits(name, pattern)}


def _fits(name: str, pattern: str) -> bool:
    return name.count(".") == pattern.count(".") and fnmatchcase(name, pattern)


def numbers(data: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, float]]:
    """The numbers of a suite's metrics by dotted names; a list's mappings go by their first text."""
    if isinstance(data, bool) or len(path) > _DEEPEST:
        return
    if isinstance(data, (int, float)):
        yield ".".join(path), float(data)
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from numbers(value, (*path, str(key)))
    elif isinstance(data, list):
        for value in data:
            if isinstance(value, Mapping):
                name = next((text for text in value.values() if isinstance(text, str)), None)
                if name is not None:
                    yield from numbers(value, (*path, name))


def _answer(case: Mapping[str, Any], run: Mapping[str, Any]) -> object:
    """What the target said: what its kind measured, and the verbatim answers where a report has them."""
    measured = {
        name: value for name, value in case.get("measured", {}).items() if not name.startswith("baseline")
    }
    answers = (run.get("cases") or {}).get(case["id"], {}).get("answers", ())
    return measured, [[one.get(name) for name in ("text", "structured", "isError")] for one in answers]


def _as_json(one: SuiteComparison) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "change": one.change,
        "reasons": list(one.reasons),
        "dataChanged": one.data_changed,
        "figures": [
            {**vars(figure), "delta": figure.delta, "change": figure.change} for figure in one.figures
        ],
        "tests": [vars(test) for test in one.tests],
        "gates": [vars(gate) for gate in one.gates],
        **{
            name: [vars(case) for case in cases]
            for name, cases in (("won", one.won), ("lost", one.lost), ("newFailures", one.new_failures))
        },
        "changedAnswers": list(one.changed_answers),
        "added": list(one.added),
        "removed": list(one.removed),
    }
