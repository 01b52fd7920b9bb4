"""The documentation: complete, linked, and every example in it loads or runs."""

from __future__ import annotations

import importlib.util
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from pytest_mcpeval import plugin
from pytest_mcpeval.browser.directive import Interaction
from pytest_mcpeval.cli import COMMANDS
from pytest_mcpeval.config.options import OPTIONS
from pytest_mcpeval.core.case import CaseMarks, SkipIfEnv, Xfail
from pytest_mcpeval.kinds.agent import schema as agents
from pytest_mcpeval.kinds.agent import settings as agent_settings
from pytest_mcpeval.kinds.agent.load import manifest_of
from pytest_mcpeval.kinds.retrieval import schema as retrieval
from pytest_mcpeval.kinds.retrieval.corpus import Corpus
from pytest_mcpeval.kinds.retrieval.retrievers import RetrieverModel, make_retriever
from pytest_mcpeval.kinds.scenario import schema
from pytest_mcpeval.kinds.scenario.checks import BUILTIN
from pytest_mcpeval.kinds.security import schema as security
from pytest_mcpeval.kinds.session import schema as session
from pytest_mcpeval.kinds.session.execution.settings import AgentModel, PagesModel, StepModel
from pytest_mcpeval.loading import load
from pytest_mcpeval.plugin import hooks
from pytest_mcpeval.servers.schema import ServerEntry
from tests.project.documents import PAGES, ROOT, CodeBlock, anchors, blocks, code_words, links
from tests.runtimes import runtime_at

DOCS = ROOT / "docs"
SERVERS = {"servers": {name: {"command": "python"} for name in ("docs", "shop")}}
MINIMAL = "tests: [{id: a, tool: t, server: docs, input: {}, expected: {expectedKeywords: [x]}}]"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


@pytest.mark.parametrize("part", ["options", "checks"])
def test_generated_parts_are_up_to_date(part: str) -> None:
    path, wanted = generator().generated(part)
    assert path.read_text("utf-8") == wanted, "run: python docs/generate.py"


def test_every_option_is_somewhere_in_the_readme() -> None:
    recorder = generator().recorded_options()
    names = {name for name, _ in recorder.options} | {name for name, *_ in recorder.ini_keys}
    assert len(names) > 10
    assert names <= code_words(ROOT / "README.md")


def test_every_marker_fixture_and_hook_is_documented() -> None:
    markers = {line.partition("(")[0] for line in plugin.MARKERS}
    fixtures = {name for name in plugin.__all__ if name.startswith("mcpeval_")}
    offered = {name for name in vars(hooks) if name.startswith("pytest_mcpeval_")}
    assert markers
    assert fixtures
    assert offered
    assert markers | fixtures | offered <= code_words(*PAGES)


def test_every_command_of_the_console_script_is_documented() -> None:
    assert set(COMMANDS) <= code_words(DOCS / "command-line.md")


@pytest.mark.parametrize(
    ("page", "model"),
    [
        ("scenario-files.md", schema.SuiteModel),
        ("scenario-files.md", schema.CaseModel),
        ("scenario-files.md", schema.StepModel),
        ("scenario-files.md", schema.ExpectedModel),
        ("scenario-files.md", CaseMarks),
        ("scenario-files.md", SkipIfEnv),
        ("scenario-files.md", Xfail),
        ("mcpeval-yaml.md", schema.ScenarioSettings),
        ("gates-and-baselines.md", schema.GatesModel),
        ("retrieval.md", retrieval.GatesModel),
        ("retrieval.md", retrieval.RetrievalSettings),
        ("retrieval.md", retrieval.QueryModel),
        ("security.md", security.SecuritySettings),
        ("security.md", security.EntryModel),
        ("security.md", security.DetectorGatesModel),
        ("sessions.md", session.SessionSettings),
        ("sessions.md", session.ScenarioModel),
        ("sessions.md", session.DispositionModel),
        ("sessions.md", session.GatesModel),
        ("session-guard.md", StepModel),
        ("session-guard.md", AgentModel),
        ("session-guard.md", PagesModel),
        ("servers.md", ServerEntry),
        ("agents.md", agents.Manifest),
        ("agents.md", Interaction),
        ("agents.md", agents.Assertions),
        ("agents.md", agents.CallSpec),
        ("agents.md", agent_settings.AgentSettings),
        ("agents.md", agent_settings.GatesModel),
        ("agents.md", agents.Observability),
        ("agents.md", agents.UiIntrospection),
        ("agents.md", agents.LangfuseSource),
        ("agents.md", agents.OtelSource),
        ("agents.md", agents.PhoenixSource),
    ],
)
def test_every_key_is_documented(page: str, model: type[BaseModel]) -> None:
    words = code_words(DOCS / page)
    assert [name for name in model.model_fields if not {name, camel(name)} & words] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in links(page):
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(path), f"{page.name} links to {target}"


def test_the_architecture_names_files_that_exist() -> None:
    spans = re.findall(r"`([\w./-]+)`", (ROOT / "ARCHITECTURE.md").read_text("utf-8"))
    paths = [span for span in spans if "/" in span and span != "pytest_mcpeval/"]
    assert len(paths) > 30
    lost = [
        path for path in paths if not ((ROOT / path).exists() or (ROOT / "pytest_mcpeval" / path).exists())
    ]
    assert lost == []


def test_the_architecture_draws_every_folder() -> None:
    picture = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("```")[1]
    folders = {path.parent.name for path in (ROOT / "pytest_mcpeval").glob("*/__init__.py")}
    assert folders == set(re.findall(r"(\w+)/  ", picture))


def test_every_page_is_reachable_from_the_readme() -> None:
    linked = {(ROOT / target.partition("#")[0]).resolve() for target in links(ROOT / "README.md")}
    assert set(PAGES) - linked == {ROOT / "README.md"}


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("block", blocks("yaml", "json"), ids=str)
def test_examples_load(block: CodeBlock, tmp_path: Path) -> None:
    data = yaml.safe_load(block.text)
    if block.page.name == "ci.md":
        check_workflow(block, data)
    elif block.language == "json":
        write(tmp_path / ".mcp.json", block.text)
        suite = runtime_at(tmp_path).suite(write(tmp_path / "a.yaml", MINIMAL))
        assert suite is not None
        assert data["mcpServers"].keys() <= suite.servers.keys()
    elif isinstance(data, list):
        assert [BUILTIN.parse(rule).name for rule in data]
    elif "apiVersion" in data:
        assert manifest_of(load(write(tmp_path / "agent.yaml", block.text))).cases
    elif "tests" in data:
        load_scenario(block, tmp_path)
    elif "scenarios" in data:
        load_session(block, data, tmp_path)
    else:
        load_project_file(block, data, tmp_path)


def check_workflow(block: CodeBlock, data: Any) -> None:
    """Its options are ours; whether GitHub takes it, actionlint said when it was written."""
    known = {option.name for option in OPTIONS} | {"--mcpeval"}
    assert set(re.findall(r"--mcpeval[a-z-]*", block.text)) <= known
    for job in data.get("jobs", {}).values():
        assert all(("uses" in step) != ("run" in step) for step in job["steps"])


def load_scenario(block: CodeBlock, directory: Path) -> None:
    rest = {} if "server:" in block.text else {"scenario": [{"server": "docs"}]}
    write(directory / "mcpeval.yaml", yaml.safe_dump({**SERVERS, **rest}))
    suite = runtime_at(directory).suite(write(directory / "example.yaml", block.text))
    assert suite is not None
    assert suite.cases


def load_session(block: CodeBlock, data: Any, directory: Path) -> None:
    server = {"command": "a-server"}
    write(
        directory / "mcpeval.yaml", yaml.safe_dump({"servers": dict.fromkeys(data["dispositions"], server)})
    )
    suite = runtime_at(directory).suite(write(directory / "example.scenarios.yaml", block.text))
    assert suite is not None
    assert len(suite.cases) == len(data["scenarios"]) + 1


def load_project_file(block: CodeBlock, data: Any, directory: Path) -> None:
    path = write(directory / "mcpeval.yaml", block.text)
    kinds = [name for name in ("scenario", "retrieval", "security") if name in data]
    for entry in (entry for name in kinds for entry in data[name] if "files" in entry):
        for pattern in [entry["files"]] if isinstance(entry["files"], str) else entry["files"]:
            write(directory / pattern.replace("**", "a.yaml").replace("*", "a"), MINIMAL)
    read = runtime_at(directory).project_files.read(path)
    assert read.servers.keys() == data.get("servers", {}).keys()
    assert list(read.rules) == kinds


def test_example_of_the_library_prints_what_the_page_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    block = next(b for b in blocks("python", pages=(DOCS / "retrieval.md",)) if "GoldenSet" in b.text)
    exec(compile(block.text, str(block), "exec", dont_inherit=True), {})
    assert f"`{capsys.readouterr().out.strip()}`" in (DOCS / "retrieval.md").read_text("utf-8")


def test_example_program_answers(tmp_path: Path) -> None:
    block = next(b for b in blocks("python", pages=(DOCS / "retrieval.md",)) if "sys.stdin" in b.text)
    write(tmp_path / "search.py", block.text)
    model = RetrieverModel.model_validate(
        {"command": [sys.executable, "search.py"], "directory": str(tmp_path)}
    )
    retriever = make_retriever(model, Corpus("v1", ()))
    try:
        found = [
            retriever.ask({"query": query, "limit": 1})[0].tool_id
            for query in ("what has changed", "all commits")
        ]
    finally:
        retriever.close()
    assert found == ["git:diff", "git:log"]


def test_example_check_works() -> None:
    (block,) = blocks("python", pages=(DOCS / "how-it-works.md",))
    names: dict[str, Any] = {}
    exec(compile(block.text, str(block), "exec", dont_inherit=True), names)
    check = BUILTIN.with_types(names["pytest_mcpeval_checks"]()).parse({"type": "is_polite"})
    response = names["Response"]
    assert check.evaluate(response("Thank you!")).passed
    assert not check.evaluate(response("Go away!")).passed


SERVER = """
from mcp.server import MCPServer

server = MCPServer("docs")

@server.tool()
def ask_docs(question: str, project: str = "") -> str:
    return f"{question} It is 20 cents [Source 1]."
"""


def test_example_python_tests_pass(pytester: pytest.Pytester) -> None:
    found = [block.text for block in blocks("python", pages=(DOCS / "python-tests.md",))]
    pytester.makepyfile(docs_for_example=textwrap.dedent(SERVER), test_example="\n".join(found))
    pytester.makefile(".yaml", mcpeval='servers: {docs: {module: "docs_for_example:server"}}')
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.runpytest_subprocess("--mcpeval", "-W", "error").assert_outcomes(passed=4)


def test_every_benchmark_is_listed() -> None:
    page = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    names = [path.name for path in (ROOT / "benchmarks").glob("*.py")]
    assert [name for name in names if name not in page] == []
