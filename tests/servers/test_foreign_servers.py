"""Servers nobody here wrote: from npm, from PyPI, and one on the first major version of mcp."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pytest_mcpeval import CallError
from pytest_mcpeval.servers import Connections, ServerDefinition

EXAMPLES = Path(__file__).parents[2] / "examples"
NPM_SERVERS = EXAMPLES / "npm_servers" / "node_modules" / "@modelcontextprotocol"
LEGACY_PYTHON = EXAMPLES / "legacy_servers" / ".venv" / "bin" / "python"


def npm(name: str, *arguments: str, **env: str) -> ServerDefinition:
    script = NPM_SERVERS / name / "dist" / "index.js"
    assert script.is_file(), "run: python examples/install_servers.py --npm"
    return ServerDefinition(name, "stdio", command="node", args=(str(script), *arguments), env=env)


def pypi(module: str, *arguments: str) -> ServerDefinition:
    return ServerDefinition(module, "stdio", command="python", args=("-m", module, *arguments))


def test_everything(connections: Connections) -> None:
    connection = connections.get(npm("server-everything"))
    assert connection.server_name == "mcp-servers/everything"
    assert connection.call_tool("echo", {"message": "hi"}).text == "Echo: hi"
    weather = connection.call_tool("get-structured-content", {"location": "New York"})
    assert set(weather.structured) == {"temperature", "conditions", "humidity"}
    image = connection.call_tool("get-tiny-image")
    assert [(block.type, block.mime_type) for block in image.blocks][1] == ("image", "image/png")
    page = connection.read_resource("demo://resource/static/document/features.md")
    assert "Everything Server" in page.text
    prompt = connection.get_prompt("args-prompt", {"city": "Oslo"})
    assert "Oslo" in prompt.text
    with pytest.raises(CallError) as raised:
        connection.call_tool("echoo")
    assert raised.value.message == "server 'server-everything' has no tool 'echoo': did you mean echo?"


def test_everything_sees_no_more_than_it_may(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_must_not_leak")
    connection = connections.get(npm("server-everything", MINE="1"))
    seen = json.loads(connection.call_tool("get-env").text)
    # Where node comes from a Python package, its Python wrapper adds LC_CTYPE when no locale is set.
    seen.pop("LC_CTYPE", None)
    assert set(seen) <= {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "MINE"}
    assert seen["MINE"] == "1"


def test_filesystem(connections: Connections, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("remember", encoding="utf-8")
    connection = connections.get(npm("server-filesystem", str(tmp_path)))
    assert connection.call_tool("read_text_file", {"path": str(tmp_path / "note.txt")}).text == "remember"
    outside = connection.call_tool("read_text_file", {"path": "/etc/hostname"})
    assert outside.is_error
    assert "outside allowed directories" in outside.text


def test_memory(connections: Connections, tmp_path: Path) -> None:
    server = npm("server-memory", MEMORY_FILE_PATH=str(tmp_path / "memory.json"))
    connection = connections.get(server)
    entity = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
    connection.call_tool("create_entities", {"entities": [entity]})
    again = connections.get(server, fresh=True)
    assert again.call_tool("read_graph").structured["entities"] == [entity]


def test_time(connections: Connections) -> None:
    arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    response = connections.get(pypi("mcp_server_time")).call_tool("convert_time", arguments)
    assert json.loads(response.text)["time_difference"] == "+9.0h"


def test_git(connections: Connections, tmp_path: Path) -> None:
    response = connections.get(pypi("mcp_server_git")).call_tool("git_status", {"repo_path": str(tmp_path)})
    assert response.is_error
    assert str(tmp_path) in response.text


def test_a_server_on_the_first_mcp(connections: Connections, tmp_path: Path) -> None:
    assert LEGACY_PYTHON.is_file(), "run: python examples/install_servers.py --legacy"
    database = str(tmp_path / "test.db")
    arguments = ("-c", "from mcp_server_sqlite import main; main()", "--db-path", database)
    connection = connections.get(ServerDefinition("sqlite", "stdio", str(LEGACY_PYTHON), arguments))
    connection.call_tool("create_table", {"query": "CREATE TABLE notes (body TEXT)"})
    assert connection.call_tool("list_tables").text == "[{'name': 'notes'}]"
    failed = connection.call_tool("read_query", {"query": "SELECT * FROM nowhere"})
    assert "no such table: nowhere" in failed.text
    assert "ValidationError" not in connection.stderr_tail()


def test_the_interpreter_of_the_run_is_found(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.defpath)
    assert connections.get(pypi("mcp_server_time")).server_name == "mcp-time"
