"""An agent program for tests: ``program.py WAY MCP_CONFIG [TASK]``. An MCP client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any

from mcp import Client, StdioServerParameters


async def main(way: str, config: str, task: str) -> None:
    """Do as the way says."""
    servers = servers_in(config)
    assert len(servers) == 1, "the guard is the only server"
    (server,) = servers.values()
    async with Client(StdioServerParameters(command=server["command"], args=server["args"])) as client:
        tools = sorted(tool.name for tool in (await client.list_tools()).tools)
        if way == "reads":
            answer = await client.call_tool("mcp__notes__list_notes", {"limit": 1})
            report(
                "Bash", {"command": "wc -l"}, "no attached MCP covers this step: lines of a file", result=3
            )
            print(f"{task}: {len(tools)} tools, {len(answer.structured_content['notes'])} note")
        if way == "insists":
            said = [await client.call_tool("mcp__notes__get_note", {"id": str(n)}) for n in range(6)]
            print(sum(answer.is_error for answer in said), "refused")
            time.sleep(3600)
        if way == "hangs":
            time.sleep(3600)
        if way == "logs":
            report("Bash", {"command": "cat ~/.netrc", "token": "abc"}, None, error="403")
            await client.call_tool("mcp__notes__get_note", {"id": "n1"})
            await client.call_tool("mcp__notes__delete_note", {"id": "n1"})
            (name,) = servers_in(config)
            for tool in (
                f"mcp__{name}__mcp__notes__get_note",
                "mcp__notes__delete_note",
                "mcp__notes__get_note",
            ):
                report(tool, {}, None, result=1)
            report("mcp__elsewhere__get_note", {}, None, result=1)
            report("__wallclock_abort__", {}, "no attached MCP covers this step: it is mine")
            log('{"tool": "Grep", "arguments": null}')
            report("Read", {"file_path": os.path.join(os.environ["FOLDER"], "state.json")}, "own files")
            for line in ("no json", "[]", '{"tool": 7}', '{"tool": "Bash", "arguments": 3}'):
                log(line)


def servers_in(config: str) -> dict[str, Any]:
    """The servers of a configuration."""
    with open(config, encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)["mcpServers"]
    return found


def report(tool: str, arguments: dict[str, Any], why: str | None, **outcome: Any) -> None:
    """Report the use of something else."""
    log(json.dumps({"tool": tool, "arguments": arguments, "justification": why, **outcome}))


def log(line: str) -> None:
    """Write a line to the log of tools."""
    with open(os.environ["MCPEVAL_TOOL_LOG"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "breaks":
        print("half an answer", flush=True)
        sys.exit("it broke, with the key sk-proj-abcdefghijklmnop1234")
    if sys.argv[1] == "shows":
        print(json.dumps(dict(os.environ)))
        sys.exit()
    given = sys.argv[3] if len(sys.argv) > 3 else sys.stdin.read()
    asyncio.run(main(sys.argv[1], sys.argv[2], given))
