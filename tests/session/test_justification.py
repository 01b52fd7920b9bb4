"""What a justification must say."""

from __future__ import annotations

import pytest

from pytest_mcpeval.kinds.session.critic.friction import justification_problem

TOOLS = ["mcp__github__search_issues", "mcp__fs__read_file"]


@pytest.mark.parametrize(
    "text",
    [
        "mcp__github__search_issues was the obvious tool, and takes plain words only: the titles had to be "
        "matched by a regular expression, so grep did it",
        "no attached MCP covers this step: the report is rendered by a script of the project",
        "No attached MCP covers this step, which converts a spreadsheet into a table.",
        "mcp__fs__read_file returns whole files, and only the last line of a large log is needed.",
    ],
)
def test_these_say_what_was_considered_and_why(text: str) -> None:
    assert justification_problem(text, TOOLS) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "is missing"),
        ("", "is missing"),
        ("  ", "is missing"),
        ("grep supports regular expressions and the search does not", "neither names the MCP tool"),
        ("faster locally", "neither names the MCP tool"),
        ("considered mcp__gitlab__search, which has no regular expressions at all", "no attached server has"),
        ("no attached MCP covers this step", "gives no reason"),
        ("mcp__fs__read_file", "gives no reason"),
        ("considered mcp__fs__read_file but it was faster", "only a general one"),
        ("considered mcp__fs__read_file, but Bash is easier to use", "only a general one"),
        ("mcp__github__search_issues: much simpler this way", "only a general one"),
    ],
)
def test_these_do_not(text: str | None, problem: str) -> None:
    assert problem in (justification_problem(text, TOOLS) or "")
