"""The safety rules against a table written by hand, and on calls that nobody thought of."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mcpeval import Tool
from pytest_mcpeval.kinds.session.records import Disposition, ServerScope
from pytest_mcpeval.kinds.session.safety import decide
from pytest_mcpeval.kinds.session.safety_resources import match_resources, texts_in
from pytest_mcpeval.kinds.session.safety_rules import (
    CHANGING,
    READING,
    classify,
    classify_name,
    mutation_hints,
)
from tests.session.safety_table import ARGUMENTS, MUTATING, READ, STATED, UNDECIDED

WORDS = st.sampled_from([*sorted(READING), *sorted(CHANGING), "issue", "closed", "or", "and", "", "x2"])
NAMES = st.lists(WORDS, min_size=1, max_size=5).map("_".join)


def effect(name: str) -> str:
    return classify_name(name).effect


def test_the_table_is_a_table() -> None:
    names = [*READ, *MUTATING, *UNDECIDED]
    assert len(names) + len(STATED) + len(ARGUMENTS) >= 300
    assert len(names) == len(set(names))


def test_names_are_classified_as_in_the_table() -> None:
    expected = dict.fromkeys(READ, "read") | dict.fromkeys(MUTATING, "mutating")
    expected |= dict.fromkeys(UNDECIDED, "undecided")
    assert {name: effect(name) for name in expected} == expected


@pytest.mark.parametrize(("name", "description", "annotations", "expected"), STATED)
def test_what_a_server_says_wins_over_the_name(
    name: str, description: str, annotations: dict[str, Any], expected: str
) -> None:
    found = classify(name, Tool(name, description, annotations=annotations))
    assert found.effect == expected, found.reason


@pytest.mark.parametrize(("resources", "arguments", "inside"), ARGUMENTS)
def test_arguments_are_matched_as_in_the_table(resources: list[str], arguments: Any, inside: bool) -> None:
    found = match_resources(arguments, resources)
    assert found.inside == inside, found.reason


@given(NAMES)
def test_a_name_reads_only_by_both_rules(name: str) -> None:
    words = name.lower().split("_")
    expected = "read" if words[0] in READING else "undecided"
    assert effect(name) == ("mutating" if set(words) & CHANGING else expected)


@given(NAMES, st.sampled_from("ABCXYZ"), st.sampled_from("-. "))
def test_other_borders_of_words_never_permit_more(name: str, letter: str, border: str) -> None:
    for other in (name.replace("_", border), f"{name}{letter}", name.title().replace("_", "")):
        assert effect(other) != "read" or set(other.lower().split("_")) & READING


@given(st.text(max_size=30))
def test_any_text_is_a_name(name: str) -> None:
    assert effect(name) in ("read", "mutating", "undecided")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
ARGUMENT_SHAPES = st.dictionaries(st.text(max_size=8), JSON, max_size=4)
RESOURCES = st.lists(st.text(max_size=20), max_size=3)


@given(ARGUMENT_SHAPES, RESOURCES)
def test_what_is_inside_names_a_resource_in_the_one_direction(
    arguments: dict[str, Any], resources: list[str]
) -> None:
    if match_resources(arguments, resources).inside:
        texts = [text for _, text in texts_in(arguments)]
        assert any(text.strip() and text in resource for text in texts for resource in resources)


@given(ARGUMENT_SHAPES, RESOURCES, st.text(min_size=1, max_size=5))
def test_a_resource_inside_a_longer_text_permits_nothing(
    arguments: dict[str, Any], resources: list[str], more: str
) -> None:
    longer = {"name": "".join(resources) + more + "x" * 25}
    assert not match_resources(longer, resources).inside


@given(NAMES, ARGUMENT_SHAPES, RESOURCES)
def test_skipped_servers_are_never_called(name: str, arguments: dict[str, Any], resources: list[str]) -> None:
    tool = Tool(name, "This tool is read-only.", annotations={"readOnlyHint": True})
    for known in (tool, None):
        decision = decide(ServerScope("s", "skip", tuple(resources)), name, arguments, known)
        assert (decision.verdict, decision.reason) == ("block", "MCP disposition is 'skip'")


def test_every_effect_has_its_verdict_under_every_disposition() -> None:
    inside, outside = {"repo": "playground"}, {"repo": "production"}
    found = {
        (disposition, name, str(arguments["repo"])): decide(
            ServerScope("s", disposition, ("repo: playground",)), name, arguments
        ).verdict
        for disposition in get_args(Disposition)
        for name in ("get_issue", "create_issue", "frobnicate")
        for arguments in (inside, outside)
    }
    assert found == {
        ("read_only", "get_issue", "playground"): "permit",
        ("read_only", "get_issue", "production"): "permit",
        ("read_only", "create_issue", "playground"): "block",
        ("read_only", "create_issue", "production"): "block",
        ("read_only", "frobnicate", "playground"): "abort",
        ("read_only", "frobnicate", "production"): "abort",
        ("sandboxed", "get_issue", "playground"): "permit",
        ("sandboxed", "get_issue", "production"): "permit",
        ("sandboxed", "create_issue", "playground"): "permit",
        ("sandboxed", "create_issue", "production"): "abort",
        ("sandboxed", "frobnicate", "playground"): "permit",
        ("sandboxed", "frobnicate", "production"): "abort",
        **{
            ("skip", name, repo): "block"
            for name in ("get_issue", "create_issue", "frobnicate")
            for repo in ("playground", "production")
        },
    }


def test_reasons_say_what_was_found() -> None:
    scope = ServerScope("s", "sandboxed", ("repo: playground",))
    assert decide(scope, "create_issue", {"title": "x"}).reason == (
        "MCP disposition is 'sandboxed', and the call is outside the test resources: no argument names one"
    )
    assert decide(scope, "move_file", {"items": [{"to": "/etc"}]}).reason.endswith(
        "`items[0].to` is a place that is not a test resource"
    )
    assert decide(ServerScope("s", "read_only"), "get_or_create_issue", {}).reason == (
        "MCP disposition is 'read_only', and the tool changes something: its name has the word 'create'"
    )


def test_deeply_nested_arguments_are_searched_to_the_end() -> None:
    nested: Any = "playground"
    for _ in range(5_000):
        nested = {"inner": [nested]}
    assert match_resources(nested, ["repo: playground"]).inside


def test_hints_for_people_are_parts_of_names() -> None:
    names = ["read_file", "write_file", "overwrite", "list_runs", "Publish", "get_time"]
    assert mutation_hints(names) == ("write_file", "overwrite", "list_runs", "Publish")
