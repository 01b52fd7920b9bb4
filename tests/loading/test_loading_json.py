"""JSON and JSON Lines: what is refused, with lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mcpeval import DataFileError, Document
from pytest_mcpeval.loading import Limits, load


def loaded(
    directory: Path, content: str | bytes, name: str = "suite.json", limits: Limits | None = None
) -> Document:
    path = directory / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load(path, limits=limits or Limits())


def problems(
    directory: Path, content: str | bytes, name: str = "suite.json", limits: Limits | None = None
) -> list[str]:
    with pytest.raises(DataFileError) as caught:
        loaded(directory, content, name, limits)
    return [f"{problem.line}: {problem.message}" for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("content", "data"),
    [
        ("3", 3),
        ('"x"', "x"),
        (" null\n", None),
        ("[]", []),
        ("{ }", {}),
        ('{"a" : [ 1 , {"b": []} ] , "c":{}}', {"a": [1, {"b": []}], "c": {}}),
        ("\ufeff[1]", [1]),
        ('["\\ud83d\\ude00", "\u2028", "\\u0000"]', ["😀", "\u2028", "\0"]),
    ],
)
def test_json_loads(tmp_path: Path, content: str, data: object) -> None:
    assert loaded(tmp_path, content).data == data


NAME = "expecting property name enclosed in double quotes"
SYNTAX = [
    ("{", 1, f"{NAME}, found the end of the text"),
    ("{'a': 1}", 1, f"{NAME}, found 'a': 1}}; names and texts need double quotes"),
    ('{"a" 1}', 1, "expecting ':' delimiter, found 1}"),
    ('{"a": 1\n"b": 2}', 2, "expecting ',' delimiter, found \"b\": 2}"),
    ('{"a": [1\n2]}', 2, "expecting ',' delimiter, found 2]}"),
    ("[1,\n 2", 2, "expecting ',' delimiter, found the end of the text"),
    ("[1]\nx", 2, "extra data, found x; remove it"),
    # A duplicate key ends the first reading; what follows is read by another.
    ('{"tests": [], "tests": []}\n]}', 2, "extra data, found ]}; remove it"),
    ('{"name": "x", "name": "y"} "a\\q"', 1, 'extra data, found "a\\q"; remove it'),
    ('{"a": {"b": 1, "b": 2\n}-', 2, "expecting ',' delimiter, found -"),
    ('{"a": 1, "a": ' + "9" * 5000 + "\n]", 2, "expecting ',' delimiter, found ]"),
    ("// c\n{}", 1, "expecting value, found // c; JSON has no comments"),
    ('{"a":\n"b\nc"}', 2, "invalid control character; escape it, as in \\n"),
    ('{"a":\n {"b": tru}}', 2, "expecting value, found tru}}"),
    # Editors end no line at these, and in JSON they are no white space.
    ('["\u2028\u2029\x85",\n x]', 2, "expecting value, found x]"),
    ("[\u20281]", 1, "expecting value, found \u20281]"),
    ("[1]\u2028", 1, "extra data, found \u2028; remove it"),
]


@pytest.mark.parametrize(("content", "line", "problem"), SYNTAX)
def test_syntax_errors_are_plain(tmp_path: Path, content: str, line: int, problem: str) -> None:
    assert problems(tmp_path, content) == [f"{line}: is not JSON: {problem}"]


@pytest.mark.parametrize("content", ["[1,\n]", '{"a": 1,\n}', '{"a": [1, 2,\n]}'])
def test_a_trailing_comma_is_named(tmp_path: Path, content: str) -> None:
    # The json module points at the comma since Python 3.13, and before that at what follows it.
    (problem,) = problems(tmp_path, content)
    assert problem.startswith(("1: is not JSON: ", "2: is not JSON: "))
    assert problem.endswith(("; remove the comma before it", "; remove this comma"))


def test_every_value_that_is_not_json_is_named(tmp_path: Path) -> None:
    content = (
        '{"a": 1, "a": {"b": NaN},\n"c": [Infinity,\n1e999, "\\ud800"],\n"d": {"e": 1,\n"e": -Infinity}}'
    )
    assert problems(tmp_path, content) == [
        '1: duplicate key "a": it is already on line 1; remove or rename one',
        "1: NaN is not JSON: write a finite number or null",
        "2: Infinity is not JSON: write a finite number or null",
        "3: the number 1e999 is too large: quote it if it is meant as text",
        "3: half a surrogate pair is not a character: write both \\u escapes, or the character",
        '5: duplicate key "e": it is already on line 4; remove or rename one',
        "5: -Infinity is not JSON: write a finite number or null",
    ]


def test_a_number_too_long_for_python(tmp_path: Path) -> None:
    assert problems(tmp_path, "[1,\n" + "9" * 5000 + "]") == [
        f"2: the number {'9' * 40}… is too long: quote it if it is meant as text"
    ]


@pytest.mark.parametrize("content", ["[\n" * 65 + "]" * 65, '{"a":\n' * 65 + "1" + "}" * 65, "[\n" * 200_000])
def test_deep_nesting_is_refused_at_its_line(tmp_path: Path, content: str) -> None:
    assert problems(tmp_path, content) == ["65: nests deeper than 64 levels: flatten the data"]


def test_too_many_values_are_refused_at_their_line(tmp_path: Path) -> None:
    content = '{"a": 1,\n"b": [1, 2],\n"c": 3}'
    assert loaded(tmp_path, content, limits=Limits(max_nodes=9)).data["c"] == 3
    assert problems(tmp_path, content, limits=Limits(max_nodes=8)) == [
        "3: the file holds more than 8 values, with aliases expanded: split it, or use fewer aliases"
    ]


@pytest.mark.parametrize("content", ["", " \n\t"])
def test_empty_files_are_refused(tmp_path: Path, content: str) -> None:
    assert problems(tmp_path, content) == ["0: is empty: expected a JSON object or array"]
    assert problems(tmp_path, content, "suite.jsonl") == ["0: is empty: expected one JSON value per line"]


def test_the_line_of_a_value_is_that_of_its_key(tmp_path: Path) -> None:
    document = loaded(tmp_path, '\n{"a":\n{"b":\n[\n1,\n{"c":\n2}]},\n"d": [\n[]]}')
    assert [document.line(), document.line("a"), document.line("a", "b"), document.line("a", "b", 0)] == [
        2,
        2,
        3,
        5,
    ]
    assert [document.line("a", "b", 1), document.line("a", "b", 1, "c"), document.line("d", 0)] == [6, 6, 9]


def test_rows_have_the_lines_they_stand_on(tmp_path: Path) -> None:
    document = loaded(tmp_path, '\n{"a": 1}\r\n\n{"a": "\u2028"}\n  \n[2]', "suite.jsonl")
    assert document.data == [{"a": 1}, {"a": "\u2028"}, [2]]
    assert [document.line(row) for row in range(3)] == [2, 4, 6]
    assert [document.line(1, "a"), document.line(2, 0), document.line(9), document.line()] == [4, 6, 2, 2]


def test_every_bad_row_is_named(tmp_path: Path) -> None:
    content = '{"a":1}\nx\n\n{"a":1,"a":2}\n[NaN]\n{"b"\n' + "[" * 70 + "]" * 70
    assert problems(tmp_path, content, "suite.jsonl") == [
        "2: is not JSON: expecting value, found x",
        '4: duplicate key "a": it is already on line 4; remove or rename one',
        "5: NaN is not JSON: write a finite number or null",
        "6: is not JSON: expecting ':' delimiter, found the end of the text",
        "7: nests deeper than 63 levels: flatten the data",
    ]


def test_too_many_rows_are_refused(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, "[1]\n[2]\n[3]\n", "suite.jsonl", Limits(max_nodes=6))
    assert problem.startswith("0: the file holds more than 6 values")
