"""How messages show values and suggest names."""

from __future__ import annotations

import pytest

from pytest_mcpeval.loading.messages import choice, closest, counted, shown, suggestion


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("fast", '"fast"'),
        ('a"b\n\x1b', '"a\\"b\\n\\u001b"'),
        ("é" * 100, '"' + "é" * 60 + '…"'),
        (None, "null"),
        (True, "true"),
        (2.5, "2.5"),
        (10**99, "1" + "0" * 59 + "…"),
        ([], "a list with 0 entries"),
        ((1,), "a list with 1 entry"),
        ({"a": 1}, "a mapping with 1 key"),
        ({"a": 1, "b": 2}, "a mapping with 2 keys"),
        (complex(1, 2), "(1+2j)"),
    ],
)
def test_values_are_shown_short(value: object, text: str) -> None:
    assert shown(value) == text


def test_numbers_have_their_nouns() -> None:
    assert [counted(1, "key"), counted(2, "key"), counted(0, "entry", "entries")] == [
        "1 key",
        "2 keys",
        "0 entries",
    ]


@pytest.mark.parametrize(
    ("word", "match"),
    [
        ("min_len", "min_length"),
        ("minlength", "min_length"),
        ("MIN-LENGTH", "min_length"),
        ("contians", "contains"),
        ("zzz", None),
        ("", None),
        ("c" * 10**6, None),
    ],
)
def test_the_closest_name(word: str, match: str | None) -> None:
    assert closest(word, ["contains", "min_length"]) == match


def test_suggestions() -> None:
    assert suggestion("contian", ["contains"]) == ' (did you mean "contains"?)'
    assert suggestion("x", ["contains"]) == suggestion("x", []) == ""


def test_choices_are_listed_and_cut() -> None:
    assert [choice([]), choice(["a"]), choice(["a", "b"])] == ["", '"a"', '"a" or "b"']
    assert choice(["a", "b", "c"]) == '"a", "b" or "c"'
    assert choice(map(str, range(99)), limit=2) == '"0", "1", …'
