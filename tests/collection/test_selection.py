"""Which of the collected cases run: markers, names, ids, options, marks; and the fixtures cases name."""

from __future__ import annotations

import json
from collections.abc import Callable
from xml.etree import ElementTree

import pytest

from tests.collection.conftest import RunPytest
from tests.support import Project, case, failing

Collected = Callable[..., list[str]]
STRICT = ("--strict-markers", "-W", "error")
MODES = pytest.mark.parametrize("mode", [(), ("-n2",)], ids=["serial", "n2"])


MARKERS_ARE_FINE = """
def pytest_collection_modifyitems(items):
    for item in items:
        assert {mark.name for mark in item.iter_markers()} <= {"echo", "fine"}
"""


def ids(nodes: list[str]) -> list[str]:
    return [node.rpartition("::")[2] for node in nodes]


@pytest.fixture
def traits(project: Project) -> Project:
    project.write_json("datasets/mcpeval.yaml", {"scenario": [{"send_project": False}]})
    project.suite(
        "a.yaml",
        case("one", difficulty="basic", tags=["intro", "smart contract", "x:y(z)", "größe", "has-hyphen"]),
        case("two", difficulty="advanced", project="solana", tags=["_private", "intro"]),
        case(
            "three",
            tool="add",
            input={"a": 1, "b": 2},
            tags=["skip", "asyncio", "timeout", "flaky", "parametrize"],
        ),
        project="mina",
    )
    return project


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("intro", ["one", "two"]),
        ("basic", ["one"]),
        ("advanced or add", ["two", "three"]),
        ("mina", ["one", "three"]),
        ("solana and not basic", ["two"]),
        ("echo", ["one", "two"]),
        ("smart-contract", ["one"]),
        ("x-y-z", ["one"]),
        ("größe", ["one"]),
        ("has-hyphen", ["one"]),
        ("private", ["two"]),
    ],
)
def test_traits_are_markers(
    traits: Project, collected: Collected, expression: str, expected: list[str]
) -> None:
    assert ids(collected(*STRICT, "-m", expression)) == expected


def test_traits_named_like_markers_that_act_do_not_act(traits: Project, run: RunPytest) -> None:
    run(*STRICT).assert_outcomes(passed=3)


def test_words_of_marker_expressions_are_no_markers(project: Project, collected: Collected) -> None:
    words = ["and", "or", "not", "None", "True", "False"]
    project.write("conftest.py", MARKERS_ARE_FINE)
    project.suite("a.yaml", case("one", tags=[*words, "fine"]), case("two"))
    assert ids(collected(*STRICT, "-m", "fine")) == ["one"]
    for word in words:
        assert ids(collected(*STRICT, "--mcpeval-tag", word)) == ["one"]


def test_by_keyword_and_id(traits: Project, collected: Collected, run: RunPytest) -> None:
    assert ids(collected("-k", "three")) == ["three"]
    assert ids(collected("-k", "not t")) == []
    assert collected("datasets/a.yaml::two") == ["datasets/a.yaml::two"]
    run("datasets/a.yaml::two").assert_outcomes(passed=1)
    result = run("datasets/a.yaml::nobody")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*not found: *datasets/a.yaml::nobody*"])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--mcpeval-project", "mina"], ["one", "three"]),
        (["--mcpeval-project=mina", "--mcpeval-project=solana"], ["one", "two", "three"]),
        (["--mcpeval-tag", "intro"], ["one", "two"]),
        (["--mcpeval-tag", "smart contract"], ["one"]),
        (["--mcpeval-tag", "skip", "--mcpeval-tag", "_private"], ["two", "three"]),
        (["--mcpeval-difficulty", "basic", "--mcpeval-difficulty", "advanced"], ["one", "two"]),
        (["--mcpeval-tag", "intro", "--mcpeval-difficulty", "advanced"], ["two"]),
    ],
)
def test_by_option(traits: Project, collected: Collected, options: list[str], expected: list[str]) -> None:
    assert ids(collected(*options)) == expected


def test_options_count_what_they_deselect_and_leave_other_tests_alone(
    traits: Project, run: RunPytest
) -> None:
    traits.write(
        "test_python.py",
        "import pytest\n"
        "def test_plain(): pass\n"
        "@pytest.mark.mcpeval_case(project='mina', tags=['intro'])\n"
        "def test_mina(): pass\n"
        "@pytest.mark.mcpeval_case(project='solana')\n"
        "def test_solana(): pass\n",
    )
    run("--mcpeval-tag", "intro", "--mcpeval-project", "mina").assert_outcomes(passed=3, deselected=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--mcpeval-tag", "intor"],
            '--mcpeval-tag: no case has "intor" (did you mean "intro"?) (known: _private, *',
        ),
        (
            ["--mcpeval-project", "mina", "--mcpeval-project", "x"],
            '--mcpeval-project: no case has "x" (known: mina, *',
        ),
        (
            ["--mcpeval-difficulty", "intermediate"],
            '--mcpeval-difficulty: no case has "intermediate" (known: adv*',
        ),
    ],
)
def test_names_that_no_case_has(traits: Project, run: RunPytest, options: list[str], message: str) -> None:
    result = run(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_a_difficulty_that_does_not_exist(traits: Project, run: RunPytest) -> None:
    result = run("--mcpeval-difficulty", "hard")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--mcpeval-difficulty: invalid choice: 'hard'*"])


def test_names_that_no_case_has_with_workers(traits: Project) -> None:
    result = traits.run("-n2", "--mcpeval-tag", "intor", columns=160)
    assert result.status == 1
    assert result.out.count('--mcpeval-tag: no case has "intor" (did you mean "intro"?)') >= 1
    assert "INTERNALERROR" not in result.out
    assert "1 error" in result.last_line


def test_a_broken_file_is_told_rather_than_a_name_it_may_hold(traits: Project, run: RunPytest) -> None:
    traits.suite("broken.yaml", case("four", tags=["rare"], tol="x"))
    run("--mcpeval-tag", "rare").stdout.fnmatch_lines(['datasets/broken.yaml:*unknown key "tol"*'])


def test_fail_fast_and_last_failed(project: Project, run: RunPytest) -> None:
    project.suite("a.yaml", case("one"), failing("two"), failing("three"))
    run("-x").assert_outcomes(passed=1, failed=1)
    run().assert_outcomes(passed=1, failed=2)
    run("--lf").assert_outcomes(failed=2)


@MODES
def test_selection_and_marks_with_their_reasons(traits: Project, mode: tuple[str, ...]) -> None:
    conditional = {"skipif_env": {"name": "NEEDED", "reason": "no key", "when": "unset"}}
    traits.suite(
        "marks.yaml",
        case("skipped", marks={"skip": "not yet"}),
        case("skipped-unset", marks=conditional),
        case("skipped-set", marks={"skipifEnv": [{"name": "IN_CI", "reason": "too slow"}]}),
        case("runs", marks={"skipif_env": {"name": "NOT_SET", "reason": "never"}}),
        failing("known", marks={"xfail": "a known bug"}),
        case(
            "unknown",
            "echo",
            {"type": "confidence_below", "threshold": 5},
            marks={"xfail": "no evidence is no wrong answer"},
        ),
        case("fixed", marks={"xfail": "was fixed"}),
        case("flaky", marks={"xfail": {"reason": "sometimes", "strict": False}}),
        project="mina",
    )
    # Of a.yaml, `two` is of another project and `three` asks `add`.
    selection = ("-m", "not add", "--mcpeval-project", "mina")
    result = traits.run(*mode, "-v", "-rsxX", *selection, columns=160, IN_CI="1", NEEDED="")
    assert "datasets/a.yaml::one" in result.out
    assert "datasets/a.yaml::t" not in result.out
    for words in (
        ("SKIPPED", "not yet"),
        ("SKIPPED", "no key"),
        ("SKIPPED", "too slow"),
        ("XFAIL", "marks.yaml::known", "a known bug"),
        ("XPASS", "marks.yaml::flaky", "sometimes"),
    ):
        result.line_with(*words)
    assert "[XPASS(strict)] was fixed" in result.out
    assert result.status == 1
    assert result.out.count("The mark xfail expects a wrong answer, and this is none.") == 1
    for count in ("2 failed", "2 passed", "3 skipped", "1 xfailed", "1 xpassed"):
        assert count in result.last_line


def test_marks_of_a_suite(project: Project, run: RunPytest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOSED", "1")
    project.suite("skip.yaml", case("one"), case("two", marks={"xfail": "x"}), marks={"skip": "whole"})
    project.suite(
        "xfail.yaml", failing("one"), failing("two", marks={"xfail": "own"}), marks={"xfail": "all"}
    )
    closed = {"name": "CLOSED", "reason": "closed"}
    other = {"name": "OTHER", "reason": "other"}
    project.suite(
        "env.yaml", case("one"), case("two", marks={"skipif_env": other}), marks={"skipif_env": closed}
    )
    result = run("-rsx")
    result.assert_outcomes(skipped=4, xfailed=2)
    result.stdout.fnmatch_lines_random(
        ["SKIPPED*whole", "SKIPPED*closed", "XFAIL*one - all*", "XFAIL*two - own*"]
    )


CONFTEST = """
import pytest

@pytest.fixture(autouse=True)
def always(request): order.append("always")
@pytest.fixture(scope="session")
def whole():
    order.append("whole"); yield; order.append("whole ends")
@pytest.fixture(scope="module")
def per_file():
    order.append("file"); yield; order.append("file ends")
@pytest.fixture
def each(per_file):
    order.append("each"); yield; order.append("each ends")
@pytest.fixture
def broken():
    raise RuntimeError("no database")

order = []

def pytest_unconfigure():
    print("ORDER", *order)
"""


def test_fixtures_named_in_cases(project: Project, run: RunPytest) -> None:
    project.write("conftest.py", CONFTEST)
    project.suite("a.yaml", case("one", fixtures=["whole", "each", "each"]), case("two", fixtures=["each"]))
    project.suite("b.yaml", case("one", fixtures=["per_file", "request", "tmp_path"]))
    result = run("-s")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "ORDER whole file always each each ends always each each ends file ends"
            " file always file ends whole ends"
        ]
    )


def test_a_fixture_that_fails_is_an_error(project: Project, run: RunPytest) -> None:
    project.write("conftest.py", CONFTEST)
    project.suite("a.yaml", case("one", fixtures=["broken"]), case("two"))
    result = run()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at setup of one*", "*RuntimeError: no database"])


MODULE_CONFTEST = """
import pytest

@pytest.fixture(autouse=True)
def always(request):
    print("MODULE", request.module.__name__, request.module.__file__)
@pytest.fixture(autouse=True, scope="module")
def per_file(request):
    print("FILE", request.module.__name__)
"""


def test_fixtures_may_ask_for_the_module(project: Project, run: RunPytest) -> None:
    project.write("conftest.py", MODULE_CONFTEST)
    path = project.suite("some-prices.yaml", case("one"))
    result = run("-s")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*FILE some-prices", f"MODULE some-prices {path}"])


@pytest.fixture
def unstarted(project: Project) -> Project:
    """A project whose server leaves a trace when it is started."""
    project.write_json(".mcp.json", {"mcpServers": {"tiny": {"command": "touch", "args": ["started"]}}})
    project.suite("a.yaml", case("one", fixtures=["tmp_path"]))
    return project


def test_a_plan_of_setups_starts_no_server(unstarted: Project, run: RunPytest) -> None:
    unstarted.suite("a.yaml", case("one", fixtures=["tmp_path"]), gates={"pass_rate": 0.5})
    result = run("--setup-plan")
    assert not (unstarted.path / "started").exists()
    assert (result.ret, result.stdout.str().count("ERROR")) == (0, 0), result.outlines


def test_a_plan_of_setups_starts_no_server_with_workers(unstarted: Project) -> None:
    result = unstarted.run("-n2", "--setup-plan")
    assert not (unstarted.path / "started").exists()
    assert (result.status, result.out.count("ERROR")) == (0, 0), result.out


@pytest.mark.parametrize("mode", [(), ("-n2",)], ids=["serial", "two workers"])
def test_setting_up_only_makes_the_target_ready(unstarted: Project, mode: tuple[str, ...]) -> None:
    result = unstarted.run(*mode, "--setup-only")
    assert (unstarted.path / "started").exists()
    assert result.status == 1, result.out
    assert "ERROR datasets/a.yaml::one" in result.out


def test_setting_up_only_evaluates_no_gate(project: Project, run: RunPytest) -> None:
    project.suite("a.yaml", case("one", fixtures=["tmp_path"]), gates={"pass_rate": 0.5})
    result = run("--setup-only")
    assert (result.ret, result.stdout.str().count("::gates::")) == (0, 0), result.outlines


def test_a_fixture_that_does_not_exist(project: Project, run: RunPytest) -> None:
    project.suite("a.yaml", case("one", fixtures=["nobody"]), case("two", fixtures=["tmp_pat"]))
    result = run()
    result.assert_outcomes(errors=2)
    words = "fixture 'tmp_pat' not found (did you mean \"tmp_path\"?); pytest --fixtures lists all fixtures"
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of one*",
            "datasets/a.yaml:*: fixture 'nobody' not found; pytest --fixtures lists all fixtures",
            f"datasets/a.yaml:*: {words}",
            "ERROR datasets/a.yaml::one - datasets/a.yaml:*: fixture 'nobody' not found*",
        ]
    )
    result.stdout.no_fnmatch_line("*items.py*")


def test_a_later_case_is_found_by_its_line(project: Project, run: RunPytest) -> None:
    path = project.suite("a.yaml", case("one"), failing("two"))
    line = 1 + next(i for i, text in enumerate(path.read_text().splitlines()) if '"two"' in text)
    run().stdout.fnmatch_lines([f"*datasets/a.yaml:{line - 1}"])


def test_json_lines_cases_run(project: Project, run: RunPytest) -> None:
    project.write("datasets/a.jsonl", "\n".join(map(json.dumps, [case("one"), failing("two")])))
    run().assert_outcomes(passed=1, failed=1)


def test_a_file_of_one_line_is_not_in_every_failure(project: Project) -> None:
    cases = [case(f"c{number}", text="x" * 100) for number in range(200)]
    cases[:2] = [failing("first"), failing("second")]
    path = project.write("datasets/a.json", json.dumps({"server": "tiny", "tests": cases}))
    assert path.stat().st_size > 38_000
    done = project.run("--junitxml=junit.xml", "--html=report.html", "-k", "first or second")
    marked = [line for line in done.lines if line.startswith("  > 1 | ")]
    assert [('"first"' in line, '"second"' in line) for line in marked] == [(True, True), (False, True)]
    assert all(len(line) <= 210 for line in marked)
    assert marked[1].startswith("  > 1 | …")
    shown = [str(dict(row)) for _, row in done.html_rows()]
    assert len(shown) == 2
    texts = [*shown, *(ElementTree.tostring(one, "unicode") for one in done.junit_cases())]
    assert not any("x" * 100 in text for text in texts)
