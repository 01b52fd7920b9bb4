"""``mcpeval.yaml`` and ``.mcp.json``: what applies where, and what is said about mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import Suite
from pytest_mcpeval.config.path_patterns import matches
from tests.collection.conftest import RunPytest
from tests.runtimes import problems_of, runtime_at
from tests.support import Project, case


@pytest.fixture
def small(tmp_path: Path) -> Project:
    return Project.at(tmp_path)


def loaded(project: Project, name: str) -> Suite[Any]:
    suite = runtime_at(project.path).suite(project.path / "datasets" / name)
    assert suite is not None
    return suite


def settings(project: Project, name: str) -> dict[str, Any]:
    found: dict[str, Any] = loaded(project, name).settings.model_dump(exclude_defaults=True)
    return found


def test_the_nearest_file_wins_key_by_key(small: Project) -> None:
    small.write_json(
        "mcpeval.yaml",
        {
            "scenario": [
                {
                    "timeout": 1,
                    "concurrency": 2,
                    "gates": {"pass_rate": 0.1, "p95_latency_ms": 9},
                    "tools": {"a": "1", "b": "2"},
                }
            ]
        },
    )
    small.write_json(
        "datasets/mcpeval.yaml",
        {"scenario": [{"concurrency": 3, "gates": {"pass_rate": 0.2}, "tools": {"b": "3", "echo": "echo"}}]},
    )
    small.suite("a.yaml", case("one"))
    small.suite("b.yaml", case("one"), timeout=7, gates={"passRate": 0.3}, tools={"b": "4"})
    small.suite("deep/mcpeval.yaml")
    small.write_json("datasets/deep/mcpeval.yaml", {"scenario": [{"concurrency": 4, "sendProject": False}]})
    small.suite("deep/a.yaml", case("one"))
    lower = {
        "gates": {"pass_rate": 0.2, "p95_latency_ms": 9.0},
        "tools": {"a": "1", "b": "3", "echo": "echo"},
    }
    assert settings(small, "a.yaml") == {"timeout": 1.0, "concurrency": 3, **lower}
    assert settings(small, "deep/a.yaml") == {
        "timeout": 1.0,
        "concurrency": 4,
        "send_project": False,
        **lower,
    }
    own = {"pass_rate": 0.3, "p95_latency_ms": 9.0}
    tools = {"a": "1", "b": "4", "echo": "echo"}
    assert settings(small, "b.yaml") == {"timeout": 7.0, "concurrency": 3, "gates": own, "tools": tools}


def test_rules_apply_by_glob_and_later_ones_win(small: Project) -> None:
    small.write_json(
        "datasets/mcpeval.yaml",
        {
            "scenario": [
                {"timeout": 1},
                {"files": "docs/**", "timeout": 2},
                {"files": ["docs/x.yaml", "*.json"], "timeout": 3},
            ]
        },
    )
    for name in ("a.yaml", "docs/x.yaml", "docs/y.yaml", "docs/deep/z.json", "b.json"):
        small.suite(name, case("one"))
    names = ("a.yaml", "docs/x.yaml", "docs/y.yaml", "docs/deep/z.json", "b.json")
    assert [settings(small, name)["timeout"] for name in names] == [1, 3, 2, 2, 3]


@pytest.mark.parametrize(
    ("pattern", "meant", "not_meant"),
    [
        ("docs/**", ["docs/a.yaml", "docs/b/c.yaml"], ["docs.yaml", "x/docs/a.yaml"]),
        ("docs", ["docs/a.yaml", "docs/b/c.yaml", "docs"], ["docs.yaml"]),
        ("*.yaml", ["a.yaml"], ["b/a.yaml", "a.json"]),
        ("**/*.yaml", ["a.yaml", "b/c/a.yaml"], ["a.json"]),
        ("a/**/b/*.json", ["a/b/x.json", "a/1/2/b/x.json"], ["a/b/c/x.json"]),
        ("./a/[bc].yaml", ["a/b.yaml", "a/c.yaml"], ["a/d.yaml", "A/b.yaml"]),
        ("**", ["a", "a/b"], []),
        ("a?.yaml", ["ab.yaml"], ["a/.yaml", "abc.yaml"]),
    ],
)
def test_globs(pattern: str, meant: list[str], not_meant: list[str]) -> None:
    assert [path for path in [*meant, *not_meant] if matches(path, pattern)] == meant


def test_servers_are_merged_by_name(small: Project) -> None:
    servers = {"tiny": {"command": "root"}, "web": {"url": "http://root"}}
    small.write_json(".mcp.json", {"mcpServers": servers})
    small.write_json("mcpeval.yaml", {"servers": {"tiny": {"command": "middle"}, "new": {"command": "n"}}})
    small.write_json(
        "datasets/mcpeval.yaml", {"servers": {"tiny": {"module": "a:b"}}, "scenario": [{"server": "web"}]}
    )
    small.suite("a.yaml", case("one"))
    found = loaded(small, "a.yaml").servers
    assert {name: server.display() for name, server in found.items()} == {
        "tiny": "a:b",
        "web": "http://root",
        "new": "n",
    }


def test_paths_of_baselines_are_relative_to_their_file(small: Project) -> None:
    small.write_json(
        "datasets/mcpeval.yaml", {"scenario": [{"files": "deep/a.yaml", "baseline": "base/a.json"}]}
    )
    small.suite("deep/a.yaml", case("one"))
    small.suite("deep/b.yaml", case("one"), baseline="../b.json")
    assert settings(small, "deep/a.yaml")["baseline"] == str(small.path / "datasets/base/a.json")
    assert settings(small, "deep/b.yaml")["baseline"] == str(small.path / "datasets/b.json")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "scenari: []",
            '1: unknown key "scenari" (did you mean "scenario"?): '
            "expected `servers`, `scenario`, `retrieval`, `security`, `agent`, `session`",
        ),
        (
            "- scenario",
            "1: expected a mapping with `servers`, `scenario`, `retrieval`, `security`, `agent`, `session`, ",
        ),
        (
            "scenario: {server: tiny}",
            "1: scenario: expected a list of entries such as `- files: docs/**`, found a map",
        ),
        ("security: []", "1: security: the list is empty: add an entry, or remove"),
        ("scenario: []", "1: scenario: the list is empty: add an entry, or remove"),
        ("scenario:", "1: scenario: expected a list of entries such as `- files: docs/**`, found null"),
        ("scenario:\n- tiny", '2: scenario[0]: expected a mapping, found "tiny"'),
        ("scenario:\n- fils: a.yaml", '2: scenario[0]: unknown key "fils" (did you mean "files"?)'),
        ("scenario:\n- files: nothing/**", '2: files: "nothing/**" matches no data file below datasets/'),
        ("scenario:\n- files: '*.txt'", '2: files: "*.txt" matches no data file below datasets/'),
        ("scenario:\n- files: /etc/*", "2: files: expected a glob of files below datasets/"),
        ("scenario:\n- files: ../x/*", "2: files: expected a glob of files below datasets/"),
        ('scenario:\n- files: "\\0"', '2: files: "\\u0000" matches no data file below datasets/'),
        (f"scenario:\n- files: {'x' * 300}", '2: files: "xxx'),
        (f"scenario:\n- baseline: {'x' * 300}.json", '2: scenario[0].baseline: "xxx'),
        (
            'scenario:\n- baseline: "a\\0.json"',
            '2: scenario[0].baseline: "a\\u0000.json" cannot be the name of',
        ),
        (f"retrieval:\n- corpus: {'x/' * 600}.json", '2: retrieval[0].corpus: "x/x'),
        ("scenario:\n- files: []", "2: scenario[0].files: expected at least 1 entry"),
        (
            "scenario:\n- files:",
            "2: scenario[0].files: expected a glob such as docs/**, or a list of globs, found null",
        ),
        (
            "scenario:\n- files: 3",
            "2: scenario[0].files: expected a glob such as docs/**, or a list of globs, found 3",
        ),
        (
            "scenario:\n- concurrency: 0",
            "2: scenario[0].concurrency: expected a number of at least 1, found 0",
        ),
        (
            "scenario:\n- gates:\n    pass_rat: 1",
            '3: scenario[0].gates: unknown key "pass_rat" (did you mean "pass_rate"?)',
        ),
        ("servers:\n  x: {comand: y}", '2: servers.x: unknown key "comand" (did you mean "command"?)'),
        ("servers: [x]", '1: "servers": expected a mapping of names to servers'),
        ("a: {", "2: is not YAML: "),
    ],
)
def test_a_mistake_in_a_project_file(small: Project, text: str, expected: str) -> None:
    small.write("datasets/notes.txt", "")
    small.write("datasets/mcpeval.yaml", text)
    path = small.suite("a.yaml", case("one"))
    found = problems_of(runtime_at(small.path), path)
    assert any(line.startswith(f"datasets/mcpeval.yaml:{expected}") for line in found), found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"mcpServers": {"a": {"command": "x"}},}', ".mcp.json:1: "),
        ('{"mcpServer": {}}', '.mcp.json:1: unknown key "mcpServer": expected "mcpServers"'),
        (
            '{\n"mcpServers": {\n"a": {"command": "x", "arg": []}}}',
            '.mcp.json:3: mcpServers.a: unknown key "arg" (did',
        ),
    ],
)
def test_a_mistake_in_the_servers_file(small: Project, text: str, expected: str) -> None:
    small.write(".mcp.json", text)
    path = small.suite("a.yaml", case("one"))
    assert problems_of(runtime_at(small.path), path)[0].startswith(expected)


def test_problems_of_project_files_are_told_in_full_only_once(project: Project, run: RunPytest) -> None:
    project.write(".mcp.json", "{")
    project.write("datasets/mcpeval.yaml", "scenari: []\nserver: x\n")
    for name in ("a.yaml", "b.yaml", "z/c.yaml"):
        project.suite(name, case("one"))
    result = run()
    result.assert_outcomes(errors=4)
    text = result.stdout.str()
    assert text.count('unknown key "scenari"') == 1
    assert text.count('unknown key "server"') == 1
    assert text.count("datasets/mcpeval.yaml:1: has 2 problems, reported where the file was first used") == 3
    assert text.count(".mcp.json:1: has 1 problem, reported") == 2


def test_one_suite_alone_tells_the_problems_of_its_project_file(project: Project, run: RunPytest) -> None:
    project.write("datasets/mcpeval.yaml", "scenari: []\n")
    project.suite("a.yaml", case("one"))
    run("datasets/a.yaml").stdout.fnmatch_lines(['datasets/mcpeval.yaml:1: unknown key "scenari"*'])


def test_a_project_file_that_no_suite_uses_is_checked_too(project: Project, run: RunPytest) -> None:
    project.write("elsewhere/mcpeval.yaml", "scenari: []\n")
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(['elsewhere/mcpeval.yaml:1: unknown key "scenari"*'])


def test_the_environment_s_url_that_cannot_be_applied(
    project: Project, run: RunPytest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_URL", "not a url")
    project.suite("a.yaml", case("one"))
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["MCP_URL is 'not a url': expected a URL*"])
    result.stdout.no_fnmatch_line("*Traceback*")
