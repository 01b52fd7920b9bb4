"""An MCP server over stdio without any library, so that it can misbehave exactly.

Run as ``python faulty.py [START]``, where START names a way to misbehave before the handshake. Each tool is
one way to misbehave while answering.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

Result = dict[str, Any]


class RejectedError(Exception):
    """Answered as a JSON-RPC error; its argument is the code."""


START = sys.argv[1] if len(sys.argv) > 1 else ""

_output = threading.Lock()


def write(message: dict[str, Any]) -> None:
    with _output:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def text(words: str) -> Result:
    return {"content": [{"type": "text", "text": words}]}


def wait_for_ever() -> NoReturn:
    while True:
        threading.Event().wait()


def ok(arguments: Result) -> Result:
    return text(f"ok {arguments.get('value', '')}".strip())


def pid(_: Result) -> Result:
    return text(str(os.getpid()))


def exit_3(_: Result) -> Result:
    print("the disk is full", file=sys.stderr, flush=True)
    os._exit(3)


def segfault(_: Result) -> Result:
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGSEGV)
    wait_for_ever()


def hang(_: Result) -> Result:
    wait_for_ever()


def garbage(_: Result) -> Result:
    with _output:
        sys.stdout.write("Loading model…\n{'not': 'json'}\n")
        sys.stdout.flush()
    return text("ok after garbage")


def half(_: Result) -> Result:
    with _output:
        sys.stdout.write('{"jsonrpc": "2.0", "id": ')
        sys.stdout.flush()
        os._exit(0)


def huge(arguments: Result) -> Result:
    return text("x" * int(arguments["size"]))


def flood(arguments: Result) -> Result:
    line = "e" * 1023 + "\n"
    for _ in range(int(arguments["megabytes"])):
        sys.stderr.write(line * 1024)
    sys.stderr.write("last line of the flood\n")
    sys.stderr.flush()
    return text("ok after the flood")


def fails(_: Result) -> Result:
    return text("no such page") | {"isError": True}


def broken_promise(_: Result) -> Result:
    return text("{}") | {"structuredContent": {"celsius": "warm"}}


def malformed(_: Result) -> Result:
    return {"content": "a string is no list of blocks"}


def rejects(arguments: Result) -> Result:
    raise RejectedError(arguments["code"])


def empty(_: Result) -> Result:
    return {}


def mixed(_: Result) -> Result:
    return {
        "content": [
            {"type": "text", "text": "first"},
            {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
            {
                "type": "resource",
                "resource": {"uri": "demo://one", "text": "inside", "mimeType": "text/plain"},
            },
            {"type": "resource_link", "uri": "demo://two", "name": "two", "size": 7},
            {"type": "text", "text": "second"},
        ]
    }


def environment(_: Result) -> Result:
    return text(json.dumps(dict(os.environ)))


def leave_grandchild(_: Result) -> Result:
    child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return text(str(child.pid))


def announce(arguments: Result) -> Result:
    print(arguments["words"], file=sys.stderr, flush=True)
    return {**text("said"), "isError": arguments.get("fails", False)}


_meeting = threading.Barrier(16)


def meet(_: Result) -> Result:
    """Answers only when sixteen calls are in progress at once."""
    _meeting.wait()
    return text("met")


_cancelled: list[Any] = []


def cancelled(_: Result) -> Result:
    """How many requests the client no longer wants answered."""
    return text(str(len(_cancelled)))


_listings: list[Result] = []


def listings(_: Result) -> Result:
    """How many times the tools were listed."""
    return text(str(len(_listings)))


def change_tools(_: Result) -> Result:
    """Announces other tools."""
    write({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    return text("changed")


def unusable(_: Result) -> Result:
    """Its input schema is none, so nobody can say whether a call is valid."""
    return text("used")


TOOLS: dict[str, Callable[[Result], Result]] = {
    tool.__name__: tool
    for tool in (
        ok, pid, exit_3, segfault, hang, garbage, half, huge, flood, fails, broken_promise, malformed, mixed,
        environment, leave_grandchild, announce, meet, cancelled, rejects, empty,
        listings, change_tools, unusable,
    )
}  # fmt: skip
# These block; every other tool is answered in order, by the one thread that reads.
IN_THREADS = {"meet"}
SCHEMA = {"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]}


def listed(params: Result) -> Result:
    """One tool per page, so that a listing has many pages."""
    names = list(TOOLS)
    index = int(params.get("cursor", 0))
    if index == 0:
        _listings.append(params)
    tool: Result = {"name": names[index], "description": "misbehaves", "inputSchema": {"type": "object"}}
    if names[index] == "broken_promise":
        tool["outputSchema"] = SCHEMA
    if names[index] == "unusable":
        tool["inputSchema"] = {"type": "object", "properties": {"a": {"type": "any"}}}
    page: Result = {"tools": [tool]}
    if START == "endless-list":
        return page | {"nextCursor": str((index + 1) % 3)}
    return page | ({"nextCursor": str(index + 1)} if index + 1 < len(names) else {})


def initialized(params: Result) -> Result:
    return {
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "faulty", "version": "1.2"},
    }


def answer(message: dict[str, Any]) -> None:
    params = message.get("params") or {}
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    match message["method"]:
        case "initialize":
            write(reply | {"result": initialized(params)})
        case "ping":
            write(reply | {"result": {}})
        case "tools/list":
            write(reply | {"result": listed(params)})
        case "tools/call" if params["name"] in TOOLS:
            try:
                write(reply | {"result": TOOLS[params["name"]](params.get("arguments") or {})})
            except RejectedError as error:
                write(reply | {"error": {"code": error.args[0], "message": "Rate limit exceeded"}})
        case "tools/call":
            write(reply | {"error": {"code": -32602, "message": f"Unknown tool: {params['name']}"}})
        case method:
            write(reply | {"error": {"code": -32601, "message": f"Method not found: {method}"}})


def serve() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message["method"] == "notifications/cancelled":
            _cancelled.append(message["params"]["requestId"])
        elif "id" not in message:
            continue
        elif (message.get("params") or {}).get("name") in IN_THREADS:
            threading.Thread(target=answer, args=(message,), daemon=True).start()
        else:
            answer(message)


def start(how: str) -> None:
    match how:
        case "exit-at-once":
            sys.exit("no database at db://user:hunter2-secret@host")
        case "hang":
            wait_for_ever()
        case "no-protocol":
            print("hello\nworld", flush=True)
            sys.exit(0)
        case "garbage-first":
            print("Starting server on stdio…", flush=True)
        case "noisy":
            print("listening", file=sys.stderr, flush=True)
        case "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve()
    if how == "deaf":
        wait_for_ever()


if __name__ == "__main__":
    start(START)
