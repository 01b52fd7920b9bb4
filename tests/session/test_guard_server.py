"""The guard as an MCP server: in process, over stdio and through its socket, to clients nobody here wrote."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import fastmcp
import pytest
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters

from pytest_mcpeval.cli import main
from pytest_mcpeval.kinds.session.command_line import call_budget
from pytest_mcpeval.kinds.session.guard_server import SERVER_NAME, GuardSocket, guard_server
from pytest_mcpeval.kinds.session.records import ServerScope, TranscriptEntry
from pytest_mcpeval.kinds.session.transcript import read_entries
from pytest_mcpeval.servers import ServerDefinition
from tests.session.guarding import guarded, reading, sandboxed

ROOT = Path(__file__).parents[2]
NPM = ROOT / "examples" / "npm_servers" / "node_modules" / "@modelcontextprotocol"
CONSOLE_SCRIPT = "import sys; from pytest_mcpeval.cli import main; sys.exit(main())"
FILESYSTEM = NPM / "server-filesystem" / "dist" / "index.js"


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def test_in_process_it_lists_and_calls_the_tools_of_servers(tmp_path: Path) -> None:
    scopes = {"notes": reading(), "other": reading("other"), "secret": ServerScope("secret", "skip")}
    with guarded(tmp_path, scopes) as found:
        server = guard_server(found.toolbox("S1"))

        async def work() -> None:
            async with Client(server) as client:
                tools = (await client.list_tools()).tools
                assert len(tools) == 2 * 9
                listed = next(tool for tool in tools if tool.name == "mcp__notes__list_notes")
                assert listed.input_schema["properties"] == {
                    "limit": {"type": "integer"},
                    "cursor": {"type": "string"},
                }
                assert not [tool for tool in tools if "secret" in tool.name]
                answer = await client.call_tool("mcp__other__get_note", {"id": "7"})
                assert answer.structured_content == {"ok": True, "arguments": {"id": "7"}}
                assert text_of(answer) == "done"
                for tool, words in [
                    ("mcp__secret__get_note", "blocked: MCP disposition is 'skip'"),
                    ("mcp__notes__delete_note", "the tool changes something: its name has the word 'delete'"),
                    ("Bash", "expected a tool such as mcp__server__tool, found 'Bash'"),
                    ("mcp__nobody__x", "no attached server has the tool"),
                    ("mcp__notes__frobnicate", "cannot be classified as read-only"),
                    ("mcp__notes__get_note", "the scenario is over (safety_abort)"),
                ]:
                    refused = await client.call_tool(tool, {})
                    assert refused.is_error
                    assert words in text_of(refused)

        asyncio.run(work())
        assert (found.received("other"), found.received()) == (["get_note"], [])


def session_file(folder: Path, *resources: str, **settings: Any) -> Path:
    """A project whose filesystem server may write to some paths of ``folder/shared``."""
    (folder / "shared").mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\n")
    servers = {
        "fs": {"command": "node", "args": [str(FILESYSTEM), str(folder / "shared")]},
        "secret": {"command": "touch", "args": [str(folder / "started")]},
    }
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    data = {
        "dispositions": {
            "fs": {"disposition": "sandboxed", "test_resources": list(resources)},
            "secret": "skip",
        },
        "approval": "approve",
        "scenarios": [{"description": "Try it", "agent": "command:true"}],
        **settings,
    }
    path = folder / "try.scenarios.json"
    path.write_text(json.dumps(data))
    return path


def guard_command(path: Path) -> list[str]:
    transcript = str(path.with_name("transcript.jsonl"))
    return [sys.executable, "-c", CONSOLE_SCRIPT, "guard", str(path), "--transcript", transcript]


def foreign(path: Path, calls: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """What the TypeScript SDK's client says of the guard that serves a session file."""
    assert FILESYSTEM.is_file(), "run: python examples/install_servers.py --npm"
    script = Path(__file__).with_name("foreign_client.mjs")
    done = subprocess.run(
        ["node", str(script), str(NPM / "sdk"), json.dumps(calls), *guard_command(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_client_in_typescript_cannot_make_a_real_server_write_outside_its_sandbox(tmp_path: Path) -> None:
    inside, outside = tmp_path / "shared" / "notes.txt", tmp_path / "shared" / "outside.txt"
    path = session_file(tmp_path, str(inside))
    found = foreign(
        path,
        [
            ("mcp__fs__write_file", {"path": str(inside), "content": "kept"}),
            ("mcp__fs__read_text_file", {"path": str(inside)}),
            ("mcp__secret__anything", {}),
            ("mcp__fs__write_file", {"path": str(outside), "content": "notes.txt"}),
            ("mcp__fs__write_file", {"path": str(inside), "content": "too late"}),
        ],
    )
    assert found["server"] == "pytest-mcpeval-guard"
    assert "mcp__fs__write_file" in [tool["name"] for tool in found["tools"]]
    assert {tool["name"].split("__")[1] for tool in found["tools"]} == {"fs"}
    written, read, skipped, refused, late = found["answers"]
    assert not written.get("isError")
    assert read["structuredContent"] == {"content": "kept"}
    assert (inside.read_text(), outside.exists()) == ("kept", False)
    assert [answer["isError"] for answer in (skipped, refused, late)] == [True] * 3
    assert "is a place that is not a test resource" in refused["content"][0]["text"]
    assert "the scenario is over (safety_abort)" in late["content"][0]["text"]
    assert not (tmp_path / "started").exists()
    assert [(line.tool, line.blocked_tool) for line in read_entries(tmp_path / "transcript.jsonl")] == [
        ("mcp__fs__write_file", None),
        ("mcp__fs__read_text_file", None),
        ("__blocked__", "mcp__secret__anything"),
        ("__blocked__", "mcp__fs__write_file"),
    ]


@pytest.mark.parametrize("content", ["notes.txt", "shared", "x", ""])
def test_no_argument_makes_up_for_a_path_outside(tmp_path: Path, content: str) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    definition = ServerDefinition("fs", "stdio", "node", (str(FILESYSTEM), str(shared)))
    scope = sandboxed(str(shared / "notes.txt"), server="fs")
    outside = [str(shared / "evil.txt"), f"{shared}/../shared/evil.txt", f"{shared}/sub/../evil.txt"]
    with guarded(tmp_path, scope, definitions={"fs": definition}) as found:
        for number, path in enumerate(outside):
            toolbox = found.toolbox(f"S{number + 1}")
            with pytest.raises(Exception, match="outside the test resources"):
                toolbox.call_now("mcp__fs__write_file", {"path": path, "content": content})
            with pytest.raises(Exception, match="safety_abort"):
                toolbox.call_now("mcp__fs__create_directory", {"path": path})
    assert list(shared.iterdir()) == []


def test_a_client_from_pypi_meets_the_budget(tmp_path: Path) -> None:
    path = session_file(tmp_path, call_budget=2)
    (tmp_path / "shared" / "a.txt").write_text("a")
    command, *arguments = guard_command(path)

    async def work() -> list[str]:
        transport = StdioTransport(command, arguments, env=dict(os.environ))
        async with fastmcp.Client(transport) as client:
            calls = [
                client.call_tool_mcp("mcp__fs__list_directory", {"path": str(tmp_path / "shared")})
                for _ in range(4)
            ]
            return [text_of(answer) for answer in await asyncio.gather(*calls)]

    said = asyncio.run(work())
    assert said.count("[FILE] a.txt") == 2
    assert sum("the scenario is over (call_budget)" in text for text in said) == 2
    tools = [line.tool for line in read_entries(tmp_path / "transcript.jsonl")]
    assert tools == ["mcp__fs__list_directory"] * 2 + ["__budget_abort__"]


def test_the_command_says_what_is_wrong_with_its_file(tmp_path: Path) -> None:
    path = session_file(tmp_path, approval="lgtm")
    done = subprocess.run(
        guard_command(path), capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 1
    assert "try.scenarios.json:" in done.stderr
    assert "approve" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--wallclock-budget", "nan"], "expected minutes, more than 0"),
        (["--wallclock-budget", "0"], "expected minutes, more than 0"),
        (["--call-budget", "-3"], "expected a whole number from 1"),
        (["--call-budget", "0"], "expected a whole number from 1"),
        (["--scenario", "../x"], '--scenario "../x": '),
        (["--scenario", "S77"], "try.scenarios.json has S1"),
    ],
)
def test_the_command_takes_no_limits_or_scenarios_that_make_no_sense(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        sys.exit(main(["guard", str(session_file(tmp_path)), *arguments]))
    assert words in " ".join(capsys.readouterr().err.split())


def test_the_largest_call_budget_is_that_of_sessions() -> None:
    assert call_budget("5000") == 999


def test_the_command_does_not_go_on_with_what_is_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = session_file(tmp_path)
    transcript = tmp_path / "transcript.jsonl"
    entry = TranscriptEntry("S1-001", "S1", "t", "__budget_abort__", False, abort_reason="call_budget")
    transcript.write_text(entry.line + "\n")
    arguments = ["guard", str(path), "--transcript", str(transcript)]
    assert main(arguments) == 1
    assert (
        "the scenario S1 is over (call_budget): name another file with --transcript"
        in capsys.readouterr().err
    )
    transcript.write_text("half a li")
    assert main(arguments) == 1
    assert "transcript.jsonl:1: expected an entry of a transcript" in capsys.readouterr().err
    assert main(["guard", str(tmp_path / "pytest.ini")]) != 0


def test_programs_reach_the_guard_through_its_socket(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        with GuardSocket(found.toolbox("S1"), tmp_path / "socket") as listening:
            config = listening.mcp_config()["mcpServers"]
            assert list(config) == [SERVER_NAME]
            server = config[SERVER_NAME]
            parameters = StdioServerParameters(command=server["command"], args=server["args"])

            async def one(number: int) -> str:
                async with Client(parameters) as client:
                    answer = await client.call_tool("mcp__notes__get_note", {"id": str(number)})
                    return str(answer.structured_content["arguments"]["id"])

            async def work() -> list[str]:
                return list(await asyncio.gather(one(1), one(2)))

            assert asyncio.run(work()) == ["1", "2"]
        gone = subprocess.run(
            [server["command"], *server["args"]], capture_output=True, text=True, timeout=30, check=False
        )
        assert gone.returncode == 1
        assert "the guard is gone" in gone.stderr
    assert sorted(line.id for line in found.lines) == ["S1-001", "S1-002"]


def test_clients_that_stay_are_sent_away_at_the_end(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found, socket.socket(socket.AF_UNIX) as client:
        with GuardSocket(found.toolbox(), tmp_path / "socket"):
            client.connect(str(tmp_path / "socket"))
            client.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
            assert json.loads(client.recv(65_536))["id"] == 1
        client.settimeout(0)
        assert client.recv(1) == b""
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("mcpeval-guard-c")]
