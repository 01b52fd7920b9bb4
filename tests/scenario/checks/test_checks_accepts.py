"""Rules checked in bulk: the same answer as parsing them one at a time."""

from __future__ import annotations

import pytest

from pytest_mcpeval import CheckSpecError
from pytest_mcpeval.kinds.scenario.checks import BUILTIN

VALID = [
    {"type": "contains", "value": "x"},
    {"type": "contains", "value": "y", "caseSensitive": True},
    {"type": "min_length", "chars": 10},
    {"type": "matches_regex", "pattern": "a+"},
    {"not": {"type": "contains", "value": "x"}},
    {"type": "any_of", "checks": [{"type": "has_citation"}, {"type": "contains", "value": "x"}]},
]

INVALID = [
    {"type": "contains"},
    {"type": "contains", "value": ""},
    {"type": "contains", "value": 3},
    {"type": "contains", "value": "x", "vlaue": "y"},
    {"type": "contains", "value": "x", "case_sensitive": True, "caseSensitive": True},
    {"type": "matches_regex", "pattern": "("},
    {"type": "no_such_check"},
    {"type": ["contains"]},
    {"value": "x"},
    {"not": {"type": "contains"}},
    {"any_of": []},
    {},
    "contains",
    None,
]


def parses(rule: object) -> bool:
    """Whether a rule is valid on its own."""
    try:
        BUILTIN.parse(rule)
    except CheckSpecError:
        return False
    return True


def test_valid_rules_are_accepted_together() -> None:
    assert all(map(parses, VALID))
    assert BUILTIN.accepts(VALID * 3)


def test_no_rules_are_accepted() -> None:
    assert BUILTIN.accepts([])


@pytest.mark.parametrize("rule", INVALID, ids=repr)
def test_one_invalid_rule_among_valid_ones_is_noticed(rule: object) -> None:
    assert not parses(rule)
    assert not BUILTIN.accepts([*VALID, rule, *VALID])
