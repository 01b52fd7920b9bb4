"""Tests written in Python, run side by side in every mode: fixtures, markers, outcomes and reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from tests.support import Project, Run, case

MEETING = '''
import asyncio

from mcp.server import MCPServer

server = MCPServer("meeting", log_level="ERROR")
guests = []
complete = asyncio.Event()


@server.tool(structured_output=False)
async def meet(guest: str) -> str:
    """Answer only when three guests are there at once."""
    guests.append(guest)
    if len(guests) == 3:
        complete.set()
    await complete.wait()
    return f"{guest} met {len(guests)}"


@server.resource("page://{name}")
def page(name: str) -> str:
    return f"the page {name}"


@server.prompt()
def greet(name: str) -> str:
    return f"Greet {name}"
'''

FIXTURES = """
import asyncio

import pytest

from pytest_mcpeval import AsyncCallTool, AsyncCaseClient, CallError, CallTool, CaseClient, Response
from pytest_mcpeval import MakeExpect

pytestmark = pytest.mark.mcpeval_server("tiny")


def test_client(mcpeval_client: CaseClient) -> None:
    response = mcpeval_client.call_tool("echo", {"text": "hello"}, timeout=30)
    assert isinstance(response, Response)
    assert response.text == "hello"
    assert "echo" in [tool.name for tool in mcpeval_client.list_tools()]


def test_call_and_expect(mcpeval_call: CallTool, mcpeval_expect: MakeExpect) -> None:
    mcpeval_expect(mcpeval_call("echo", text="hello")).contains("HELLO").min_length(5).not_.contains("bye")
    mcpeval_expect("any text").contains("any")


def test_failed_check(mcpeval_call, mcpeval_expect):
    with mcpeval_expect(mcpeval_call("echo", text="hello")).all() as expect:
        expect.contains("bye").min_length(1).min_length(600)


def test_failed_assert(mcpeval_call):
    assert mcpeval_call("add", a=1, b=2).structured == {"result": 4}


def test_wrong_tool(mcpeval_call):
    mcpeval_call("ecko", text="hello")


def test_expected_call_error(mcpeval_call):
    with pytest.raises(CallError, match="did you mean echo"):
        mcpeval_call("ecko", text="hello")


def test_tool_error(mcpeval_call, mcpeval_expect):
    mcpeval_expect(mcpeval_call("fail", message="no index")).not_error()


def test_misspelt_check(mcpeval_expect):
    mcpeval_expect("text").check("contians", value="text")


def test_odd_arguments(mcpeval_client, tmp_path):
    mcpeval_client.call_tool("echo", {"text": tmp_path})


@pytest.mark.mcpeval_server("meeting")
def test_resource_and_prompt(mcpeval_client):
    assert mcpeval_client.read_resource("page://one").text == "the page one"
    assert mcpeval_client.get_prompt("greet", {"name": "Ada"}).text == "Greet Ada"


@pytest.mark.asyncio
@pytest.mark.mcpeval_server("meeting")
async def test_at_once(mcpeval_async_client: AsyncCaseClient) -> None:
    calls = [mcpeval_async_client.call_tool("meet", {"guest": g}, timeout=20) for g in "abc"]
    responses = await asyncio.gather(*calls)
    assert [response.text for response in responses] == ["a met 3", "b met 3", "c met 3"]


@pytest.mark.asyncio
async def test_async_call(mcpeval_async_call: AsyncCallTool, mcpeval_expect: MakeExpect) -> None:
    mcpeval_expect(await mcpeval_async_call("echo", text="hello")).equals("hello")


@pytest.mark.asyncio
async def test_async_wrong_tool(mcpeval_async_call):
    await mcpeval_async_call("ecko", text="hello")


@pytest.mark.asyncio
async def test_async_given_up(mcpeval_async_client):
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(mcpeval_async_client.call_tool("sleep", {"seconds": 1}), 0.01)


@pytest.mark.asyncio
@pytest.mark.mcpeval_server("meeting")
async def test_async_resource_and_prompt(mcpeval_async_client):
    assert (await mcpeval_async_client.read_resource("page://two")).text == "the page two"
    assert (await mcpeval_async_client.get_prompt("greet", {"name": "Bob"})).text == "Greet Bob"
    assert [tool.name for tool in await mcpeval_async_client.list_tools()] == ["meet"]


@pytest.mark.skip(reason="later")
def test_skipped(mcpeval_call):
    raise AssertionError


@pytest.mark.xfail(reason="known", strict=True)
def test_xfailed(mcpeval_call):
    assert mcpeval_call("echo", text="hello").text == "bye"


@pytest.mark.xfail(reason="known", strict=True)
def test_xpassed(mcpeval_call):
    mcpeval_call("echo", text="hello")


def test_ordinary():
    pass
"""

MARKERS = """
import pytest

pytestmark = [pytest.mark.mcpeval_server("tiny"), pytest.mark.mcpeval_checks(not_error=True, min_length=3)]


def test_returned_response(mcpeval_call):
    return mcpeval_call("echo", text="hello")


@pytest.mark.mcpeval_checks(contains="abc")
def test_returned_text():
    return "xabcx"


def test_last_answer(mcpeval_call):
    mcpeval_call("echo", text="x")
    mcpeval_call("echo", text="hello")


def test_too_short(mcpeval_call):
    mcpeval_call("echo", text="hello")
    mcpeval_call("echo", text="x")


def test_module_checks(mcpeval_call):
    return mcpeval_call("fail", message="no index")


@pytest.mark.mcpeval_checks(not_error=False, is_error={"contains": "index"})
def test_markers_add_up(mcpeval_call):
    return mcpeval_call("fail", message="no index")


def test_nothing_to_judge(mcpeval_client):
    pass


def test_no_answer_returned(mcpeval_client):
    return 5


@pytest.mark.mcpeval_checks(matches_schema={"type": "array", "items": {"type": "integer"}})
def test_mapping_as_value():
    return "[1, 2]"


@pytest.mark.mcpeval_checks(
    json_path={"path": "$[0]", "equals": 7}, any_of=[{"type": "contains", "value": "7"}]
)
def test_mapping_of_parameters():
    return "[7, 8]"


@pytest.mark.mcpeval_checks(contains="alpha")
@pytest.mark.mcpeval_case(project="mina", difficulty="basic", tags=["intro", "intro"], name="A class")
class TestClass:
    @pytest.mark.parametrize("word", ["alpha", "beta"])
    def test_word(self, mcpeval_call, word):
        return mcpeval_call("echo", text=word)

    @pytest.mark.mcpeval_case(difficulty="advanced")
    def test_method(self, mcpeval_call):
        mcpeval_call("echo", text="alphabet")

    @pytest.mark.mcpeval_checks(contains="upper")
    @pytest.mark.mcpeval_checks(contains="lower")
    @pytest.mark.mcpeval_checks(contains="alpha", min_length=3)
    def test_stacked(self, mcpeval_call):
        mcpeval_call("echo", text="alphabet")


@pytest.mark.asyncio
@pytest.mark.mcpeval_checks(contains="alpha")
async def test_async_returned(mcpeval_async_call):
    first = await mcpeval_async_call("echo", text="alpha")
    await mcpeval_async_call("echo", text="beta")
    return first


@pytest.mark.asyncio
@pytest.mark.mcpeval_checks(contains="alpha")
async def test_async_last(mcpeval_async_call):
    await mcpeval_async_call("echo", text="alpha")
    await mcpeval_async_call("echo", text="beta")
"""

EXPECTED = {
    "test_fixtures.py": {
        "test_client": "passed",
        "test_call_and_expect": "passed",
        "test_failed_check": "failed",
        "test_failed_assert": "failed",
        "test_wrong_tool": "failed",
        "test_expected_call_error": "passed",
        "test_tool_error": "failed",
        "test_misspelt_check": "failed",
        "test_odd_arguments": "passed",
        "test_resource_and_prompt": "passed",
        "test_at_once": "passed",
        "test_async_call": "passed",
        "test_async_wrong_tool": "failed",
        "test_async_given_up": "passed",
        "test_async_resource_and_prompt": "passed",
        "test_skipped": "skipped",
        "test_xfailed": "xfailed",
        "test_xpassed": "failed",
    },
    "test_markers.py": {
        "test_returned_response": "passed",
        "test_returned_text": "passed",
        "test_last_answer": "passed",
        "test_too_short": "failed",
        "test_module_checks": "failed",
        "test_markers_add_up": "failed",
        "test_nothing_to_judge": "failed",
        "test_no_answer_returned": "failed",
        "test_mapping_as_value": "passed",
        "test_mapping_of_parameters": "passed",
        "TestClass::test_word[alpha]": "passed",
        "TestClass::test_word[beta]": "failed",
        "TestClass::test_method": "passed",
        "TestClass::test_stacked": "failed",
        "test_async_returned": "passed",
        "test_async_last": "failed",
    },
}

OPTIONS = (
    *("-W", "error", "-o", "asyncio_default_fixture_loop_scope=function", "--mcpeval-report", "report"),
    *("--junitxml", "junit.xml", "--html", "report.html", "--self-contained-html"),
)
MODES = {
    "serial": (),
    "n2": ("-n2",),
    "auto": ("-p", "no:xdist", "-o", "asyncio_mode=auto"),
}


def project_at(path: Path) -> Project:
    project = Project.at(path)
    servers = {"tiny": {"module": "server:server"}, "meeting": {"module": "meeting:server"}}
    project.write_json(".mcp.json", {"mcpServers": servers})
    project.write("meeting.py", MEETING)
    project.write("test_fixtures.py", FIXTURES)
    project.write("test_markers.py", MARKERS)
    project.suite("data.yaml", case("data-case"), server="tiny", gates={"pass_rate": 1})
    return project


@pytest.fixture(scope="module", params=MODES)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    project = project_at(tmp_path_factory.mktemp(request.param))
    done = project.run("-v", *OPTIONS, *MODES[request.param], columns=120)
    assert done.status == 1, done.out + done.err
    return done


def cases(run: Run, suite: str) -> dict[str, Any]:
    return {found["id"]: found for found in run.report()["suites"][suite]["cases"]}


def failure(run: Run, name: str) -> str:
    """What the terminal shows about one failed test."""
    lines = run.out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("___") and f" {name} " in line)
    ends = (i for i in range(start + 1, len(lines)) if lines[i].startswith(("___", "===")))
    return "\n".join(lines[start : next(ends)])


def test_every_test_is_a_case_with_its_outcome(run: Run) -> None:
    assert {
        suite: {name: found["outcome"] for name, found in cases(run, suite).items()} for suite in EXPECTED
    } == EXPECTED


def test_data_files_and_ordinary_tests_run_beside(run: Run) -> None:
    assert cases(run, "datasets/data.yaml")["data-case"]["outcome"] == "passed"
    assert "test_ordinary" not in cases(run, "test_fixtures.py")
    failed = sum(outcome == "failed" for suite in EXPECTED.values() for outcome in suite.values())
    assert run.last_line.startswith(f"{failed} failed, ")
    assert "1 xfailed" in run.last_line
    assert "1 skipped" in run.last_line
    assert "warning" not in run.last_line


def test_only_data_suites_have_gates(run: Run) -> None:
    assert run.gates() == {"data::pass_rate": "passed"}


def test_what_was_measured_is_in_the_report(run: Run) -> None:
    found = cases(run, "test_markers.py")["TestClass::test_word[beta]"]
    assert found["measured"]["server"] == "tiny"
    assert found["measured"]["calls"] == [{"target": "tool", "name": "echo", "arguments": {"text": "beta"}}]
    assert {check["rule"]["type"]: check["status"] for check in found["checks"]} == {
        "not_error": "passed",
        "min_length": "passed",
        "contains": "failed",
    }
    meeting = cases(run, "test_fixtures.py")["test_at_once"]["measured"]
    assert [call["arguments"]["guest"] for call in meeting["calls"]] == ["a", "b", "c"]


def test_python_cases_are_in_the_tables(run: Run) -> None:
    tables = "\n".join(run.section())
    for name in ("test_markers.py", "test_fixtures.py", "datasets/data.yaml", "echo", "mina", "intro"):
        assert name in tables
    metrics = run.report()["suites"]["test_markers.py"]["metrics"]
    assert metrics["summary"]["totalTests"] == len(EXPECTED["test_markers.py"])
    assert metrics["byDifficulty"]["basic"]["total"] == 3
    assert metrics["byDifficulty"]["advanced"]["total"] == 1
    assert metrics["byTag"] == {"intro": {"total": 4, "passed": 2, "passRate": 50}}


def test_junit_properties(run: Run) -> None:
    found = run.junit()["test_word[beta]"]
    properties = {each.attrib["name"]: each.attrib["value"] for each in found.iter("property")}
    assert properties["mcpeval_outcome"] == "failed"
    assert properties["mcpeval_project"] == "mina"
    assert properties["mcpeval_tool"] == "echo"
    assert properties["mcpeval_checks"] == "2/3 passed"


def test_html_evidence(run: Run) -> None:
    rows = dict(run.html_rows())
    row = rows["test_markers.py::TestClass::test_word[beta]"]
    evidence = BeautifulSoup(row["extras"][0]["content"], "html.parser").get_text(" ")
    assert "contains" in evidence
    assert "beta" in evidence
    assert len({len(row["resultsTableRow"]) for row in rows.values()}) == 1


def test_a_failed_check_shows_the_line_of_the_test(run: Run) -> None:
    text = failure(run, "test_failed_check")
    assert '> with mcpeval_expect(mcpeval_call("echo", text="hello")).all() as expect:' in " ".join(
        text.split()
    )
    assert "pytest_mcpeval.CheckFailed: ✗ contains" in text
    assert "✗ min_length: " in text
    assert "✓ min_length: " in text
    assert "called tool echo" in text
    assert no_internals(text)


@pytest.mark.parametrize("name", ["test_wrong_tool", "test_async_wrong_tool"])
def test_a_call_without_answer_shows_the_line_of_the_test(run: Run, name: str) -> None:
    text = failure(run, name)
    assert "mcpeval_" in text
    assert "E       pytest_mcpeval.CallError: server 'tiny' has no tool 'ecko': did you mean echo?" in text
    assert no_internals(text)


def test_a_misspelt_check_is_a_readable_error(run: Run) -> None:
    text = failure(run, "test_misspelt_check")
    assert "pytest_mcpeval.CheckSpecError" in text
    assert 'did you mean "contains"?' in text
    assert no_internals(text)


def test_a_plain_assert_shows_what_was_asked_and_answered(run: Run) -> None:
    text = failure(run, "test_failed_assert")
    assert "AssertionError" in text
    assert "called tool add" in text
    assert '"a": 1' in text


def test_failed_marker_checks_are_told_in_words(run: Run) -> None:
    text = failure(run, "test_too_short")
    assert "✓ not_error" in text
    assert "✗ min_length: length 1 < 3 characters" in text
    assert "called tool echo" in text
    assert "test_markers.py:" in text
    assert "def test_too_short" not in text
    assert "length 1 < 3" in run.line_with("FAILED test_markers.py::test_too_short -")


def test_markers_of_module_class_and_test_add_up(run: Run) -> None:
    checks = cases(run, "test_markers.py")["TestClass::test_stacked"]["checks"]
    said = [(check["rule"]["type"], check["rule"].get("value"), check["status"]) for check in checks]
    assert sorted(said, key=str) == [
        ("contains", "alpha", "passed"),
        ("contains", "lower", "failed"),
        ("contains", "upper", "failed"),
        ("min_length", None, "passed"),
        ("not_error", None, "passed"),
    ]
    contrary = cases(run, "test_markers.py")["test_markers_add_up"]["checks"]
    assert {check["rule"]["type"]: check["status"] for check in contrary} == {
        "not_error": "failed",
        "min_length": "passed",
        "not": "passed",
        "is_error": "passed",
    }


def test_a_tool_error_fails_and_tells_its_words(run: Run) -> None:
    assert "no index" in failure(run, "test_module_checks")
    assert "no index" in failure(run, "test_tool_error")


def test_nothing_to_judge_is_a_failure(run: Run) -> None:
    assert "has nothing to judge" in failure(run, "test_nothing_to_judge")
    assert "and the test returned int" in failure(run, "test_no_answer_returned")
    assert no_internals(failure(run, "test_nothing_to_judge"))


def test_async_tests_are_judged_on_what_they_return(run: Run) -> None:
    assert cases(run, "test_markers.py")["test_async_returned"]["outcome"] == "passed"
    assert 'missing "alpha"' in failure(run, "test_async_last")


def no_internals(text: str) -> bool:
    return not any(word in text for word in ("python_tests", "expect.py", "futures", "pluggy"))
