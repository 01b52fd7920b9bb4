"""The interface of all trace backends: the query and its result."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from pytest_mcpeval.kinds.agent.observability.genai import RawSpan, span_of
from pytest_mcpeval.kinds.agent.observability.query_client import QueryClient, base_of, header_pairs
from pytest_mcpeval.kinds.agent.observability.spans import (
    MalformedSpanError,
    ObservabilityError,
    Span,
    nanoseconds_of,
)
from pytest_mcpeval.kinds.agent.schema import OtelSource, PhoenixSource
from pytest_mcpeval.loading.messages import counted
from pytest_mcpeval.text.redact import redactor

CLOCK_SKEW = timedelta(seconds=2)
"""How far the agent's clock may be behind ours."""


@dataclass(frozen=True)
class Window:
    """The traces to fetch: those of a session that began in an interval, both ends included."""

    session_id: str
    since: datetime | None = None
    until: datetime | None = None

    @property
    def earliest(self) -> datetime | None:
        """The beginning, with room for clocks that differ."""
        return None if self.since is None else self.since - CLOCK_SKEW

    @property
    def latest(self) -> datetime | None:
        """The end, with room for clocks that differ."""
        return None if self.until is None else self.until + CLOCK_SKEW

    def holds(self, started: int) -> bool:
        """Whether a trace that began then (nanoseconds since 1970) is meant."""
        if self.earliest is not None and started < nanoseconds_of(self.earliest):
            return False
        return self.latest is None or started <= nanoseconds_of(self.latest)


@dataclass(frozen=True)
class Found:
    """The spans that a backend has now. ``pending`` counts traces that it lists but cannot return yet."""

    spans: tuple[Span, ...] = ()
    skipped: int = 0
    pending: int = 0
    notes: tuple[str, ...] = ()

    @property
    def traces(self) -> int:
        """How many traces the spans are of."""
        return len({span.trace_id for span in self.spans})


class Backend(Protocol):
    """A trace backend that is being asked."""

    def find(self, window: Window) -> Found:
        """What it has of a session.

        Raises:
            ObservabilityError: It cannot be asked, or its answer cannot be read.
        """

    def close(self) -> None:
        """Close the connection."""


class EndpointBackend:
    """A backend with a query endpoint, asked with the headers of the manifest."""

    def __init__(self, source: OtelSource | PhoenixSource) -> None:
        self._client = QueryClient(base_of(source.endpoint), headers=headers_from(source.headers_env))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def spans_of(raw: Iterable[RawSpan]) -> tuple[list[Span], int]:
    """Spans, and how many were malformed."""
    found: list[Span] = []
    skipped = 0
    for one in raw:
        try:
            found.append(span_of(one))
        except MalformedSpanError:
            skipped += 1
    return found, skipped


def within(spans: Iterable[Span], window: Window) -> tuple[Span, ...]:
    """The spans of the traces that began in the window."""
    listed = list(spans)
    begun: dict[str, int] = {}
    for span in listed:
        begun[span.trace_id] = min(begun.get(span.trace_id, span.started), span.started)
    return tuple(span for span in listed if window.holds(begun[span.trace_id]))


def credential(name: str) -> str:
    """The value of an environment variable.

    Raises:
        ObservabilityError: It is not set.
    """
    value = os.environ.get(name)
    if not value:
        raise ObservabilityError(
            f"the manifest takes a credential from {name}, which is not set: set it in the environment"
        )
    return value


def headers_from(variable: str | None) -> dict[str, str]:
    """Headers from a variable; from now on, no output shows their values.

    Raises:
        ObservabilityError: The variable is not set, or malformed.
    """
    if variable is None:
        return {}
    headers = header_pairs(credential(variable), variable)
    for value in headers.values():
        redactor.learn(variable, value)
    return headers


def other_sessions(count: int, window: Window) -> Iterator[str]:
    """The remark on traces that are not of the session that was asked for."""
    if count:
        yield (
            f"{counted(count, 'trace')} left out: the backend lists them for the session "
            f"{window.session_id!r}, and their spans name another one"
        )
