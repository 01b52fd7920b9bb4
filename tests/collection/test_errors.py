"""What is said about a suite that cannot be used: everything at once, at its line, with a suggestion."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.collection.conftest import RunPytest
from tests.runtimes import problems_of, runtime_at
from tests.support import Project, case

FIRST_CASE = """\
server: tiny
tests:
- id: one
  tool: echo
  input: {text: x}
  expected:
    validations:
    - {type: contains, value: x}
"""
A_DAY = "expected a number of at most 86400"
FIRST_CHECK = "tests[0].expected.validations[0]"
STEPS = """\
server: tiny
tests:
- id: one
  steps:
  - tool: add
    input: {a: 1, b: 2}
    capture: {sum: $.result}
  - tool: echo
    input: {text: "${sum}"}
    expected:
      validations: [{type: contains, value: "3"}]
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Project.at(tmp_path)
    (tmp_path / "datasets").mkdir()
    return tmp_path


def problems(root: Path, text: str, name: str = "a.yaml") -> list[str]:
    path = root / "datasets" / name
    path.write_text(text, encoding="utf-8")
    return problems_of(runtime_at(root), path)


def test_the_texts_changed_below_are_free_of_problems(root: Path) -> None:
    for text in (FIRST_CASE, STEPS):
        (root / "datasets" / "a.yaml").write_text(text)
        assert runtime_at(root).suite(root / "datasets" / "a.yaml") is not None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("server: tiny", "sever: tiny", '1: unknown key "sever" (did you mean "server"?)'),
        (
            "server: tiny",
            "server: tinyy",
            "1: unknown server 'tinyy' (did you mean \"tiny\"?) (defined: tiny)",
        ),
        ("server: tiny", "timeout: soon", '1: timeout: expected a number, found "soon"'),
        ("server: tiny", "timeout: 86401", f"1: timeout: {A_DAY}, found 86401"),
        ("server: tiny", "project: '${env.NAME}'", "1: project: no value is filled in here"),
        (
            "tool: echo",
            "tool: echo\n  project: '${NAME}'",
            "5: tests[0].project: no value is filled in here: placeholders are allowed in `input`",
        ),
        ("tool: echo", "tool: echo\n  timeout: 1e9", f"5: tests[0].timeout: {A_DAY}, found "),
        (
            "server: tiny",
            "gates: {pass_rat: 1}",
            '1: gates: unknown key "pass_rat" (did you mean "pass_rate"?)',
        ),
        (
            "server: tiny",
            "gates: {pass_rate: 2}",
            "1: gates.pass_rate: expected a number of at most 1, found 2",
        ),
        (
            "server: tiny",
            "gates: {pass_rate: 0}",
            "1: gates.pass_rate: any value meets 0, so the gate could not fail",
        ),
        (
            "{type: contains, value: x}",
            "{type: max_latency_ms, ms: 60000}",
            "8: 60000 ms is no less than the time limit of the call, 60000 ms, so every answer would pass",
        ),
        (
            "{type: contains, value: x}",
            "{not: {type: min_length, chars: 0}}",
            f"8: {FIRST_CHECK}.not.chars: found 0: every answer would pass; say 1 or more",
        ),
        (
            "server: tiny",
            "gates: {no_new_failures: true}",
            "1: gates.no_new_failures compares with a committed",
        ),
        (
            "server: tiny",
            "baseline: base.txt",
            '1: baseline: "base.txt" has the suffix .txt: a baseline is read',
        ),
        ("server: tiny", "marks: {skp: x}", '1: marks: unknown key "skp" (did you mean "skip"?)'),
        ("server: tiny", "marks: {xfail: {strict: true}}", '1: marks.xfail: missing required key "reason"'),
        ("id: one", "ids: one", '3: tests[0]: unknown key "ids" (did you mean "id"?)'),
        ("tool: echo", "tol: echo", '4: tests[0]: unknown key "tol" (did you mean "tool"?)'),
        ("  tool: echo\n", "", "3: tests[0]: lacks `tool`"),
        ("tool: echo", "difficulty: bsic", "4: tests[0].difficulty: expected"),
        (
            "tool: echo",
            "tool: echo\n  difficulty: bsic",
            '5: tests[0].difficulty: expected "basic", "intermediate"',
        ),
        ("tool: echo", "tool: echo\n  server: tinyy", "5: unknown server 'tinyy' (did you mean \"tiny\"?)"),
        ("tool: echo", "tool: echo\n  fixtures: [a b]", "5: tests[0].fixtures[0]: "),
        ("tool: echo", "tool: echo\n  tags: [1]", "5: tests[0].tags[0]: expected a text, found 1; quote it"),
        ("input: {text: x}", "input: x", '5: tests[0].input: expected a mapping, found "x"'),
        (
            "validations:",
            "validation:",
            '7: tests[0].expected: unknown key "validation" (did you mean "validations"?)',
        ),
        ("validations:", "expectedKeyword:", '7: tests[0].expected: unknown key "expectedKeyword"'),
        (
            "type: contains",
            "type: contain",
            f"8: {FIRST_CHECK}.type: unknown check type 'contain' (did you mean \"contains\"?)",
        ),
        (
            "type: contains",
            "typ: contains",
            f"8: {FIRST_CHECK}.typ: unknown key 'typ' (did you mean \"type\"?)",
        ),
        ("value: x", "valu: x", f'8: {FIRST_CHECK}.valu: unknown key "valu" (did you mean "value"?)'),
        ("value: x", "value: 1", f"8: {FIRST_CHECK}.value: expected a text, found 1"),
        ("type: contains, value: x", "type: matches_regex, pattern: (", f"8: {FIRST_CHECK}.pattern: "),
        (
            "type: contains, value: x",
            "not: {type: contain, value: x}",
            f"8: {FIRST_CHECK}.not.type: unknown check type 'contain'",
        ),
        (
            "type: contains, value: x",
            "any_of: []",
            f"8: {FIRST_CHECK}.any_of: any_of needs a list of at least one check",
        ),
        (
            "- {type: contains, value: x}",
            "- has_citation",
            '8: tests[0].expected.validations[0]: expected a mapping, found "has_citation"',
        ),
        (
            "validations:\n    - {type: contains, value: x}",
            "validations: []",
            "6: tests[0].expected: is empty, so the case could never fail",
        ),
        (
            "expected:\n    validations:\n    - {type: contains, value: x}",
            "expected: {}",
            "6: tests[0].expected: is empty",
        ),
        (
            "expected:\n    validations:\n    - {type: contains, value: x}",
            "expected:",
            "3: tests[0]: lacks `expected`",
        ),
        ("tests:", "tests: []\nname:", "2: tests: expected at least 1 entry, found a list with 0 entries"),
    ],
)
def test_a_mistake_in_a_suite(root: Path, old: str, new: str, expected: str) -> None:
    assert FIRST_CASE.count(old) == 1
    found = problems(root, FIRST_CASE.replace(old, new))
    assert any(line.startswith(f"datasets/a.yaml:{expected}") for line in found), found


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("steps:", "step:", '4: tests[0]: unknown key "step" (did you mean "steps"?)'),
        ("tool: add", "tol: add", '5: tests[0].steps[0]: unknown key "tol" (did you mean "tool"?)'),
        ("tool: add", "tool: add\n    timeout: 86401", f"6: tests[0].steps[0].timeout: {A_DAY}, found 86401"),
        ("tool: add", "expect_empty: true", "5: tests[0].steps[0]: needs exactly one of `tool`"),
        ("tool: add", "tool: add\n    prompt: x", "5: tests[0].steps[0]: needs exactly one of `tool`"),
        ("capture:", "captur:", '7: tests[0].steps[0]: unknown key "captur" (did you mean "capture"?)'),
        ("{sum: $.result}", "{sum: '$.['}", "7: tests[0].steps[0].capture.sum: not a JSONPath (RFC 9535)"),
        (
            "{sum: $.result}",
            "{smu: $.result}",
            '9: ${sum} is not captured by an earlier step (did you mean "smu"?)',
        ),
        (
            "    capture: {sum: $.result}",
            '    expected: {forbiddenKeywords: [x, "${later}"]}\n    capture: {sum: $.result}\n'
            "  - {tool: echo, input: {text: x}, capture: {later: $}}",
            "7: ${later} is captured by a later step only",
        ),
        (
            'text: "${sum}"',
            'text: "x", nest: {"n-${smu}": 1}',
            '9: ${smu} is not captured by an earlier step (did you mean "sum"?)',
        ),
        ("${sum}", "${later}", "9: ${later} is not captured by an earlier step (captured: sum)"),
        (
            'value: "3"',
            'value: "${smu}"',
            '11: ${smu} is not captured by an earlier step (did you mean "sum"?) (captured: sum); ',
        ),
        *(
            (
                'validations: [{type: contains, value: "3"}]',
                f'{key}: [total, "is ${{smu}}"]',
                '11: ${smu} is not captured by an earlier step (did you mean "sum"?) (captured: sum); ',
            )
            for key in ("forbiddenKeywords", "forbidden_keywords", "expectedKeywords", "expectedImports")
        ),
        ('[{type: contains, value: "3"}]', "[]", "10: tests[0].steps[1].expected: is empty"),
        ("- id: one", "- id: one\n  tool: echo", "3: tests[0]: has both `steps` and `tool`"),
    ],
)
def test_a_mistake_in_steps(root: Path, old: str, new: str, expected: str) -> None:
    assert STEPS.count(old) == 1
    found = problems(root, STEPS.replace(old, new))
    assert any(line.startswith(f"datasets/a.yaml:{expected}") for line in found), found


def test_a_number_whose_capture_is_misspelt_is_no_second_mistake(root: Path) -> None:
    number = STEPS.replace('{type: contains, value: "3"}', "{type: min_length, chars: '${sum}'}")
    assert len(problems(root, number.replace("{sum: $.result}", "{total: $.result}"))) == 2
    (found,) = problems(root, number.replace("capture:", "captur:"))
    assert 'unknown key "captur"' in found


def test_times_in_files_of_settings_and_servers_have_a_limit(root: Path) -> None:
    path = Project(root).suite("a.yaml", case("one"))
    settings = Project(root).write("datasets/mcpeval.yaml", "scenario:\n- timeout: 1e300\n")
    assert f"mcpeval.yaml:2: scenario[0].timeout: {A_DAY}, found " in problems_of(runtime_at(root), path)[0]
    settings.write_text("servers:\n  slow: {command: x, start_timeout: 1e300}\n", encoding="utf-8")
    assert f"mcpeval.yaml:2: servers.slow.start_timeout: {A_DAY}" in problems_of(runtime_at(root), path)[0]


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (
            "retriever: {http: {url: 'http://x/?q={query}', result: $, headers: {A: '${A-B}'}}}",
            "${A-B} is not a placeholder",
        ),
        ("retriever: {mcp: {server: s, tool: t, result: $, arguments: {q: '{query}', a: '${'}}}", "${ is no"),
        ("retriever: {command: ./x, env: {A: '${env.B}'}}", "${env.B} is a form of cases: write ${B}"),
        ("retriever: 'command:./x ${env:B}'", "${env:B} is a form of another host"),
        (
            "corpus: ${NO_SUCH}/tools.json",
            "needs the environment variable NO_SUCH, which is not set: set it, or",
        ),
        ("corpus: ${NO_SUCH", "${ is not a placeholder"),
    ],
)
def test_what_is_no_placeholder_in_a_project_file(root: Path, written: str, problem: str) -> None:
    path = Project(root).suite("a.yaml", case("one"))
    Project(root).write("datasets/mcpeval.yaml", f"retrieval:\n- depth: 10\n  {written}\n")
    (found,) = problems_of(runtime_at(root), path)
    assert found.startswith("datasets/mcpeval.yaml:3: retrieval[0].")
    assert problem in found


def test_settings_in_a_project_file_take_variables(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHICH", "tiny")
    Project(root).write("datasets/mcpeval.yaml", "scenario:\n- {server: '${WHICH}', tool_prefix: '$${x}'}\n")
    path = Project(root).suite("a.yaml", case("one"))
    suite = runtime_at(root).suite(path)
    assert suite is not None
    assert (suite.settings.server, suite.settings.tool_prefix) == ("tiny", "${x}")


PLACEHOLDERS = """\
server: tiny
tests:
- id: one
  tool: echo
  input:
    text: AAA
  expected:
    forbiddenKeywords:
    - never
    - BBB
    validations:
    - any_of:
      - {type: contains, value: x}
      - type: contains
        value: CCC
"""


@pytest.mark.parametrize(("place", "line"), [("AAA", 6), ("BBB", 10), ("CCC", 15)])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "${HOME}",
            "${HOME} is not captured by an earlier step (captured: nothing); an environment variable",
        ),
        ("a ${x.y} b", "${x.y} is not a placeholder: write ${name} for a captured value, ${env.NAME} or"),
        ("${env.}", "${env.} is not a placeholder: "),
        ("${env.A-B}", "${env.A-B} is not a placeholder: "),
        ("${env:HOME}", "${env:HOME} is not a placeholder: "),
        ("${env.A:-${env.B}}", "${env.A:-${env.B} is not a placeholder: "),
        ("${x:-y}", "${x:-…} is a captured value with a default: write ${env.x:-…} if"),
        ("$${x} ${", "${ is not a placeholder: "),
        ("$${x}${x}", "${x} is not captured"),
    ],
)
def test_what_is_no_placeholder_is_a_mistake_at_its_line(
    root: Path, place: str, line: int, text: str, words: str
) -> None:
    (found,) = problems(root, PLACEHOLDERS.replace(place, f"'{text}'"))
    assert found.startswith(f"datasets/a.yaml:{line}: {words}")


@pytest.mark.parametrize("text", ["${env.HOME}", "${env.NO_SUCH:-x}", "$${x} costs $5 {x} $", "$${"])
@pytest.mark.parametrize("place", ["AAA", "BBB", "CCC"])
def test_variables_and_literal_braces_are_no_mistakes(root: Path, place: str, text: str) -> None:
    (root / "datasets" / "a.yaml").write_text(PLACEHOLDERS.replace(place, f"'{text}'"))
    assert runtime_at(root).suite(root / "datasets" / "a.yaml") is not None


@pytest.mark.parametrize(
    ("old", "new", "start"),
    [
        ("- tool: add", "- tool: '${sum}'", "5: tests[0].steps[0].tool: no value is filled in here"),
        ("tool: echo", "prompt: '${sum}'", "8: tests[0].steps[1].prompt: no value is filled in here"),
        (
            "sum: $.result",
            "sum: '$.result[?@.id == \"${env.ID}\"]'",
            "7: tests[0].steps[0].capture: no value",
        ),
    ],
)
def test_where_nothing_is_filled_in_a_placeholder_is_a_mistake(
    root: Path, old: str, new: str, start: str
) -> None:
    found = problems(root, STEPS.replace(old, new))
    assert any(line.startswith(f"datasets/a.yaml:{start}") for line in found), found


@pytest.mark.parametrize(
    "name",
    ["", "a b", "a/b", "a::b", "a\n", "a\nb", ".a", "-a", "é", "日本", "a\x1b[31m", "x" * 81, "a[b]", "a@b"],
)
def test_bad_ids(project: Project, run: RunPytest, name: str) -> None:
    project.suite("a.yaml", case(name))
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.re_match_lines(
        [r"datasets/a\.yaml:\d+: tests\[0\]\.id: expected a text that matches \^\[A-Za"]
    )
    result.stdout.no_fnmatch_line("*\x1b[[]31m*")


def test_ids_at_the_limits(root: Path) -> None:
    tests = [case(name) for name in ("x" * 80, "0", "A.b_c-d")]
    path = Project(root).suite("a.yaml", *tests)
    suite = runtime_at(root).suite(path)
    assert suite is not None
    assert [found.id for found in suite.cases] == ["x" * 80, "0", "A.b_c-d"]


def test_duplicate_ids(root: Path) -> None:
    text = FIRST_CASE + FIRST_CASE.partition("tests:\n")[2] * 2
    assert problems(root, text) == [
        "datasets/a.yaml:9: duplicate id 'one': first used on line 3; rename one",
        "datasets/a.yaml:15: duplicate id 'one': first used on line 3; rename one",
    ]


def test_all_mistakes_of_a_file_at_once(project: Project, run: RunPytest) -> None:
    text = (
        FIRST_CASE
        + """\
- id: two
  tool: echo
  input: {text: x}
  difficulty: hard
  expected: {validations: [{type: nonsense}, {type: contains}]}
- id: one
  tool: echo
  input: {text: x}
  server: nobody
  expected: {validations: [{type: contains, vaule: x}]}
"""
    )
    project.write("datasets/schema.yaml", text.replace("id: two", "id: two two"))
    project.write("datasets/meaning.yaml", text.replace("  difficulty: hard\n", ""))
    result = run()
    result.assert_outcomes(errors=2)
    result.stdout.re_match_lines(
        [
            r"datasets/meaning.yaml:12: tests\[1\].*\[0\].type: unknown check type 'nonsense'.*",
            r"datasets/meaning.yaml:12: tests\[1\].*\[1\].value: the key \"value\" is missing",
            r"datasets/meaning.yaml:13: duplicate id 'one': first used on line 3; rename one",
            r"datasets/meaning.yaml:16: unknown server 'nobody' \(defined: tiny\)",
            r"datasets/meaning.yaml:17: .*\"vaule\" .did you mean \"value\".*",
            r"datasets/schema.yaml:9: tests\[1\].id: .*",
            r"datasets/schema.yaml:12: tests\[1\].difficulty: .*",
        ]
    )


EVERYTHING = """\
sevrer: tiny
tools: {say: echo}
timeout: soon
gates: {no_new_failures: true, pass_rate: 2}
tests:
- id: one
  tool: shout
  difficulty: bsic
  server: nobody
  input: {text: x}
  expected:
    validations:
    - {type: contain, value: x}
    - {type: matches_regex, pattern: (}
    expectedKeyword: [x]
- id: one
  tool: say
  inptu: {text: x}
  expected: {validations: [{type: contains}]}
- id: two
  fixtures: [a b]
  steps:
  - tool: say
    input: {text: "${later}"}
    capture: {text: "$.["}
  - tol: say
    captrue: {number: $.x}
    expected: {validations: [{type: nonsense}]}
  - tool: say
    input: {text: "${number}"}
"""


SCHEMA_MISTAKES = {
    "sevrer": "server",
    "timeout: soon": "timeout: 9",
    ", pass_rate: 2": "",
    "bsic": "basic",
    "expectedKeyword:": "expectedKeywords:",
    "inptu": "input",
    "[a b]": "[a_b]",
    "$.[": "$.text",
    "tol:": "tool:",
    "captrue": "capture",
}


def starts_of(found: list[str], starts: list[str]) -> None:
    assert len(found) == len(starts), found
    for line, start in zip(found, starts, strict=True):
        assert line.startswith(f"datasets/a.yaml:{start}"), found


def test_all_that_the_schema_sees_is_told_together_and_then_all_the_rest(root: Path) -> None:
    seen_by_schema = [
        '1: unknown key "sevrer"',
        "3: timeout: expected a number",
        "4: gates.pass_rate: expected a number of at most 1",
        "8: tests[0].difficulty: ",
        '15: tests[0].expected: unknown key "expectedKeyword"',
        '18: tests[1]: unknown key "inptu"',
        "21: tests[2].fixtures[0]: ",
        "25: tests[2].steps[0].capture.text: not a JSONPath",
        '26: tests[2].steps[1]: unknown key "tol"',
        '27: tests[2].steps[1]: unknown key "captrue"',
    ]
    starts_of(problems(root, EVERYTHING), seen_by_schema)
    text = EVERYTHING
    for wrong, right in SCHEMA_MISTAKES.items():
        text = text.replace(wrong, right)
    the_rest = [
        "4: gates.no_new_failures compares with a committed baseline",
        "7: unknown tool alias 'shout'",
        "9: unknown server 'nobody'",
        f"13: {FIRST_CHECK}.type: unknown check type 'contain'",
        "14: ",
        "16: duplicate id 'one': first used on line 6; rename one",
        '19: tests[1].expected.validations[0].value: the key "value" is missing',
        "24: ${later} is not captured",
        "28: tests[2].steps[1].expected.validations[0].type: unknown check type 'nonsense'",
    ]
    starts_of(problems(root, text), the_rest)


BESIDE_OTHERS = """\
server: tiny
tests:
- id: one
  tool: echo
  input: {}
  expected: {validations: [{type: contian, value: x}, {type: contian, value: x}]}
- id: two
  tool: echo
  steps:
  - {resource: "x://", expect_empty: true}
- id: three
  steps:
  - {tool: echo, resource: "x://", capture: {first: $.id}}
  - {resource: "x://", input: {text: x}, capture: {second: $.id}}
"""


def test_no_mistake_hides_behind_another_beside_it(root: Path) -> None:
    starts = [
        "7: tests[1]: has both `steps` and `tool`",
        "13: tests[2].steps[0]: needs exactly one of `tool`, `resource` or `prompt`, and has `tool` and `res",
        "14: tests[2].steps[1]: a resource takes no `input`",
    ]
    starts_of(problems(root, BESIDE_OTHERS), starts)
    starts = [
        "6: tests[0].expected.validations[0].type: unknown check type 'contian'",
        "6: tests[0].expected.validations[1].type: unknown check type 'contian'",
    ]
    starts_of(problems(root, BESIDE_OTHERS.partition("- id: two")[0]), starts)


def test_what_is_wrong_with_the_text_of_a_file_is_shown_before_its_content_is_checked(root: Path) -> None:
    yaml_text = FIRST_CASE.replace("  tool: echo\n", "  tool: echo\n  tool: add\n").replace(
        "input:", "inputt:"
    )
    assert problems(root, yaml_text) == [
        'datasets/a.yaml:5: duplicate key "tool": it is already on line 4; remove or rename one',
    ]
    json_text = """\
{"server": "tiny", "tests": [{"id": "one", "tool": "echo",
  "tool": "add",
  "inputt": {"text": "x"},
  "timeout": NaN,
  "expected": {"expectedKeywords": ["x"]}}]}
"""
    assert problems(root, json_text, "a.json") == [
        'datasets/a.json:2: duplicate key "tool": it is already on line 1; remove or rename one',
        "datasets/a.json:4: NaN is not JSON: write a finite number or null",
    ]


def test_mistakes_in_rows_of_json_lines(root: Path) -> None:
    rows = [
        case("one", difficulty="bsic"),
        case("one", server="nobody"),
        case("two", "echo", {"type": "contain", "value": "x"}, tgas=["x"]),
    ]
    path = Project(root).write("datasets/a.jsonl", "\n".join(map(json.dumps, rows)))
    first = problems_of(runtime_at(root), path)
    del rows[0]["difficulty"], rows[2]["tgas"]
    Project(root).write("datasets/a.jsonl", "\n".join(map(json.dumps, rows)))
    then = problems_of(runtime_at(root), path)
    starts = (
        "1: [0].difficulty: ",
        '3: [2]: unknown key "tgas"',
        "2: duplicate id 'one'",
        "2: unknown server 'nobody'",
        "3: [2].expected.validations[0].type: unknown check type 'contain'",
    )
    assert len(first) == 2
    assert len(first + then) == len(starts), first + then
    for start in starts:
        assert any(line.startswith(f"datasets/a.jsonl:{start}") for line in first + then), first + then


def test_an_empty_case_lacks_everything(root: Path) -> None:
    assert problems(root, "server: tiny\ntests:\n- {}\n") == [
        'datasets/a.yaml:3: tests[0]: missing required key "id"'
    ]
    (found,) = problems(root, "server: tiny\ntests:\n- {id: one}\n")
    assert found.startswith("datasets/a.yaml:3: tests[0]: lacks `tool` and `input` and `expected` (or")


@pytest.mark.parametrize(
    "mistake",
    [
        {"sever": "a"},
        {"server": 1},
        {"gates": {"no_new_failures": True}, "baselin": "b.json"},
        {"tools": {"x": "y"}, "toolPrefx": "z_"},
        {"tests": 1},
        {"tests": {}},
        {"tests": [1]},
        {"marks": {"xfail": {}}},
    ],
)
def test_nothing_is_said_about_what_follows_from_a_mistake(root: Path, mistake: dict[str, Any]) -> None:
    servers = {"a": {"url": "http://a"}, "b": {"url": "http://b"}}
    Project(root).write_json(".mcp.json", {"mcpServers": servers})
    known = {} if mistake.keys() & {"sever", "server", "tests"} else {"server": "a"}
    data = {"kind": "scenario", "tests": [case("one")], **known, **mistake}
    path = Project(root).write_json("datasets/a.json", data)
    assert len(problems_of(runtime_at(root), path)) == 1


def test_a_wrong_server_of_the_suite_is_told_once_and_of_cases_each_time(root: Path) -> None:
    (root / "datasets" / "mcpeval.yaml").write_text("# servers\nscenario:\n- server: nobody\n")
    rows = [case("a"), case("b"), case("c", server="nobody"), case("d", server="nobody")]
    path = Project(root).suite("a.yaml", *rows)
    found = problems_of(runtime_at(root), path)
    words = "unknown server 'nobody' (defined: tiny)"
    assert found[0] == f"datasets/a.yaml:1: {words}; `server` comes from datasets/mcpeval.yaml:3"
    assert len(found) == 3
    assert all(line.endswith(words) for line in found[1:])


def test_no_server_is_named(root: Path) -> None:
    servers = {"a": {"url": "http://a"}, "b": {"url": "http://b"}}
    Project(root).write_json(".mcp.json", {"mcpServers": servers})
    path = Project(root).suite("a.yaml", case("one"))
    assert problems_of(runtime_at(root), path) == [
        "datasets/a.yaml:1: no server is named: say `server:` here or in mcpeval.yaml (defined: a, b)"
    ]


@pytest.mark.parametrize("where", ["suite", "project file"])
def test_unknown_tool_aliases(root: Path, where: str) -> None:
    tools = {"say": "echo", "plus": "add"}
    settings: dict[str, Any] = {"tools": tools} if where == "suite" else {}
    origin = ""
    if where == "project file":
        Project(root).write_json("datasets/mcpeval.yaml", {"scenario": [{"tools": tools}]})
        origin = "; `tools` comes from datasets/mcpeval.yaml:"
    path = Project(root).suite(
        "a.yaml", case("one", "say"), case("two", "echo"), case("three", "sya"), **settings
    )
    (found,) = problems_of(runtime_at(root), path)
    assert "unknown tool alias 'sya' (did you mean \"say\"?); `tools:` knows plus, say" + origin in found


def test_camel_case_and_snake_case_are_both_read(root: Path) -> None:
    text = FIRST_CASE.replace("    validations:", "    expected_keywords: [x]\n    validations:").replace(
        "tool: echo", "tool: echo\n  sendProject: false"
    )
    (root / "datasets" / "a.yaml").write_text(text)
    suite = runtime_at(root).suite(root / "datasets" / "a.yaml")
    assert suite is not None
    assert [check.name for check in suite.cases[0].spec.steps[0].checks] == ["contains", "contains"]


def test_a_suite_with_every_field(project: Project, run: RunPytest) -> None:
    row = {
        "id": "every-field",
        "name": "A case with all fields",
        "description": "d",
        "tool": "echo",
        "project": "mina",
        "difficulty": "basic",
        "input": {"text": "hello"},
        "tags": ["concept"],
        "expected": {
            "validations": [
                {"type": "contains", "value": "HELLO", "caseSensitive": False},
                {"type": "contains_any", "values": ["hello", "x"]},
                {"type": "contains_all", "values": ["hell", "o"]},
                {"type": "matches_regex", "pattern": "^hel+o$"},
                {"type": "min_length", "chars": 5},
            ],
            "expectedKeywords": ["hello"],
            "forbiddenKeywords": ["solana"],
        },
    }
    suite = {"name": "Mina", "project": "mina", "version": "1.0.0", "tests": [row]}
    project.write_json("datasets/mcpeval.yaml", {"scenario": [{"send_project": False}]})
    project.write_json("datasets/mina.json", suite)
    run().assert_outcomes(passed=1)


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_file_whose_path_would_steer_the_terminal_is_an_error(tmp_path: Path, workers: str) -> None:
    project = Project.at(tmp_path)
    project.suite("good.yaml", case("one"), server="tiny")
    names = ["a\x1b[31mred.yaml", "two\nlines.json", "tab\t.yaml", "l\u2028s.yaml"]
    names += ["d\x1b]0;t\x07/deep/mcpeval.yaml", "x\n::stop-commands::y/b.yaml"]
    for name in names:
        project.suite(name, case("one"), server="tiny")
    run = project.run(workers, "--continue-on-collection-errors", "-v", columns=200)
    assert "INTERNALERROR" not in run.out + run.err
    assert not set("\x1b\x07\u2028") & set(run.out)
    assert not [line for line in run.lines if line.startswith("::")]
    spelled = [r"a\x1b[31mred.yaml", r"two\nlines.json", r"tab\t.yaml", r"l\u2028s.yaml"]
    spelled += [r"d\x1b]0;t\x07/deep/mcpeval.yaml", r"x\n\x3a:stop-commands::y/b.yaml"]
    for name in spelled:
        assert run.line_with(
            f"datasets/{name}: the path of this file holds control characters or line breaks"
        )
    assert run.line_with("good.yaml::one", "PASSED")
    assert run.status == 1
