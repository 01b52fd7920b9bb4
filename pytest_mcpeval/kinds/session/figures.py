"""The costs of each server: calls, errors, bytes, tokens, time. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_mcpeval.kinds.session.records import TranscriptEntry, server_of
from pytest_mcpeval.kinds.session.state import AttachedServer

BYTES_PER_TOKEN = 4
"""A rule of thumb for English text and JSON; tokenizers differ by a third."""

FIGURE_HEADER = (
    "server",
    "tools",
    "calls",
    "errors",
    "result bytes",
    "≈ tokens of tools",
    "≈ tokens of results",
    "median ms",
    "slowest ms",
)


@dataclass(frozen=True)
class ServerFigures:
    """The figures of one server; tokens are estimates.

    ``description_tokens`` is what the names, descriptions and schemas of its tools take up in every request.
    ``latencies_ms`` are those of the calls that were answered, sorted.
    """

    server: str
    tools: int
    calls: int
    errors: int
    result_bytes: int
    description_tokens: int
    result_tokens: int
    latencies_ms: tuple[float, ...] = ()

    @property
    def median_ms(self) -> float | None:
        """The median latency in milliseconds."""
        return self.latencies_ms[(len(self.latencies_ms) - 1) // 2] if self.latencies_ms else None

    @property
    def slowest_ms(self) -> float | None:
        """The largest latency in milliseconds."""
        return self.latencies_ms[-1] if self.latencies_ms else None


def figures_of(servers: Sequence[AttachedServer], entries: Sequence[TranscriptEntry]) -> list[ServerFigures]:
    """The figures of each server, in their order."""
    names = [server.name for server in servers]
    calls: dict[str, list[TranscriptEntry]] = {}
    for entry in entries:
        calls.setdefault(server_of(entry.tool, names), []).append(entry)
    return [_of(server, calls.get(server.name, [])) for server in servers]


def _of(server: AttachedServer, calls: Sequence[TranscriptEntry]) -> ServerFigures:
    size = sum(entry.result_bytes or 0 for entry in calls)
    return ServerFigures(
        server=server.name,
        tools=len(server.tools),
        calls=len(calls),
        errors=sum(entry.failed for entry in calls),
        result_bytes=size,
        description_tokens=tokens(server.description_bytes),
        result_tokens=tokens(size),
        latencies_ms=tuple(sorted(entry.latency_ms for entry in calls if entry.latency_ms is not None)),
    )


def tokens(size: int) -> int:
    """Return the approximate number of tokens of a text of this size in bytes."""
    return math.ceil(size / BYTES_PER_TOKEN)


def figure_cells(figures: ServerFigures) -> tuple[str, ...]:
    """Return the cells below `FIGURE_HEADER` after the server's name."""
    counts = (
        figures.tools,
        figures.calls,
        figures.errors,
        figures.result_bytes,
        figures.description_tokens,
        figures.result_tokens,
    )
    times = (figures.median_ms, figures.slowest_ms)
    return (*(f"{count:,}" for count in counts), *("" if time is None else f"{time:.0f}" for time in times))
