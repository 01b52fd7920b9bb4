"""Kinds and checks that a conftest adds."""

from __future__ import annotations

import pytest

from tests.collection.conftest import RunPytest
from tests.support import Project, case

CHECK = """
from pytest_mcpeval.kinds.scenario.checks import NoParameters, check_type, failed, passed

@check_type("NAME", NoParameters)
def shouts(parameters, response):
    "The answer is in capitals."
    return passed("loud") if response.text.isupper() else failed("not loud")

def pytest_mcpeval_checks():
    return [shouts]
"""

KIND = """
from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.kind import Kind
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.core.sample import Check, Sample
from pydantic import BaseModel, ConfigDict

class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    limit: int = 3

class Words(Kind):
    name = "NAME"
    file_description = "a `words:` list (words)"
    file_keys = ("words",)
    settings_model = Settings

    def detect(self, data):
        return "suite" if isinstance(data, dict) and "words" in data else None
    def load(self, document, place):
        limit = place.settings.get("limit", 3)
        cases = tuple(
            Case(id=word, line=document.line("words", i), keys=("words", i), make_spec=lambda: limit)
            for i, word in enumerate(document.data["words"])
        )
        return Suite(place.key, self.name, document, cases, place.settings)
    def prepare(self, suite, case, runtime): pass
    def ask(self, suite, case, runtime): return len(case.id)
    def judge(self, suite, case, answers, runtime):
        outcome = "passed" if answers <= case.spec else "failed"
        return Sample(suite.key, self.name, case.id, outcome, message=f"{case.id} is long")
    def explain(self, suite, case, sample): return sample.message
    def measure(self, samples): return {}
    def gates(self, suite, samples, *, blessing): return []
    def tables(self, samples): return []

def pytest_mcpeval_kinds():
    return [Words()]
"""


def test_a_check_of_a_conftest(project: Project, run: RunPytest) -> None:
    project.write("conftest.py", CHECK.replace("NAME", "shouts"))
    shouts = {"type": "shouts"}
    project.suite(
        "a.yaml", case("loud", "echo", shouts, text="HEY"), case("quiet", "echo", shouts, text="hey")
    )
    result = run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*shouts: not loud"])


BREAKS = """
from pytest_mcpeval.kinds.scenario.checks import NoParameters, check_type

@check_type("breaks", NoParameters)
def breaks(parameters, response):
    "Raises what a typing error raises."
    return len(None)

@check_type("waits", NoParameters)
def waits(parameters, response):
    "Raises what a socket raises."
    raise TimeoutError("nobody there")

def pytest_mcpeval_checks():
    return [breaks, waits]
"""
BROKEN_IN_PYTHON = """
import pytest

pytestmark = pytest.mark.xfail(reason="known", strict=True)

def test_called(mcpeval_expect):
    mcpeval_expect("text").check("breaks")

def test_negated(mcpeval_expect):
    mcpeval_expect("text").not_.check("breaks")

def test_among_others(mcpeval_expect):
    with mcpeval_expect("text").all() as expect:
        expect.contains("z").check("waits")

@pytest.mark.mcpeval_checks(breaks=True, contains="z")
def test_marked():
    return "text"

def test_caught(mcpeval_expect):
    with pytest.raises(AssertionError):
        mcpeval_expect("text").check("breaks")

def test_no_limit(mcpeval_call, mcpeval_expect):
    mcpeval_expect(mcpeval_call("echo", text="x")).max_latency_ms(60_000)

def test_no_limit_at_all(mcpeval_expect):
    mcpeval_expect("x").max_latency_ms(10**9)

def test_wrong(mcpeval_expect):
    mcpeval_expect("text").contains("z")
"""


def test_a_broken_check_is_an_error_that_no_xfail_accepts(project: Project) -> None:
    project.write("conftest.py", BREAKS)
    project.write("test_broken.py", BROKEN_IN_PYTHON)
    marks, wrong = {"xfail": "known"}, {"type": "contains", "value": "z"}
    first = {"tool": "echo", "input": {"text": "5"}, "capture": {"number": "$"}}
    second = {**first, "expected": {"validations": [{"type": "equals", "value": "x", "path": "${number}"}]}}
    del second["capture"]
    project.suite(
        "a.yaml",
        case("plain", "echo", {"type": "breaks"}, text="HEY"),
        case("marked", "echo", {"not": {"type": "waits"}}, wrong, marks=marks, text="HEY"),
        {"id": "filled", "steps": [first, second], "marks": marks},
        case("known", "echo", wrong, marks=marks, text="HEY"),
    )
    result = project.run("-p", "no:asyncio", columns=200)
    assert result.last_line.startswith("1 failed, 2 xfailed, 9 errors in"), result.out
    for name in ("plain", "marked", "filled"):
        assert result.line_with(f"ERROR datasets/a.yaml::{name} ")
    for name in ("called", "negated", "among_others", "marked", "caught"):
        assert result.line_with(f"ERROR test_broken.py::test_{name} ")
    assert "the check breaks broke: TypeError" in result.line_with("ERROR test_broken.py::test_marked ")
    assert "the time limit of the call" in result.line_with("ERROR test_broken.py::test_no_limit ")
    assert "no call takes that long" in result.line_with("FAILED test_broken.py::test_no_limit_at_all ")


def test_a_check_whose_name_is_taken(project: Project, run: RunPytest) -> None:
    project.write("conftest.py", CHECK.replace("NAME", "contains"))
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ['ERROR: two check types are named "contains": *.contains and conftest.shouts; *']
    )


def test_a_kind_of_a_conftest(project: Project, run: RunPytest) -> None:
    project.write("conftest.py", KIND.replace("NAME", "words"))
    project.write("datasets/a.yaml", "words: [two, three]")
    project.write("datasets/deep/b.yaml", "kind: words\nwords: [three]")
    project.write("datasets/deep/mcpeval.yaml", "words:\n- files: b.yaml\n  limit: 5")
    result = run()
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["three is long"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("[one, two, one]", "4: duplicate id 'one': first used on line 2; rename one"),
        (
            "['two words']",
            '2: the id "two words" is not allowed: expected a text that matches ^*',
        ),
        ('["one\\n"]', '2: the id "one\\n" is not allowed: *'),
        ("['a::b']", '2: the id "a::b" is not allowed: *'),
        (f"[{'x' * 81}]", '2: the id "xxx*" is not allowed: *'),
        ("[3]", "2: the id 3 is not allowed: *"),
        ("[]", "1: has no case: there is nothing to ask"),
    ],
)
def test_ids_of_any_kind_are_checked(project: Project, run: RunPytest, words: str, expected: str) -> None:
    project.write("conftest.py", KIND.replace("NAME", "words"))
    text = words.replace("[", "words: [\n").replace(", ", ",\n") if words != "[]" else "words: []"
    project.write("datasets/a.yaml", text)
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"datasets/a.yaml:{expected.replace('[', '[[]')}"])


def test_a_node_id_stands_for_one_case(project: Project, run: RunPytest) -> None:
    project.suite("a.yaml", case("one"))
    project.write(
        "test_p.py",
        "import pytest\n@pytest.mark.mcpeval_case(project='p')\ndef test_p(): pass\ndef test_q(): pass\n",
    )
    result = run("--keep-duplicates", *["datasets/a.yaml", "test_p.py"] * 2)
    result.assert_outcomes(errors=2)
    ending = "is the node id of 2 cases: give each a different id"
    result.stdout.fnmatch_lines([f"datasets/a.yaml::one {ending}", f"test_p.py::test_p {ending}"])


def test_mistakes_know_the_kinds_of_a_conftest(project: Project, run: RunPytest) -> None:
    project.write("conftest.py", KIND.replace("NAME", "words"))
    project.write("datasets/a.yaml", "word: [two]")
    project.write("datasets/deep/mcpeval.yaml", "words:\n- limits: 5")
    run().stdout.fnmatch_lines(
        [
            'datasets/a.yaml:1: word: did you mean "words"? * list (retrieval); *a `words:` list (words)*',
            'datasets/deep/mcpeval.yaml:2: words[[]0]: unknown key "limits" (did you mean "limit"?)',
        ]
    )


def test_a_kind_whose_name_is_taken(project: Project, run: RunPytest) -> None:
    project.write("conftest.py", KIND.replace("NAME", "scenario"))
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: two kinds of evaluation are named 'scenario': rename one"])


@pytest.mark.parametrize("hook", ["checks", "kinds"])
def test_a_hook_that_returns_no_list(project: Project, run: RunPytest, hook: str) -> None:
    project.write("conftest.py", f"def pytest_mcpeval_{hook}(): return 3")
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: a pytest_mcpeval_ hook did not return a list"])
