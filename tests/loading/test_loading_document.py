"""Lines, excerpts, and what is wrong with a whole file."""

from __future__ import annotations

import gc
import hashlib
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_mcpeval import DataFileError, Problem
from pytest_mcpeval.loading import Limits, load
from pytest_mcpeval.loading.document import EXCERPT_WIDTH

CONTENT = """\
# a comment
project: docs
defaults: &defaults
  timeout: 5
  tags: [a,
         b]
tests:
  - id: one
    expected: {min: 1}
  -
    id: two
    <<: *defaults
    limits: *defaults
    nested:
      - 1
      - *defaults
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "suite.yaml"
    path.write_text(CONTENT)
    return path


LINES: list[tuple[tuple[str | int, ...], int]] = [
    ((), 2),
    (("project",), 2),
    (("tests",), 7),
    (("tests", 0), 8),
    (("tests", 0, "expected"), 9),
    (("tests", 0, "expected", "min"), 9),
    (("tests", 0, "missing", "deeper"), 8),
    (("tests", 1), 11),
    (("tests", 1, "tags"), 5),
    (("tests", 1, "tags", 1), 6),
    (("tests", 1, "limits"), 13),
    (("tests", 1, "limits", "timeout"), 4),
    (("tests", 1, "nested", 1), 16),
    (("tests", 1, "nested", 1, "timeout"), 4),
    (("tests", 7), 7),
    (("tests", -1), 7),
    (("project", "x"), 2),
    (("nothing",), 2),
]


@pytest.mark.parametrize(("keys", "line"), LINES)
def test_the_line_of_a_value(path: Path, keys: tuple[str | int, ...], line: int) -> None:
    assert load(path).line(*keys) == line


def test_entries_have_their_lines_without_the_file(path: Path) -> None:
    document = load(path)
    path.unlink()
    assert [document.line("tests", 0), document.line("tests", 1), document.line("defaults", "tags", 1)] == [
        8,
        11,
        2,
    ]
    assert document.line("tests", 1, "tags", 1) == 11


def test_a_changed_file_is_not_consulted(path: Path) -> None:
    document = load(path)
    path.write_text("\n" * 30 + CONTENT)
    assert document.line("tests", 1, "tags", 1) == 11
    assert document.excerpt(8) == ""


def test_a_problem_of_a_value(path: Path) -> None:
    problem = load(path).problem("tests", 0, "expected", message="expected something else")
    assert problem == Problem(path, 9, "expected something else")
    assert str(problem) == f"{path}:9: expected something else"
    assert str(Problem(path, 0, "is odd")) == f"{path}: is odd"


def test_an_excerpt_numbers_and_marks_lines(path: Path) -> None:
    expected = ["   7 | tests:", ">  8 |   - id: one", "   9 |     expected: {min: 1}", "  10 |   -"]
    assert load(path).excerpt(8, before=1, after=2).split("\n") == expected


@pytest.mark.parametrize(
    ("line", "first", "last"), [(1, "> 1 | # a comment", "  3 | defaults: &defaults"), (99, "", "")]
)
def test_an_excerpt_stays_inside_the_file(path: Path, line: int, first: str, last: str) -> None:
    lines = load(path).excerpt(line, before=5, after=2).split("\n")
    assert (lines[0], lines[-1]) == (first, last)


def test_many_equal_problems_are_one_line() -> None:
    path = Path("a.json")
    many = [Problem(path, line, f"rows[{line}]: no licence") for line in range(3, 47)]
    few = [Problem(path, line, "other") for line in (1, 10, 60, 70)]
    here = [Problem(path, 99, f"tests[{number}].id: twice") for number in range(6)]
    there = [Problem(Path("b.json"), 5, "rows[3]: no licence")]
    assert str(DataFileError([*many, *few, *here, *there])).splitlines() == [
        "a.json:1: other",
        "a.json:3: rows[3]: no licence (44 times; also on lines 4, 5, 6, 7, 8, …)",
        "b.json:5: rows[3]: no licence",
        "a.json:10: other",
        "a.json:60: other",
        "a.json:70: other",
        "a.json:99: tests[0].id: twice (6 times)",
    ]


def test_an_excerpt_shows_a_part_of_a_long_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    rows = ", ".join(f'{{"id": "c{number}", "text": "{"x" * 50}"}}' for number in range(500))
    path.write_text(f'[\n{rows}\n, "{"y" * 5000}"]', encoding="utf-8")
    document = load(path)

    def marked(near: str) -> str:
        before, line, after = document.excerpt(2, before=1, after=1, near=near).split("\n")
        assert before == "  1 | ["
        assert len(after) == len("  3 | …") + EXCERPT_WIDTH
        assert line.startswith("> 2 | ")
        return line.removeprefix("> 2 | ")

    assert len(marked("c17")) == EXCERPT_WIDTH + 2
    assert marked("c17").index('"c17"') < EXCERPT_WIDTH / 2
    assert (marked("c17")[0], marked("c17")[-1]) == ("…", "…")
    assert '"c499"' in marked("c499")
    assert marked("") == marked("nowhere") == marked("c0")
    assert marked("c0").startswith('{"id": "c0"')


def test_an_excerpt_of_a_vanished_file_is_empty(path: Path) -> None:
    document = load(path)
    path.unlink()
    assert document.excerpt(3) == ""


def test_the_digest_is_that_of_the_bytes(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf[]")
    assert load(path).digest == "sha256:" + hashlib.sha256(b"\xef\xbb\xbf[]").hexdigest()


def test_a_document_survives_pickling(path: Path) -> None:
    document = pickle.loads(pickle.dumps(load(path)))
    assert (document.data["project"], document.line("tests", 1, "id")) == ("docs", 11)


def only_problem(path: Path, limits: Limits | None = None) -> Problem:
    with pytest.raises(DataFileError) as caught:
        load(path, limits=limits or Limits())
    (problem,) = caught.value.problems
    return problem


def test_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    assert only_problem(path) == Problem(path, 0, "cannot be read: No such file or directory")


def test_what_is_not_a_file(tmp_path: Path) -> None:
    directory, pipe = tmp_path / "directory.yaml", tmp_path / "pipe.json"
    directory.mkdir()
    os.mkfifo(pipe)
    for path in (directory, pipe):
        assert only_problem(path) == Problem(path, 0, "is not a regular file: expected a data file")


@pytest.mark.parametrize("name", ["suite.toml", "suite.yaml.bak"])
def test_an_unknown_suffix_lists_the_known_ones(tmp_path: Path, name: str) -> None:
    suffix = Path(name).suffix
    expected = f'has the suffix {suffix}: expected ".yaml", ".yml", ".json" or ".jsonl"'
    assert only_problem(tmp_path / name).message == expected


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("content", ["a: 1", "a: ["])
def test_the_state_of_garbage_collection_is_kept(path: Path, enabled: bool, content: str) -> None:
    path.write_text(content)
    try:
        gc.enable() if enabled else gc.disable()
        with suppress(DataFileError):
            load(path)
        assert gc.isenabled() is enabled
    finally:
        gc.enable()


def test_suffixes_are_known_in_any_case(tmp_path: Path) -> None:
    for name, content in {"a.YAML": "a: 1", "b.Yml": "a: 1", "c.JSON": '{"a": 1}'}.items():
        (tmp_path / name).write_text(content)
        document = load(tmp_path / name)
        assert (document.data, document.line("a")) == ({"a": 1}, 1)


def test_a_file_without_a_suffix(tmp_path: Path) -> None:
    assert only_problem(tmp_path / "suite").message.startswith("has no suffix: expected ")


def test_the_size_is_checked_before_reading(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    with path.open("wb") as stream:
        stream.truncate(10**12)
    expected = "is too large: 1,000,000,000,000 bytes, the limit is 67,108,864; split it into several files"
    assert only_problem(path) == Problem(path, 0, expected)


def test_the_size_limit_is_inclusive(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text("a: 12")
    assert load(path, limits=Limits(max_bytes=5)).data == {"a": 12}
    assert only_problem(path, Limits(max_bytes=4)).message.startswith("is too large: 5 bytes")


def test_an_error_lists_its_problems_by_line(tmp_path: Path) -> None:
    error = DataFileError(Problem(tmp_path, line, f"problem {line}") for line in range(300, 0, -1))
    lines = str(error).split("\n")
    assert [problem.line for problem in error.problems] == list(range(1, 301))
    assert (lines[0], lines[-1], len(lines)) == (f"{tmp_path}:1: problem 1", "… and 100 more problems", 201)


def test_loading_imports_neither_pytest_nor_heavy_modules() -> None:
    code = "import sys, pytest_mcpeval.loading; print(*({'pytest', 'yaml', 'pydantic'} & set(sys.modules)))"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "\n"
    )
