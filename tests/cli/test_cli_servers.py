"""``pytest-mcpeval servers``: what is defined, and whether it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mcpeval.cli import main
from tests.support import Project

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MCP_URL", raising=False)
    return Project.at(tmp_path, transport="stdio")


def test_all_definitions_that_apply_here(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    secret = "http://user:secret@localhost:1/mcp?token=secret"
    project.write("sub/mcpeval.yaml", f'servers:\n  web: {{url: "{secret}"}}\n')
    assert main(["servers"]) == 0
    assert "web" not in capsys.readouterr().out
    monkeypatch.chdir(project.path / "sub")
    assert main(["servers"]) == 0
    printed = capsys.readouterr().out
    assert "tiny  stdio " in printed
    assert "web   http    http://localhost:1/mcp" in printed
    assert "defined: mcpeval.yaml:2" in printed
    assert "secret" not in printed


def test_check_starts_servers_and_lists_tools(project: Project, capsys: Captured) -> None:
    assert main(["servers", "--check"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("✓ tiny (tiny")
    assert any(line.split() == ["add", "Add", "two", "numbers."] for line in lines)


def test_check_tells_why_a_server_does_not_start(project: Project, capsys: Captured) -> None:
    broken = "\n  broken: {command: python, args: [-c, 'import sys; sys.exit(\"no \\x1b[31mlicence\")']}\n"
    project.write("mcpeval.yaml", f"servers:{broken}  unset: {{url: '${{NO_SUCH_URL_IS_SET}}'}}\n")
    assert main(["servers", "--check"]) == 1
    printed = capsys.readouterr().out
    assert "✗ server 'broken' did not start" in printed
    assert "licence" in printed
    assert "\x1b" not in printed
    assert "NO_SUCH_URL_IS_SET" in printed
    assert "✓ tiny" in printed
    assert "Traceback" not in printed


def test_only_the_named_ones(project: Project, capsys: Captured) -> None:
    project.write("mcpeval.yaml", "servers:\n  web: {url: 'http://localhost:1/mcp'}\n")
    assert main(["servers", "web"]) == 0
    assert "tiny" not in capsys.readouterr().out
    assert main(["servers", "wep"]) == 2
    assert (
        "no server 'wep' is defined (did you mean \"web\"?) (defined: tiny, web)" in capsys.readouterr().err
    )


def test_no_server_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["servers", "--rootdir", "."]) == 1
    assert "no server is defined" in capsys.readouterr().err


def test_a_definition_with_problems(project: Project, capsys: Captured) -> None:
    project.write("mcpeval.yaml", "servers:\n  web: {ulr: x}\n")
    assert main(["servers"]) == 1
    assert 'unknown key "ulr"' in capsys.readouterr().err


def test_what_other_hosts_say_is_listed_as_ignored(project: Project, capsys: Captured) -> None:
    server = {"command": "python", "args": ["server.py"], "_comment": "ours", "autoApprove": []}
    project.write_json(".mcp.json", {"inputs": [], "mcpServers": {"tiny": server}})
    for options in ([], ["--check"]):
        assert main(["servers", *options]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[-3].endswith('.mcp.json:2: ignored: "inputs"')
        assert lines[-2].endswith(""".mcp.json:9: server 'tiny': ignored: "_comment\"""")
        assert lines[-1].endswith(""".mcp.json:10: server 'tiny': ignored: "autoApprove\"""")


def test_no_command_shows_a_value_from_the_environment(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("PLANTED", "s3cr3t-value")
    source = (
        project.path.joinpath("server.py").read_text("utf-8").replace("Add two numbers.", "Add s3cr3t-value.")
    )
    project.write("server.py", source)
    project.write(
        "mcpeval.yaml", "servers:\n  other: {command: python, args: ['${PLANTED}'], env: {A: l1teral}}\n"
    )
    assert main(["servers", "--check"]) == 1
    printed = "".join(capsys.readouterr())
    assert "Add ${PLANTED}." in printed
    assert "s3cr3t" not in printed
