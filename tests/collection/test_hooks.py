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
from pytest_mcpeval.kinds.base import Case, Kind, Suite
from pytest_mcpeval.samples import Check, Sample
from pydantic import BaseModel, ConfigDict

class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    limit: int = 3

class Words(Kind):
    name = "NAME"
    shape_description = "a `words:` list (words)"
    shape_keys = ("words",)
    settings_model = Settings

    def recognise(self, data):
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
    ending = "is the node id of 2 cases: give each an id of its own"
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
    result.stderr.fnmatch_lines(["ERROR: a pytest_mcpeval_ hook returned something else than a list"])
