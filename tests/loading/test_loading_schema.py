"""Validation: every error at its line, in plain words."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, field_validator

from pytest_mcpeval import DataFileError, Document, validate
from pytest_mcpeval.loading import load
from pytest_mcpeval.loading.schema import Expected, dotted


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_by_name=True)


class Contains(Strict):
    type: Literal["contains"]
    value: str
    case_sensitive: bool = Field(
        default=False, validation_alias=AliasChoices("caseSensitive", "case_sensitive")
    )


class MinLength(Strict):
    type: Literal["min_length"]
    value: Annotated[int, Field(ge=1)]


class AnyOf(Strict):
    type: Literal["any_of"]
    checks: Annotated[list[Check], Field(min_length=1)]


Check = Annotated[Contains | MinLength | AnyOf, Field(discriminator="type")]


class Level(Enum):
    BASIC = "basic"
    HARD = "hard"


class PythonTarget(Strict):
    python: str
    depth: int = 1


class Case(Strict):
    id: Annotated[str, Field(pattern="^[a-z]+$", max_length=5)]
    max_results: int = Field(default=5, validation_alias=AliasChoices("maxResults", "max_results"))
    checks: list[Check] = []
    level: Level = Level.BASIC
    timeout: Annotated[float, Field(gt=0), Expected("a number of seconds")] = 1.0
    target: Literal["heuristics"] | PythonTarget | None = None
    size: int | str | None = None
    pair: tuple[int, str] = (1, "")
    numbers: dict[Annotated[str, Field(max_length=9)], int] = {}
    flag: bool = True

    @field_validator("id")
    @classmethod
    def not_reserved(cls, value: str) -> str:
        if value == "all":
            raise ValueError('"all" is reserved: choose another id')
        return value


class Suite(Strict):
    tests: list[Case]


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Document]:
    def write(content: str) -> Document:
        path = tmp_path / "suite.yaml"
        path.write_text(content)
        return load(path)

    return write


def problems(document: Document, model: Any = Suite) -> list[str]:
    with pytest.raises(DataFileError) as caught:
        validate(model, document)
    return [f"{problem.line}: {problem.message}" for problem in caught.value.problems]


def test_valid_data_becomes_a_model(written: Callable[[str], Document]) -> None:
    document = written("tests:\n- id: one\n  maxResults: 3\n  checks: [{type: contains, value: x}]\n")
    suite = validate(Suite, document)
    assert suite.tests[0].max_results == 3
    assert suite.tests[0].checks == [Contains(type="contains", value="x")]
    assert validate(Case, document, at=("tests", 0)) == suite.tests[0]
    assert validate(TypeAdapter(list[Case]), document, at=("tests",)) == suite.tests
    assert validate(Case, document, {"id": "other"}, at=("tests", 0)).id == "other"


FIELDS = [
    ("timeout: fast", 'timeout: expected a number of seconds, found "fast"'),
    ("timeout: 0", "timeout: expected a number above 0, found 0"),
    ("maxResults: many", 'maxResults: expected a whole number, found "many"'),
    ("max_results: 2.5", "max_results: expected a whole number, found 2.5"),
    ("flag: perhaps", 'flag: expected true or false, found "perhaps"'),
    ("flag:", "flag: expected true or false, found null"),
    ("checks: {}", "checks: expected a list, found a mapping with 0 keys"),
    ("checks: [x]", 'checks[0]: expected a mapping, found "x"'),
    ("numbers: [1]", "numbers: expected a mapping, found a list with 1 entry"),
    ('numbers: {"a b": x}', 'numbers["a b"]: expected a whole number, found "x"'),
    (
        "numbers: {a_long_name: 1}",
        'numbers.a_long_name: expected a text of at most 9 characters, found the key "a_long_name"',
    ),
    ("level: esay", 'level: expected "basic" or "hard", found "esay"'),
    ("level: hrd", 'level: expected "basic" or "hard", found "hrd" (did you mean "hard"?)'),
    ("pair: [1]", "pair: expected at least 2 entries, found a list with 1 entry"),
    ("pair: [1, 2]", "pair[1]: expected a text, found 2; quote it"),
    ("size: []", "size: expected a whole number or a text, found a list with 0 entries"),
    ("target: 3", 'target: expected "heuristics" or a mapping, found 3'),
    (
        "target: heuristic",
        'target: expected "heuristics" or a mapping, found "heuristic" (did you mean "heuristics"?)',
    ),
    ("target: {python: 3}", "target.python: expected a text, found 3; quote it"),
    ("target: {pyhton: x, python: y}", 'target: unknown key "pyhton": expected "python" or "depth"'),
    ("target: {python: y, dept: 2}", 'target: unknown key "dept" (did you mean "depth"?)'),
    ("checks: [{type: contains}]", 'checks[0]: missing required key "value"'),
    (
        "checks: [{type: contians}]",
        'checks[0].type: expected "contains", "min_length" or "any_of", found "contians" '
        '(did you mean "contains"?)',
    ),
    ("checks: [{}]", 'checks[0]: missing required key "type": expected "contains", "min_length" or "any_of"'),
    ("checks: [{type: min_length, value: 0}]", "checks[0].value: expected a number of at least 1, found 0"),
    (
        "checks: [{type: any_of, checks: []}]",
        "checks[0].checks: expected at least 1 entry, found a list with 0 entries",
    ),
    (
        "checks: [{type: any_of, checks: [{type: any_of, checks: [{type: contains, value: x, vlaue: 1}]}]}]",
        'checks[0].checks[0].checks[0]: unknown key "vlaue": expected "type", "value" or "caseSensitive"',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("field", "problem"), FIELDS)
def test_errors_are_plain_sentences(written: Callable[[str], Document], field: str, problem: str) -> None:
    where, _, rest = problem.partition(":")
    assert problems(written(f"tests:\n- id: one\n  {field}\n")) == [f"3: tests[0].{where}:{rest}"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("all", '"all" is reserved: choose another id'),
        ("One", 'expected a text that matches ^[a-z]+$, found "One"'),
        ("toolong", 'expected a text of at most 5 characters, found "toolong"'),
        ("7", "expected a text, found 7; quote it"),
        ("x" * 200, f'expected a text of at most 5 characters, found "{"x" * 60}…"'),
    ],
)
def test_errors_of_ids(written: Callable[[str], Document], value: str, problem: str) -> None:
    assert problems(written(f"tests:\n- flag: true\n  id: {value}\n")) == [f"3: tests[0].id: {problem}"]


def test_all_errors_of_a_file_at_their_lines(written: Callable[[str], Document]) -> None:
    content = """\
tests:
  - id: one
    checks:
      - type: contains
        value: x
        casesensitive: true
      - type: min_len
        value: 3
  - timeout: fast
    chekcs: []
name: x
"""
    assert problems(written(content)) == [
        '6: tests[0].checks[0]: unknown key "casesensitive" (did you mean "caseSensitive"?)',
        '7: tests[0].checks[1].type: expected "contains", "min_length" or "any_of", found "min_len" '
        '(did you mean "min_length"?)',
        '9: tests[1]: missing required key "id"',
        '9: tests[1].timeout: expected a number of seconds, found "fast"',
        '10: tests[1]: unknown key "chekcs" (did you mean "checks"?)',
        '11: unknown key "name": expected "tests"',
    ]


def test_a_missing_key_at_the_root(written: Callable[[str], Document]) -> None:
    assert problems(written("# nothing\n{}")) == ['2: missing required key "tests"']
    assert problems(written("- 1")) == ["1: expected a mapping, found a list with 1 entry"]


@pytest.mark.parametrize(
    ("keys", "suggested"),
    [
        ("max_result: 1", "max_results"),
        ("maxResult: 1", "maxResults"),
        ("maxresult: 1", "maxResults"),
        ("maxresult: 1\n  case_style: 1", "max_results"),
    ],
)
def test_suggestions_are_in_the_style_of_the_file(
    written: Callable[[str], Document], keys: str, suggested: str
) -> None:
    found = problems(written(f"tests:\n- id: one\n  {keys}\n"))[0]
    assert found == f'3: tests[0]: unknown key "{keys.split(":")[0]}" (did you mean "{suggested}"?)'


def test_two_spellings_of_one_key(written: Callable[[str], Document]) -> None:
    content = "tests:\n- id: one\n  maxResults: 1\n  max_results: 2\n"
    assert problems(written(content)) == [
        '4: tests[0]: unknown key "max_results": "maxResults" is the same key, remove one'
    ]


class Aliased(Strict):
    min_confidence: float = Field(validation_alias=AliasChoices("minConfidence", "min_confidence"))
    top_level: int = Field(default=1, validation_alias=AliasChoices("topLevel", "top_level"))


@pytest.mark.parametrize(
    ("content", "name"),
    [("topLevel: 1", "minConfidence"), ("top_level: 1", "min_confidence"), ("{}", "minConfidence")],
)
def test_a_missing_key_is_named_in_the_style_of_the_file(
    written: Callable[[str], Document], content: str, name: str
) -> None:
    assert problems(written(content), Aliased) == [f'1: missing required key "{name}"']


def test_below_a_path_lines_and_paths_are_those_of_the_file(written: Callable[[str], Document]) -> None:
    document = written("tests:\n- id: one\n- id: two\n  flag: x\n")
    with pytest.raises(DataFileError) as caught:
        validate(TypeAdapter(Case), document, at=("tests", 1))
    assert [str(problem) for problem in caught.value.problems] == [
        f'{document.path}:4: tests[1].flag: expected true or false, found "x"'
    ]


def test_of_a_union_of_models_the_one_meant_is_reported(written: Callable[[str], Document]) -> None:
    class Command(Strict):
        command: list[str]
        env: dict[str, str] = {}

    class Remote(Strict):
        url: str

    adapter: TypeAdapter[Any] = TypeAdapter(Command | Remote | list[Command])
    assert problems(written("command: [a, 1]\nenv: {}"), adapter) == [
        "1: command[1]: expected a text, found 1; quote it"
    ]
    assert problems(written("urll: x"), adapter) == [
        '1: missing required key "url"',
        '1: unknown key "urll" (did you mean "url"?)',
    ]
    assert problems(written("- command: 1"), adapter) == ["1: [0].command: expected a list, found 1"]
    assert problems(written("text"), adapter) == ['1: expected a mapping or a list, found "text"']


def test_nothing_of_pydantic_shows(written: Callable[[str], Document]) -> None:
    content = "tests:\n" + "".join(f"- id: one\n  {field}\n" for field, _ in FIELDS)
    with pytest.raises(DataFileError) as caught:
        validate(Suite, written(content))
    text = "\n".join(problem.message for problem in caught.value.problems)
    assert len(caught.value.problems) == len(FIELDS)
    for jargon in (
        "pydantic",
        "http",
        "Input",
        "function-",
        "literal[",
        "Contains",
        "model",
        "dictionary",
        "type=",
    ):
        assert jargon not in text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("tests", 3, "expected", "a-b"), "tests[3].expected.a-b"),
        ((0, "x"), "[0].x"),
        (("a.b", "", "ü" * 99), f'["a.b"][""]["{"ü" * 60}…"]'),
    ],
)
def test_dotted_paths(path: tuple[str | int, ...], text: str) -> None:
    assert dotted(path) == text
