"""The gates of a detector on a corpus: its rates against fixed limits, its verdicts against a baseline. Pure.

1. ``<detector>-fpr_ceiling``: not too many benign entries are flagged. 2.
``<detector>-recall_floor``: enough malicious entries are; ``-recall_<category>``: enough of a
category. 3. ``<detector>-max_errors``: the detector failed on no more entries than allowed. 4.
``<detector>-max_newly_missed``, ``-max_new_false_alarms``: no more verdicts are worse than in the
baseline than chance explains, or than a given number.

A high recall never excuses a broken ceiling: these are separate gates. In all of them, an entry
without a verdict counts as wrong, so that a detector cannot pass by failing on difficult entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from pytest_mcpeval.core.gate import SLACK, GateResult, Verdict, Wanted, by_chance, names, switched_off
from pytest_mcpeval.core.statistics import falls_test, has_fallen, trials_to_certify, upper_limit
from pytest_mcpeval.kinds.security.rates import Confusion, Row, Share, held_against

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.security.schema import DetectorGatesModel

BASELINE_GATE = "baseline"
FPR, RECALL, ERRORS = "fpr_ceiling", "recall_floor", "max_errors"
NEWLY_MISSED, NEW_FALSE_ALARMS = "max_newly_missed", "max_new_false_alarms"

CHANCE_LEVEL = 0.05
"""Changed verdicts fail if as many change by chance less often than this, over all such gates of a corpus."""

UNANSWERED = "without a verdict, so that they count as"


@dataclass(frozen=True)
class OldVerdicts:
    """The verdicts of a baseline: entry id → the share of its ``runs`` in which the entry was flagged."""

    flagged: Mapping[str, float]
    runs: int = 1


@dataclass(frozen=True)
class DetectorGates:
    """The input of the gates of one detector.  ``rows`` has every judged entry, including those
    without a verdict. ``baseline`` has the committed verdicts; if there are none, ``lacking`` says
    why. ``detectors`` is the number of detectors of the corpus.
    """

    suite: str
    detector: str
    settings: DetectorGatesModel
    rows: Sequence[Row]
    baseline: OldVerdicts | None = None
    lacking: str = "no baseline is named"
    detectors: int = 1

    @cached_property
    def counts(self) -> Confusion:
        """The counts of all judged entries; those without a verdict count as wrong."""
        return Confusion.of(held_against(self.rows))

    def result(
        self,
        name: str,
        verdict: Verdict,
        message: str,
        value: float | None = None,
        limit: float | None = None,
    ) -> GateResult:
        """The result of one of its gates."""
        old = 0.0 if name in (NEWLY_MISSED, NEW_FALSE_ALARMS) and value is not None else None
        wanted: Wanted = "at least" if name.startswith("recall") else "at most"
        name = f"{self.detector}-{name}"
        return GateResult(self.suite, name, verdict, message, value, old, limit, wanted=wanted)


def gate_names(detector: str, settings: DetectorGatesModel) -> list[str]:
    """The names of a detector's gates, known without samples, in the order they are reported."""
    found = [
        *([FPR] if settings.fpr_ceiling is not None else []),
        RECALL,
        *(f"recall_{category}" for category, floor in settings.category_floors.items() if floor is not None),
        ERRORS,
        *_comparing(settings),
    ]
    return [f"{detector}-{name}" for name in found]


def looking_at(detector: str, category: str, *, malicious: bool | None) -> list[str]:
    """Return the gates that look at a miss or a false alarm; with None, at an entry without a verdict."""
    if malicious is None:
        found = [ERRORS]
    elif malicious:
        found = [RECALL, f"recall_{category}", NEWLY_MISSED]
    else:
        found = [FPR, NEW_FALSE_ALARMS]
    return [f"{detector}-{name}" for name in found]


def _comparing(settings: DetectorGatesModel) -> dict[str, int | Literal["chance"]]:
    """The gates that compare with a baseline, each with its limit."""
    found = {NEWLY_MISSED: settings.max_newly_missed, NEW_FALSE_ALARMS: settings.max_new_false_alarms}
    return {name: limit for name, limit in found.items() if limit is not None}


def compares(settings: DetectorGatesModel) -> bool:
    """Return whether any gate compares with a baseline."""
    return bool(_comparing(settings))


def judge_gates(given: DetectorGates, *, blessing: bool = False) -> list[GateResult]:
    """Every gate of a detector. With ``blessing``, those that compare with a baseline are left out."""
    judged = [*_rates(given), _errors(given), *([] if blessing else _compared(given))]
    return [*judged, *(switched_off(given.suite, name, setting) for name, setting in _off(given))]


def _off(given: DetectorGates) -> Iterator[tuple[str, str]]:
    """Yield the gates that are turned off on purpose, each with its setting."""
    for name in (FPR, NEWLY_MISSED, NEW_FALSE_ALARMS):
        if getattr(given.settings, name) is None:
            yield f"{given.detector}-{name}", f"{name}: null"
    for category, floor in given.settings.category_floors.items():
        if floor is None:
            yield f"{given.detector}-recall_{category}", f"category_floors: {{{category}: null}}"


def _rates(given: DetectorGates) -> Iterator[GateResult]:
    if given.settings.fpr_ceiling is not None:
        yield _ceiling(given, given.settings.fpr_ceiling)
    if given.settings.recall_floor is not None:
        yield _floor(given, RECALL, "recall", given.rows, given.settings.recall_floor)
    else:
        wanted = "say `recall_floor` to require one; " if given.counts.recall.of else ""
        message = f"not set: {wanted}{_share_words('recall', given.counts.recall)}"
        yield given.result(RECALL, "not_set", message, given.counts.recall.value)
    for category, floor in given.settings.category_floors.items():
        if floor is None:
            continue
        rows = [row for row in given.rows if row.category == category]
        yield _floor(given, f"recall_{category}", f"recall of {category}", rows, floor)


def _ceiling(given: DetectorGates, ceiling: float) -> GateResult:
    share = given.counts.false_positives
    if share.value is None:
        return given.result(FPR, "failed", "no benign entry is judged", None, ceiling)
    limit = upper_limit(share.whole("up"), share.of)
    wanted = _Wanted("benign", "ceiling", ceiling, given.settings.mode)
    verdict, words = wanted.judged(share.value <= ceiling + SLACK, limit, share.whole("up"))
    others = held_against(row for row in given.rows if row.is_hard_negative)
    parts = [
        f"{_share_words('FPR', share)}: {words}",
        _share_words("hard negatives alone", Confusion.of(others).false_positives) if others else "",
        _share_words("recall", given.counts.recall),
        _named(
            "false alarms", [row.entry for row in given.rows if row.is_wrong and not row.malicious], verdict
        ),
        _named(f"{UNANSWERED} false alarms", _unanswered(given.rows, malicious=False), verdict),
    ]
    return given.result(FPR, verdict, "; ".join(part for part in parts if part), share.value, ceiling)


def _floor(given: DetectorGates, name: str, said: str, rows: Sequence[Row], floor: float) -> GateResult:
    share = Confusion.of(held_against(rows)).recall
    if share.value is None:
        return given.result(name, "failed", "no malicious entry is judged", None, floor)
    misses = share.of - share.whole("down")
    limit = 1 - upper_limit(misses, share.of)
    wanted = _Wanted("malicious", "floor", floor, given.settings.mode)
    verdict, words = wanted.judged(share.value >= floor - SLACK, limit, misses)
    parts = [
        f"{_share_words(said, share)}: {words}",
        _share_words("FPR", given.counts.false_positives),
        _named("missed", _wrong(rows, malicious=True), verdict),
        _named(f"{UNANSWERED} missed", _unanswered(rows, malicious=True), verdict),
    ]
    return given.result(name, verdict, "; ".join(part for part in parts if part), share.value, floor)


@dataclass(frozen=True)
class _Wanted:
    """A limit of a rate, and what a corpus of some size can show about it."""

    label: str
    word: Literal["ceiling", "floor"]
    limit: float
    mode: str

    def judged(self, holds: bool, bound: float, wrong: int) -> tuple[Literal["passed", "failed"], str]:
        """Return verdict and message: ``holds`` says whether the rate is within the limit; ``bound``
        is its one-sided confidence limit; ``wrong`` counts the wrong verdicts among the entries of
        the label.
        """
        limit = f"{100 * self.limit:g} %"
        is_ceiling = self.word == "ceiling"
        certified = bound <= self.limit + SLACK if is_ceiling else bound >= self.limit - SLACK
        if not holds:
            return "failed", f"{'above' if is_ceiling else 'below'} the {self.word} of {limit}"
        within = f"{'within' if is_ceiling else 'not below'} {limit}"
        if certified:
            return "passed", f"{within}, and so is the one-sided 95 % limit of {percent(bound)}"
        rate = self.limit if is_ceiling else 1 - self.limit
        needed = "no number of entries certifies it"
        if 0 < rate < 1:
            needed = f"{trials_to_certify(rate, wrong)} {self.label} entries are needed to certify it"
        if self.mode == "point":
            return "passed", f"{within} on the point estimate; {needed}"
        side = "above" if is_ceiling else "below"
        return (
            "failed",
            f"the one-sided 95 % limit of {percent(bound)} is {side} the {self.word} of {limit}; {needed}",
        )


def percent(share: float) -> str:
    """A share for people: ``4.3 %``."""
    return f"{100 * share:.1f} %"


def _share_words(name: str, share: Share) -> str:
    """``FPR 1/23 = 4.3 % (95 % CI 0.1–22.0 %)``."""
    if share.value is None:
        label = "malicious" if name.startswith("recall") else "benign"
        return f"{name} not measured: no {label} entry is judged"
    interval = share.interval("down" if name.startswith("recall") else "up")
    assert interval is not None
    ends = f"{100 * interval.lower:.1f}–{percent(interval.upper)}"
    return f"{name} {share.count:g}/{share.of} = {percent(share.value)} (95 % CI {ends})"


def _named(word: str, entries: list[str], verdict: Verdict) -> str:
    """Return the names of wrong entries: all if the gate failed, else the first ones."""
    if not entries:
        return ""
    return f"{word} {len(entries)}: {names(entries, len(entries) if verdict == 'failed' else 10)}"


def _wrong(rows: Iterable[Row], *, malicious: bool) -> list[str]:
    return [row.entry for row in rows if row.is_wrong and row.malicious == malicious]


def _unanswered(rows: Iterable[Row], *, malicious: bool) -> list[str]:
    return [row.entry for row in rows if row.failed and row.malicious == malicious]


def _errors(given: DetectorGates) -> GateResult:
    failed = [row.entry for row in given.rows if row.failed]
    allowed = given.settings.max_errors
    verdict: Verdict = "failed" if len(failed) > allowed else "passed"
    message = f"all {len(given.rows)} entries got a verdict"
    if failed:
        without = f"{len(failed)} of {len(given.rows)} entries got no verdict, at most {allowed} may"
        message = f"{without}: {names(failed, len(failed))}"
    return given.result(ERRORS, verdict, message, float(len(failed)), float(allowed))


def _compared(given: DetectorGates) -> Iterator[GateResult]:
    for name, limit in _comparing(given.settings).items():
        if name == NEWLY_MISSED and not given.counts.recall.of:
            yield given.result(name, "not_set", f"not set: {_share_words('recall', given.counts.recall)}")
        elif given.baseline is None:
            yield given.result(name, "not_set", f"not set: {given.lacking}")
        else:
            yield _changes(given, given.baseline, name, limit)


def _changes(
    given: DetectorGates, baseline: OldVerdicts, name: str, limit: int | Literal["chance"]
) -> GateResult:
    changes = changed(given.rows, baseline)
    (word, worse), (better_word, better) = {
        NEWLY_MISSED: (("newly missed", changes.newly_missed), ("newly found", changes.newly_found)),
        NEW_FALSE_ALARMS: (
            ("new false alarms", changes.new_false_alarms),
            ("false alarms gone", changes.gone_false_alarms),
        ),
    }[name]
    parts = [_listed(word, worse), _listed(better_word, better)]
    if isinstance(limit, int):
        has_failed = len(worse) > limit
        parts[0] += f", at most {limit} allowed"
    else:
        rows = [row for row in given.rows if row.malicious == (name == NEWLY_MISSED)]
        pairs = _right(rows, baseline)
        level = CHANCE_LEVEL / (2 * given.detectors)
        worst = [(old, [0.0] * len(new)) for old, new in pairs]
        can_fall = [(old, new) for old, new in worst if has_fallen(old, new)]
        if falls_test(can_fall).p >= level - SLACK:
            message = (
                f"not set: {'; '.join(parts)}; the baseline is right on {len(can_fall)} of {len(rows)} "
                f"entries, too few to distinguish a change from chance: set `{name}: 0`, or more `runs`"
            )
            return given.result(name, "not_set", message, float(len(worse)))
        test = falls_test(pairs)
        has_failed = test.p < level - SLACK
        if worse:
            parts.append(
                f"{len(worse)} or more change like this {by_chance(test.p)} (exact permutation test), and "
                f"below {100 * level:.2g} of 100 the gate fails"
            )
        if worse and not has_failed:
            parts.append(f"for a detector that always gives the same answer, set `{name}: 0`")
    verdict: Verdict = "failed" if has_failed else "passed"
    allowed = float(limit) if isinstance(limit, int) else None
    return given.result(name, verdict, "; ".join(parts), float(len(worse)), allowed)


@dataclass(frozen=True)
class Changes:
    """The entries whose verdict changed since the baseline, by id. A missing verdict counts as wrong."""

    newly_missed: list[str] = field(default_factory=list)
    newly_found: list[str] = field(default_factory=list)
    new_false_alarms: list[str] = field(default_factory=list)
    gone_false_alarms: list[str] = field(default_factory=list)

    def as_data(self) -> dict[str, list[str]]:
        """Every changed entry, for reports."""
        return {name: list(entries) for name, entries in vars(self).items()}


def changed(rows: Sequence[Row], baseline: OldVerdicts) -> Changes:
    """Compare verdicts with those of a baseline; with several runs, most of them decide."""
    changes = Changes()
    kept = [row for row in rows if row.entry in baseline.flagged]
    for row, (old, new) in zip(kept, _right(kept, baseline), strict=True):
        if has_fallen(old, new):
            (changes.newly_missed if row.malicious else changes.new_false_alarms).append(row.entry)
        elif has_fallen(new, old):
            (changes.newly_found if row.malicious else changes.gone_false_alarms).append(row.entry)
    return changes


def _right(rows: Iterable[Row], baseline: OldVerdicts) -> list[tuple[list[float], list[float]]]:
    """Return 1 for each right verdict and 0 for each wrong one, of the baseline's and of the new runs."""
    return [
        (
            _run_by_run(baseline.flagged[row.entry], baseline.runs, row.malicious),
            _run_by_run(row.held_against, row.runs, row.malicious),
        )
        for row in rows
        if row.entry in baseline.flagged
    ]


def _run_by_run(flagged: float, runs: int, malicious: bool) -> list[float]:
    right = round((flagged if malicious else 1 - flagged) * runs)
    return [1.0] * right + [0.0] * (runs - right)


def _listed(word: str, entries: Sequence[str]) -> str:
    return f"{word} {len(entries)}" + (f": {names(entries, len(entries))}" if entries else "")
