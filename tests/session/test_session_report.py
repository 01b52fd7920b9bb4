"""``report.md`` and ``report.html``, section by section."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from bs4 import BeautifulSoup

from pytest_mcpeval.kinds.session.critic.findings import Finding, Severity
from pytest_mcpeval.kinds.session.records import TranscriptEntry
from pytest_mcpeval.kinds.session.report import html, markdown, report_of
from pytest_mcpeval.kinds.session.state import State

ENTRIES = [
    TranscriptEntry(
        id="S1-001",
        scenario_id="S1",
        ts="2026-01-01T10:00:01.000+00:00",
        tool="mcp__github__list_issues",
        is_mcp=True,
        args_summary="{repo: <b>}",
        result_shape="array[47] of {id,title}",
        result_bytes=4_000,
        latency_ms=20.0,
    ),
    TranscriptEntry(
        id="S1-002",
        scenario_id="S1",
        ts="2026-01-01T10:00:02.000+00:00",
        tool="mcp__github__get_issue",
        is_mcp=True,
        result_shape="error:404",
        result_bytes=40,
        latency_ms=10.0,
    ),
    TranscriptEntry(
        id="S1-003", scenario_id="S1", ts="2026-01-01T10:00:03.000+00:00", tool="Bash", is_mcp=False
    ),
]


def found(number: int, severity: Severity, name: str, summary: str = "too many calls") -> Finding:
    """A finding."""
    return Finding(
        id=f"F{number}",
        severity=severity,
        dimension="glue_code",
        mcp_name=name,
        summary=summary,
        evidence_ids=("S1-001", "S1-003"),
        recommendation="Do it at once.",
    )


def state(**changes: Any) -> State:
    """A state that is about to be reported."""
    servers = [{"name": name, "source": "/p/.mcp.json", "tools": ["a"]} for name in ("github", "linear")]
    scenario = {"id": "S1", "description": "List & count", "targets_mcps": ["github"]}
    started = "2026-01-01T10:00:00+00:00"
    data = {
        "eval_name": "demo",
        "started": started,
        "last_updated": started,
        "session_started": started,
        "session_ended": "2026-01-01T10:12:34+00:00",
        "status": "reporting",
        "attached_mcps": servers,
        "safety_dispositions": [
            {"mcp_name": name, "disposition": "read_only"} for name in ("github", "linear")
        ],
        "scenarios": [scenario],
        "execution": [
            {"scenario_id": "S1", "status": "aborted", "abort_reason": "wallclock", "started": started}
        ],
        "critic_summary": "One thing is bad. Another is not. The third is not told.",
        **changes,
    }
    return State.model_validate(data)


def sections(text: str) -> dict[str, str]:
    """Title → text of the sections, in order."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return {title: body.strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def test_head_and_headline() -> None:
    findings = [found(1, "Minor", "github"), found(2, "Critical", "github"), found(3, "Minor", "linear")]
    text = markdown(report_of(state(critic_findings=findings), ENTRIES))
    assert text.startswith(
        "# MCP Evaluation: demo\n\n"
        "**Date:** 2026-01-01T10:00:00+00:00\n"
        "**Duration:** 12m 34s\n"
        "**Attached MCPs:** 2 — github, linear\n"
        "**Scenarios run:** 1 (1 aborted)\n\n"
        "## Headline\n\n"
        "1 Critical, 0 Major, 2 Minor, 0 Suggestion findings\n\n"
        "> One thing is bad. Another is not.\n"
    )


def test_findings_stand_under_their_server_the_worst_first() -> None:
    findings = [found(1, "Minor", "github"), found(2, "Critical", "github", "worse")]
    body = sections(markdown(report_of(state(critic_findings=findings), ENTRIES)))
    assert list(body) == [
        "Headline",
        "Scenarios",
        "Per-MCP Findings",
        "Cross-MCP Friction",
        "Server Figures",
        "Artifacts",
    ]
    assert body["Per-MCP Findings"] == (
        "### github\n\n"
        "- **[Critical] glue_code:** worse\n"
        "  - Evidence: `S1-001`, `S1-003`\n"
        "  - Recommendation: Do it at once.\n\n"
        "- **[Minor] glue_code:** too many calls\n"
        "  - Evidence: `S1-001`, `S1-003`\n"
        "  - Recommendation: Do it at once.\n\n"
        "### linear\n\n"
        "No findings — it was never called."
    )


FAILED = {"rule": {"type": "agent"}, "status": "failed", "message": "the agent raised ValueError"}
HELD = {"rule": {"type": "contains"}, "status": "passed", "message": "found"}


@pytest.mark.parametrize(
    ("execution", "calls", "words"),
    [
        ({"outcome": {"checks": [HELD]}}, 1, "No findings — behaved well in 1 call."),
        ({"outcome": {}}, 2, "but that does not count as praise — 1 of 2 calls got an error or no answer."),
        (
            {"status": "aborted", "abort_reason": "wallclock"},
            1,
            "does not count as praise — S1: aborted (wallclock).",
        ),
        (
            {"status": "aborted", "abort_reason": "call_budget"},
            1,
            "does not count as praise — S1: aborted (call_budget).",
        ),
        (
            {"status": "aborted", "outcome": {"error": "died"}},
            1,
            "does not count as praise — S1: not carried out.",
        ),
        ({"status": "running"}, 1, "does not count as praise — S1: interrupted."),
        ({"outcome": {"checks": [HELD, FAILED]}}, 1, "does not count as praise — S1: failed (agent)."),
        ({"outcome": {}}, 0, "it was never called; S1: failed (targets_mcps)."),
        (
            {"status": "aborted", "abort_reason": "safety_abort"},
            0,
            "never called; S1: aborted (safety_abort).",
        ),
    ],
)
def test_only_a_server_whose_scenarios_were_carried_out_behaved_well(
    execution: dict[str, Any], calls: int, words: str
) -> None:
    begun = {"scenario_id": "S1", "status": "complete", "started": "2026-01-01T10:00:00+00:00"}
    ended = state(execution=[{**begun, "ended": "2026-01-01T10:00:09+00:00", **execution}])
    report = report_of(ended, ENTRIES[:calls])
    body = sections(markdown(report))["Per-MCP Findings"]
    github, linear = body.removeprefix("### github\n\n").split("\n\n### linear\n\n")
    assert github.startswith("No findings")
    assert github.endswith(words)
    assert linear == "No findings — it was never called."
    assert github in html(report)
    assert ("behaved well" in html(report)) == ("behaved well" in words)


def test_a_scenario_that_was_aborted_as_expected_is_no_praise_either() -> None:
    scenario = {"id": "S1", "description": "x", "targets_mcps": ["github"], "expect_abort": "call_budget"}
    execution = {"scenario_id": "S1", "status": "aborted", "abort_reason": "call_budget", "started": "x"}
    text = markdown(report_of(state(scenarios=[scenario], execution=[execution]), ENTRIES[:1]))
    assert "No findings, but that does not count as praise — S1: aborted (call_budget)." in text


def test_every_scenario_is_listed_with_its_end() -> None:
    names = [f"S{number}" for number in range(1, 5)]
    scenarios = [{"id": name, "description": f"task | of {name}"} for name in names]
    started = "2026-01-01T10:00:00+00:00"
    execution = [
        {"scenario_id": "S1", "status": "complete", "call_count": 3, "started": started},
        {"scenario_id": "S2", "status": "aborted", "abort_reason": "call_budget", "started": started},
        {"scenario_id": "S3", "status": "complete", "outcome": {"checks": [FAILED]}, "started": started},
    ]
    report = report_of(state(scenarios=scenarios, execution=execution), ENTRIES)
    assert sections(markdown(report))["Scenarios"].splitlines() == [
        "| scenario | ended | calls | blocked | task |",
        "|---|---|---|---|---|",
        r"| S1 | complete | 3 | 0 | task \| of S1 |",
        r"| S2 | aborted (call_budget) | 0 | 0 | task \| of S2 |",
        r"| S3 | failed (calls, agent) | 0 | 0 | task \| of S3 |",
        r"| S4 | not begun | 0 | 0 | task \| of S4 |",
    ]
    soup = BeautifulSoup(html(report), "html.parser")
    rows = [[cell.get_text() for cell in row.find_all("td")] for row in soup.find_all("tr")]
    assert ["S2", "aborted (call_budget)", "0", "0", "task | of S2"] in rows
    assert "S4, not begun: task | of S4" in [title.get_text() for title in soup.find_all("caption")]


def test_every_finding_is_rendered_once() -> None:
    names = ("github", "linear", "cross-mcp", "unattributed")
    findings = [found(n, "Major", name) for n, name in enumerate(names * 3, 1)]
    text = markdown(report_of(state(critic_findings=findings), ENTRIES))
    assert "0 Critical, 12 Major, 0 Minor, 0 Suggestion findings" in text
    assert text.count("- **[Major] ") == 12
    body = sections(text)
    assert body["Unattributed Findings"].count("- **[") == body["Cross-MCP Friction"].count("- **[") == 3


def test_handoffs_that_were_not_tried_differ_from_those_that_went_well() -> None:
    assert "not exercised" in sections(markdown(report_of(state(), ENTRIES)))["Cross-MCP Friction"]
    both = {"id": "S1", "description": "x", "targets_mcps": ["github", "linear"]}
    cut = sections(markdown(report_of(state(scenarios=[both]), ENTRIES)))["Cross-MCP Friction"]
    assert cut == "Cross-MCP handoffs: not exercised (S1: aborted (wallclock))."
    whole = state(scenarios=[both], execution=[{"scenario_id": "S1", "status": "complete", "started": "x"}])
    one = sections(markdown(report_of(whole, ENTRIES)))["Cross-MCP Friction"]
    assert one == "Cross-MCP handoffs: not exercised (S1: called fewer than 2 servers)."
    linear = replace(ENTRIES[0], id="S1-004", tool="mcp__linear__a")
    text = sections(markdown(report_of(whole, [*ENTRIES, linear])))["Cross-MCP Friction"]
    assert "none produced friction" in text


def test_skipped_servers_and_caveats() -> None:
    silent = {"name": "silent", "source": "x", "tools": [], "listing_problem": "it does not start"}
    servers = [{"name": "github", "source": "x", "tools": ["a"]}, silent]
    text = markdown(
        report_of(
            state(
                attached_mcps=servers,
                safety_dispositions=[
                    {"mcp_name": "github", "disposition": "skip", "notes": "Too dear."},
                    {"mcp_name": "silent", "disposition": "read_only"},
                ],
                filtered_mcps=[{"name": "old", "reason": "disabled by /p/.claude/settings.json"}],
                critic_findings_dropped_raw=["### [MAJOR] nonsense\n```\nrm -rf\n````"],
                critic_findings_dropped=1,
                unmapped_mcp_names=["GitHub"],
                critic_manifest_notes=["Manifest unreadable: silent"],
                dangling_citations=[
                    {"finding_id": "F3", "cited_id": "S4-12", "reason": "id not found in transcript"}
                ],
                missing_critic_summary=True,
                critic_summary="",
            ),
            ENTRIES,
        )
    )
    body = sections(text)
    assert body["Skipped MCPs"].splitlines() == [
        "- `github` — disposition: `skip`. Too dear.",
        "- `old` — filtered out at discovery: disabled by /p/.claude/settings.json",
    ]
    caveats = body["Caveats"].replace("\\", "")
    for words in (
        "- Manifest unreadable: silent",
        "- 1 heading of the critic could not be read as findings:",
        "  ### [MAJOR] nonsense",
        "- the critic blames 'GitHub', but no attached server has this name: see Unattributed Findings",
        "- F3 cites S4-12: id not found in transcript",
        "- the tools of silent are not enumerable: it does not start",
        "no `## Summary`",
    ):
        assert words in caveats
    # The fence is longer than any in the text.
    assert caveats.count("`````") == 2


def test_figures_of_each_server() -> None:
    body = sections(markdown(report_of(state(), ENTRIES)))
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in body["Server Figures"].splitlines()
    ]
    assert dict(zip(rows[0], rows[2], strict=True)) == {
        "server": "github",
        "tools": "1",
        "calls": "2",
        "errors": "1",
        "result bytes": "4,040",
        "≈ tokens of tools": "0",
        "≈ tokens of results": "1,010",
        "median ms": "10",
        "slowest ms": "20",
    }


def test_artifacts_name_every_file() -> None:
    text = sections(markdown(report_of(state(), ENTRIES)))["Artifacts"]
    assert "- Transcript: `transcript.jsonl` (3 entries)" in text
    assert "- State: `state.json`" in text
    assert "- Critic raw output: `critic-output.md` (all that the critic wrote" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"session_ended": None}, "incomplete"),
        ({"session_ended": "2026-01-01T10:00:00.400+00:00"}, "0m 0s"),
        ({"session_ended": "2026-01-01T11:00:05+00:00"}, "60m 5s"),
        ({"interrupted_seconds": 34.0}, "12m 0s"),
    ],
)
def test_durations(changes: dict[str, Any], words: str) -> None:
    assert f"**Duration:** {words}\n" in markdown(report_of(state(**changes), ENTRIES))


HOSTILE = "<script>alert(1)</script> [x](javascript:1) \x1b[31m **bold** `tick`\nline"


def test_untrusted_text_stays_text() -> None:
    finding = found(1, "Major", "github", HOSTILE)
    report = report_of(state(critic_findings=[finding], critic_summary=HOSTILE), ENTRIES)
    text = markdown(report)
    assert "\\<script>alert(1)\\</script> \\[x](javascript:1)" in text
    assert "<script>" not in text.replace("\\<script>", "")
    assert "[x](" not in text.replace("\\[x](", "")
    assert "\x1b" not in text
    page = html(report)
    soup = BeautifulSoup(page, "html.parser")
    assert not soup.find_all("script")
    assert "\x1b" not in page
    assert "<script>alert(1)</script>" in soup.get_text()


def test_html_has_the_transcript_as_a_timeline() -> None:
    finding = found(1, "Major", "github")
    soup = BeautifulSoup(html(report_of(state(critic_findings=[finding]), ENTRIES)), "html.parser")
    titles = [title.get_text() for title in soup.find_all("h2")]
    assert titles == [
        "Headline",
        "Scenarios",
        "Per-MCP Findings",
        "Cross-MCP Friction",
        "Server Figures",
        "Timeline",
    ]
    targets = {link["href"].removeprefix("#") for link in soup.select("li a")}  # type: ignore[union-attr]
    rows = {str(row["id"]): row for row in soup.select("tr[id]")}
    assert targets <= set(rows) == {"S1-001", "S1-002", "S1-003"}
    assert "array[47] of {id,title}" in rows["S1-001"].get_text()
    assert "no answer recorded" in rows["S1-003"].get_text()
    bars = [str(bar["style"]) for bar in soup.select(".bar i")]
    assert bars[0].startswith("left:0.00%")
    places = [float(bar.removeprefix("left:").partition("%")[0]) for bar in bars]
    assert places == [0.0, 50.0, 100.0]
    assert "List & count" in soup.get_text()
