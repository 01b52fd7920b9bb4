"""``observability.otel``: traces by Tempo's query API, ``/api/search`` and ``/api/traces/<id>``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pytest_mcpeval.kinds.agent.observability.backends import (
    EndpointBackend,
    Found,
    Window,
    other_sessions,
    spans_of,
    within,
)
from pytest_mcpeval.kinds.agent.observability.otlp import RawTrace, json_of_protobuf, trace_of
from pytest_mcpeval.kinds.agent.observability.query_client import Answer, segment
from pytest_mcpeval.kinds.agent.observability.spans import ObservabilityError, Span

FIRST_LIMIT = 100
LAST_LIMIT = 12_800
TRACE_FORMS = "application/json, application/protobuf;q=0.5"

_PLAIN_TAG = re.compile(r"[^\s\"=]+")


class Tempo(EndpointBackend):
    """Asks an endpoint with Tempo's query API."""

    def find(self, window: Window) -> Found:
        """The traces that carry the session id.

        Raises:
            ObservabilityError: The endpoint cannot be asked, or its answer cannot be read.
        """
        spans: list[Span] = []
        skipped = pending = foreign = 0
        for trace_id in self._search(window):
            raw = self._trace(trace_id)
            if raw is None:
                pending += 1
            elif raw.sessions and window.session_id not in raw.sessions:
                foreign += 1
            else:
                read, malformed = spans_of(raw.spans)
                spans += read
                skipped += malformed + raw.skipped
        return Found(within(spans, window), skipped, pending, tuple(other_sessions(foreign, window)))

    def _search(self, window: Window) -> list[str]:
        """The ids of traces. There are no pages: while it gives as many as it may, more are asked for."""
        limit = FIRST_LIMIT
        while True:
            answer = self._client.get("/api/search", _parameters(window, limit))
            ids = _trace_ids(answer)
            if len(ids) < limit:
                return sorted(set(ids))
            if limit >= LAST_LIMIT:
                raise ObservabilityError(
                    f"{answer.place} has {limit:,} traces or more of the session {window.session_id!r}: say "
                    "which by --since and --until, or give each run its own session_id with {run_id}"
                )
            limit *= 2

    def _trace(self, trace_id: str) -> RawTrace | None:
        path = f"/api/traces/{segment(trace_id)}"
        # Tempo may list a trace before it can be read.
        answer = self._client.find(path, {}, accept=TRACE_FORMS)
        if answer is None:
            return None
        try:
            return trace_of(json_of_protobuf(answer.body) if answer.is_protobuf else answer.json())
        except ObservabilityError as error:
            raise ObservabilityError(f"trace {trace_id[:40]}: {error}") from None


def _parameters(window: Window, limit: int) -> dict[str, str | int]:
    found: dict[str, str | int] = {"tags": f"session.id={_tag(window.session_id)}", "limit": limit}
    if window.earliest is not None or window.latest is not None:
        # Both or none, in whole seconds: what lies outside is left out afterwards.
        found["start"] = 0 if window.earliest is None else int(window.earliest.timestamp())
        found["end"] = int((window.latest or datetime.now(UTC)).timestamp()) + 60
    return found


def _tag(value: str) -> str:
    """A value in logfmt."""
    if _PLAIN_TAG.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _trace_ids(answer: Answer) -> list[str]:
    data: Any = answer.json()
    traces = data.get("traces", []) if isinstance(data, Mapping) else None
    if not isinstance(traces or [], list) or not isinstance(data, Mapping):
        raise ObservabilityError(f"{answer.place}: expected a search result with `traces`")
    return [_trace_id(entry, answer) for entry in traces or []]


def _trace_id(entry: Any, answer: Answer) -> str:
    for name in ("traceID", "traceId", "trace_id"):
        if isinstance(entry, Mapping) and isinstance(entry.get(name), str) and entry[name]:
            return str(entry[name])
    raise ObservabilityError(f"{answer.place}: expected traces with `traceID` or `traceId`")
