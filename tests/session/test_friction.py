"""The embedded critic: what it finds in a transcript, and that its output is read as any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_mcpeval.kinds.session.critic.findings import Cited, Finding, dangling_citations
from pytest_mcpeval.kinds.session.critic.friction import Material
from pytest_mcpeval.kinds.session.critic.parsing import CriticOutput, embedded_critic, parse
from pytest_mcpeval.kinds.session.records import ArgumentSource, TranscriptEntry, server_of

TOOLS = {"github": ["list_issues", "get_issue", "create_issue"], "linear": ["create_issue", "get_issue"]}


def entry(number: int, tool: str, shape: str | None = "array[2] of {id}", **more: Any) -> TranscriptEntry:
    """A call of scenario S1; its arguments are as different as ``args_digest``."""
    fields: dict[str, Any] = {
        "args_digest": f"a{number}",
        "result_bytes": 100,
        "ts": "2026-01-01T00:00:00.000+00:00",
        **more,
    }
    scenario = fields.pop("scenario", "S1")
    return TranscriptEntry(
        id=f"{scenario}-{number:03d}",
        scenario_id=scenario,
        tool=tool,
        is_mcp=tool.startswith("mcp__"),
        result_shape=shape,
        **fields,
    )


LIST, GET, CREATE = "mcp__github__list_issues", "mcp__github__get_issue", "mcp__linear__create_issue"


def reviewed(*entries: TranscriptEntry, resumed: Sequence[str] = ()) -> CriticOutput:
    """The findings on some entries, read from what the critic wrote; every citation holds."""
    material = Material(
        entries,
        TOOLS,
        changes=lambda server, tool: tool.startswith("create"),
        resumed=resumed,
    )
    found = parse(embedded_critic(material), TOOLS)
    assert (found.dropped, found.unmapped_names, found.has_summary) == ((), (), True)
    cited = {one.id: Cited(one.tool, ("github",)) for one in entries}
    assert dangling_citations(found.findings, cited, TOOLS) == []
    for finding in found.findings:
        blamed = {server_of(cited[one].tool, TOOLS) for one in finding.evidence_ids}
        if finding.mcp_name in TOOLS:
            assert blamed == {finding.mcp_name}
        else:
            assert finding.mcp_name == ("cross-mcp" if blamed > {"github"} else "unattributed")
    return found


def only(found: CriticOutput) -> Finding:
    """The one finding."""
    (finding,) = found.findings
    return finding


def test_a_smooth_session_has_no_findings_and_says_so() -> None:
    found = reviewed(entry(1, LIST), entry(2, GET))
    assert found.findings == ()
    assert found.summary == "No friction found in 2 calls of 1 scenarios."


def test_nothing_at_all_is_reported() -> None:
    blocked = entry(1, "__blocked__", "not dispatched")
    assert reviewed(blocked).summary == "Nothing to evaluate: no call was made."


def test_the_same_call_again_is_redundant() -> None:
    calls = [entry(number, LIST, args_digest="same") for number in range(1, 6)]
    assert only(reviewed(*calls[:2])).severity == "Minor"
    assert only(reviewed(*calls[:3])).severity == "Major"
    worst = only(reviewed(*calls))
    assert (worst.severity, worst.dimension, worst.mcp_name) == ("Critical", "redundant_calls", "github")
    assert worst.evidence_ids == tuple(call.id for call in calls)


def test_asking_again_after_a_change_is_not_redundant() -> None:
    change = entry(2, "mcp__github__create_issue")
    assert not reviewed(entry(1, LIST, args_digest="a"), change, entry(3, LIST, args_digest="a")).findings
    elsewhere = entry(2, CREATE)
    again = reviewed(entry(1, LIST, args_digest="a"), elsewhere, entry(3, LIST, args_digest="a"))
    assert only(again).dimension == "redundant_calls"


def test_other_scenarios_may_ask_the_same() -> None:
    other = entry(1, LIST, args_digest="a", scenario="S2")
    assert not reviewed(entry(1, LIST, args_digest="a"), other).findings


def test_errors_and_other_parameters_are_guessing() -> None:
    fail = [entry(number, GET, "error:404") for number in range(1, 5)]
    once = only(reviewed(fail[0], entry(9, GET)))
    assert (once.severity, once.dimension, once.evidence_ids) == (
        "Minor",
        "parameter_inference",
        ("S1-001", "S1-009"),
    )
    assert only(reviewed(*fail[:2], entry(9, GET))).severity == "Major"
    assert only(reviewed(*fail[:3])).severity == "Critical"
    # Once is no guessing, and neither is success with other parameters.
    assert not reviewed(fail[0], entry(2, LIST), entry(3, LIST)).findings


def test_what_was_interrupted_is_no_error_of_the_server() -> None:
    for shape in ("error:KeyboardInterrupt", "error:cancelled", None):
        cut = entry(1, GET, shape, args_digest="a")
        assert not reviewed(cut, entry(2, GET, args_digest="b")).findings
        assert not reviewed(cut, entry(2, GET, args_digest="a")).findings


def test_what_a_resumed_run_does_again_is_no_repetition() -> None:
    first = entry(1, LIST, args_digest="a", ts="2026-01-01T00:00:00.000+00:00")
    fail = entry(2, GET, "error:404", args_digest="b", ts="2026-01-01T00:00:01.000+00:00")
    again = [entry(number, LIST, args_digest="a", ts="2026-01-01T00:01:00.000+00:00") for number in (3, 4)]
    other = entry(5, GET, args_digest="c", ts="2026-01-01T00:01:01.000+00:00")
    resumed = ("2026-01-01T00:00:30.000+00:00",)
    assert not reviewed(first, fail, again[0], other, resumed=resumed).findings
    found = only(reviewed(first, fail, *again, other, resumed=resumed))
    assert (found.dimension, found.evidence_ids) == ("redundant_calls", ("S1-003", "S1-004"))


def test_large_and_inconsistent_results() -> None:
    assert not reviewed(entry(1, LIST, result_bytes=24_999)).findings
    assert only(reviewed(entry(1, LIST, result_bytes=25_000))).severity == "Minor"
    assert only(reviewed(entry(1, LIST, result_bytes=100_000))).severity == "Major"
    large = only(reviewed(entry(1, LIST, result_bytes=30_000), entry(2, LIST, result_bytes=1_000_000)))
    assert (large.severity, large.dimension, len(large.evidence_ids)) == ("Critical", "response_shape", 2)
    mixed = only(
        reviewed(entry(1, GET, "object{id:1}"), entry(2, GET, "array[0]"), entry(3, GET, "error:500"))
    )
    assert (mixed.dimension, mixed.evidence_ids) == ("response_shape", ("S1-001", "S1-002"))
    assert "array, object" in mixed.summary


def test_other_tools_between_two_mcp_calls_are_glue() -> None:
    why = "considered mcp__github__list_issues but its search knows no regular expressions"
    glue = [entry(number, "Bash", "text[3]", justification=why) for number in (2, 3, 4)]
    found = only(reviewed(entry(1, LIST), glue[0], entry(5, GET)))
    assert (found.severity, found.dimension, found.mcp_name) == ("Minor", "glue_code", "github")
    assert found.evidence_ids == ("S1-001", "S1-005")
    assert found.summary.endswith("between two MCP calls: `Bash` (S1-002)")
    handed_over = only(reviewed(entry(1, LIST), glue[0], entry(5, CREATE)))
    assert (handed_over.mcp_name, handed_over.evidence_ids) == ("github", ("S1-001",))
    assert only(reviewed(entry(1, LIST), *glue, entry(5, GET))).severity == "Major"
    # Before the first and after the last MCP call, nothing is glued.
    assert not reviewed(glue[0], entry(5, GET)).findings


def test_missing_and_empty_justifications_are_found_and_no_server_is_to_blame() -> None:
    for text in (None, "faster locally", "considered mcp__github__no_such_tool but it lacks what is needed"):
        found = only(reviewed(entry(1, "Bash", justification=text), entry(2, LIST)))
        assert (found.severity, found.dimension, found.evidence_ids) == ("Major", "glue_code", ("S1-001",))
        assert found.mcp_name == "unattributed"


def test_the_summary_names_scenarios_that_are_not_complete() -> None:
    told = {"S1": "aborted (wallclock)", "S2": "failed (agent)"}
    limits = " What is not complete is no praise: S1: aborted (wallclock); S2: failed (agent)."
    for entries, words in (
        ([], "Nothing to evaluate: no call was made."),
        ([entry(1, LIST)], "No friction found in 1 calls of 1 scenarios."),
        (
            [entry(1, LIST, result_bytes=30_000)],
            "`list_issues` answers with up to 30,000 bytes.",
        ),
    ):
        summary = parse(embedded_critic(Material(entries, TOOLS, incomplete=told)), TOOLS).summary
        assert summary.endswith(words + limits)


def test_servers_with_odd_names_keep_their_findings() -> None:
    for name in ("two  spaces", " edge ", "line\nbreak", "tab\tand\x1b", "a,b", "quo'te\"", "git__hub"):
        calls = [entry(number, f"mcp__{name}__list", args_digest="same") for number in (1, 2)]
        tools = {"git": ["list"], name: ["list"]}
        found = parse(embedded_critic(Material(calls, tools)), tools)
        assert [one.mcp_name for one in found.findings] == [name]
        assert found.unmapped_names == ()


def test_values_made_to_fit_another_server() -> None:
    source = ArgumentSource("issue", "S1-001", "reshaped")
    found = only(reviewed(entry(1, LIST), entry(2, CREATE, argument_sources=(source,))))
    assert (found.dimension, found.mcp_name, found.evidence_ids) == (
        "cross_mcp",
        "cross-mcp",
        ("S1-001", "S1-002"),
    )
    within = only(reviewed(entry(1, LIST), entry(2, GET, argument_sources=(source,))))
    assert (within.dimension, within.mcp_name) == ("parameter_inference", "github")
    verbatim = ArgumentSource("issue", "S1-001", "verbatim")
    assert not reviewed(entry(1, LIST), entry(2, CREATE, argument_sources=(verbatim,))).findings


def test_the_worst_comes_first_and_the_output_is_the_same_every_time() -> None:
    entries = [
        entry(1, LIST, result_bytes=30_000),
        *(entry(number, GET, args_digest="same") for number in range(2, 7)),
    ]
    found = reviewed(*entries)
    assert [finding.severity for finding in found.findings] == ["Critical", "Minor"]
    assert found.summary.startswith("Friction in 6 calls of 1 scenarios: 1 [Critical], 1 [Minor].")
    assert embedded_critic(Material(entries, TOOLS)) == embedded_critic(Material(entries, TOOLS))
