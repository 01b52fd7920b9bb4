"""Tests written in Python that cannot be run: markers written wrongly, servers that do not start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support import SERVER, Project, Run

WRONG_MARKERS = """
import pytest

pytestmark = pytest.mark.mcpeval_case(dificulty="basic", tags="intro", project=3)


@pytest.mark.mcpeval_checks(contians="x", min_length={"charz": 3}, contains=5, has_citation=1)
@pytest.mark.parametrize("number", range(3))
def test_checks(number):
    pass


@pytest.mark.mcpeval_checks
def test_no_checks():
    pass


@pytest.mark.mcpeval_checks(any_of=[{"type": "contains"}])
def test_nested():
    pass


@pytest.mark.mcpeval_case(difficulty="hard")
def test_level():
    pass


@pytest.mark.asyncio
async def test_yields(mcpeval_expect):
    mcpeval_expect("text").contains("other")
    yield
"""

WRONG_CLASSES = """
import unittest

import pytest


class TestServers:
    @pytest.mark.mcpeval_server("tinny")
    def test_unknown(self, mcpeval_call):
        pass

    @pytest.mark.mcpeval_server
    def test_none(self):
        pass


@pytest.mark.mcpeval_checks(contains="x")
class TestUnit(unittest.TestCase):
    def test_method(self):
        pass
"""

MISTAKES = [
    "test_wrong.py:7: mcpeval_case: unknown keyword 'dificulty' (did you mean \"difficulty\"?)",
    "test_wrong.py:7: mcpeval_case: tags: expected a list of texts, found 'intro'",
    "test_wrong.py:7: mcpeval_case: project: expected a text, found 3",
    "test_wrong.py:7: mcpeval_checks: unknown check type 'contians' (did you mean \"contains\"?)",
    'test_wrong.py:7: mcpeval_checks: min_length.charz: unknown key "charz" (did you mean "chars"?)',
    "test_wrong.py:7: mcpeval_checks: contains: expected a text, found 5",
    "test_wrong.py:7: mcpeval_checks: has_citation: expected True, or False for the opposite, found 1",
    "test_wrong.py:13: mcpeval_checks: expected checks as keywords, as in mcpeval_checks(",
    'test_wrong.py:18: mcpeval_checks: any_of[0].value: the key "value" is missing',
    "test_classes.py:8: mcpeval_server: no server 'tinny' is defined (did you mean \"tiny\"?)",
    'test_classes.py:12: mcpeval_server: expected the name of one server, as in mcpeval_server("docs")',
    "mcpeval_checks does not work on unittest.TestCase methods",
    "test_wrong.py:28: test_yields has a `yield`, so that it is never run: write `return` instead",
    "mcpeval_case: difficulty: expected basic, intermediate, advanced, found 'hard'",
]

BROKEN = """
import pytest

import pytest_mcpeval


def test_client(mcpeval_client):
    pass


def test_call(mcpeval_call):
    pass


@pytest.mark.asyncio
async def test_async_client(mcpeval_async_client):
    pass


@pytest.mark.asyncio
@pytest.mark.mcpeval_server("far")
async def test_async_far(mcpeval_async_call):
    await mcpeval_async_call("echo", text="x")


def test_expect(mcpeval_expect):
    mcpeval_expect("text").contains("text")


@pytest.mark.mcpeval_server("unset")
def test_unset(mcpeval_client):
    pass


@pytest.fixture
def broken():
    raise ValueError("a fixture broke")


@pytest.fixture
def broken_later():
    yield
    raise ValueError("a fixture broke late")


@pytest.mark.xfail(reason="known", strict=True)
def test_marked(mcpeval_client):
    pass


@pytest.mark.xfail(reason="known", raises=Exception, strict=False)
def test_any_error(mcpeval_client):
    pass


@pytest.mark.xfail(reason="known", raises=(KeyError, pytest_mcpeval.ServerStartError))
def test_named_error(mcpeval_client):
    pass


@pytest.mark.asyncio
@pytest.mark.mcpeval_server("far")
@pytest.mark.xfail(reason="known", strict=True)
async def test_marked_far(mcpeval_async_call):
    await mcpeval_async_call("echo", text="x")


@pytest.mark.xfail(reason="known", strict=True)
def test_marked_fixture(broken, mcpeval_expect):
    pass


@pytest.mark.xfail(reason="known", strict=True)
def test_marked_tear_down(broken_later, mcpeval_expect):
    mcpeval_expect("text").contains("x y")


@pytest.mark.xfail(reason="known", strict=True)
def test_wrong_answer(mcpeval_expect):
    mcpeval_expect("text").contains("x y")
"""

WRONG_CALLS = r"""
import pytest


def test_text(mcpeval_client):
    mcpeval_client.call_tool("echo", "query")


def test_list(mcpeval_client):
    mcpeval_client.call_tool("echo", ["a"])


def test_name(mcpeval_call):
    mcpeval_call(3)


def test_key(mcpeval_client):
    mcpeval_client.call_tool("echo", {1: "x"})


def test_uri(mcpeval_client):
    mcpeval_client.read_resource(None)


def test_prompt(mcpeval_client):
    mcpeval_client.get_prompt("greet", {"number": 1})


def test_time(mcpeval_client):
    mcpeval_client.call_tool("echo", {"text": "x"}, timeout=-1)


@pytest.mark.asyncio
async def test_awaited(mcpeval_async_client):
    await mcpeval_async_client.call_tool("echo", ["a"])


def test_surrogate(mcpeval_client):
    mcpeval_client.call_tool("echo", {"text": "\ud800"})


def test_judged(mcpeval_expect):
    mcpeval_expect(3).contains("x")


@pytest.fixture
def wrong_case(request):
    request.node.add_marker(pytest.mark.mcpeval_case(tags=3, name=object()))


def test_case(wrong_case, mcpeval_call):
    raise AssertionError("not reached")


def test_checks(request, mcpeval_call):
    request.node.add_marker(pytest.mark.mcpeval_checks(containz="x"))
    mcpeval_call("echo", text="x")


def test_good(request, mcpeval_call):
    request.node.add_marker(pytest.mark.mcpeval_case(tags=["late"]))
    assert mcpeval_call("echo", text="x").text
"""

REFUSED = {
    "text": "TypeError: the arguments of 'echo' are a mapping such as {\"query\": \"x\"}, found 'query'",
    "list": "TypeError: the arguments of 'echo' are a mapping such as {\"query\": \"x\"}, found ['a']",
    "name": "TypeError: the name of a tool is a text, found 3",
    "key": "TypeError: the names of arguments are texts, found 1 in those of 'echo'",
    "uri": "TypeError: the URI of a resource is a text, found None",
    "prompt": "TypeError: the arguments of prompts are texts, found 1 as 'number'",
    "time": "ValueError: timeout is a number of seconds above 0, found -1",
    "awaited": "TypeError: the arguments of 'echo' are a mapping such as {\"query\": \"x\"}, found ['a']",
    "surrogate": "CallError: the call of 'echo' cannot be sent: a text has half of a surrogate pair",
    "judged": "TypeError: only a Response can be judged, or a text: found 3",
    "case": "mcpeval_case: tags: expected a list of texts, found 3",
    "checks": "mcpeval_checks: unknown check type 'containz' (did you mean \"contains\"?)",
}

NOTHING_JUDGED = """
import pytest

pytestmark = pytest.mark.mcpeval_server("tiny")


@pytest.fixture
def expect(mcpeval_call, mcpeval_expect):
    return mcpeval_expect(mcpeval_call("echo", text="hello"))  # of a fixture


@pytest.fixture
def later(mcpeval_expect):
    expect = mcpeval_expect("text")
    yield expect
    expect.contains("text")


def test_bare(mcpeval_call, mcpeval_expect):
    mcpeval_expect(mcpeval_call("echo", text="x"))  # here


def test_no_brackets(mcpeval_expect):
    mcpeval_expect("text").has_citation  # here


def test_chain(mcpeval_expect):
    mcpeval_expect("text").contains("text").not_.contains("y").has_citation  # here


def test_not(mcpeval_expect):
    expect = mcpeval_expect("text").contains("text")
    expect.not_  # here
    expect.min_length(1)


def test_not_no_brackets(mcpeval_expect):
    mcpeval_expect("text").not_.has_citation  # here


def test_empty_block(mcpeval_expect):
    with mcpeval_expect("text").contains("text").all():  # here
        pass


def test_swallowed_block(mcpeval_expect):
    with pytest.raises(Exception), mcpeval_expect("text").all():  # here
        pass


def test_no_block(mcpeval_expect):
    mcpeval_expect("text").contains("text").all()  # here


@pytest.mark.asyncio
async def test_awaited(mcpeval_async_call, mcpeval_expect):
    mcpeval_expect(await mcpeval_async_call("echo", text="x"))  # here


@pytest.mark.xfail(reason="known", strict=True)
def test_marked(mcpeval_expect):
    mcpeval_expect("text")  # here


@pytest.mark.xfail(reason="known", strict=False)
@pytest.mark.mcpeval_checks(contains="x")
def test_no_call():
    pass


@pytest.mark.xfail(reason="known")
def test_misspelt(mcpeval_expect):
    mcpeval_expect("text").check("contians", value="x")


@pytest.mark.xfail(reason="known")
def test_no_such_tool(mcpeval_call, mcpeval_expect):
    mcpeval_expect(mcpeval_call("ecoh", text="x")).contains("y")


@pytest.mark.xfail(reason="known")
def test_no_evidence(mcpeval_expect):
    mcpeval_expect("text").confidence_below(5)


@pytest.mark.xfail(reason="known")
@pytest.mark.mcpeval_checks(confidence_below=5)
def test_no_marked_evidence(mcpeval_call):
    mcpeval_call("echo", text="x")


def test_fixture_only(expect):
    pass


def test_part_of_fixture(expect):
    expect.contains  # here


def test_error_negated(mcpeval_call, mcpeval_expect):
    mcpeval_expect(mcpeval_call("fail", message="no index")).not_.contains("hello")


def test_error_any(mcpeval_call, mcpeval_expect):
    mcpeval_expect(mcpeval_call("fail", message="no index")).any_of({"type": "min_length", "chars": 1})


def test_raised_anyway(expect, mcpeval_expect):
    mcpeval_expect("text")
    raise KeyError("the real error")


def test_skipped(mcpeval_expect):
    mcpeval_expect("text")
    pytest.skip("the real reason")


def test_good(expect, later, mcpeval_call, mcpeval_expect):
    check = expect.contains
    check("hell")
    check("o")
    with expect.all(), expect.not_.all() as negated:
        negated.contains("x")
    with pytest.raises(AssertionError):
        expect.contains("x")
    mcpeval_expect(mcpeval_call("fail", message="no index")).is_error().not_.contains("hello")
"""

LACKS = {
    "bare": "an expectation without a check: call one on it, such as .has_citation()",
    "no_brackets": ".has_citation without brackets evaluates nothing: write .has_citation(…)",
    "chain": ".has_citation without brackets evaluates nothing",
    "not": '.not_ without a check: add one, as in .not_.contains("x")',
    "not_no_brackets": ".not_ without a check",
    "empty_block": ".all() without a check: write `with ….all():`, and call checks in its block",
    "swallowed_block": ".all() without a check: write `with ….all():`",
    "no_block": ".all() without a check: write `with ….all():`",
    "awaited": "an expectation without a check",
    "marked": "an expectation without a check",
    "part_of_fixture": ".contains without brackets evaluates nothing",
}

DISTRIBUTIONS: Sequence[Sequence[str]] = ([], ["-n2"])
ASYNCIO = ("-o", "asyncio_default_fixture_loop_scope=function")


def test_mistakes_in_markers_are_errors_of_collection(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.write("test_wrong.py", WRONG_MARKERS)
    project.write("test_classes.py", WRONG_CLASSES)
    run = project.run(*ASYNCIO, columns=200)
    assert run.status == 2
    for mistake in MISTAKES:
        assert run.out.count(mistake) in (1, 2), f"{mistake}\n{run.out}"
    assert run.out.count("test_wrong.py:7: mcpeval_checks: contains: ") == 1
    assert "Traceback" not in run.out
    assert "passed" not in run.last_line


@pytest.mark.parametrize("options", DISTRIBUTIONS, ids=["serial", "n2"])
def test_a_test_that_judges_nothing_fails_at_its_line(tmp_path: Path, options: list[str]) -> None:
    project = Project.at(tmp_path)
    project.write("test_nothing.py", NOTHING_JUDGED)
    run = project.run(*ASYNCIO, *options, "--mcpeval-report", "report", columns=250)
    cases = {found["id"]: found for found in run.report()["suites"]["test_nothing.py"]["cases"]}
    lines = NOTHING_JUDGED.splitlines()
    for name, words in LACKS.items():
        start = next(i for i, line in enumerate(lines) if f"def test_{name}(" in line)
        line = next(i for i in range(start, len(lines)) if lines[i].endswith("# here")) + 1
        assert f"test_nothing.py:{line}: {words}" in run.line_with(f"FAILED test_nothing.py::test_{name} ")
        assert cases[f"test_{name}"]["outcome"] == "failed", name
        assert words in cases[f"test_{name}"]["message"], name
    assert "has nothing to judge" in run.line_with("FAILED test_nothing.py::test_no_call")
    assert "unknown check type 'contians'" in run.line_with("FAILED test_nothing.py::test_misspelt")
    assert "has no tool 'ecoh'" in run.line_with("FAILED test_nothing.py::test_no_such_tool")
    for name in ("no_evidence", "no_marked_evidence"):
        assert "confidence_below: " in run.line_with(f"FAILED test_nothing.py::test_{name} ")
        assert cases[f"test_{name}"]["checks"][-1]["status"] == "inconclusive"
    for name in ("negated", "any"):
        message = cases[f"test_error_{name}"]["message"]
        assert message.startswith("1 of 2 checks failed: not_error: the tool reported an error")
    assert "KeyError: 'the real error'" in run.line_with("FAILED test_nothing.py::test_raised_anyway ")
    assert cases["test_fixture_only"]["outcome"] == "error"
    built = next(i for i, line in enumerate(lines, 1) if line.endswith("# of a fixture"))
    assert f"test_nothing.py:{built}: an expectation without a check" in run.line_with(
        "ERROR test_nothing.py::test_fixture_only "
    )
    assert {name for name, found in cases.items() if found["outcome"] == "passed"} == {"test_good"}
    counts = f"{len(LACKS) + 8} failed, 2 passed, 1 skipped, 1 error in"
    assert run.last_line.startswith(counts), run.last_line


def test_a_call_or_a_marker_written_wrongly_fails_its_test_only(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.write("test_wrong.py", WRONG_CALLS)
    run = project.run(*ASYNCIO, "--mcpeval-report", "report", columns=250)
    assert run.last_line.startswith(f"{len(REFUSED)} failed, 1 passed in"), run.out
    for name, words in REFUSED.items():
        assert words in run.line_with(f"FAILED test_wrong.py::test_{name} "), name
    assert "python_tests/client.py" not in run.out
    cases = {found["id"]: found for found in run.report()["suites"]["test_wrong.py"]["cases"]}
    assert {name for name, found in cases.items() if found["outcome"] == "passed"} == {"test_good"}
    assert "late" in str(cases["test_good"])


@pytest.mark.parametrize("options", DISTRIBUTIONS, ids=["serial", "n2"])
def test_a_server_that_does_not_start_is_an_error_in_words(tmp_path: Path, options: list[str]) -> None:
    project = Project.at(tmp_path)
    servers = {
        "broken": {"command": "python", "args": ["-c", "import sys; sys.exit('no licence')"]},
        "far": {"url": "http://127.0.0.1:9/mcp"},
        "unset": {"url": "${NO_SUCH_URL_IS_SET}"},
    }
    project.write_json(".mcp.json", {"mcpServers": servers})
    project.write(
        "test_broken.py", "import pytest\npytestmark = pytest.mark.mcpeval_server('broken')\n" + BROKEN
    )
    run = project.run(*ASYNCIO, *options, "--mcpeval-report", "report", columns=120)
    assert run.status == 1
    assert run.last_line.startswith("1 passed, 3 xfailed, 5 errors, 5 not asked in"), run.out
    assert "server 'broken' did not start" in run.out
    assert "no licence" in run.out
    assert "server 'far' did not start" in run.out
    assert "NO_SUCH_URL_IS_SET" in run.line_with("ERROR test_broken.py::test_unset")
    assert "Traceback" not in run.out
    assert "def mcpeval_client" not in run.out
    assert "python_tests/client.py" not in run.out
    outcomes = {found["id"]: found["outcome"] for found in run.report()["suites"]["test_broken.py"]["cases"]}
    assert outcomes.pop("test_expect") == "passed"
    assert {name for name, outcome in outcomes.items() if outcome == "xfailed"} == {
        "test_named_error",
        "test_wrong_answer",
    }
    del outcomes["test_named_error"], outcomes["test_wrong_answer"]
    assert "The mark xfail expects a wrong answer, and this is none." in run.out
    assert set(outcomes.values()) == {"error"}


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Tests in directories with several servers, with none and with one."""
    project = Project.at(tmp_path_factory.mktemp("ordinary"))
    (project.path / ".mcp.json").unlink()
    for directory, names in {"several": ("one", "two"), "none": (), "single": ("one",)}.items():
        servers = {name: {"module": "server:server"} for name in names}
        project.write_json(f"{directory}/mcpeval.yaml", {"servers": servers} if servers else {})
        project.write(f"{directory}/server.py", SERVER)
        text = "def test_any(mcpeval_call):\n    return mcpeval_call('echo', text='x')\n"
        project.write(f"{directory}/test_{directory}.py", text)
    run = project.run(*ASYNCIO, columns=120)
    assert run.last_line.startswith("1 passed, 1 warning, 2 errors in"), run.out
    return run


def test_several_servers_and_none_named(ordinary: Run) -> None:
    words = "several servers are defined (one, two): mark the test with mcpeval_server(name)"
    assert words in ordinary.out
    assert ordinary.line_with("ERROR several/test_several.py::test_any")


def test_no_server_is_defined(ordinary: Run) -> None:
    assert "no server is defined: define one under `servers:` in mcpeval.yaml" in ordinary.out
    assert ordinary.line_with("ERROR none/test_none.py::test_any")


def test_returning_without_a_marker_is_left_to_pytest(ordinary: Run) -> None:
    assert "PytestReturnNotNoneWarning" in ordinary.out
    assert ordinary.line_with("single/test_single.py::test_any")


def test_without_pytest_asyncio(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.write(
        "test_any.py",
        "import pytest\n"
        "def test_sync(mcpeval_call):\n"
        "    assert mcpeval_call('echo', text='x').text == 'x'\n"
        "@pytest.mark.mcpeval_checks(contains='x')\n"
        "async def test_async(mcpeval_async_call):\n"
        "    return await mcpeval_async_call('echo', text='x')\n"
        "@pytest.mark.anyio\n"
        "@pytest.mark.mcpeval_checks(contains='x')\n"
        "@pytest.mark.parametrize('anyio_backend', ['asyncio'])\n"
        "async def test_anyio(mcpeval_async_call, anyio_backend):\n"
        "    return await mcpeval_async_call('echo', text='x')\n",
    )
    run = project.run("-p", "no:asyncio", columns=120)
    assert run.last_line.startswith("1 failed, 2 passed in"), run.out
    assert "async def functions are not natively supported" in run.line_with("FAILED test_any.py::test_async")


def test_fixtures_need_the_flag(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "def test_call(mcpeval_call): pass\n"
        "def test_expect(mcpeval_expect): pass\n"
        "def test_async(mcpeval_async_client): pass\n"
    )
    run = pytester.runpytest_inprocess("-p", "no:asyncio")
    run.assert_outcomes(errors=3)
    run.stdout.fnmatch_lines(["the fixture mcpeval_call needs evals to be on: run pytest --mcpeval, or set*"])
    run.stdout.no_fnmatch_line("*fixtures.py*")


def test_markers_are_strict_without_the_flag(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import pytest\n"
        "@pytest.mark.mcpeval_server('x')\n"
        "@pytest.mark.mcpeval_checks(contains='x')\n"
        "@pytest.mark.mcpeval_case(project='x')\n"
        "def test_any(): pass\n"
    )
    pytester.runpytest_inprocess("-p", "no:asyncio", "--strict-markers").assert_outcomes(passed=1)


def test_fixtures_are_described_for_people(pytester: pytest.Pytester) -> None:
    run = pytester.runpytest_inprocess("-p", "no:asyncio", "--fixtures", "-v")
    run.stdout.fnmatch_lines(["mcpeval_call -- *", "    Call a tool with its arguments as keywords: *"])
    text = run.stdout.str()
    for name in ("client", "call", "expect", "async_client", "async_call"):
        assert f"mcpeval_{name} -- " in text
    assert "no docstring available" not in text[text.index("mcpeval_") :]


def test_markers_are_described_for_people(pytester: pytest.Pytester) -> None:
    run = pytester.runpytest_inprocess("-p", "no:asyncio", "--markers")
    for name in ("mcpeval_server(name): ", "mcpeval_checks(**checks): ", "mcpeval_case(project="):
        run.stdout.fnmatch_lines([f"@pytest.mark.{name}*"])
