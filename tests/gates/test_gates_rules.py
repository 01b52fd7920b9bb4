"""Gates as pure functions: thresholds, completeness, verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mcpeval import Check, DataFileError, GateResult, Sample, at_least, at_most
from pytest_mcpeval.config.project_rules import read_project_file
from pytest_mcpeval.core.gate import Completeness, by_chance, completeness, fail_closed, figure, names
from pytest_mcpeval.core.sample import Outcome
from pytest_mcpeval.core.verdict import overall
from pytest_mcpeval.kinds.agent.gates import judge_gates as judge_agent
from pytest_mcpeval.kinds.agent.settings import GatesModel as AgentGates
from pytest_mcpeval.kinds.scenario.gates import gate_names, judge_gates
from pytest_mcpeval.kinds.scenario.metrics import percentile
from pytest_mcpeval.kinds.scenario.schema import GatesModel
from pytest_mcpeval.kinds.session.critic.findings import Finding, Severity
from pytest_mcpeval.kinds.session.gates import gate_names as session_gate_names
from pytest_mcpeval.kinds.session.gates import judge_gates as judge_session
from pytest_mcpeval.kinds.session.schema import GatesModel as SessionGates
from tests.runtimes import KINDS

PASSED = GateResult("s", "g", "passed", "fine")


def sample(
    case: str, outcome: Outcome = "passed", confidence: float | None = None, milliseconds: float = 0
) -> Sample:
    measured, run = {"confidence": confidence}, {"processingTimeMs": milliseconds}
    return Sample("s", "scenario", case, outcome, measured=measured, run=run)


@pytest.mark.parametrize(
    ("value", "limit", "holds"),
    [(0.9, 0.9, True), (0.1 + 0.2, 0.3, True), (0.3, 0.1 + 0.2, True), (0.899, 0.9, False), (None, 0, False)],
)
def test_at_least_has_slack_for_floats_and_none_for_absence(
    value: float | None, limit: float, holds: bool
) -> None:
    assert (at_least("s", "g", value, limit).verdict == "passed") is holds


def test_at_most() -> None:
    passed = at_most("s", "g", 0.1 + 0.2, 0.3)
    assert (passed.verdict, passed.timed) == ("passed", False)
    found = at_most("s", "g", 12_345.6, 5_000, unit=" ms")
    assert (found.verdict, found.message) == ("failed", "12,346 ms, wanted at most 5,000 ms")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (33.3333, "33.33"), (100, "100"), (999.96, "1000"), (1000, "1,000"), (1e6, "1,000,000")],
)
def test_figures(value: float, shown: str) -> None:
    assert figure(value) == shown


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (1, "100 of 100"),
        (0.0312, "3.1 of 100"),
        (0.01, "1 of 100"),
        (0.0099, "9.9 of 1,000"),
        (0.0001, "1 of 10,000"),
        (0.00009, "less than 1 of 10,000"),
    ],
)
def test_chance_is_told_in_runs(p: float, shown: str) -> None:
    assert by_chance(p) == f"by chance in {shown} runs"


def test_many_ids_are_counted() -> None:
    assert names(list("abcdefghij")) == "a, b, c, d, e, f, g, h, i, j"
    assert names(list("abcdefghijk")) == "a, b, c, d, e, f, g, h, i, j and 1 more"
    assert names(["a", "b"]) == "a, b"
    assert names([str(n) for n in range(12)], limit=3) == "0, 1, 2 and 9 more"


def test_a_deselected_case_leaves_nothing_to_judge() -> None:
    found = completeness(["a", "b"], {"a"}, {"a": sample("a")}, stopped=False)
    (gate,) = fail_closed([PASSED], found)
    assert (gate.verdict, gate.message) == ("not_evaluated", "not evaluated: 1 of 2 cases selected")
    assert (found.missing, found.deselected, found.whole) == ((), 1, False)


def test_a_stop_leaves_nothing_to_judge_unless_all_was_measured() -> None:
    part = completeness(["a", "b"], {"a", "b"}, {"a": sample("a")}, stopped=True)
    assert [gate.verdict for gate in fail_closed([PASSED], part)] == ["not_evaluated"]
    whole = completeness(["a"], {"a"}, {"a": sample("a")}, stopped=True)
    assert fail_closed([PASSED], whole) == [PASSED]


def test_a_crashed_case_is_missing_though_the_session_was_stopped() -> None:
    found = completeness(["a"], {"a"}, {}, stopped=True, crashed={"a"})
    (gate,) = fail_closed([PASSED], found)
    assert (gate.verdict, gate.message) == ("failed", "1 of 1 cases missing: a; fine")
    others_too = completeness(["a", "b"], {"a", "b"}, {}, stopped=True, crashed={"a"})
    assert others_too.partial


def test_what_was_measured_is_counted_of_all_cases_and_of_some() -> None:
    samples = {
        "a": sample("a"),
        "b": sample("b", "error"),
        "c": sample("c", "skipped"),
        "d": sample("d", "xfailed"),
    }
    found = completeness("abcdef", "abcdef", samples, stopped=False, crashed={"a", "e"})
    assert found == Completeness(6, 4, 0, ("e", "f"), ("b",), ("c", "d"), False, ("e",))
    assert found.among("acf") == Completeness(3, 2, 0, ("f",), (), ("c",), False, ())
    assert found.among("abe") == Completeness(3, 2, 0, ("e",), ("b",), (), False, ("e",))
    assert [found.among(cases).whole for cases in ("ac", "ab", "ae")] == [True, False, False]
    assert fail_closed([PASSED], found.among("acd"))[0].message == "fine (skipped or xfailed: c, d)"


def test_missing_cases_and_cases_in_error_fail_every_gate() -> None:
    samples = {"a": sample("a"), "b": sample("b", "error")}
    found = completeness(["a", "b", "c"], {"a", "b", "c"}, samples, stopped=False)
    broken = GateResult("s", "h", "error", "no baseline")
    first, second = fail_closed([PASSED, broken], found)
    assert first.verdict == "failed"
    assert first.message == "1 of 3 cases missing: c; 1 of 3 cases in error: b; fine"
    assert second.verdict == "error"


def test_a_gate_that_its_kind_did_not_evaluate_stays_so_without_all_cases() -> None:
    lacking = completeness(["a", "b"], {"a", "b"}, {"a": sample("a")}, stopped=False)
    (gate,) = fail_closed([replace(PASSED, verdict="not_evaluated")], lacking)
    assert (gate.verdict, gate.message) == ("not_evaluated", "fine")


def test_only_set_aside_cases_are_no_measurement() -> None:
    found = completeness(["a"], {"a"}, {"a": sample("a", "skipped")}, stopped=False)
    assert fail_closed([PASSED], found)[0].message == "no case was measured; fine"


@pytest.mark.parametrize(
    ("verdicts", "facts", "expected"),
    [
        ([], {}, "passed"),
        (["passed", "not_evaluated"], {}, "not_evaluated"),
        (["not_evaluated", "failed"], {}, "failed"),
        (["failed", "error"], {}, "error"),
        (["passed"], {"partial": True}, "not_evaluated"),
        (["passed"], {"partial": True, "failed": True}, "failed"),
        (["passed"], {"failed": True, "errors": True}, "error"),
    ],
)
def test_the_worst_part_is_the_verdict(verdicts: list[str], facts: dict[str, bool], expected: str) -> None:
    gates = [GateResult("s", "g", verdict, "") for verdict in verdicts]  # type: ignore[arg-type]
    given = {"failed": False, "errors": False, "partial": False, **facts}
    assert overall(gates, **given) == expected


def test_every_threshold_of_a_suite_is_a_gate() -> None:
    thresholds = GatesModel(pass_rate=0.1, average_confidence=0.1, p95_latency_ms=1, no_new_failures=True)
    expected = ["pass_rate", "average_confidence", "p95_latency_ms", "no_new_failures"]
    assert gate_names(thresholds) == expected
    judged = judge_gates("s", thresholds, [sample("a")], {"a": "passed"})
    assert [gate.name for gate in judged] == expected
    assert gate_names(GatesModel()) == []


def test_average_confidence_is_over_cases_that_report_one() -> None:
    samples = [sample("a", confidence=80), sample("b", "tolerated", confidence=60), sample("c")]
    (gate,) = judge_gates("s", GatesModel(average_confidence=70), samples, None)
    assert (gate.verdict, gate.value) == ("passed", 70)
    (gate,) = judge_gates("s", GatesModel(average_confidence=1), [sample("c")], None)
    assert (gate.verdict, gate.value) == ("failed", None)
    assert gate.message == "no case reported a value; wanted at least 1 %"


def test_latency_is_the_nearest_rank() -> None:
    samples = [sample(str(n), milliseconds=n) for n in range(1, 101)]
    (gate,) = judge_gates("s", GatesModel(p95_latency_ms=95), samples, None)
    assert (gate.verdict, gate.value, gate.timed) == ("passed", 95, True)
    assert percentile([5.0], 0.95) == 5.0
    assert percentile([1.0, 2.0], 0.5) == 1.0


def test_expected_failures_do_not_count() -> None:
    samples = [sample("a"), sample("b", "xfailed"), sample("c", "skipped"), sample("d", "tolerated")]
    (gate,) = judge_gates("s", GatesModel(pass_rate=0.5), samples, None)
    assert (gate.verdict, gate.value) == ("passed", 0.5)
    assert gate.message == "1 of 2 cases passed (50 %), wanted at least 50 %; not passed: d"


MET_BY_ANYTHING = {
    "scenario: [{gates: {pass_rate: 0}}]": "gates.pass_rate: any value meets 0, so the gate could not fail",
    "scenario: [{gates: {pass_rate: 1.0e-10}}]": "any value meets 1e-10, so the gate could not fail",
    "scenario: [{gates: {average_confidence: 0}}]": "gates.average_confidence: any value meets 0",
    "scenario: [{gates: {average_confidence: 1.0e-10}}]": "gates.average_confidence: any value meets 1e-10",
    "scenario: [{gates: {p95_latency_ms: 1.0e+12}}]": "gates.p95_latency_ms: expected a number of at most",
    "retrieval: [{gates: {floors: {mrr: 0}}}]": "floors.mrr: any value meets 0, so the gate could not fail",
    "retrieval: [{gates: {tolerance: {map: 1}}}]": "tolerance.map: any value meets 1, so the gate",
    "retrieval: [{gates: {significance: {map: 0}}}]": "significance.map: expected a number of at least",
    "retrieval: [{gates: {significance: {map: 9.0e-5}}}]": "significance.map: expected a number",
    "security: [{gates: {fpr_ceiling: 1}}]": "gates.fpr_ceiling: any value meets 1, so the gate",
    "security: [{gates: {fpr_ceiling: 0.9999999999}}]": "gates.fpr_ceiling: any value meets 1, so",
    "security: [{gates: {recall_floor: 0}}]": "gates.recall_floor: any value meets 0, so",
    "security: [{gates: {category_floors: {rug_pull: 0}}}]": "category_floors.rug_pull: any value meets 0",
    "security: [{gates: {detectors: {mine: {recall_floor: 0}}}}]": "mine.recall_floor: any value",
    "agent: [{gates: {pass_rate: 0}}]": "gates.pass_rate: any value meets 0, so the gate could not fail",
    "session: [{gates: {max_findings: {Minor: 100000}}}]": "max_findings.Minor: expected a number",
}


@pytest.mark.parametrize(("entry", "message"), MET_BY_ANYTHING.items())
def test_a_limit_that_any_value_meets_is_refused_at_its_line(
    tmp_path: Path, entry: str, message: str
) -> None:
    path = tmp_path / "mcpeval.yaml"
    path.write_text(f"# settings\n{entry}\n", encoding="utf-8")
    with pytest.raises(DataFileError) as raised:
        read_project_file(path, KINDS)
    (problem,) = raised.value.problems
    assert problem.line == 2
    assert message in problem.message


def test_gates_that_are_turned_off_on_purpose_are_shown_as_not_set() -> None:
    scenario = GatesModel(pass_rate=None, average_confidence=1, no_new_failures=False)
    found = judge_gates("s", scenario, [sample("a", confidence=5)], None)
    assert [(gate.name, gate.verdict) for gate in found] == [
        ("average_confidence", "passed"),
        ("pass_rate", "not_set"),
        ("no_new_failures", "not_set"),
    ]
    assert found[1].message == "not set: `pass_rate: null`"
    assert gate_names(scenario) == ["average_confidence"]
    agent = judge_agent("s", AgentGates(pass_rate=None, newly_failing=None), [], {"changed": []})
    assert {gate.name: gate.message for gate in agent} == {
        "newly_failing": "not set: `newly_failing: null`",
        "pass_rate": "not set: `pass_rate: null`",
    }
    session = judge_session("s", SessionGates(fail_on="never", max_findings={"Minor": None}), [], None)
    assert {gate.name: gate.message for gate in session} == {
        "fail_on": "not set: `fail_on: never`",
        "max_minor": "not set: `max_findings: {Minor: null}`",
    }


def test_a_case_that_fails_is_new_if_it_passed_or_was_not_in_the_baseline() -> None:
    samples = [
        sample("was_red", "failed"),
        sample("was_green", "tolerated"),
        sample("unknown", "failed"),
        sample("still_green"),
        sample("fixed"),
        sample("added"),
    ]
    old = {"was_red": "failed", "was_green": "passed", "still_green": "passed", "fixed": "tolerated"}
    (gate,) = judge_gates("s", GatesModel(no_new_failures=True), samples, old)
    assert (gate.verdict, gate.value, gate.limit) == ("failed", 2, 0)
    assert gate.message == ("2 newly failing against the baseline: was_green, unknown (newly passing: fixed)")
    (gate,) = judge_gates("s", GatesModel(no_new_failures=True), samples[:1], old)
    assert (gate.verdict, gate.message) == ("passed", "0 newly failing against the baseline")


def test_agents_are_held_to_cases_assertions_and_an_earlier_run() -> None:
    open_check = Check({"type": "must_call"}, "inconclusive", "no trace")
    samples = [
        sample("a"),
        sample("b", "failed"),
        replace(sample("c"), checks=(open_check, open_check)),
        sample("d", "xfailed"),
    ]
    gates = AgentGates(pass_rate=0.66, max_inconclusive=1)
    rate, unclear = judge_agent("s", gates, samples, None)
    assert (rate.verdict, rate.message) == (
        "passed",
        "2 of 3 cases passed (66.67 %), wanted at least 66 %; not passed: b",
    )
    assert (unclear.verdict, unclear.value, unclear.limit) == ("failed", 2, 1)
    assert unclear.message == "2 inconclusive assertions, at most 1 may be: c"
    exact = AgentGates(pass_rate=2 / 3, max_inconclusive=2)
    assert [gate.verdict for gate in judge_agent("s", exact, samples, None)] == ["passed", "passed"]
    strict = AgentGates(pass_rate=0.67)
    assert [gate.verdict for gate in judge_agent("s", strict, samples, None)] == ["failed"]
    assert [gate.verdict for gate in judge_agent("s", strict, [samples[3]], None)] == ["failed"]


def finding(number: int, server: str, summary: str, severity: Severity = "Major") -> Finding:
    return Finding(
        id=f"F{number}",
        severity=severity,
        dimension="glue_code",
        mcp_name=server,
        summary=summary,
        evidence_ids=tuple(f"S1-{step:03}" for step in range(1, 8)),
    )


def test_a_finding_as_bad_as_is_said_fails_a_session() -> None:
    minor, major = finding(1, "tiny", "slow", "Minor"), finding(2, "tiny", "wrong")
    gates = SessionGates(fail_on="Major", max_findings={"Minor": 0, "Major": None})
    assert session_gate_names(gates, has_baseline=True) == ["fail_on", "max_minor", "new_findings"]
    assert session_gate_names(SessionGates(fail_on="never"), has_baseline=False) == []
    verdicts = [gate.verdict for gate in judge_session("s", gates, [minor], None)]
    assert verdicts == ["passed", "not_set", "failed"]
    fail_on = judge_session("s", gates, [minor, major], None)[0]
    assert (fail_on.verdict, fail_on.value, fail_on.limit) == ("failed", 1, 0)
    assert {gate.verdict for gate in judge_session("s", gates, None, [])} == {"error"}


def test_findings_beyond_those_that_were_committed_are_new() -> None:
    def judged(found: list[Finding], committed: list[Finding]) -> GateResult:
        gates = judge_session("s", SessionGates(fail_on="never"), found, committed)
        return {gate.name: gate for gate in gates}["new_findings"]

    slow, slower = finding(1, "tiny", "slow"), finding(2, "tiny", "slower")
    assert judged([slow], [slow]).verdict == "passed"
    # A critic words things anew: one of a place is one of that place.
    assert judged([slower], [slow]).message == "0 findings that are not in the baseline"
    new = judged([slower, slow], [slow])
    assert (new.verdict, new.value, new.baseline, new.limit) == ("failed", 1, 0, 0)
    shown = "F2 [Major] tiny: slower (S1-001, S1-002, S1-003, S1-004, S1-005)"
    assert new.message == f"1 findings that are not in the baseline: {shown}"
    # Once committed, a finding answers for one and no more.
    assert judged([slow, slow], [slow]).verdict == "failed"
    for other in (finding(3, "other", "slow"), finding(3, "tiny", "slow", "Critical")):
        assert judged([other], [slow]).verdict == "failed"
    assert (
        judged([], [slow]).message == "0 findings that are not in the baseline (1 of the baseline are gone)"
    )


def test_headings_that_could_not_be_read_leave_a_gate_open_if_they_could_fail_it() -> None:
    gates = SessionGates(fail_on="never", max_findings={"Minor": 2})
    unread = "### [minor] glue_code: x"
    one = [finding(1, "tiny", "slow", "Minor")]

    def verdict(*dropped: str) -> str:
        return {gate.name: gate for gate in judge_session("s", gates, one, None, dropped)}[
            "max_minor"
        ].verdict

    # There is room for one more.
    assert (verdict(), verdict(unread), verdict(unread, unread)) == ("passed", "passed", "error")
    six = {gate.name: gate for gate in judge_session("s", gates, one * 6, None)}["max_minor"]
    assert six.verdict == "failed"
    assert six.message.startswith("6 Minor findings, wanted at most 2: F1 [Minor] tiny: slow (")
    assert six.message.endswith("; and 1 more")
