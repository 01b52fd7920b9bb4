"""Which servers are attached, and which scenarios their tools suggest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import DataFileError
from pytest_mcpeval.kinds.session.discovery import discover, nearest_project
from pytest_mcpeval.kinds.session.edge_cases import Manifest, Proposal, derive


def write(path: Path, data: Any) -> None:
    """Write JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))


def servers(**commands: str) -> dict[str, Any]:
    """``mcpServers``."""
    return {"mcpServers": {name: {"command": command} for name, command in commands.items()}}


def test_sources_are_merged_and_named(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "work" / "shop"
    projects = {
        str(tmp_path / "work"): servers(wrong="w"),
        str(project): servers(own="o", both="project"),
        str(project / "deeper"): servers(wrong="w"),
        "": servers(wrong="w"),
    }
    write(home / ".claude.json", {**servers(user="u", both="top", all="top"), "projects": projects})
    write(project / ".mcp.json", servers(team="t", all="file"))
    found = discover(project / ".", home).attached
    shown = {name: (one.definition.command, one.source.name) for name, one in found.items()}
    assert shown == {
        "own": ("o", ".claude.json"),
        "both": ("project", ".claude.json"),
        "user": ("u", ".claude.json"),
        "all": ("top", ".claude.json"),
        "team": ("t", ".mcp.json"),
    }
    assert all(one.source.is_absolute() for one in found.values())


def test_the_longest_prefix_counts_and_names_are_no_prefixes() -> None:
    roots = ["/a", "/a/b", "/a/bc", "/a/b/c/d", ""]
    assert nearest_project(roots, Path("/a/b/c")) == "/a/b"
    assert nearest_project(roots, Path("/a/b")) == "/a/b"
    assert nearest_project(roots, Path("/a/bcd")) == "/a"
    assert nearest_project(roots, Path("/x")) is None


@pytest.mark.parametrize(
    ("settings", "local", "filtered"),
    [
        ({}, {}, {}),
        ({"disabledMcpjsonServers": ["one"]}, {}, {"one": "settings.json"}),
        ({"enabledMcpjsonServers": ["one"]}, {}, {"two": "settings.json"}),
        ({"enabledMcpjsonServers": []}, {}, {}),
        (
            {"enabledMcpjsonServers": ["one"]},
            {"disabledMcpjsonServers": ["one"]},
            {"one": "settings.local.json", "two": "settings.json"},
        ),
        ({"enableAllProjectMcpServers": True, "disabledMcpjsonServers": ["one"]}, {}, {}),
        ({"disabledMcpjsonServers": ["one"]}, {"enableAllProjectMcpServers": True}, {}),
        (
            {"enableAllProjectMcpServers": True},
            {"enableAllProjectMcpServers": False, "disabledMcpjsonServers": ["two"]},
            {"two": "settings.local.json"},
        ),
    ],
)
def test_settings_filter_the_servers_of_the_project(
    tmp_path: Path, settings: dict[str, Any], local: dict[str, Any], filtered: dict[str, str]
) -> None:
    write(tmp_path / ".mcp.json", servers(one="1", two="2"))
    write(tmp_path / ".claude" / "settings.json", {"permissions": {}, **settings})
    write(tmp_path / ".claude" / "settings.local.json", local)
    found = discover(tmp_path, tmp_path / "nobody")
    reasons = {name: f"disabled by {tmp_path / '.claude' / file}" for name, file in filtered.items()}
    assert dict(found.filtered) == reasons
    assert set(found.attached) == {"one", "two"} - filtered.keys()


def test_filters_do_not_touch_servers_of_the_user(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write(home / ".claude.json", servers(one="mine"))
    write(tmp_path / ".mcp.json", servers(one="1"))
    write(tmp_path / ".claude" / "settings.json", {"disabledMcpjsonServers": ["one"]})
    found = discover(tmp_path, home)
    assert (found.attached["one"].definition.command, dict(found.filtered)) == ("mine", {})


def test_settings_of_another_type_are_an_error(tmp_path: Path) -> None:
    write(tmp_path / ".mcp.json", servers(one="1"))
    write(tmp_path / ".claude" / "settings.json", {"disabledMcpjsonServers": "one"})
    with pytest.raises(DataFileError, match="disabledMcpjsonServers: expected a list of server names"):
        discover(tmp_path, tmp_path)


def derived(*user: str, room: int = 8, **tools: list[Manifest]) -> list[Proposal]:
    """What is derived from the tools of some servers."""
    return derive(tools, user, room)


@pytest.mark.parametrize("parameter", ["limit", "cursor", "offset", "page", "per_page"])
def test_pages_are_walked(parameter: str) -> None:
    (found,) = derived(github=[Manifest("fetch_all", ("repo", parameter))])
    assert found.targets_mcps == ("github",)
    assert "past the first page of `fetch_all`" in found.description


def test_only_tools_that_change_nothing_are_walked_and_searched() -> None:
    changing = [Manifest("delete_items", ("limit",), reads=False), Manifest("list_and_purge", reads=False)]
    assert derived(github=changing) == []
    (found,) = derived(github=[*changing, Manifest("get_items", ("limit",))])
    assert "`get_items`" in found.description


@pytest.mark.parametrize("name", ["search_issues", "list_repos", "query_graph", "searchIssues"])
def test_searches_are_asked_for_nothing(name: str) -> None:
    (found,) = derived(github=[Manifest(name, ("text",))])
    assert "zero results" in found.description


@pytest.mark.parametrize(
    "tool", [Manifest("get_page", ("id",)), Manifest("searching", ("limits",)), Manifest("list")]
)
def test_other_tools_suggest_nothing(tool: Manifest) -> None:
    assert derived(github=[tool]) == []


@pytest.mark.parametrize("parameters", [(), ("limit",), ("page", "per_page")])
def test_what_takes_no_parameters_cannot_be_asked_for_what_is_not_there(parameters: tuple[str, ...]) -> None:
    tools = [Manifest("list_allowed_directories", parameters), Manifest("search_files", ("pattern",))]
    found = [one.description for one in derived(files=tools) if "zero results" in one.description]
    assert found == ["Ask `search_files` on files for something that does not exist: zero results."]
    assert not [one for one in derived(files=tools[:1]) if "zero results" in one.description]


def test_nothing_is_handed_over_to_a_server_that_may_only_be_read() -> None:
    tools = {
        "github": [Manifest("get_issues", ("repo",)), Manifest("close_issue", ("issue_id",), reads=False)],
        "linear": [
            Manifest("list_issues"),
            Manifest("create_issue", ("issue_title",), reads=False),
        ],
    }
    said = ["Copy from github to linear"]
    assert [one.targets_mcps for one in derive(tools, said, 8)] == [("github", "linear")]
    # The other one may still be written to, and when nothing may be, there is nobody to take anything.
    (back,) = derive(tools, said, 8, ["linear"])
    assert (back.targets_mcps, "`close_issue` on github" in back.description) == (("linear", "github"), True)
    (read,) = derive(tools, said, 8, ["linear", "github"])
    assert read.description == "Hand the issue found on linear over to github."
    assert derive({**tools, "github": tools["github"][1:]}, said, 8, ["linear", "github"]) == []
    # A tool of a server that may only be read can still be asked for what another one found.
    asking = {"github": [Manifest("get_issue", ("issue_id",))], "linear": [Manifest("list_issues")]}
    assert [one.targets_mcps for one in derive(asking, [], 8, ["github"])] == [("linear", "github")]


def test_a_handoff_needs_a_parameter_that_names_the_thing() -> None:
    (found,) = derived(
        github=[Manifest("get_issues", ("repo",))], linear=[Manifest("create_issue", ("issue_title",))]
    )
    assert found.targets_mcps == ("github", "linear")
    assert "weak signal" in found.note
    assert "issue_title" in found.note


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Manifest("get_users", ("id",)), Manifest("get_users", ("url",))),
        (Manifest("get_issues", ("id", "url")), Manifest("create_issue", ("id", "title"))),
        (Manifest("get_id", ("id",)), Manifest("set_id", ("id",))),
        (Manifest("get_branches", ("repo",)), Manifest("create_issue", ("branch",))),
    ],
)
def test_generic_names_and_mere_overlap_are_no_signal(first: Manifest, second: Manifest) -> None:
    assert derived(github=[first], linear=[second]) == []


def test_a_scenario_that_names_both_servers_is_a_signal() -> None:
    tools = {"github": [Manifest("get_issues")], "linear": [Manifest("create_issue", ("title",))]}
    assert derive(tools, ["Copy from github"], 8) == []
    assert derive(tools, ["Copy from github to linearity"], 8) == []
    (found,) = derive(tools, ["Copy from GitHub to Linear."], 8)
    assert "your own scenarios name both servers" in found.note
    assert derived("Copy from a to b", a=[Manifest("get_dog")], b=[Manifest("create_cat")]) == []


def test_there_are_never_more_than_there_is_room_for() -> None:
    tools = [Manifest("list_issues", ("limit", "label"))]
    assert len(derived(a=tools, b=tools, c=tools)) == 6
    assert len(derived(a=tools, b=tools, c=tools, room=2)) == 2
    assert derived(a=tools, room=0) == []
