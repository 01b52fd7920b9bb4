"""What critics write, read: every heading becomes a finding or is kept as dropped."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mcpeval.kinds.session.critic.findings import DIMENSIONS, SEVERITIES
from pytest_mcpeval.kinds.session.critic.parsing import parse

SERVERS = ("github", "linear")

GOOD = """\
Some words before.

### [CRITICAL] glue_code: three shell calls to join two lists
MCP: github
Evidence: S1-001, S1-2,S2-010
Recommendation: Return both lists at once.

Details of any kind.

### [MINOR] cross_mcp: ids differ
MCP: cross-mcp
Evidence: S2-003

## Summary

One [CRITICAL] and one [MINOR] finding.

## Appendix
More.
"""


def test_findings_and_summary_are_read() -> None:
    found = parse(GOOD, SERVERS)
    first, second = found.findings
    assert first.model_dump() == {
        "id": "F1",
        "severity": "Critical",
        "dimension": "glue_code",
        "mcp_name": "github",
        "summary": "three shell calls to join two lists",
        "evidence_ids": ("S1-001", "S1-2", "S2-010"),
        "recommendation": "Return both lists at once.",
    }
    assert (second.id, second.mcp_name, second.recommendation) == ("F2", "cross-mcp", "")
    assert found.summary == "One [Critical] and one [Minor] finding."
    assert (found.dropped, found.unmapped_names, found.has_summary) == ((), (), True)


@pytest.mark.parametrize(
    "heading",
    [
        "### [MAJOR] glue_code:: duplicated",
        "### [MAJOR] glue_code: ",
        "### [MAJOR] glue_code:",
        "### [Major] glue_code: wrong case",
        "### [MAJOR] gluecode: unknown dimension",
        "### [BLOCKER] glue_code: unknown severity",
        "### MAJOR glue_code: no brackets",
        "###[MAJOR] glue_code: no space",
        "### Notes",
        "## [MAJOR] glue_code: two levels",
        "#### [MAJOR] glue_code: four levels",
        "   ### [MAJOR] glue_code: indented",
        "## Major glue_code: no brackets, two levels",
    ],
)
def test_other_headings_are_kept_with_their_lines(heading: str) -> None:
    block = f"{heading}\nMCP: github\nEvidence: S1-001"
    found = parse(f"{block}\n\n## Summary\nWell.\n", SERVERS)
    assert found.findings == ()
    assert found.dropped == (block.rstrip(),)


@pytest.mark.parametrize(
    "evidence",
    [
        "",
        "Evidence:",
        "Evidence: (see Bash)",
        "Evidence: S1-001, (see Bash)",
        "Evidence: S1",
        "Evidence: S1-001,",
    ],
)
def test_a_finding_without_sound_evidence_is_kept_as_dropped(evidence: str) -> None:
    found = parse(f"### [MAJOR] glue_code: it hurts\nMCP: github\n{evidence}\n", SERVERS)
    assert found.findings == ()
    assert len(found.dropped) == 1
    assert "it hurts" in found.dropped[0]
    assert not found.is_unusable


@pytest.mark.parametrize(
    ("line", "name", "unmapped"),
    [
        ("", "unattributed", ()),
        ("MCP:", "unattributed", ()),
        ("MCP: cross-mcp", "cross-mcp", ()),
        ("MCP: github", "github", ()),
        ("MCP: GitHub", "unattributed", ("GitHub",)),
        ("MCP: githubb", "unattributed", ("githubb",)),
    ],
)
def test_names_of_servers_are_mapped(line: str, name: str, unmapped: tuple[str, ...]) -> None:
    found = parse(f"### [MAJOR] glue_code: it hurts\n{line}\nEvidence: S1-001\n", SERVERS)
    assert [finding.mcp_name for finding in found.findings] == [name]
    assert found.unmapped_names == unmapped


def test_a_summary_ends_at_the_next_section_and_may_be_empty() -> None:
    assert parse("## Summary\n\n## Next\nmore", SERVERS).summary == ""
    assert parse("## Summary\n\n## Next\nmore", SERVERS).has_summary
    assert parse("## summary\ntext", SERVERS).has_summary is False
    assert parse("## Summary of it\ntext", SERVERS).has_summary is False
    assert parse("## Summary  \r\na [MAJOR] thing\r\n", SERVERS).summary == "a [Major] thing"


def test_a_critic_failed_only_when_nothing_at_all_is_there() -> None:
    assert parse("I could not find the files.", SERVERS).is_unusable
    assert parse("## Summary\n", SERVERS).is_unusable
    assert not parse("## Summary\nNothing to criticise.", SERVERS).is_unusable
    assert not parse("### [MAJOR] nonsense", SERVERS).is_unusable


def test_sections_that_are_no_findings_are_left_alone() -> None:
    text = "# Review\n## Findings\n## glue_code\n## Critical findings\nnone\n## Summary\nok"
    assert parse(text, SERVERS).dropped == ()


def test_notes_on_manifests_are_found() -> None:
    found = parse("Manifest unreadable: linear has no config\n## Summary\nok", SERVERS)
    assert found.manifest_notes == ("Manifest unreadable: linear has no config",)


_SEVERITY = st.sampled_from([*(severity.upper() for severity in SEVERITIES), "Major", "BLOCKER", ""])
_DIMENSION = st.sampled_from([*DIMENSIONS, "glue code", "performance", ""])
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_HEADING = st.builds(
    "{}{}[{}] {}{}{}".format,
    st.sampled_from(["###", "###", "##", "####", "#", " ###"]),
    st.sampled_from([" ", " ", ""]),
    _SEVERITY,
    _DIMENSION,
    st.sampled_from([": ", ":", ":: ", " - "]),
    _TEXT,
)
_LINE = st.one_of(
    _HEADING,
    st.builds("MCP: {}".format, st.sampled_from(["github", "linear", "cross-mcp", "jira", ""])),
    st.builds(
        "Evidence: {}".format, st.sampled_from(["S1-001", "S1-1, S2-2", "S1", "(see Bash)", "", "S1-1,"])
    ),
    st.builds("Recommendation: {}".format, _TEXT),
    st.sampled_from(["## Summary", "## Findings", "### Notes", "```", ""]),
    _TEXT,
)


@settings(max_examples=600, deadline=None)
@given(st.lists(_LINE, max_size=25))
def test_every_heading_is_accepted_or_recorded(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = parse(text, SERVERS)
    # Counted by another rule than the parser's: one heading in each block, none in two.
    headings = [line for line in text.replace("\r\n", "\n").split("\n") if re.match(r"###(?!#)", line)]
    strange = [
        line
        for line in text.replace("\r\n", "\n").split("\n")
        if not re.match(r"###(?!#)", line) and _looks_like_a_finding(line)
    ]
    assert len(found.findings) + len(found.dropped) == len(headings) + len(strange)
    assert [finding.id for finding in found.findings] == [f"F{n + 1}" for n in range(len(found.findings))]
    for raw in found.dropped:
        assert raw in text.replace("\r\n", "\n")
    for finding in found.findings:
        assert finding.summary.strip() == finding.summary != ""
        assert finding.evidence_ids
        assert finding.mcp_name in (*SERVERS, "cross-mcp", "unattributed")
    assert found.is_unusable == (not headings and not strange and not found.summary)


def _looks_like_a_finding(line: str) -> bool:
    marks = line.lstrip()
    body = marks.lstrip("#").lstrip()
    if not 1 <= len(marks) - len(marks.lstrip("#")) <= 6:
        return False
    severity = re.match(r"\[\s*(critical|major|minor|suggestion)\s*\]", body, re.IGNORECASE)
    bare = re.match(r"(critical|major|minor|suggestion)\b", body, re.IGNORECASE)
    dimension = re.search(rf"\b({'|'.join(DIMENSIONS)})\b", body.split("\n")[0], re.IGNORECASE)
    return bool(severity or (bare and dimension))
