"""YAML: what the texts of a file mean, and what is refused, with lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_mcpeval import DataFileError, Document
from pytest_mcpeval.loading import Limits, load

Load = Callable[..., Document]
Problems = Callable[..., list[str]]


@pytest.fixture
def loaded(tmp_path: Path) -> Load:
    def load_text(content: str | bytes, limits: Limits | None = None) -> Document:
        path = tmp_path / "suite.yaml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load(path, limits=limits or Limits())

    return load_text


@pytest.fixture
def problems(loaded: Load) -> Problems:
    def problems_of(content: str | bytes, limits: Limits | None = None) -> list[str]:
        with pytest.raises(DataFileError) as caught:
            loaded(content, limits)
        return [f"{problem.line}: {problem.message}" for problem in caught.value.problems]

    return problems_of


CORE_SCHEMA: list[tuple[str, Any]] = [
    ("true", True),
    ("True", True),
    ("FALSE", False),
    ("null", None),
    ("~", None),
    ("NULL", None),
    ("", None),
    ("0", 0),
    ("-12", -12),
    ("+12", 12),
    ("007", 7),
    ("0o17", 15),
    ("0xfF", 255),
    ("1e3", 1000.0),
    ("-.5", -0.5),
    ("1.", 1.0),
    ("6.02E+23", 6.02e23),
]
TEXTS = [
    "on",
    "no",
    "yes",
    "Off",
    "y",
    "tRue",
    "nULL",
    "12:30:00",
    "2026-01-01",
    "1_000",
    "0b11",
    "-0x1",
    "1.2.3",
]
TEXTS += ["+", ".", "..", "1e", "e3", "0o8", "0xg", "=", "inf", "nan"]


@pytest.mark.parametrize(("text", "value"), CORE_SCHEMA)
def test_unquoted_scalars_follow_the_core_schema(loaded: Load, text: str, value: Any) -> None:
    found = loaded(f"- {text}\n- x").data[0]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", TEXTS)
def test_other_unquoted_scalars_are_texts(loaded: Load, text: str) -> None:
    assert loaded(f"key: {text}\n{text}x: 1").data == {"key": text, f"{text}x": 1}


@pytest.mark.parametrize("text", [text for text, _ in CORE_SCHEMA] + [".nan", "1e999"])
def test_quoted_and_block_scalars_are_texts(loaded: Load, text: str) -> None:
    content = f"- '{text}'\n- \"{text}\"\n- !!str {text}\n- ! '{text}'\n- |-\n  {text or 'x'}\n"
    assert loaded(content).data == [text, text, text, text, text or "x"]


@pytest.mark.parametrize("text", [".nan", ".NaN", ".inf", "-.Inf", "+.INF"])
def test_numbers_json_cannot_hold_are_refused(problems: Problems, text: str) -> None:
    expected = f"2: {text} is not a number JSON can hold: write a finite number, or quote it"
    assert problems(f"a: 1\nb: {text}") == [expected]


def test_numbers_out_of_range_are_refused(problems: Problems) -> None:
    assert problems("- 1e999\n- " + "9" * 5000) == [
        "1: the number 1e999 is too large: quote it if it is meant as text",
        f"2: the number {'9' * 40}… is too long: quote it if it is meant as text",
    ]


def test_explicit_core_tags(loaded: Load) -> None:
    content = "[!!int '3', !!float 3, !!bool 'true', !!null '', !!str 3, !!seq [1], !!map {a: 1}]"
    assert loaded(content).data == [3, 3.0, True, None, "3", [1], {"a": 1}]
    assert type(loaded(content).data[1]) is float


def test_every_bad_tag_is_refused(problems: Problems) -> None:
    content = (
        "a: !foo 1\nb: !!python/object:os.system x\nc: !!int x\nd: !bar {}\ne: !!map []\nf: !!binary aGk="
    )
    supported = "is not supported: data files are plain data, remove the tag"
    assert problems(content) == [
        f"1: the tag !foo {supported}",
        f"2: the tag !!python/object:os.system {supported}",
        "3: the value does not fit its tag !!int: expected a whole number",
        f"4: the tag !bar {supported}",
        f"5: the tag !!map {supported}",
        f"6: the tag !!binary {supported}",
    ]


def test_many_duplicate_keys_name_the_right_lines(problems: Problems) -> None:
    # With quadratic work this takes minutes.
    keys = [f"k{number}: 1" for number in range(40_000)]
    found = problems("\n".join(keys * 2))
    assert len(found) == 40_000
    assert found[-1] == '80000: duplicate key "k39999": it is already on line 40000; remove or rename one'


def test_duplicate_keys_name_both_lines(problems: Problems) -> None:
    content = "a: 1\nb:\n  - c: 1\n    d: 2\n    c: 3\n'a': 2\n"
    assert problems(content) == [
        '5: duplicate key "c": it is already on line 3; remove or rename one',
        '6: duplicate key "a": it is already on line 1; remove or rename one',
    ]


def test_keys_must_be_texts(problems: Problems) -> None:
    assert problems("1: x\ntrue: y\n~: z\n? [a]\n: 1\n2.5: v\non: fine\n") == [
        '1: the key 1 is not a text: quote it: "1"',
        '2: the key true is not a text: quote it: "true"',
        '3: the key ~ is not a text: quote it: "~"',
        "4: a key must be a text, found a list with 1 entry",
        '6: the key 2.5 is not a text: quote it: "2.5"',
    ]


def test_aliases(loaded: Load) -> None:
    content = """
base: &base {x: &one 1, k: &name key}
again: *base
list: [*one, *one]
*name : v
one: &one 2
last: *one
"""
    base = {"x": 1, "k": "key"}
    expected = {"base": base, "again": base, "list": [1, 1], "key": "v", "one": 2, "last": 2}
    assert loaded(content).data == expected


def test_aliases_that_lead_nowhere(problems: Problems) -> None:
    assert problems("a: *b\nb: &b [*b, 1]\nc: &c {d: {e: *c}}\n") == [
        "1: the alias *b has no anchor: expected &b before it",
        "2: the alias *b refers to itself",
        "3: the alias *c refers to itself",
    ]


def test_merge_keys(loaded: Load) -> None:
    content = """
one: &one {a: 1, b: 1}
two: &two {b: 2, c: 2}
merged:
  <<: [*one, *two]
  c: 3
own:
  a: 0
  <<: *one
quoted: {"<<": 1}
"""
    data = loaded(content).data
    assert data["merged"] == {"a": 1, "b": 1, "c": 3}
    assert data["own"] == {"a": 0, "b": 1}
    assert data["quoted"] == {"<<": 1}
    assert data == {**yaml.safe_load(content.replace('"<<"', "k")), "quoted": {"<<": 1}}


def test_merge_keys_that_do_not_merge(problems: Problems) -> None:
    assert problems("a:\n  <<: 3\nb: {<<: [1]}\nc:\n  <<: {x: 1}\n  <<: {y: 1}\n") == [
        "2: << merges a mapping or a list of mappings, found 3",
        "3: << merges a mapping or a list of mappings, found a list with 1 entry",
        '6: duplicate key "<<": it is already on line 5; remove or rename one',
    ]


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]")
    return "\n".join(lines)


def test_an_alias_bomb_is_refused_where_it_passes_the_limit(problems: Problems) -> None:
    # Level n holds (10^(n+2) - 1) / 9 nodes, so the default of 5,000,000 is passed in the seventh line.
    assert problems(bomb(60)) == [
        "7: the file holds more than 5,000,000 values, with aliases expanded: split it, or use fewer aliases"
    ]


def test_the_budget_counts_expanded_nodes_exactly(loaded: Load, problems: Problems) -> None:
    content = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    # The root, three keys, and 3 + 7 + 15 values.
    assert loaded(content, Limits(max_nodes=29)).data["c"] == [[["x", "x"]] * 2] * 2
    assert problems(content, Limits(max_nodes=28))[0].startswith("3: the file holds more than 28 values")


def test_repeating_a_long_text_counts_its_length(problems: Problems) -> None:
    content = f"- &a {'x' * 100_000}\n" + "- *a\n" * 10_000
    # Each of them counts 1 + 100,000 // 64.
    (problem,) = problems(content)
    assert problem.startswith("3199: the file holds more than 5,000,000 values")


@pytest.mark.parametrize(
    "content", ["- x\n" * 50, "a: {b: 1, c: 2, d: 3, e: 4, f: 5}", "[[], [], [], [], [], [], []]"]
)
def test_the_budget_holds_without_aliases(problems: Problems, content: str) -> None:
    assert "the file holds more than 6 values" in problems(content, Limits(max_nodes=6))[0]


@pytest.mark.parametrize(
    "content", ["[" * 65 + "]" * 65, "- " * 65 + "x", "{a: " * 65 + "1" + "}" * 65, "[" * 900]
)
def test_deep_nesting_is_refused(problems: Problems, content: str) -> None:
    assert problems(content) == ["1: nests deeper than 64 levels: flatten the data"]


def test_nesting_through_aliases_is_refused(problems: Problems, loaded: Load) -> None:
    lines = ["a0: &a0 [x]"] + [f"a{level}: &a{level} [*a{level - 1}]" for level in range(1, 200)]
    assert loaded("\n".join(lines[:63])).data["a62"] != []
    assert problems("\n".join(lines)) == ["64: nests deeper than 64 levels: flatten the data"]


def test_the_deepest_allowed_nesting_loads(loaded: Load) -> None:
    data = loaded("[" * 200 + "]" * 200, Limits(max_depth=200)).data
    for _ in range(199):
        (data,) = data
    assert data == []


def test_limits_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="max_depth at most 200"):
        Limits(max_depth=201)
    with pytest.raises(ValueError, match="limits must be at least 1"):
        Limits(max_nodes=0)


@pytest.mark.parametrize("content", ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n"])
def test_empty_files_are_refused(problems: Problems, content: str) -> None:
    assert problems(content) == ["0: is empty: expected a mapping or a list"]


def test_several_documents_are_refused(problems: Problems, loaded: Load) -> None:
    assert problems("a: 1\n---\nb: 2\n") == [
        "2: a second document starts here: expected one per file, split the file at ---"
    ]
    assert loaded("%YAML 1.2\n---\na: 1\n...\n").data == {"a": 1}


STARTS = "that starts on line 1"
CONTROL = "is not allowed; escape it in double quotes"
NO_TABS = "indent with spaces, YAML does not allow tabs"
COLON = "a key needs ': ' after it"
SYNTAX = [
    ("a:\n\tb: 1", 2, f"found character that cannot start any token; {NO_TABS}"),
    (
        "a: 1\n\tb: 2",
        2,
        f"found a tab character that violates indentation while scanning a plain scalar {STARTS}; {NO_TABS}",
    ),
    (
        "x: 1\na: b: c",
        2,
        "mapping values are not allowed in this context; check the indentation, quote a text with ': ' in it",
    ),
    (
        "a: [1,\n 2\nb: 3",
        3,
        f"did not find expected ',' or ']' while parsing a flow sequence {STARTS}; "
        "a bracket is not closed, or a comma is missing",
    ),
    ("x: @y", 1, "found character that cannot start any token; quote the value"),
    (
        "a: 'x\n",
        2,
        f"found unexpected end of stream while scanning a quoted scalar {STARTS}; a quote is not closed",
    ),
    ("a: é\nb: \x07", 2, f"the control character U+0007 {CONTROL}"),
    ("a: 1\nb: \x00", 2, f"the control character U+0000 {CONTROL}"),
    ('a: "\\ud800"', 1, "found invalid Unicode character escape code"),
    *(
        (f"d:{line_break}o", 1, f"could not find expected ':' while scanning a simple key {STARTS}; {COLON}")
        for line_break in "\u2028\u2029\x85"
    ),
    # The parser counts lines that editors do not: the words are about the line that it means.
    ("# \u2028\na:\n\tb: 1", 3, f"found character that cannot start any token; {NO_TABS}"),
]


@pytest.mark.parametrize(("content", "line", "problem"), SYNTAX)
def test_syntax_errors_are_plain(problems: Problems, content: str, line: int, problem: str) -> None:
    assert problems(content) == [f"{line}: is not YAML: {problem}"]


def test_problems_before_a_syntax_error_are_kept(problems: Problems) -> None:
    found = problems("a: 1\na: 2\nb: !x 1\nc: 'open\n")
    assert [problem[:14] for problem in found] == ["2: duplicate k", "3: the tag !x ", "5: is not YAML"]


def test_a_byte_order_mark_is_tolerated(loaded: Load) -> None:
    assert loaded(b"\xef\xbb\xbfa: 1").data == {"a": 1}


def test_bytes_that_are_not_utf8(problems: Problems) -> None:
    assert problems("a: é\nb: ".encode() + b"\xff") == [
        "2: is not UTF-8: invalid byte 0xff at byte offset 9; save the file as UTF-8"
    ]
    assert problems("a: 1".encode("utf-16")) == ["0: is UTF-16: save it as UTF-8"]


def test_lines_are_those_of_editors(loaded: Load, problems: Problems) -> None:
    content = 'a: x\u2028  y\r\nb: "z\x85 z"\rlist:\n- 1\n- c: *d\n'
    assert problems(content) == ["5: the alias *d has no anchor: expected &d before it"]
    document = loaded(content.replace("*d", "d"))
    paths: list[tuple[str | int, ...]] = [("b",), ("list",), ("list", 1), ("list", 1, "c")]
    assert [document.line(*path) for path in paths] == [2, 3, 5, 5]


def test_without_libyaml_the_error_says_how_to_get_it(
    problems: Problems, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    assert problems("a: 1") == [
        "0: cannot be read: this PyYAML is built without libyaml; install a wheel with "
        "`pip install --force-reinstall --only-binary pyyaml pyyaml`"
    ]
