"""What findings cite must exist, and must have to do with whom they concern."""

from __future__ import annotations

import pytest

from pytest_mcpeval.kinds.session.critic.findings import Cited, Finding, dangling_citations

SERVERS = ("github", "linear", "git", "git__hub")
ENTRIES = {
    "S1-001": Cited("mcp__github__list_issues"),
    "S1-002": Cited("mcp__linear__create_issue"),
    "S1-003": Cited("Bash"),
    "S1-004": Cited("mcp__git__hub__list"),
    "S2-001": Cited("Bash", ("linear",)),
    "S2-002": Cited("__blocked__", ("linear",)),
    "S3-001": Cited("__budget_abort__", ("github",)),
    "S4-001": Cited("Read", ("github", "linear")),
}


def finding(name: str, *evidence: str) -> Finding:
    """A finding about a server."""
    return Finding(
        id="F1", severity="Major", dimension="glue_code", mcp_name=name, summary="x", evidence_ids=evidence
    )


NEUTRAL = "all cited ids are attribution-neutral — cannot verify attribution"
TOO_FEW = "cross-mcp finding evidence spans fewer than 2 MCPs"


@pytest.mark.parametrize(
    ("name", "evidence", "reasons"),
    [
        ("github", ["S1-001"], []),
        ("github", ["S1-01"], ["id not found in transcript", "no cited id plausibly attributed to github"]),
        ("github", ["S1-001", "S9-001"], ["id not found in transcript"]),
        ("github", ["S1-002"], ["no cited id plausibly attributed to github"]),
        # `mcp__github__` is no call of the server `git`.
        ("git", ["S1-001"], ["no cited id plausibly attributed to git"]),
        # Of servers that fit, the longest name is meant.
        ("git", ["S1-004"], ["no cited id plausibly attributed to git"]),
        ("git__hub", ["S1-004"], []),
        ("cross-mcp", ["S1-004"], [TOO_FEW]),
        # A scenario meant for the server speaks for it, whatever tool was used.
        ("linear", ["S2-001"], []),
        ("linear", ["S2-002"], [NEUTRAL]),
        ("linear", ["S2-002", "S3-001"], [NEUTRAL]),
        ("linear", ["S2-002", "S1-002"], []),
        ("linear", ["S2-002", "S1-003"], ["no cited id plausibly attributed to linear"]),
        ("cross-mcp", ["S1-001", "S1-002"], []),
        ("cross-mcp", ["S4-001"], []),
        ("cross-mcp", ["S1-001", "S1-003"], [TOO_FEW]),
        ("cross-mcp", ["S1-001", "S2-002"], [TOO_FEW]),
        ("cross-mcp", ["S3-001"], [TOO_FEW]),
        ("unattributed", ["S1-003"], []),
        ("unattributed", ["S9-001"], ["id not found in transcript"]),
    ],
)
def test_claims_that_do_not_hold_are_named(name: str, evidence: list[str], reasons: list[str]) -> None:
    found = dangling_citations([finding(name, *evidence)], ENTRIES, SERVERS)
    assert [one.reason for one in found] == reasons
    assert {one.finding_id for one in found} <= {"F1"}
    assert [one.cited_id for one in found if one.cited_id] == [one for one in evidence if one not in ENTRIES]
