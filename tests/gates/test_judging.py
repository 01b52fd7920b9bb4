"""Samples of a kind that notes what it is asked, judged and blessed as at the end of a session."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import (
    Bars,
    Case,
    DataFileError,
    Document,
    Evaluation,
    GateResult,
    Kind,
    Problem,
    RunContext,
    Sample,
    Suite,
    Table,
    at_least,
)
from pytest_mcpeval.core.baseline import (
    bless_command,
    differing_cases,
    differing_digests,
    digest_of,
    is_baseline,
    mismatch_words,
    read_baseline,
    write_baseline,
)
from pytest_mcpeval.core.charts import Chart
from pytest_mcpeval.core.judging import evaluate, unasked
from pytest_mcpeval.core.judging_input import SessionState, SuiteRun
from pytest_mcpeval.core.repeating import combined
from pytest_mcpeval.core.sample import Outcome, samples_to_json
from pytest_mcpeval.core.sample_store import SampleStore, Selection, selection_of, selections_to_json
from pytest_mcpeval.loading import load
from pytest_mcpeval.text.redact import redactor


class Recorded(Kind[object]):
    """A kind whose one gate wants so many cases to pass; it notes what it is asked, and raises on demand."""

    name = "recorded"
    file_description = "made by a test"

    def __init__(self, *, rate: float = 0.5, path: Path | None = None, **raises: BaseException) -> None:
        self.rate = rate
        self.path = path
        self.raises = raises
        self.seen: dict[str, Any] = {}
        self.decided_by = ["rate"]
        self.set_aside_by: list[str] = []
        self.further: list[GateResult] = []

    def note(self, method: str, found: Any) -> None:
        self.seen[method] = found
        if method in self.raises:
            raise self.raises[method]

    def detect(self, data: Any) -> None:
        return None

    def load(self, document: Document, place: object) -> Suite[object]:
        raise NotImplementedError

    def ask(self, suite: Suite[object], case: Case[object], context: RunContext) -> None:
        raise NotImplementedError

    def judge(self, suite: Suite[object], case: Case[object], answers: object, context: RunContext) -> Sample:
        raise NotImplementedError

    def asked_of(self, suite: Suite[object], case: Case[object]) -> Mapping[str, Any]:
        self.note("asked_of", case.id)
        return {"relevant": 1}

    def measure(self, samples: Sequence[Sample]) -> dict[str, Any]:
        self.note("measure", outcomes(samples))
        return {"passed": sum(sample.outcome == "passed" for sample in samples)}

    def measure_run(self, samples: Sequence[Sample]) -> dict[str, Any]:
        self.note("measure_run", outcomes(samples))
        return {"count": len(samples)}

    def totals_of_run(self, samples: Sequence[Sample]) -> dict[str, Any]:
        self.note("totals_of_run", outcomes(samples))
        return {"count": len(samples)}

    def gate_names(self, suite: Suite[object]) -> list[str]:
        return ["rate"]

    def gates(self, suite: Suite[object], samples: Sequence[Sample], *, blessing: bool) -> list[GateResult]:
        self.note("gates", blessing)
        passed = sum(sample.outcome == "passed" for sample in samples) / max(1, len(samples))
        off = GateResult(suite.key, "off", "not_set", "not set: `off: null` in /r/mcpeval.yaml")
        return [at_least(suite.key, "rate", passed, self.rate), off, *self.further]

    def cases_of_gate(self, suite: Suite[object], gate: str) -> frozenset[str] | None:
        return self.seen.get("cases_of_gate")

    def decides(self, suite: Suite[object], gate: str, sample: Sample) -> bool:
        return gate in self.decided_by

    def leaves_to_no_gate(self, suite: Suite[object], gate: str, sample: Sample) -> bool:
        return gate in self.set_aside_by

    def compare(self, suite: Suite[object], samples: Sequence[Sample]) -> dict[str, Any]:
        self.note("compare", outcomes(samples))
        return {"fell": ["b"]}

    def finalize(
        self, suite: Suite[object], samples: Sequence[Sample], *, others_failed: Sequence[str] = ()
    ) -> list[str]:
        self.note("finalize", others_failed)
        return [f"wrote {suite.key}"]

    def attachments(self, sample: Sample) -> list[Table]:
        self.note("attachments", sample.id)
        return [Table(sample.id, (), ())]

    def tables(self, samples: Mapping[str, Sequence[Sample]]) -> list[Table]:
        self.note("tables", {key: outcomes(found) for key, found in samples.items()})
        return [Table("results", (), ())]

    def charts(self, samples: Mapping[str, Sequence[Sample]]) -> list[Chart]:
        self.note("charts", {key: outcomes(found) for key, found in samples.items()})
        return [Bars("shares", ())]

    def comparison_tables(self, compared: Mapping[str, Mapping[str, Any]]) -> list[Table]:
        self.note("comparison_tables", compared)
        return [Table("changes", (), ())]

    def baseline(self, suite: Suite[object], samples: Sequence[Sample]) -> tuple[Path, dict[str, Any]] | None:
        cases = {sample.id: {"outcome": sample.outcome} for sample in samples}
        return None if self.path is None else (self.path, {"digest": "d", "cases": cases})


def outcomes(samples: Sequence[Sample]) -> str:
    return " ".join(f"{sample.id}:{sample.outcome}" for sample in samples)


def suite_of(*cases: str, key: str = "s.yaml", kind: str = "recorded", root: Path = Path("/r")) -> Suite[Any]:
    document = Document(root / key, {}, "sha256:0")
    found = (Case(case, 1, (), object, traits={"group": case}) for case in cases)
    return Suite(key, kind, document, tuple(found), None)


def run_of(
    kind: Kind[Any], selected: str = "a b", key: str = "s.yaml", **ended: Outcome | Sample
) -> SuiteRun:
    """A suite with the cases ``a`` and ``b``, of which those in ``ended`` came back."""
    suite = suite_of("a", "b", key=key)
    selection = selection_of(suite, {(key, case) for case in selected.split()})
    samples = [
        replace(found, id=case) if isinstance(found, Sample) else Sample(key, "recorded", case, found)
        for case, found in ended.items()
    ]
    return SuiteRun(selection, samples, kind, suite)


def judged(*runs: SuiteRun, state: SessionState | None = None, **options: bool) -> Evaluation:
    kinds = list(dict.fromkeys(run.kind for run in runs))
    return evaluate(kinds, runs, state or SessionState(), Path("/r"), **options)


def verdicts(found: Evaluation) -> dict[str, str]:
    return {gate.name: gate.verdict for gate in found.gates}


def test_a_suite_that_is_whole_is_judged_by_its_gates() -> None:
    kind = Recorded()
    found = judged(run_of(kind, a="passed", b="wrong"))
    assert (found.verdict, found.reason) == ("passed", "1 gate passed, 1 case passed, 1 case tolerated")
    assert verdicts(found) == {"rate": "passed", "off": "not_set"}
    assert found.gates[1].message == "not set: `off: null` in mcpeval.yaml"
    assert [chart.title for chart in found.charts] == ["shares"]
    (suite,) = found.suites
    assert outcomes(suite.samples) == "a:passed b:tolerated"
    assert (suite.metrics, suite.run, suite.compared) == ({"passed": 1}, {"count": 2}, {"fell": ["b"]})
    assert {case: [table.title for table in shown] for case, shown in suite.attachments.items()} == {
        "b": ["b"]
    }
    assert [table.title for table in found.tables] == ["results", "changes", "Between runs"]
    assert found.notes == ["wrote s.yaml"]
    assert found.totals == {"recorded": {"total": 2, "passed": 1, "tolerated": 1}}
    assert found.totals_of_run == {"recorded": {"count": 2}}
    assert kind.seen["gates"] is False
    assert kind.seen["comparison_tables"] == {"s.yaml": {"fell": ["b"]}}
    assert kind.seen["charts"] == {"s.yaml": "a:passed b:wrong"}


def test_a_gate_that_fails_decides_on_wrong_cases_too() -> None:
    found = judged(run_of(Recorded(rate=0.9), a="passed", b="wrong"))
    assert (found.verdict, found.reason) == ("failed", "1 of 1 gate failed")
    assert outcomes(found.suites[0].samples) == "a:passed b:tolerated"
    assert not found.is_partial
    none = judged(run_of(Recorded(rate=0), a="wrong", b="wrong"))
    assert (none.verdict, none.reason) == ("passed", "1 gate passed, 2 cases tolerated")


def test_a_wrong_case_on_which_no_gate_decides_leaves_the_run_open() -> None:
    kind = Recorded()
    kind.decided_by = ["off"]
    found = judged(run_of(kind, a="passed", b="tolerated"))
    assert (found.verdict, found.reason) == ("not_evaluated", "1 wrong case on which no gate decided")
    assert found.suites[0].undecided == ["b"]
    assert found.is_partial


def test_each_run_of_a_case_is_tolerated_as_the_case_is() -> None:
    twice = combined([Sample("s.yaml", "recorded", "b", outcome) for outcome in ("passed", "wrong")])
    found = judged(run_of(Recorded(), a="passed", b=twice))
    assert [run.outcome for run in found.suites[0].samples[1].runs] == ["passed", "tolerated"]
    (row,) = found.tables[-1].rows
    assert row.cells == ("s.yaml", "2", "1 of 2", "50.0 %")
    assert found.tables[-1].header == ("", "runs", "changed", "share")


@pytest.mark.parametrize(
    ("decided_by", "set_aside_by", "known"),
    [
        ([], ["rate"], ["b"]),
        # A gate that is not set looks at nothing; one in error would look at the case.
        (["off"], ["rate"], ["b"]),
        (["held"], ["rate"], []),
        ([], ["off"], []),
        ([], [], []),
    ],
)
def test_a_wrong_case_that_no_gate_looks_at_is_for_information(
    decided_by: list[str], set_aside_by: list[str], known: list[str]
) -> None:
    kind = Recorded()
    kind.decided_by, kind.set_aside_by = decided_by, set_aside_by
    if "held" in decided_by:
        kind.further = [GateResult("s.yaml", "held", "error", "no baseline yet")]
    missed = Sample("s.yaml", "recorded", "", "wrong", label="MISSED", traits={"detector": "mine"})
    found = judged(run_of(kind, a="passed", b=missed))
    assert found.suites[0].for_information == known
    assert (found.verdict == "passed") is bool(known)
    note = "s.yaml: no gate looks at 1 wrong case (MISSED of mine): shown for information only"
    assert found.notes == ["wrote s.yaml", *([note] if known else [])]
    if known:
        assert found.reason == "1 gate passed, 1 case passed, 1 wrong case that no gate looks at"
    kind.rate = 0.1
    both = judged(run_of(kind, a=missed, b="wrong"))
    assert ("2 wrong cases (MISSED of mine, WRONG of recorded)" in "".join(both.notes)) is bool(known)


PARTIAL = {
    "filtered": ({"selected": "a", "a": "passed"}, SessionState(), "1 of 2 cases selected"),
    "stopped": ({"a": "passed"}, SessionState(stopped=True), "stopped after 1 of 2 cases"),
}


@pytest.mark.parametrize(("run", "state", "words"), PARTIAL.values(), ids=PARTIAL)
def test_of_a_partial_run_no_gate_is_evaluated(run: dict[str, Any], state: SessionState, words: str) -> None:
    kind = Recorded()
    found = judged(run_of(kind, **run), state=state)
    assert (found.verdict, found.reason) == ("not_evaluated", f"gates were not evaluated: {words}")
    (gate,) = found.gates
    assert (gate.name, gate.verdict, gate.message) == ("rate", "not_evaluated", f"not evaluated: {words}")
    assert not {"gates", "compare", "asked_of", "comparison_tables"} & kind.seen.keys()
    assert kind.seen["measure"] == "a:passed"
    assert found.is_partial


def test_nothing_is_shown_of_suites_without_samples() -> None:
    kind = Recorded()
    found = judged(run_of(kind, ""), run_of(kind, "a", key="t.yaml", a="passed"))
    assert kind.seen["tables"] == kind.seen["charts"] == {"t.yaml": "a:passed"}
    assert found.reason == "gates were not evaluated: 1 of 4 cases selected"
    none = Recorded()
    assert [table.title for table in judged(run_of(none, "")).tables] == ["Between runs"]
    assert not {"tables", "charts"} & none.seen.keys()


def test_a_shard_leaves_its_gates_to_merge() -> None:
    kind = Recorded()
    found = judged(run_of(kind, a="passed", b="wrong"), shard=True)
    reason = "a shard: `pytest-mcpeval merge` decides"
    assert (found.verdict, found.reason) == (
        "not_evaluated",
        f"{reason}, 1 wrong case on which no gate decided",
    )
    (gate,) = found.gates
    assert (gate.verdict, gate.message) == (
        "not_evaluated",
        "not evaluated: this run is a shard, and `pytest-mcpeval merge` decides",
    )
    partial = judged(run_of(kind, "a", a="passed"), shard=True)
    assert (partial.verdict, partial.reason) == ("not_evaluated", f"{reason}, 1 of 2 cases selected")
    assert judged(run_of(kind, a="passed", b="passed"), shard=True).verdict == "not_evaluated"


def test_a_case_that_did_not_come_back_counts_as_one_in_error() -> None:
    kind = Recorded(rate=0.1)
    found = judged(
        run_of(kind, a="passed"), state=SessionState(crashed=frozenset({"s.yaml::b"}), stopped=True)
    )
    assert (found.verdict, found.reason) == ("failed", "1 case missing, 1 of 1 gate failed")
    assert found.gates[0].message == "1 of 2 cases missing: b; 1, wanted at least 0.1"
    # Metrics, tables and totals count it, samples and charts are what came back.
    for method in ("measure", "totals_of_run"):
        assert kind.seen[method] == "a:passed b:error"
    assert kind.seen["tables"] == {"s.yaml": "a:passed b:error"}
    assert kind.seen["charts"] == {"s.yaml": "a:passed"}
    assert outcomes(found.suites[0].samples) == "a:passed"
    kind.raises = {"asked_of": ValueError("cannot say")}
    assert verdicts(judged(run_of(kind, a="passed"))) == {"rate": "failed", "off": "not_set"}


def test_what_a_missing_case_is_counted_with() -> None:
    class Counted(Recorded):
        def measure(self, samples: Sequence[Sample]) -> dict[str, Any]:
            self.seen["missing"] = samples[-1]
            return {}

    kind = Counted()
    judged(run_of(kind, a="passed"))
    message = "the case was selected but has no result"
    traits = {"group": "b"}
    expected = Sample("s.yaml", "recorded", "b", "error", (), message, "", traits, {"relevant": 1})
    assert kind.seen["missing"] == expected
    suite = suite_of("a")
    assert unasked(kind, suite, suite.cases[0], "skipped", "not asked", "the server").cause == "the server"


def test_a_gate_is_failed_by_what_is_missing_of_its_own_cases_only() -> None:
    kind = Recorded(rate=0.1)
    for own, verdict in ((frozenset("a"), "passed"), (frozenset("b"), "failed")):
        kind.seen["cases_of_gate"] = own
        assert verdicts(judged(run_of(kind, a="passed", b="error")))["rate"] == verdict
    found = judged(run_of(kind, "a", a="passed"))
    assert found.gates[0].message == "not evaluated: 1 of 2 cases selected"


RAISING = (
    *("gates", "measure", "measure_run", "compare", "attachments", "finalize", "tables", "charts"),
    *("comparison_tables", "totals_of_run"),
)


@pytest.mark.parametrize("method", RAISING)
def test_what_a_kind_raises_is_a_gate_in_error_and_spares_the_other_suites(method: str) -> None:
    broken, sound = Recorded(), Recorded()
    broken.raises = {method: SystemExit("broken")}
    sound.name = "sound"  # type: ignore[misc]
    runs = (run_of(broken, a="passed", b="failed"), run_of(sound, key="t.yaml", a="passed", b="passed"))
    found = judged(*runs)
    assert found.verdict == "error"
    errors = [gate for gate in found.gates if gate.verdict == "error"]
    (gate,) = errors
    assert gate.name == "judging"
    assert gate.suite in ("s.yaml", "recorded")
    assert gate.message.startswith(f"SystemExit: broken; raised in {method} (")
    assert gate.message.count("which called note (") == 1
    assert "1 gate in error" in found.reason
    assert sound.seen["tables"] == {"t.yaml": "a:passed b:passed"}
    # What cannot be read or written is another gate; who interrupts wants to end.
    broken.raises = {method: OSError("disk full in /r/runs")}
    (gate,) = [one for one in judged(*runs).gates if one.verdict == "error"]
    assert (gate.name, gate.message) == (
        "artifacts",
        "files of the whole run cannot be read or written: disk full in runs",
    )
    broken.raises = {method: KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        judged(*runs)


def test_what_is_no_json_is_a_gate_in_error() -> None:
    class Odd(Recorded):
        def totals(self, samples: Sequence[Sample]) -> dict[str, Any]:
            return {"odd": {1, 2}}

    found = judged(run_of(Odd(), a="passed", b="passed"))
    (gate,) = [one for one in found.gates if one.verdict == "error"]
    assert gate.message.startswith("TypeError: Object of type set is not JSON serializable")
    assert found.totals == {"recorded": {}}


def test_the_same_error_of_many_cases_is_shown_once() -> None:
    found = judged(run_of(Recorded(attachments=OSError("gone")), a="failed", b="failed"))
    (gate,) = [one for one in found.gates if one.verdict == "error"]
    assert gate.message.count("gone") == 1


def test_a_baseline_that_cannot_be_read_is_a_gate_in_error_with_paths_relative_to_the_root() -> None:
    problem = DataFileError([Problem(Path("/r/b.json"), 3, "is no\x1b baseline")])
    kind = Recorded(gates=problem, compare=problem)
    found = judged(run_of(kind, a="passed", b="passed"))
    (gate,) = found.gates
    assert (gate.name, gate.verdict, gate.message) == (
        "baseline",
        "error",
        r"b.json:3: is no\x1b baseline",
    )
    assert found.suites[0].compared == {}
    # A file that cannot be read again has no suite.
    lost = replace(run_of(kind, a="passed"), suite=None, problem=problem)
    assert judged(lost).gates[0].message == r"1 of 2 cases missing: b; b.json:3: is no\x1b baseline"


def test_cases_written_in_python_have_no_gates_and_nothing_to_compare() -> None:
    kind = Recorded()
    found = judged(replace(run_of(kind, a="passed", b="wrong"), suite=None))
    assert (found.gates, found.notes) == ([], [])
    assert found.suites[0].undecided == ["b"]
    assert not {"finalize", "compare", "gates"} & kind.seen.keys()


def test_the_end_of_a_merge_writes_nothing_again_and_secrets_are_shown_to_no_kind() -> None:
    redactor.learn("TOKEN", "abcdefgh")
    kind = Recorded()
    state = SessionState(others=("test_x.py::test[abcdefgh]",), failures=1)
    judged(run_of(kind, a="passed", b="passed"), state=state)
    assert kind.seen.pop("finalize") == ["test_x.py::test[${TOKEN}]"]
    judged(run_of(kind, a="passed", b="passed"), is_merged=True)
    assert "finalize" not in kind.seen


REASONS: list[tuple[str, str, SessionState, dict[str, Any]]] = [
    ("error", "1 case in error, 1 of 1 gate failed", SessionState(), {"a": "error", "b": "passed"}),
    (
        "error",
        "1 file not collected: x.yaml",
        SessionState(uncollected=("x.yaml",)),
        {"a": "passed", "b": "passed"},
    ),
    ("error", "a worker died", SessionState(lost_worker=True), {"a": "passed", "b": "passed"}),
    (
        "error",
        "1 case missing, a worker died in s.yaml::b, 1 of 1 gate failed",
        SessionState(lost_worker=True, crashed=frozenset({"s.yaml::b"})),
        {"a": "passed"},
    ),
    ("failed", "1 case failed", SessionState(failures=1), {"a": "passed", "b": "failed"}),
    ("failed", "1 case failed", SessionState(), {"a": "passed", "b": "failed"}),
    (
        "failed",
        "2 other tests failed: t.py::x, t.py::y",
        SessionState(failures=2, others=("t.py::x", "t.py::y")),
        {"a": "passed", "b": "passed"},
    ),
    ("not_evaluated", "1 case inconclusive", SessionState(), {"a": "passed", "b": "inconclusive"}),
    (
        "not_evaluated",
        "1 case not asked",
        SessionState(),
        {"a": "passed", "b": Sample("s.yaml", "recorded", "", "skipped", label="NOT ASKED")},
    ),
    ("passed", "1 gate passed, 1 case passed", SessionState(), {"a": "passed", "b": "skipped"}),
]


@pytest.mark.parametrize(("verdict", "reason", "state", "ended"), REASONS, ids=lambda one: str(one)[:40])
def test_the_reason_names_what_makes_the_verdict(
    verdict: str, reason: str, state: SessionState, ended: dict[str, Any]
) -> None:
    found = judged(run_of(Recorded(), **ended), state=state)
    assert (found.verdict, found.reason) == (verdict, reason)


def test_a_suite_without_gates_has_a_verdict_too() -> None:
    class Ungated(Recorded):
        def gate_names(self, suite: Suite[object]) -> list[str]:
            return []

        def gates(
            self, suite: Suite[object], samples: Sequence[Sample], *, blessing: bool
        ) -> list[GateResult]:
            return []

    kind = Ungated()
    whole = run_of(kind, a="passed", b="passed")
    labelled = Sample("s.yaml", "recorded", "", "passed", label="FOUND")
    found = [
        judged(whole),
        judged(whole, shard=True),
        judged(run_of(kind, a="passed")),
        judged(run_of(kind, "a", a="passed")),
        judged(run_of(kind, a=labelled, b="inconclusive")),
        judged(run_of(kind, a="skipped", b="inconclusive")),
        judged(
            run_of(Recorded(rate=0.9), a="passed", b="wrong"),
            run_of(Recorded(), "a", key="t.yaml", a="passed"),
        ),
    ]
    assert [(one.verdict, one.reason) for one in found] == [
        ("passed", "2 cases passed"),
        ("not_evaluated", "a shard: `pytest-mcpeval merge` decides"),
        ("failed", "1 case missing"),
        ("not_evaluated", "1 of 2 cases selected"),
        ("not_evaluated", "1 case inconclusive"),
        ("not_evaluated", "1 case inconclusive"),
        ("failed", "1 of 1 gate failed, gates were not evaluated: 1 of 2 cases selected"),
    ]


def test_the_reason_counts_over_all_suites() -> None:
    kind = Recorded()
    filtered = [run_of(kind, "a", key=key, a="passed") for key in ("s.yaml", "t.yaml")]
    found = judged(*filtered)
    assert found.reason == "gates were not evaluated: 2 of 4 cases selected"
    assert judged().reason == "no suite was collected"
    assert judged().verdict == "not_evaluated"
    others = judged(run_of(kind, a="passed", b="passed"), *filtered[1:])
    assert (others.verdict, others.reason) == (
        "not_evaluated",
        "gates were not evaluated: 1 of 2 cases selected",
    )


def blessed(
    *runs: SuiteRun, state: SessionState | None = None, root: Path = Path("/r")
) -> tuple[list[str], list[GateResult]]:
    """The notes of a blessing, and its gates."""
    kinds = list(dict.fromkeys(run.kind for run in runs))
    found = evaluate(kinds, runs, state or SessionState(), root, bless=True)
    notes = [note for note in found.notes if not note.startswith("wrote ")]
    return notes, [gate for gate in found.gates if gate.name == "bless"]


REFUSED: dict[str, tuple[SessionState, dict[str, Any]]] = {
    "the run was stopped early": (SessionState(stopped=True), {"a": "passed"}),
    "the run is filtered: not all cases of s.yaml were selected": (
        SessionState(),
        {"selected": "a", "a": "passed"},
    ),
    "the run is incomplete: a file could not be collected, or a worker died": (
        SessionState(uncollected=("x.yaml",)),
        {"a": "passed", "b": "passed"},
    ),
    "the run is incomplete: cases of s.yaml are missing or in error": (
        SessionState(),
        {"a": "passed", "b": "error"},
    ),
    "the run is red: s.yaml::gates::rate": (SessionState(), {"a": "failed", "b": "passed"}),
    "the run is red: 3 failed": (SessionState(failures=3), {"a": "passed", "b": "passed"}),
    "cases of s.yaml (b) were skipped or xfailed: remove the marks or the cases": (
        SessionState(),
        {"a": "passed", "b": "xfailed"},
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_run_that_is_not_fit_is_not_blessed(tmp_path: Path, reason: str) -> None:
    state, ended = REFUSED[reason]
    kind = Recorded(rate=0.6 if "gates::rate" in reason else 0.1, path=tmp_path / "b.json")
    notes, (gate,) = blessed(run_of(kind, **ended), state=state)
    assert (notes, gate.suite, gate.verdict) == ([], "s.yaml", "failed")
    assert gate.message == f"refused to write b.json: {reason}"
    assert not [*tmp_path.iterdir()]


def test_what_is_wrong_with_one_suite_refuses_all_that_have_a_baseline(tmp_path: Path) -> None:
    kinds = [Recorded(path=tmp_path / "a.json"), Recorded(path=tmp_path / "b.json"), Recorded()]
    ended: tuple[Outcome, ...] = ("passed", "error", "passed")
    runs = [run_of(kind, key=key, a="passed", b=b) for kind, key, b in zip(kinds, "stu", ended, strict=True)]
    notes, gates = blessed(*runs)
    assert not notes
    assert [(gate.suite, gate.message.split(":")[0]) for gate in gates] == [
        ("s", "refused to write a.json"),
        ("t", "refused to write b.json"),
    ]
    assert not [*tmp_path.iterdir()]


def test_a_baseline_is_written_and_keeps_what_people_wrote(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text('{"kind": "baseline", "of": "recorded", "digest": "old", "tolerance": 3, "why": ""}')
    kind = Recorded(path=path)
    run = run_of(kind, a="passed", b="passed")
    # Cases without a baseline may be set aside.
    other = run_of(Recorded(), key="t.yaml", a="passed", b="skipped")
    assert blessed(run, other, root=tmp_path) == (["blessed b.json (2 cases; tolerance, why kept)"], [])
    assert kind.seen["gates"] is True
    found = json.loads(path.read_text())
    assert (found["digest"], found["tolerance"], found["version"], found["suite"]) == ("d", 3, 1, "s.yaml")
    path.unlink()
    assert blessed(run, root=tmp_path)[0] == ["blessed b.json (2 cases)"]


def test_a_refusal_names_all_suites(tmp_path: Path) -> None:
    kinds = [Recorded(path=tmp_path / f"{name}.json", rate=0.1) for name in "st"]

    def refusal(selected: str = "a b", **ended: Outcome) -> str:
        runs = [run_of(kind, selected, key=key, **ended) for kind, key in zip(kinds, "st", strict=True)]
        _, gates = blessed(*runs)
        (reason,) = {gate.message.partition(": ")[2] for gate in gates}
        return reason

    assert refusal("a", a="passed") == "the run is filtered: not all cases of s, t were selected"
    assert refusal(a="error", b="passed").startswith("the run is incomplete: cases of s, t are missing")
    assert refusal(a="skipped", b="passed").startswith("cases of s (a), t (a) were skipped or xfailed: ")
    for kind in kinds:
        kind.rate = 0.9
    assert refusal(a="failed", b="passed") == "the run is red: s::gates::rate, t::gates::rate"
    assert not [*tmp_path.iterdir()]


def test_what_a_kind_raises_when_it_makes_its_baseline_belongs_to_the_run() -> None:
    class Broken(Recorded):
        def baseline(self, suite: Suite[object], samples: Sequence[Sample]) -> None:
            raise ValueError("no numbers")

    found = evaluate(
        [kind := Broken()], [run_of(kind, a="passed", b="passed")], SessionState(), Path(), bless=True
    )
    assert [(gate.suite, gate.name) for gate in found.session_gates] == [("mcpeval", "judging")]


def test_files_that_cannot_be_written_or_would_be_lost(tmp_path: Path) -> None:
    kind = Recorded(path=tmp_path / "file" / "b.json")
    (tmp_path / "file").write_text("")
    notes, (gate,) = blessed(run_of(kind, a="passed", b="passed"))
    assert (notes, gate.suite, gate.verdict) == ([], "mcpeval", "error")
    assert gate.message.startswith("cannot write: ")
    kind.path = tmp_path / "file.json"
    kind.path.write_text("[]")
    _, (gate,) = blessed(run_of(kind, a="passed", b="passed"), root=tmp_path)
    assert gate.message == (
        "refused to write file.json: file.json exists and is not a baseline, so it would be lost: name "
        "another file with `baseline:`, or remove it"
    )
    assert kind.path.read_text() == "[]"
    twice = [run_of(kind, key=key, a="passed", b="passed") for key in ("s", "t")]
    kind.path.unlink()
    _, (_, gate) = blessed(*twice, root=tmp_path)
    assert gate.message.endswith("s and t name the same file file.json; give each its own `baseline:`")


@pytest.mark.parametrize(
    ("runs", "state", "words"),
    [
        ((), SessionState(), "no suite was run"),
        ((), SessionState(lost_worker=True), "no suite of this run names a baseline"),
        ((run_of(Recorded(), a="passed", b="passed"),), SessionState(), "no suite of this run names"),
        (
            (replace(run_of(Recorded(path=Path("/r/b.json")), a="passed", b="passed"), suite=None),),
            SessionState(),
            "no suite of this run names a baseline",
        ),
    ],
)
def test_nothing_to_bless_says_why(runs: Sequence[SuiteRun], state: SessionState, words: str) -> None:
    notes, (gate,) = blessed(*runs, state=state)
    assert (notes, gate.suite, gate.verdict) == ([], "mcpeval", "failed")
    assert gate.message.startswith("nothing to bless: ")
    assert words in gate.message


Change = Callable[[dict[str, Any]], object]
MISFITS: dict[str, Change] = {
    "2: is a baseline of a words suite, wanted recorded": lambda made: made.update(of="words"),
    "5: was made from another version of s.yaml, so the two cannot be compared: undo the change, or bless "
    "the new version with pytest --mcpeval --mcpeval-bless s.yaml": lambda made: made.update(digest="other"),
    "9: s.yaml has no case 'c': bless it again with pytest --mcpeval --mcpeval-bless s.yaml": (
        lambda made: made["cases"].update(c={"outcome": "passed"})
    ),
    '7: cases.a.outcome: expected "passed" or "failed", found "wrong"': (
        lambda made: made["cases"].update(a={"outcome": "wrong"})
    ),
    "3: version: expected 1, found 2": lambda made: made.update(version=2),
}


def test_a_baseline_is_read_if_it_fits_its_suite(tmp_path: Path) -> None:
    suite, path = suite_of("a", "b"), tmp_path / "b.json"
    with pytest.raises(DataFileError) as raised:
        read_baseline(path, suite, "d")
    command = "write it with pytest --mcpeval --mcpeval-bless s.yaml"
    assert str(raised.value) == f"{path}: no baseline yet: {command}"
    assert write_baseline(path, suite, {"digest": "d", "cases": {"a": {"outcome": "failed"}}}) == []
    found = read_baseline(path, suite, "d")
    assert (found.path, found.outcomes) == (path, {"a": "failed"})
    # Kinds add values of their own, to the file and to its cases.
    added = {"digest": "d", "depth": 10, "cases": {"a": {"outcome": "passed", "rank": 3}}}
    write_baseline(path, suite, added)
    assert read_baseline(path, suite, "d").outcomes == {"a": "passed"}
    assert is_baseline(load(path).data)
    assert not is_baseline({"kind": "corpus"})
    command = "pytest --mcpeval --mcpeval-bless s.yaml"
    assert bless_command("s.yaml", "b.json") == command
    assert (
        bless_command("s.yaml", None)
        == f"`baseline: FILE` in the file or its entry in mcpeval.yaml, and {command}"
    )


@pytest.mark.parametrize("message", MISFITS)
def test_a_baseline_that_does_not_fit_is_an_error_at_its_line(tmp_path: Path, message: str) -> None:
    suite, path = suite_of("a", "b"), tmp_path / "b.json"
    made = {"kind": "baseline", "of": "recorded", "version": 1, "suite": "s.yaml", "digest": "d"}
    data: dict[str, Any] = {**made, "cases": {"a": {"outcome": "passed"}, "b": {"outcome": "passed"}}}
    MISFITS[message](data)
    head = [f'"{key}": {json.dumps(value)}' for key, value in data.items() if key != "cases"]
    rows = [f'"{case}": {json.dumps(value)}' for case, value in data["cases"].items()]
    path.write_text("{" + ",\n".join([*head, '"cases": {\n' + ",\n".join(rows) + "}}"]))
    with pytest.raises(DataFileError) as raised:
        read_baseline(path, suite, "d")
    assert [f"{problem.line}: {problem.message}" for problem in raised.value.problems] == [message]


def test_digests_are_of_data_and_the_parts_that_differ_are_named() -> None:
    assert digest_of({"b": [1, "é"], "a": None}) == digest_of({"a": None, "b": [1, "é"]})
    assert digest_of({"a": None}).startswith("sha256:")
    assert len({digest_of(data) for data in ({"a": 1}, {"a": 2}, {"a": "1"}, [1], [])}) == 5
    # The same in every version, since it is committed.
    assert digest_of({"b": [1, "é"], "a": None}) == (
        "sha256:f8f17faab95c024891d173fa43442b0e52007736a1f36715ac721ab22deeefc5"
    )
    wanted = {"corpus": "1", "golden set": "2"}
    assert differing_digests({}, wanted) == []
    assert differing_digests(wanted, wanted) == []
    assert differing_digests({"corpus": "1", "depth": "3"}, wanted) == ["golden set", "depth"]
    assert mismatch_words(["corpus", "depth"], "CMD") == (
        "was made from another corpus and another depth, so the two cannot be compared: undo the change, or "
        "bless the new version with CMD"
    )


def test_cases_too_many_and_too_few_are_two_problems(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text('{"cases": {\n"a": 1,\n"x": 2,\n"y": 3}}')
    problems = partial(differing_cases, load(path), "axy")
    assert [(one.line, one.message) for one in problems("abc", "HINT")] == [
        (3, "the suite has no x, y, which the baseline has: HINT"),
        (1, "2 of 3 cases are missing: b, c; HINT"),
    ]
    assert [*problems("axy", "HINT")] == []


def test_the_store_keeps_the_first_selection_and_the_last_sample_in_the_order_of_the_file() -> None:
    suite = replace(suite_of("a", "b", "c", "d"), batch=2)
    selection = selection_of(suite, {("s.yaml", "a"), ("t.yaml", "b"), ("s.yaml", "d")})
    expected = ["a", "b", "c", "d"]
    batches = {"a-to-b": ["a", "b"], "c-to-d": ["c", "d"]}
    assert selection == Selection(
        "s.yaml", "recorded", "/r/s.yaml", "sha256:0", expected, ["a", "d"], batches
    )
    assert selection.cases_of({"s.yaml::a-to-b", "s.yaml::c", "t.yaml::c-to-d"}) == ["a", "b"]
    assert selection_of(suite_of("a"), set()).batches == {}
    assert selection_of(suite_of("a"), set()).cases_of({"s.yaml::a"}) == ["a"]
    store = SampleStore()
    store.add_selections(selections_to_json([selection]))
    store.add_selections(selections_to_json([replace(selection, selected=[], digest="é")]))
    assert store.selections == {"s.yaml": selection}
    assert store.samples_of(selection) == []
    made = [Sample("s.yaml", "recorded", case, "passed") for case in ("d", "b", "z")]
    assert store.add_samples(samples_to_json(made)) == made
    again = replace(made[0], outcome="failed")
    store.add_samples(samples_to_json([again, replace(again, suite="t.yaml")]))
    assert store.samples_of(selection) == [made[1], again]
