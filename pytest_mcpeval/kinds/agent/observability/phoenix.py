"""``observability.phoenix``: spans by Arize Phoenix's REST API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_mcpeval.core.sample import to_json
from pytest_mcpeval.kinds.agent.observability.backends import EndpointBackend, Found, Window, spans_of, within
from pytest_mcpeval.kinds.agent.observability.genai import RawSpan
from pytest_mcpeval.kinds.agent.observability.query_client import Parameters, segment
from pytest_mcpeval.kinds.agent.observability.spans import (
    MalformedSpanError,
    ObservabilityError,
    nanoseconds_of,
    parsed_time,
)
from pytest_mcpeval.kinds.agent.schema import PhoenixSource

PAGE = 1_000
TRACES_AT_ONCE = 50


class Phoenix(EndpointBackend):
    """Asks a Phoenix server for the spans of a project."""

    def __init__(self, source: PhoenixSource) -> None:
        super().__init__(source)
        self._path = f"/v1/projects/{segment(source.project)}/spans"

    def find(self, window: Window) -> Found:
        """The traces in which a span carries the session id.

        Raises:
            ObservabilityError: The server cannot be asked, or its answer cannot be read.
        """
        listed = [*self._traces(window)]
        traces = sorted({found for found in listed if found is not None})
        raw: list[RawSpan] = []
        skipped = listed.count(None)
        for start in range(0, len(traces), TRACES_AT_ONCE):
            for entry in self._pages({"trace_id": traces[start : start + TRACES_AT_ONCE]}):
                try:
                    raw.append(raw_span(entry))
                except MalformedSpanError:
                    skipped += 1
        spans, malformed = spans_of(raw)
        return Found(within(spans, window), skipped + malformed)

    def _traces(self, window: Window) -> Iterator[str | None]:
        """The ids of traces; None for a span of the session that names none."""
        parameters: dict[str, Any] = {"attribute": f"session.id:{to_json(window.session_id)}"}
        if window.earliest is not None:
            parameters["start_time"] = window.earliest.isoformat()
        for entry in self._pages(parameters):
            if not isinstance(entry, Mapping):
                continue
            attributes, context = entry.get("attributes"), entry.get("context")
            # Servers that do not know the parameter give all spans.
            if not isinstance(attributes, Mapping) or attributes.get("session.id") != window.session_id:
                continue
            trace_id = context.get("trace_id") if isinstance(context, Mapping) else None
            yield trace_id if isinstance(trace_id, str) else None

    def _pages(self, parameters: Parameters) -> Iterator[Any]:
        cursor: str | None = None
        while True:
            more = {} if cursor is None else {"cursor": cursor}
            answer = self._client.find(self._path, {**parameters, "limit": PAGE, **more})
            if answer is None:
                # There is no project until the first span of it arrives.
                return
            data = answer.json()
            entries = data.get("data") if isinstance(data, Mapping) else None
            if not isinstance(entries, list):
                raise ObservabilityError(f"{answer.place}: expected spans in `data`")
            yield from entries
            cursor = data.get("next_cursor")
            if not cursor or not entries:
                return


def raw_span(entry: Any) -> RawSpan:
    """A span as Phoenix's API gives it.

    Raises:
        MalformedSpanError: An id or a time is missing or none.
    """
    if not isinstance(entry, Mapping):
        raise MalformedSpanError("expected a mapping")
    context = entry.get("context")
    attributes = entry.get("attributes")
    if not isinstance(context, Mapping) or not isinstance(attributes, Mapping):
        raise MalformedSpanError("expected context and attributes")
    kind = entry.get("span_kind")
    shared = {} if kind in (None, "UNKNOWN") else {"openinference.span.kind": kind}
    ended = entry.get("end_time")
    return RawSpan(
        trace_id=_text(context.get("trace_id")),
        span_id=_text(context.get("span_id")),
        parent_id=_text(entry["parent_id"]) if entry.get("parent_id") else None,
        name=str(entry.get("name") or ""),
        started=nanoseconds_of(parsed_time(entry.get("start_time"))),
        ended=None if ended is None else nanoseconds_of(parsed_time(ended)),
        attributes={**attributes, **shared},
    )


def _text(found: Any) -> str:
    if not isinstance(found, str) or not found:
        raise MalformedSpanError("expected an id")
    return found
