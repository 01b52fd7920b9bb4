"""A bare loop of calls with ``mcp.Client``: what every other figure is held against.

``python benchmarks/bare_client.py COUNT COMMAND…`` calls the tool ``echo`` of a stdio server and prints the
milliseconds of each call on average, connecting and warming up left out.
"""

from __future__ import annotations

import sys
from time import perf_counter

import anyio
from mcp import Client, StdioServerParameters

WARM_UP = 20


async def milliseconds_per_call(count: int, command: list[str], argument: str) -> float:
    """The average of ``count`` calls, one after the other."""
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    async with Client(parameters) as client:
        for number in range(WARM_UP):
            await client.call_tool("echo", {argument: f"warm-up {number}"})
        started = perf_counter()
        for number in range(count):
            await client.call_tool("echo", {argument: f"text {number}"})
        return (perf_counter() - started) * 1000 / count


if __name__ == "__main__":
    print(anyio.run(milliseconds_per_call, int(sys.argv[1]), sys.argv[3:], sys.argv[2]))
