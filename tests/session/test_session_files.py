"""Session files and lists of scenarios: what is read, and what is told of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import DataFileError
from pytest_mcpeval.cli.project import runtime_at
from pytest_mcpeval.kinds.session.intake import read_scenarios
from pytest_mcpeval.kinds.session.load import import_problems
from pytest_mcpeval.kinds.session.spec import SessionSuite
from tests.session.evaluations import ECHO, SESSION, SessionProject, scenario


def loaded(made: SessionProject, name: str = SESSION) -> SessionSuite:
    """The suite in a file of the project."""
    suite = runtime_at(made.project.path).suite(made.project.path / name)
    assert isinstance(suite, SessionSuite)
    return suite


def problems(made: SessionProject) -> list[str]:
    """What is wrong with the session file."""
    with pytest.raises(DataFileError) as caught:
        loaded(made)
    return [f"{problem.line}: {problem.message}".replace('"', "'") for problem in caught.value.problems]


def test_ids_are_places_and_the_report_comes_last(tmp_path: Path) -> None:
    suite = loaded(SessionProject.at(tmp_path, scenario(ECHO), scenario(ECHO), scenario(ECHO, id="S7")))
    assert [case.id for case in suite.cases] == ["S1", "S2", "S7", "report"]
    assert suite.cases[0].traits == {"server": ("tiny",), "tags": ("user",)}


def test_user_only_drops_what_was_derived(tmp_path: Path) -> None:
    made = SessionProject.at(
        tmp_path, scenario(ECHO), scenario(ECHO, source="derived"), scenario(ECHO), approval=" USER-only\n"
    )
    assert [case.id for case in loaded(made).cases] == ["S1", "S3", "report"]


@pytest.mark.parametrize("word", ["yes", "ok", "approve it", "approve.", "approved", "lgtm", "user only", ""])
def test_nothing_else_approves(tmp_path: Path, word: str) -> None:
    (problem,) = problems(SessionProject.at(tmp_path, approval=word))
    assert "expected exactly approve (all scenarios) or user-only" in problem


def test_files_without_approval_or_dispositions_are_errors(tmp_path: Path) -> None:
    found = problems(SessionProject.at(tmp_path, approval=None, dispositions=None))
    assert any("the scenarios are not approved" in problem for problem in found)
    assert any("the server 'tiny' has no disposition" in problem for problem in found)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"scenarios": [scenario(ECHO)] * 9}, "expected 1 to 8 scenarios, found 9"),
        ({"scenarios": []}, "at least 1"),
        ({"scenarios": [scenario(ECHO, description="  ")]}, "is blank"),
        ({"scenarios": [{"targets_mcps": ["tiny"], "steps": [ECHO]}]}, "missing required key 'description'"),
        (
            {"scenarios": [scenario(ECHO, targets_mcps=["tinny"])]},
            "'tinny' is not attached (did you mean 'tiny'?)",
        ),
        ({"scenarios": [scenario(ECHO, targets_mcps="tiny")]}, "targets_mcps"),
        ({"scenarios": [{"description": "x"}]}, "nothing carries this scenario out"),
        ({"scenarios": [scenario(ECHO, agent="fixture:x")]}, "has both `steps` and `agent`"),
        ({"scenarios": [scenario(ECHO, id="S1"), scenario(ECHO, id="S1")]}, "duplicate id 'S1'"),
        ({"scenarios": [scenario(ECHO, id="first")]}, "id"),
        ({"scenarios": [scenario({**ECHO, "expect": [{"type": "containz"}]})]}, "containz"),
        ({"scenarios": [scenario(ECHO, source="derived")], "approval": "user-only"}, "drops all scenarios"),
        ({"scenarios": "nowhere.txt"}, "there is no file"),
        ({"scenarios": [scenario()]}, "at least 1"),
        ({"dispositions": {"tiny": "read_only", "other": "skip"}}, "unknown server 'other'"),
        ({"dispositions": {"tiny": "readonly"}}, "read_only"),
        ({"dispositions": {"tiny": {"disposition": "skip", "test_resources": ["x"]}}}, "are for a sandboxed"),
        ({"dispositions": {"tiny": "skip"}}, "'tiny' is never called, its disposition is `skip`"),
        ({"servers": ["tinny"]}, "unknown server 'tinny'"),
        ({"critic": "embeded"}, "expected embedded"),
        ({"critic": {"python": "a:b", "model": "x"}}, "and has python and model"),
        ({"gates": {"fail_on": "Blocker"}}, "fail_on"),
        ({"call_budget": 0}, "call_budget"),
        ({"wallclock_budget": 0}, "wallclock_budget"),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, fields: dict[str, Any], words: str) -> None:
    made = SessionProject.at(tmp_path)
    made.project.write_json(
        SESSION,
        {
            "dispositions": {"tiny": "read_only"},
            "approval": "approve",
            "scenarios": [scenario(ECHO)],
            **fields,
        },
    )
    found = problems(made)
    assert any(words in problem for problem in found), found


def test_settings_of_a_project_file_apply_and_lists_load_unchanged(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path)
    made.project.write_json(
        "datasets/tiny.scenarios.yaml", [{"description": "Do it"}, {"description": "Do more"}]
    )
    entry = {
        "files": "*.scenarios.yaml",
        "dispositions": {"tiny": "read_only"},
        "approval": "approve",
        "agent": "python:acting:act",
        "call_budget": 7,
    }
    made.project.write_json("datasets/mcpeval.yaml", {"session": [entry]})
    suite = loaded(made)
    assert [scenario.description for scenario in suite.scenarios] == ["Do it", "Do more"]
    assert (suite.settings.call_budget, suite.scopes["tiny"].disposition) == (7, "read_only")
    agent = suite.scenarios[0].agent
    assert agent is not None
    assert (agent.python, agent.directory) == ("acting:act", str(tmp_path / "datasets"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.json", '[{"description": "One", "targets_mcps": ["tiny"]}, {"description": "Two"}]'),
        ("list.yaml", "- {description: One, targets_mcps: [tiny]}\n- description: Two\n"),
        ("list.YML", "- {description: One, targets_mcps: [tiny]}\n- description: Two\n"),
        ("list.txt", "# a comment\n\n  One  \nTwo\n   # another\n"),
        ("list.md", "One\r\nTwo"),
    ],
)
def test_lists_of_scenarios_are_read_by_extension(tmp_path: Path, name: str, text: str) -> None:
    made = SessionProject.at(tmp_path)
    path = made.project.write(f"datasets/{name}", text)
    rows = read_scenarios(path)
    assert [row.description for row in rows] == ["One", "Two"]
    is_plain = path.suffix in (".txt", ".md")
    assert [row.targets_mcps for row in rows] == [[] if is_plain else ["tiny"], []]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("list.json", '[{"description": "One"}, {"targets_mcps": []}]', "missing required key .description."),
        ("list.json", '[{"description": ""}]', r"\[0\].description"),
        ("list.json", '{"scenarios": []}', "list"),
        ("list.yaml", "- One\n", "expected"),
        ("list.txt", "# nothing\n", "has no scenario"),
        ("list.yaml", "[]", "has no scenario"),
    ],
)
def test_mistakes_in_lists_name_the_entry(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataFileError, match=words):
        read_scenarios(path)


@pytest.mark.parametrize(
    ("session", "lists", "named"),
    [
        (SESSION, "datasets/tasks.json", "tasks.json"),
        ("datasets/all.json", "datasets/lists/tasks.yaml", "lists/tasks.yaml"),
        ("datasets/a/tiny.scenarios.yaml", "datasets/b/tasks.json", "../b/tasks.json"),
    ],
)
def test_a_list_that_a_session_names_is_no_session_itself(
    tmp_path: Path, session: str, lists: str, named: str
) -> None:
    made = SessionProject.at(tmp_path)
    made.project.write_json(lists, [{"description": "Do it"}])
    made.project.write_json("datasets/a.scenarios.yaml", {"scenarios": 7, "note": Path(lists).name})
    with pytest.raises(DataFileError, match="not approved"):
        runtime_at(tmp_path).suite(tmp_path / lists)
    own = {"dispositions": {"tiny": "read_only"}, "approval": "approve", "agent": "python:a:b"}
    made.project.write_json(session, {**own, "scenarios": named})
    assert runtime_at(tmp_path).suite(tmp_path / lists) is None
    assert [case.id for case in loaded(made, session).cases] == ["S1", "report"]


def test_servers_that_settings_disable_are_left_out_and_reported(tmp_path: Path) -> None:
    made = SessionProject.at(tmp_path, scenario(ECHO, targets_mcps=["tiny"]))
    tiny = {"module": "server:server"}
    made.project.write_json(".mcp.json", {"mcpServers": {"tiny": tiny, "off": tiny, "spare": tiny}})
    made.project.write_json(".claude/settings.local.json", {"disabledMcpjsonServers": ["off"]})
    made.project.write_json("datasets/mcpeval.yaml", {"session": [{"servers": ["tiny", "off"]}]})
    suite = loaded(made)
    assert set(suite.attached) == {"tiny"}
    assert suite.filtered == {
        "off": f"disabled by {tmp_path / '.claude' / 'settings.local.json'}",
        "spare": "not among `servers` of the evaluation",
    }


def test_what_cannot_be_imported_is_refused_where_files_are_collected(tmp_path: Path) -> None:
    def by(agent: Any) -> dict[str, Any]:
        return {"description": "x", "agent": agent}

    glue = {"use": "Python", "python": "glue.more:no_function", "justification": "no attached MCP covers it"}
    made = SessionProject.at(
        tmp_path,
        by("python:no_agents.notes:run"),
        by({"python": "glue.nowhere:run", "directory": ".."}),
        by({"python": "glue.more:no_function", "directory": ".."}),
        by({"python": "glue.more:Agent", "directory": ".."}),
        by("python:breaks:run"),
        by("model:python:no_models:make"),
        scenario(ECHO, glue),
        {"description": "x"},
        agent="python:quits:run",
        critic="python:no_critics:review",
    )
    made.project.write("glue/__init__.py", "")
    made.project.write("glue/more.py", "class Agent: ...\n")
    made.project.write("datasets/breaks.py", "import no_dependency\n")
    made.project.write("datasets/quits.py", "raise SystemExit('no')\n")
    run = made.run("-n0")
    assert run.status == 2, run.out
    assert not made.evaluation().path.exists()
    lines = {words.partition(": ")[2]: words for words in run.lines if words.startswith(f"{SESSION}:")}
    told = "\n".join(lines)
    datasets = tmp_path / "datasets"
    for words in (
        f"agent python:no_agents.notes:run cannot be imported: ModuleNotFoundError: No module named "
        f"'no_agents'; searched in {datasets}, ",
        "agent python:glue.nowhere:run cannot be imported: ModuleNotFoundError: No module named "
        f"'glue.nowhere'; searched in {tmp_path / 'glue'}",
        "agent python:glue.more:no_function cannot be imported: AttributeError: module 'glue.more' has no "
        f"attribute 'no_function'; glue.more is {tmp_path / 'glue' / 'more.py'}",
        "agent python:glue.more:Agent cannot be used: expected a function run(task, toolbox)",
        "agent python:breaks:run cannot be imported: ModuleNotFoundError: No module named 'no_dependency' "
        f"(at {datasets / 'breaks.py'}:1)",
        "agent model python:no_models:make cannot be imported: ModuleNotFoundError: No module named",
        "step python:glue.more:no_function cannot be imported: AttributeError",
        "agent python:quits:run cannot be imported: SystemExit: no",
        "critic python:no_critics:review cannot be imported: ModuleNotFoundError: No module named "
        f"'no_critics'; searched in {tmp_path}",
    ):
        assert words in told
    # What does not run anything imports nothing either.
    assert [case.id for case in loaded(made).cases][-1] == "report"


def test_an_import_that_does_not_end_is_an_error_of_the_file(tmp_path: Path) -> None:
    def slow(**more: Any) -> dict[str, Any]:
        return {"python": "blocks:run", "start_timeout": 0.2, **more}

    used = {"use": "Sort", "python": "blocks.sorting:run", "justification": "no attached MCP covers it"}
    made = SessionProject.at(
        tmp_path,
        {"description": "x", "agent": slow()},
        {"description": "x", "agent": {"model": "python:blocks:make", "start_timeout": 0.2}},
        scenario(ECHO, used | {"timeout": 0.2}),
        critic=slow(),
    )
    blocks = made.project.write("datasets/blocks.py", "import time\n\ntime.sleep(3_600)\n")
    suite = loaded(made)
    found = {problem.message: problem.line for problem in import_problems(suite)}
    late = "cannot be imported: its import took longer than 0.2 s"
    assert list(found) == [
        f"step python:blocks.sorting:run {late} (at {blocks}:3)",
        # The others wait for it.
        f"critic python:blocks:run {late}",
        f"agent python:blocks:run {late}",
        f"agent model python:blocks:make {late}",
    ]
    lines = suite.path.read_text(encoding="utf-8").splitlines()
    keys = [lines[line - 1].strip(' ":{[') for line in found.values()]
    assert [key.partition('"')[0] for key in keys] == ["python", "critic", "agent", "agent"]


def test_a_start_timeout_limits_an_import(tmp_path: Path) -> None:
    made = SessionProject.at(
        tmp_path,
        {"description": "x", "agent": {"command": ["x"], "start_timeout": 1}},
        critic={"file": "x.md", "start_timeout": 1},
    )
    assert [problem.partition("`")[2] for problem in problems(made)] == [
        "start_timeout` is for what is imported, and this critic is file",
        "start_timeout` is for what is imported, and this agent is command",
    ]
