"""What a person reads in the terminal, beyond what every mode shares."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mcpeval import Check, Sample
from pytest_mcpeval.core.sample import samples_from_json, samples_to_json, to_json
from pytest_mcpeval.text.visible import indented, visible
from tests.support import SERVER, Project, Run, case, failing

ANSI = re.compile(r"\x1b\[[0-9;]*m")
SECRET = 's3cr3t-"value"-0123'


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Suites that pass and fail their gates, and everything that is long, many or loud."""
    project = Project.at(tmp_path_factory.mktemp("project"))
    tiny, loud = {"module": "server:server"}, {"command": sys.executable, "args": ["loud.py"]}
    project.write_json(".mcp.json", {"mcpServers": {"tiny": tiny, "loud": loud}})
    project.write_json("datasets/mcpeval.yaml", {"scenario": [{"server": "tiny"}]})
    project.suite("gated.yaml", case("a-1"), failing("a-2"), gates={"pass_rate": 0.9})
    project.suite("good.yaml", case("g-1", "answer", input={"confidence": 80}), gates={"pass_rate": 0.9})
    name = "a tag of very many words that nobody would ever want to read in full " * 2
    project.suite("tagged.yaml", failing("t-1", tags=[name.strip()]), gates={"pass_rate": 0.5})
    cases = [case(f"m-{n}", tags=[f"tag-{n:02}"]) for n in range(30)]
    project.suite("many.yaml", *cases, failing("m-bad", tags=["tag-bad"]))
    checks: list[dict[str, object]] = [
        {"type": "contains", "value": "zzz"},
        {"type": "min_length", "chars": 3},
    ]
    project.suite("long.yaml", case("long", "echo", *checks, text="word " * 2000, name="A long answer"))
    told = 'import sys; print("on \\x1b[31mfire", file=sys.stderr)'
    project.write("loud.py", SERVER.replace('"""Report an error."""', told))
    project.suite("loud.yaml", case("f-1", "fail", input={"message": "no"}), server="loud")
    return project


@pytest.fixture(scope="module")
def verbose(project: Project) -> Run:
    """A verbose run without colours."""
    return project.run("-v", "--color=no", "datasets")


@pytest.fixture(scope="module")
def coloured(project: Project) -> Run:
    """A run with colours in a narrow terminal."""
    return project.run("--color=yes", "datasets", columns=40)


@pytest.fixture(scope="module")
def wide(project: Project) -> tuple[Run, set[str]]:
    """A run in a wide terminal, without any option, and the names of the files it has written."""
    before = set(os.listdir(project.path))
    run = project.run("-p", "no:cacheprovider", "datasets", columns=120)
    # Python's own bytecode of the server is none of our files.
    return run, set(os.listdir(project.path)) - before - {"__pycache__"}


def test_quiet_shows_totals_in_one_line_and_failed_gates(project: Project) -> None:
    run = project.run("-q", "datasets/gated.yaml", "datasets/good.yaml")
    line = run.line_with("2 of 3 cases passed (66.7 %), average confidence 80 %, average response time ")
    assert re.fullmatch(r"\d+ ms", line.rpartition(" time ")[2])
    assert run.lines[-2] == "mcpeval: failed: 1 of 2 gates failed"
    assert run.line_with("  FAILED datasets/gated.yaml::gates::pass_rate")
    assert "datasets/good.yaml::gates" not in run.out
    assert "By tool" not in run.out


MARKED = """
import pytest

@pytest.mark.mcpeval_checks(contains="zz")
def test_marked():
    return "abc"
"""


def test_the_line_of_a_failure_says_where_it_is(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.write("test_marked.py", MARKED)
    project.suite("s.yaml", failing("a"), gates={"average_confidence": 50})
    run = project.run("--tb=line", "test_marked.py", "datasets")
    placed = [line for line in run.lines if re.match(r"(test_marked|datasets/s)\S+: ", line)]
    assert placed == [
        'test_marked.py:4: contains: missing "zz"',
        'datasets/s.yaml:6: contains: missing "goodbye"',
        "datasets/s.yaml: no case reported a value; wanted at least 50 %",
    ]
    assert "Crash" not in run.out


def test_verbose_shows_words_for_wrong_cases(verbose: Run) -> None:
    assert verbose.line_with("datasets/gated.yaml::a-2 WRONG (wrong, left to the gates: contains")
    assert verbose.line_with("datasets/gated.yaml::a-1 PASSED")


def test_colours_follow_the_option(verbose: Run, coloured: Run) -> None:
    assert "\x1b[31m  ✗ contains" in coloured.out
    assert re.search(r"\x1b\[31mFAILED\x1b\[0m datasets/gated", coloured.out)
    assert re.search(r"\x1b\[32m✓\x1b\[0m good ", coloured.out)
    assert not ANSI.search(verbose.out)


def test_the_section_fits_the_terminal(verbose: Run, coloured: Run, wide: tuple[Run, set[str]]) -> None:
    for columns, run in ((40, coloured), (80, verbose), (120, wide[0])):
        section = replace(run, out=ANSI.sub("", run.out)).section()
        assert not [line for line in section if len(line) > columns and "::gates::" not in line]
        assert any("…" in line for line in section) or columns != 80


def test_what_is_wrong_comes_first_then_a_line_for_each_suite(wide: tuple[Run, set[str]]) -> None:
    section = wide[0].section()
    assert section[0] == "What is wrong"
    assert section[1] == "  FAILED datasets/gated.yaml::gates::pass_rate"
    heading = next(i for i, line in enumerate(section) if line.split()[:3] == ["kind", "suite", "cases"])
    lines = section[heading + 1 : heading + 7]
    marks = [line[0] for line in lines]
    assert marks == sorted(marks, key="✗?✓".index)
    assert any(re.match(r"✓ scenario good +1 pass rate 100 % +1 ✓ +\d", line) for line in lines), lines
    assert "By tool" not in "\n".join(section)


def test_of_many_groups_the_worst_are_shown(verbose: Run) -> None:
    section = verbose.section()
    assert re.search(r"^  tag-bad +0/1 +0\.0 %$", "\n".join(section), re.M)
    assert re.search(r"^  and 17 more +≥ 100\.0 %$", "\n".join(section), re.M)
    # And the one with a long name.
    assert len([line for line in section if line.startswith("  tag-")]) == 14


def test_failure_text(verbose: Run) -> None:
    start = verbose.lines.index(verbose.line_with("____", " long "))
    text = "\n".join(verbose.lines[start:])
    assert 'case: A long answer\n  ✗ contains: missing "zzz"\n  ✓ min_length: length 9999 ≥ 3 char' in text
    assert "  response (10,000 characters):" in text
    assert "… (8,800 more characters)" in text
    assert "(the full text is in the report: --mcpeval-report=DIR)" in text
    assert re.search(r"^datasets/long\.yaml:3\n  > 3 \|   \{$", text, re.M)


def test_standard_error_of_the_server_is_shown(verbose: Run) -> None:
    start = verbose.lines.index("  the server's stderr ends with:")
    assert verbose.lines[start + 1] == "    on \\x1b[31mfire"


SECRET_TESTS = """
import os

import pytest

pytestmark = pytest.mark.mcpeval_server("other")


def test_assert(mcpeval_call):
    text = mcpeval_call('environment').text
    print(text)
    assert text == 'x'


@pytest.mark.mcpeval_checks(contains='zebra')
def test_marked(mcpeval_call):
    return mcpeval_call('environment')


def test_sent(mcpeval_client, mcpeval_expect):
    sent = mcpeval_client.call_tool('echo', {'text': os.environ['EXAMPLE_TOKEN']})
    mcpeval_expect(sent).contains(os.environ['EXAMPLE_TOKEN'])
"""


@pytest.mark.parametrize("mode", [(), ("-n2",)], ids=["serial", "n2"])
def test_secrets_appear_nowhere(tmp_path: Path, mode: Sequence[str]) -> None:
    project = Project.at(tmp_path)
    started = {"command": sys.executable, "args": ["server.py"]}
    tiny = {**started, "env": {"API_TOKEN": "${API_TOKEN}", "SETTING": "plain-value"}, "public": ["SETTING"]}
    other = {**started, "env": {"API_TOKEN": "${EXAMPLE_TOKEN}"}}
    project.write_json(".mcp.json", {"mcpServers": {"tiny": tiny, "other": other}})
    project.write_json("datasets/mcpeval.yaml", {"scenario": [{"server": "tiny"}]})
    leak = case("leak", "environment", {"type": "contains", "value": "zzz"})
    echoed = failing("echoed", text=f"the token is {SECRET}")
    project.suite("leaky.yaml", leak)
    project.suite("gated.yaml", leak, echoed, case("fine"), gates={"pass_rate": 0.1})
    project.write("test_any.py", SECRET_TESTS)
    reports = (
        "--junitxml=junit.xml",
        "--html=report.html",
        "--self-contained-html",
        "--mcpeval-report=report",
    )
    run = project.run(*mode, *reports, "-rA", "-vv", API_TOKEN=SECRET, EXAMPLE_TOKEN="s3cr3t-value-of-mine")
    assert run.last_line.startswith("3 failed, 3 passed, 2 tolerated in"), run.out
    assert "${API_TOKEN}" in run.out
    assert "${EXAMPLE_TOKEN}" in run.out
    assert "plain-value" in (tmp_path / "report" / "report.json").read_text(encoding="utf-8")
    assert _leaks(run) == []


def _leaks(run: Run) -> list[str]:
    texts = {"out": run.out, "err": run.err}
    for name in ("junit.xml", "report.html", "report/report.json", "report/report.md", "report/report.html"):
        texts[name] = (run.path / name).read_text(encoding="utf-8")
    return [name for name, text in texts.items() if "s3cr3t" in text]


def test_a_report_directory_that_cannot_be_written_is_said_at_once(project: Project) -> None:
    (project.path / "taken").write_text("a file", encoding="utf-8")
    run = project.run("--mcpeval-report=taken", "datasets")
    assert run.status == 4
    assert re.search(r"ERROR: --mcpeval-report: cannot write into .*taken: File exists\.", run.err)
    assert "passed" not in run.out


def test_a_report_that_cannot_be_written_at_the_end_costs_nothing_else(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.suite("s.yaml", case("a"), gates={"pass_rate": 1})
    for taken in ("report/report.json", "scan.sarif"):
        (tmp_path / taken).mkdir(parents=True)
    run = project.run("--mcpeval-report=report", "--mcpeval-sarif=scan.sarif")
    assert run.status == 1
    assert "Traceback" not in run.out + run.err
    assert run.last_line.startswith("2 passed in"), run.out
    section = run.section()
    assert any(re.match("✓ scenario s +1 pass rate 100 % +1 ✓", line) for line in section)
    assert [line for line in section if line.startswith(("reports:", "ERROR"))] == [
        "reports: report/report.md and report.html",
        "ERROR: cannot write scan.sarif: Is a directory",
        "ERROR: cannot write report/report.json: Is a directory",
    ]
    assert (tmp_path / "report" / "report.md").is_file()


def test_without_the_option_no_report_is_written(wide: tuple[Run, set[str]]) -> None:
    assert wide[1] == set()


COMMANDS = (
    "::error file=a.py::obeyed",
    "fine",
    "  ::stop-commands::x",
    "\u3000::add-mask::a",
    "a ##[error]obeyed",
    "###[group]b",
    "x\u2028::warning::y",
    "x\r::warning::y",
    "\x1b[31m::notice::z",
    "a::b ## [c]",
)
"""Lines of a target: what a runner of GitHub Actions would obey, and what it would not."""

# Without a library it starts at once: every process of these runs starts one.
SHOUTING = """
import json
import sys

TOOL = {"name": "shout", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        version, server = asked["params"]["protocolVersion"], {"name": "shouting", "version": "1"}
        answer = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}}
    elif asked["method"] == "tools/list":
        answer = {"result": {"tools": [TOOL]}}
    elif asked["method"] == "tools/call":
        text = asked["params"]["arguments"].get("text", "")
        print(text, file=sys.stderr, flush=True)
        answer = {"result": {"content": [{"type": "text", "text": text}], "isError": True}}
    else:
        answer = {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""

TESTS_OF_SHOUTS = """
def test_shout(mcpeval_call, mcpeval_expect):
    mcpeval_expect(mcpeval_call("shout", text=TEXT)).contains(TEXT[::-1])


def test_marked(mcpeval_call, mcpeval_expect):
    with mcpeval_expect(TEXT).all() as expect:
        expect.contains(TEXT * 2).not_.contains("obeyed").equals({})


def test_printed(mcpeval_call):
    # As a server in this process does: what pytest captures, it shows.
    print(WITHOUT_CONTROL)
    print(WITHOUT_CONTROL, file=sys.stderr)
    logging.error(WITHOUT_CONTROL)
    raise RuntimeError(WITHOUT_CONTROL)
"""


def obeyed(text: str) -> list[str]:
    """The lines that the runner takes for commands: it trims them, and looks for `##[` anywhere."""
    lines = [line.strip() for line in re.split(r"\r\n|[\n\r]", text)]
    return [line for line in lines if line.startswith("::") or "##[" in line]


@pytest.mark.parametrize("line", COMMANDS)
def test_no_line_is_a_workflow_command(line: str) -> None:
    text = f"{line}\n{line}"
    shown = visible(text)
    assert not obeyed(shown)
    assert visible(shown) == shown
    assert not obeyed(indented(text))
    assert len(indented(text).splitlines()) == 2
    assert (shown == text) == (line in ("fine", "a::b ## [c]"))


@pytest.mark.parametrize("mode", [[], ["-n2"]], ids=["serial", "n2"])
def test_a_target_gives_a_runner_no_orders(tmp_path: Path, mode: list[str]) -> None:
    project = Project(tmp_path)
    project.write("pytest.ini", "[pytest]\n")
    project.write("server.py", SHOUTING)
    project.write_json(".mcp.json", {"mcpServers": {"s": {"command": sys.executable, "args": ["server.py"]}}})
    hostile = "\n".join(COMMANDS)
    plain = {"expected": {"validations": [{"type": "contains", "value": f"{hostile} more"}]}}
    cases = [
        {"id": "one", "name": hostile, "tool": "shout", "input": {"text": hostile}, **plain},
        {"id": "two", "tool": "shout", "input": {"text": hostile}, "project": "##[error]p", **plain},
        {"id": "three", "tool": "::error::", "input": {}, **plain},
    ]
    project.suite("a.yaml", *cases, gates={"pass_rate": 0.5})
    project.suite("b.yaml", *({**one, "tags": ["::error::"]} for one in cases), project="##[group]")
    project.suite("wrong.yaml", {"id": "::error::x", "tool": "##[error]", hostile: 1})
    without_control = hostile.translate({0x1B: None, 0x2028: None})
    head = f"import logging, sys\nTEXT = {hostile!r}\nWITHOUT_CONTROL = {without_control!r}\n"
    project.write("test_shouts.py", f"{head}{TESTS_OF_SHOUTS}")
    junit = ["--junitxml=j.xml", "-o", "junit_logging=all"]
    for options in (["-v", "--tb=native", *junit], ["--tb=line", "-rA"]):
        run = project.run(*mode, *options, "-c", "pytest.ini", "--continue-on-collection-errors", CI="")
        assert "obeyed" in run.out
        assert "stop-commands" in run.out
        assert not obeyed(run.out + run.err)
        assert not {"\x1b", "\u2028"} & {*run.out, *run.err}
    assert not obeyed((tmp_path / "j.xml").read_text())


def test_samples_survive_what_json_cannot_say() -> None:
    odd = {
        "nan": float("nan"),
        "infinite": float("-inf"),
        "huge": 10**5000,
        "lone": "\udc80",
        "deep": [1.5, None],
    }
    sample = Sample("s", "k", "i", "passed", (Check({"type": "t"}, "passed", "m", odd),), measured=odd)
    text = samples_to_json([sample])
    assert text.encode("utf-8")
    (found,) = samples_from_json(text)
    expected = {
        "nan": "nan",
        "infinite": "-inf",
        "huge": hex(10**5000),
        "lone": "\udc80",
        "deep": [1.5, None],
    }
    assert found.measured == expected
    assert found.checks[0].details == expected


def test_json_has_no_line_separators_of_unicode() -> None:
    text = to_json({"name\u2028": ["a\u2029b", "\ud800"]})
    assert text == '{"name\\u2028": ["a\\u2029b", "\\ud800"]}'
    assert json.loads(text) == {"name\u2028": ["a\u2029b", "\ud800"]}
