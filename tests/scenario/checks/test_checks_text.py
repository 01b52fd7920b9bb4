"""Checks of what the text says, and the keyword and import lists of a case."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mcpeval import Check, CheckSpecError, Response
from pytest_mcpeval.kinds.scenario.checks import BUILTIN, expectation_checks


def evaluate(rule: dict[str, Any], text: str) -> Check:
    return BUILTIN.parse(rule).evaluate(Response(text))


HUGE = "lorem ipsum " * 500_000 + "Needle"


@pytest.mark.parametrize(
    ("rule", "text", "status", "message"),
    [
        ({"type": "contains", "value": "zkApp"}, "a ZKAPP here", "passed", 'contains "zkApp"'),
        ({"type": "contains", "value": "zkApp"}, "nothing", "failed", 'missing "zkApp"'),
        ({"type": "contains", "value": "zkApp"}, "", "failed", 'missing "zkApp"'),
        ({"type": "contains", "value": "a\nb"}, "a\r\nb", "failed", 'missing "a b"'),
        ({"type": "contains", "value": "ÜBER"}, "darüber", "passed", 'contains "ÜBER"'),
        ({"type": "contains", "value": "needle"}, HUGE, "passed", 'contains "needle"'),
        ({"type": "contains", "value": "A", "caseSensitive": True}, "abc", "failed", 'missing "A"'),
        ({"type": "contains", "value": "A", "case_sensitive": True}, "bAc", "passed", 'contains "A"'),
        ({"type": "contains", "value": "x" * 200}, "", "failed", f'missing "{"x" * 79}…"'),
        ({"type": "contains_any", "values": ["ibc", "Hub"]}, "the hub", "passed", 'contains "Hub"'),
        ({"type": "contains_any", "values": ["ibc", "hub"]}, "", "failed", 'missing all of "ibc", "hub"'),
        ({"type": "contains_all", "values": ["ibc", "HUB"]}, "Ibc hub", "passed", "contains all 2 values"),
        ({"type": "contains_all", "values": ["a", "b", "c"]}, "B", "failed", 'missing "a", "c"'),
        (
            {"type": "contains_all", "values": list("abcdefg")},
            "",
            "failed",
            'missing "a", "b", "c", "d", "e" and 2 more',
        ),
        (
            {"type": "matches_regex", "pattern": r"v\d+\.\d+"},
            "is V2.3",
            "passed",
            r'/v\d+\.\d+/ matches "V2.3"',
        ),
        ({"type": "matches_regex", "pattern": r"^\d+$"}, "12\n", "failed", r"no match for /^\d+$/"),
        ({"type": "matches_regex", "pattern": r"\d"}, "١", "failed", r"no match for /\d/"),
        ({"type": "matches_regex", "pattern": r"a.b"}, "a\rb", "failed", "no match for /a.b/"),
        ({"type": "matches_regex", "pattern": r"a[^]b\/"}, "a\nb/", "passed", r'/a[^]b\// matches "a b/"'),
        ({"type": "matches_regex", "pattern": r"(?<q>['\"]).\k<q>"}, "'x'", "passed", None),
        ({"type": "matches_regex", "pattern": "é"}, "É", "passed", None),
        ({"type": "matches_regex", "pattern": "é", "caseSensitive": True}, "É", "failed", "no match for /é/"),
        ({"type": "matches_regex", "pattern": "[a-z]É", "case_sensitive": True}, "Aaé aÉ", "passed", None),
        ({"type": "matches_regex", "pattern": r"ask\W"}, "asking", "failed", None),
        ({"type": "matches_regex", "pattern": r"[\u0080-\uffff]"}, "risk", "failed", None),
        ({"type": "matches_regex", "pattern": "ß"}, "ẞ", "failed", None),
        ({"type": "matches_regex", "pattern": "[a-z]"}, "İ", "failed", None),
    ],
)
def test_text(rule: dict[str, Any], text: str, status: str, message: str | None) -> None:
    check = evaluate(rule, text)
    assert check.status == status
    assert message is None or check.message == message


def test_missing_values_are_listed() -> None:
    assert evaluate({"type": "contains_all", "values": ["a", "b"]}, "B").details == {"missing": ["a"]}


def test_rule_keeps_what_was_written_in_canonical_spelling() -> None:
    check = evaluate({"type": "contains", "case_sensitive": True, "value": "x"}, "x")
    assert check.rule == {"type": "contains", "caseSensitive": True, "value": "x"}
    assert evaluate({"type": "contains", "value": "x"}, "x").rule == {"type": "contains", "value": "x"}


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|aa)+$", r"(x+x+)+y", r"^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_catastrophic_pattern_fails_instead_of_hanging(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_mcpeval.kinds.scenario.checks.javascript_regex.TIMEOUT_SECONDS", 0.05)
    text = "a" * 5000 + "x" * 5000 + "!"
    for rule in (
        {"type": "matches_regex", "pattern": pattern},
        {"not": {"type": "matches_regex", "pattern": pattern}},
    ):
        check = evaluate(rule, text)
        assert check.status == "failed"
        assert check.message == "the regular expression timed out after 0.05 s"


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a(b", "not a regular expression: missing ) at position 3 of 'a(b'"),
        ("*a", "not a regular expression: nothing to repeat at position 0 of '*a'"),
        (r"\d[z-a]", r"not a regular expression: bad character range at position 2 of '\\d[z-a]'"),
        ("ab[c", "not a regular expression: unterminated character set at position 4 of 'ab[c'"),
        ("", 'expected a text that is not empty, found ""'),
    ],
)
def test_bad_pattern_is_a_load_error_with_position(pattern: str, message: str) -> None:
    with pytest.raises(CheckSpecError) as caught:
        BUILTIN.parse({"type": "matches_regex", "pattern": pattern})
    assert caught.value.problems == ((("pattern",), message),)


words = st.text(min_size=1, max_size=4)


@given(st.text(), st.lists(words, min_size=1, max_size=4), st.booleans())
def test_contains_agree_with_in(text: str, values: list[str], planted: bool) -> None:
    text = text + values[-1].upper() if planted else text
    found = [value.lower() in text.lower() for value in values]
    assert evaluate({"type": "contains", "value": values[0]}, text).passed is found[0]
    assert evaluate({"type": "contains_any", "values": values}, text).passed is any(found)
    assert evaluate({"type": "contains_all", "values": values}, text).passed is all(found)
    sensitive = {"type": "contains", "value": values[0], "caseSensitive": True}
    assert evaluate(sensitive, text).passed is (values[0] in text)


def test_expectations() -> None:
    checks = expectation_checks(["Field", "zkapp"], ["Solana", "ANCHOR"], ["from 'o1js'", "From 'o1js'"])
    text = "A field, from 'o1js'; no anchor."
    assert [check.evaluate(Response(text)) for check in checks] == [
        Check({"type": "contains", "value": "Field"}, "passed", 'has the keyword "Field"'),
        Check({"type": "contains", "value": "zkapp"}, "failed", 'lacks the keyword "zkapp"'),
        Check(
            {"type": "contains", "value": "Solana"},
            "passed",
            'is free of the forbidden keyword "Solana"',
            {"forbidden": True},
        ),
        Check(
            {"type": "contains", "value": "ANCHOR"},
            "failed",
            'has the forbidden keyword "ANCHOR"',
            {"forbidden": True},
        ),
        Check({"type": "has_import", "module": "from 'o1js'"}, "passed", "has the import \"from 'o1js'\""),
        Check({"type": "has_import", "module": "From 'o1js'"}, "failed", "lacks the import \"From 'o1js'\""),
    ]
