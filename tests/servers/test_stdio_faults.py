"""What happens when a server over stdio misbehaves: a clear error, and the next call works."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import wait
from pathlib import Path

import psutil
import pytest

from pytest_mcpeval import CallError, ServerConfigError, ServerStartError
from pytest_mcpeval.servers import Connection, Connections, ServerDefinition

from .conftest import FAULT_SERVERS, GONE_SECONDS, Define, runs


def call_error(connections: Connections, faulty: Define, tool: str, timeout: float = 30) -> CallError:
    with pytest.raises(CallError) as raised:
        connections.get(faulty()).call_tool(tool, timeout=timeout)
    return raised.value


def test_a_call_is_answered(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty())
    response = connection.call_tool("ok", {"value": "then"})
    assert (response.text, response.is_error) == ("ok then", False)
    assert response.latency_ms > 0
    assert (connection.server_name, connection.server_version) == ("faulty", "1.2")
    assert connection.protocol_version == "2025-11-25"


def test_a_connection_is_kept_warm(connections: Connections, faulty: Define) -> None:
    first = connections.get(faulty()).call_tool("pid").text
    assert connections.get(faulty()).call_tool("pid").text == first
    assert connections.get(faulty(), fresh=True).call_tool("pid").text != first


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("exit_3", "the server exited with code 3 during the call of 'exit_3'"),
        ("segfault", "the server was killed by SIGSEGV during the call of 'segfault'"),
        ("half", "the server exited with code 0 during the call of 'half'"),
    ],
)
def test_after_a_crash_the_next_call_meets_a_new_server(
    connections: Connections, faulty: Define, tool: str, words: str
) -> None:
    crashed = connections.get(faulty())
    error = call_error(connections, faulty, tool)
    assert (error.reason, error.message, error.is_incident) == ("crashed", words, False)
    assert not crashed.alive
    assert connections.get(faulty()).call_tool("ok").text == "ok"


def test_a_crash_shows_the_last_words(connections: Connections, faulty: Define) -> None:
    assert call_error(connections, faulty, "exit_3").stderr_tail == "the disk is full"


def test_a_server_that_died_between_calls_is_restarted(connections: Connections, faulty: Define) -> None:
    server = psutil.Process(int(connections.get(faulty()).call_tool("pid").text))
    launcher = server.parent()
    assert launcher is not None
    server.kill()
    psutil.wait_procs([launcher], GONE_SECONDS)
    assert connections.get(faulty()).call_tool("pid").text != str(server.pid)


def test_a_server_that_hangs_is_replaced(connections: Connections, faulty: Define) -> None:
    hanging = connections.get(faulty()).call_tool("pid").text
    error = call_error(connections, faulty, "hang", timeout=0.3)
    assert error.reason == "timeout"
    assert error.message == "the call of 'hang' was not answered within 0.3 s"
    assert connections.get(faulty()).call_tool("pid").text != hanging


def test_calls_behind_one_that_hangs_are_told_when_the_server_answers_no_more(
    connections: Connections, faulty: Define
) -> None:
    connection = connections.get(faulty())
    hanging = connection.start_tool("hang", timeout=0.3)
    behind = connection.start_tool("ok", {"value": "1"}, timeout=600)
    assert hanging.exception(60) is not None
    error = behind.exception(60)
    assert isinstance(error, CallError)
    assert error.reason == "crashed"


def test_a_timeout_leaves_a_server_that_still_answers(connections: Connections, faulty: Define) -> None:
    before = connections.get(faulty()).call_tool("pid").text
    error = call_error(connections, faulty, "meet", timeout=0.3)
    assert error.reason == "timeout"
    assert connections.get(faulty()).call_tool("pid").text == before


def test_calls_overlap(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty())
    futures = [connection.start_tool("meet") for _ in range(16)]
    assert {future.result().text for future in futures} == {"met"}


def test_garbage_on_stdout_is_told_and_harmless(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty())
    assert connection.call_tool("garbage").text == "ok after garbage"
    assert connection.stderr_tail() == (
        "the server wrote 2 lines on stdout that are not JSON-RPC (the first: 'Loading model…')"
    )


def test_garbage_stays_out_of_the_log(
    connections: Connections, faulty: Define, caplog: pytest.LogCaptureFixture
) -> None:
    connections.get(faulty("garbage-first")).call_tool("garbage")
    connections.close()
    assert caplog.records == []


def test_garbage_before_the_handshake(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty("garbage-first"))
    assert connection.call_tool("ok").text == "ok"
    assert "'Starting server on stdio…'" in connection.stderr_tail()


def test_a_huge_answer(connections: Connections, faulty: Define) -> None:
    response = connections.get(faulty()).call_tool("huge", {"size": 20_000_000})
    assert len(response.text) == 20_000_000
    assert response.blocks[0].size == 20_000_000


def test_a_flood_on_stderr_fills_no_memory(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty())
    tracemalloc.start()
    try:
        assert connection.call_tool("flood", {"megabytes": 100}).text == "ok after the flood"
        tail = connection.stderr_tail(2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert tail.endswith("\nlast line of the flood")
    assert len(tail) < 1000
    assert peak < 5_000_000


def test_words_before_the_handshake_are_not_those_of_a_case(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty("noisy"))
    assert connection.stderr_tail() == ""
    connection.call_tool("announce", {"words": "now"})
    assert connection.stderr_tail() == "now"


def test_words_before_a_moment_are_those_of_another_case(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty())
    began = connection.moment()
    connection.call_tool("announce", {"words": "one"})
    connection.call_tool("garbage")
    assert connection.stderr_tail(since=began).splitlines()[0] == "one"
    began = connection.moment()
    assert connection.stderr_tail(since=began) == ""
    connection.call_tool("announce", {"words": "two"})
    ended = connection.moment()
    connection.call_tool("announce", {"words": "three"})
    assert connection.stderr_tail(since=began, until=ended) == "two"
    assert connection.stderr_tail(since=began) == "two\nthree"
    assert connection.stderr_tail(since=ended, until=began) == ""
    error = call_error(connections, faulty, "exit_3")
    assert error.stderr_tail == "the disk is full"


def test_words_while_others_were_asked_may_be_about_them(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty())
    began = connection.moment()
    waiting = [connection.start_tool("meet") for _ in range(15)]
    connection.call_tool("announce", {"words": "whose?"})
    note = "(other calls were in flight at the same time: this may be about them)"
    assert connection.stderr_tail(since=began) == f"whose?\n{note}"
    meanwhile = connection.moment()
    connection.call_tool("announce", {"words": "mine?"})
    assert connection.stderr_tail(since=meanwhile) == f"mine?\n{note}"
    for future in [*waiting, connection.start_tool("meet")]:
        future.result()
    afterwards = connection.moment()
    connection.call_tool("announce", {"words": "mine"})
    assert connection.stderr_tail(since=afterwards) == "mine"


def test_a_tool_error_is_an_answer(connections: Connections, faulty: Define) -> None:
    response = connections.get(faulty()).call_tool("fails")
    assert (response.is_error, response.text) == (True, "no such page")


def test_a_result_that_breaks_its_schema_is_an_answer(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty())
    assert connection.call_tool("broken_promise").output_schema is None
    assert connection.output_schema("broken_promise") is not None
    assert connection.output_schema("ok") is None
    response = connection.call_tool("broken_promise")
    assert response.structured == {"celsius": "warm"}
    assert response.output_schema == connection.output_schema("broken_promise")


@pytest.mark.parametrize("code", [-32000, -32001, -32601, -32603, 1])
def test_a_rejection_leaves_the_server_running(connections: Connections, faulty: Define, code: int) -> None:
    connection = connections.get(faulty())
    with pytest.raises(CallError) as raised:
        connection.call_tool("rejects", {"code": code})
    assert (raised.value.reason, raised.value.is_rejection) == ("protocol", True)
    assert raised.value.message == (
        f"the server answered the call of 'rejects' with an error: Rate limit exceeded (JSON-RPC {code})"
    )
    assert connections.get(faulty()) is connection
    assert connection.call_tool("ok").text == "ok"


def test_an_empty_result_is_no_rejection(connections: Connections, faulty: Define) -> None:
    error = call_error(connections, faulty, "empty")
    assert (error.reason, error.is_rejection) == ("protocol", False)


def test_an_answer_against_the_protocol(connections: Connections, faulty: Define) -> None:
    error = call_error(connections, faulty, "malformed")
    assert (error.reason, error.is_rejection) == ("protocol", False)
    assert error.message.startswith("the answer to the call of 'malformed' breaks the protocol: content")


def test_all_pages_of_tools_are_listed(connections: Connections, faulty: Define) -> None:
    tools = connections.get(faulty()).list_tools()
    assert len(tools) == 23
    assert tools[0].name == "ok"
    assert tools[0].input_schema == {"type": "object"}


def test_tools_are_listed_once_and_again_when_they_changed(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty())
    for _ in range(2):
        assert connection.list_tools()
    assert connection.call_tool("listings").text == "1"
    connection.call_tool("change_tools")
    for _ in range(2):
        assert connection.list_tools()
    assert connection.call_tool("listings").text == "2"
    assert connection.list_tools(fresh=True)
    assert connection.call_tool("listings").text == "3"


def test_a_list_whose_cursor_comes_twice_is_an_error(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty("endless-list"))
    for _ in range(2):
        with pytest.raises(CallError) as raised:
            connection.list_tools()
        assert raised.value.reason == "protocol"
        assert raised.value.message == "the server's list of tools has no end: the cursor '1' came twice"
    assert connection.call_tool("ok").text == "ok"


def test_an_unknown_tool_names_near_ones(connections: Connections, faulty: Define) -> None:
    error = call_error(connections, faulty, "exit-3")
    assert error.reason == "unknown_tool"
    assert error.message == "server 'faulty' has no tool 'exit-3': did you mean exit_3?"


def test_content_is_summarised(connections: Connections, faulty: Define) -> None:
    response = connections.get(faulty()).call_tool("mixed")
    assert response.text == "first\nsecond"
    summary = [(block.type, block.size, block.mime_type, block.uri) for block in response.blocks]
    assert summary == [
        ("text", 5, None, None),
        ("image", 5, "image/png", None),
        ("resource", 6, "text/plain", "demo://one"),
        ("resource_link", 7, None, "demo://two"),
        ("text", 6, None, None),
    ]


def start_error(connections: Connections, faulty: Define, *start: str, **fields: object) -> ServerStartError:
    with pytest.raises(ServerStartError) as raised:
        connections.get(faulty(*start, **fields))
    return raised.value


def test_a_server_that_exits_at_once(connections: Connections, faulty: Define) -> None:
    error = start_error(connections, faulty, "exit-at-once", origin="conf.yaml:7")
    assert error.exit_code == 1
    command = f"{sys.executable} {FAULT_SERVERS / 'faulty.py'} exit-at-once"
    assert str(error) == (
        "server 'faulty' did not start: it exited with code 1 before it answered\n"
        f"  run as:  {command}\n"
        "  defined: conf.yaml:7\n"
        "  its last words:\n"
        "    no database at db://user:hunter2-secret@host"
    )


def test_a_start_is_tried_once(connections: Connections, tmp_path: Path) -> None:
    traces = tmp_path / "starts"
    trace = ("-c", f"open({str(traces)!r}, 'a').write('x'); raise SystemExit(4)")
    broken = ServerDefinition("broken", "stdio", sys.executable, trace)
    told = set()
    for _ in range(3):
        with pytest.raises(ServerStartError) as raised:
            connections.get(broken)
        told.add(str(raised.value))
    start = "server 'broken' did not start: it exited with code 4 before it answered"
    assert [text.partition("\n")[0] for text in told] == [start]
    assert traces.read_text() == "x"


def test_an_unset_variable_is_looked_up_each_time(
    connections: Connections, faulty: Define, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = faulty(env={"TOKEN": "${NO_SUCH_TOKEN}"})
    problem = "server 'faulty' needs the environment variable NO_SUCH_TOKEN (in env.TOKEN), which is not set"
    for _ in range(2):
        with pytest.raises(ServerConfigError) as raised:
            connections.get(server)
        assert str(raised.value) == f"{problem}: set it, or write ${{NO_SUCH_TOKEN:-default}}"
    monkeypatch.setenv("NO_SUCH_TOKEN", "x")
    assert connections.get(server).call_tool("ok").text == "ok"


def test_secrets_are_shown_as_their_names(faulty: Define) -> None:
    environ = {"DB_SECRET": "hunter2-secret", "PATH": os.environ["PATH"]}
    with Connections(environ=environ) as connections:
        definition = faulty("exit-at-once", env={"DB": "${DB_SECRET}"})
        with pytest.raises(ServerStartError) as raised:
            connections.get(definition)
    assert "hunter2" not in str(raised.value)
    assert "db://user:${DB_SECRET}@host" in str(raised.value)


def test_a_program_that_is_no_server(connections: Connections, faulty: Define) -> None:
    error = start_error(connections, faulty, "no-protocol")
    assert error.reason == "it exited with code 0 before it answered"
    assert error.stderr_tail == (
        "the server wrote 2 lines on stdout that are not JSON-RPC (the first: 'hello')"
    )


def test_a_server_that_hangs_at_start(connections: Connections, faulty: Define) -> None:
    error = start_error(connections, faulty, "hang", start_timeout=0.5)
    assert error.reason == "no answer to the MCP handshake within 0.5 s (start_timeout)"
    assert error.exit_code is None


def test_a_command_that_does_not_exist(connections: Connections) -> None:
    definition = ServerDefinition("none", "stdio", "no-such-program", ("--api-key", "abc", "--port=1"))
    with pytest.raises(ServerStartError) as raised:
        connections.get(definition)
    assert str(raised.value) == (
        "server 'none' did not start: no-such-program: command not found\n"
        "  run as:  no-such-program --api-key *** --port=1"
    )


def test_a_directory_that_does_not_exist(connections: Connections, faulty: Define, tmp_path: Path) -> None:
    error = start_error(connections, faulty, cwd="gone", directory=tmp_path)
    assert error.reason == f"its working directory does not exist: {tmp_path / 'gone'}"


def test_a_server_deaf_to_everything_is_gone_after_close(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty("deaf"))
    pids = [int(connection.call_tool(tool).text) for tool in ("pid", "leave_grandchild")]
    connection.start_tool("hang")
    connections.close()
    assert [pid for pid in pids if runs(pid)] == []


def test_what_a_server_leaves_behind_is_ended(connections: Connections, faulty: Define) -> None:
    grandchild = int(connections.get(faulty()).call_tool("leave_grandchild").text)
    connections.close()
    assert not runs(grandchild)


def test_killing_the_run_leaves_no_orphan() -> None:
    command = [sys.executable, str(FAULT_SERVERS / "holder.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        try:
            pids = json.loads(holder.stdout.readline())
            processes = psutil.Process(holder.pid).children(recursive=True)
        finally:
            holder.kill()
    assert set(pids) <= {process.pid for process in processes}
    psutil.wait_procs(processes, GONE_SECONDS)
    assert [process for process in processes if runs(process.pid)] == []


def interrupt(connection: Connection, tool: str) -> None:
    interrupter = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        connection.call_tool(tool)
    interrupter.join()


def test_interrupting_a_wait_does_not_hold_up_the_close(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty())
    pid = int(connection.call_tool("pid").text)
    interrupt(connection, "hang")
    connections.close()
    assert not runs(pid)


def test_interrupting_a_wait_tells_the_server(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty())
    interrupt(connection, "meet")
    told = (connection.call_tool("cancelled").text == "1" for _ in range(1000))
    assert any(told)


def test_cancelled_calls_leave_the_others_alone(connections: Connections, faulty: Define) -> None:
    connection = connections.get(faulty())
    cancelled = connection.start_tool("meet")
    cancelled.cancel()
    wait([cancelled], timeout=30)
    assert connection.call_tool("ok").text == "ok"


def test_a_closed_connection_refuses_calls(faulty: Define) -> None:
    with Connections() as connections:
        private = connections.get(faulty(), fresh=True)
        private.close()
        assert not private.alive
        with pytest.raises(CallError) as raised:
            private.call_tool("ok")
        assert raised.value.reason == "crashed"
    connections.close()
    with pytest.raises(RuntimeError, match="closed"):
        connections.get(faulty())


def test_the_environment_is_not_widened(
    connections: Connections, faulty: Define, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "leak")
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.delenv("LANG", raising=False)
    seen = json.loads(connections.get(faulty(env={"MINE": "1"})).call_tool("environment").text)
    # The server is Python too, and Python itself adds LC_CTYPE where no locale is set.
    seen.pop("LC_CTYPE", None)
    assert set(seen) <= {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "MINE"}
    assert seen["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)


def test_a_path_of_its_own_is_left_alone(connections: Connections, faulty: Define) -> None:
    seen = json.loads(connections.get(faulty(env={"PATH": "/bin"})).call_tool("environment").text)
    assert seen["PATH"] == "/bin"


def test_what_the_first_connection_imports_is_left_out_of_searches_for_cycles() -> None:
    script = """
import gc
from pytest_mcpeval.servers import Connections, ServerDefinition, ServerStartError
with Connections() as connections:
    for name in ("first", "second"):
        try:
            connections.get(ServerDefinition(name, "stdio", "/missing/server"))
        except ServerStartError:
            print(gc.get_freeze_count())
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    first, second = map(int, run.stdout.split())
    # Once only: garbage that is frozen stays.
    assert first == second > 10_000
