"""The traces themselves, in memory."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span, TracesData

NANOSECONDS = 1_000_000_000


class QueryError(ValueError):
    """A query that makes no sense; the text says why."""


@dataclass(frozen=True)
class Query:
    """Which traces: those with spans that have all the tags. Times are seconds since 1970."""

    tags: Mapping[str, str]
    limit: int = 20
    start: int | None = None
    end: int | None = None


class TraceStore:
    """Traces by id. Several threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._traces: dict[str, list[ResourceSpans]] = {}

    def add(self, data: TracesData) -> None:
        """Take spans; those of one trace may come in several parts."""
        with self._lock:
            for batch in data.resource_spans:
                for trace_id, part in _by_trace(batch):
                    self._traces.setdefault(trace_id, []).append(part)

    def trace(self, trace_id: str) -> TracesData | None:
        """What there is of a trace; its id may lack leading zeros."""
        with self._lock:
            found = self._traces.get(trace_id.lower().zfill(32))
            return None if found is None else TracesData(resource_spans=found)

    def search(self, query: Query) -> list[dict[str, Any]]:
        """A summary of each trace that fits, the latest first."""
        with self._lock:
            found = [
                summary(trace_id, parts) for trace_id, parts in self._traces.items() if _fits(parts, query)
            ]
        found.sort(key=lambda row: (int(row["startTimeUnixNano"]), row["traceID"]), reverse=True)
        return found[: query.limit]


def tags_of(text: str) -> dict[str, str]:
    """Tags in logfmt: ``session.id=abc http.route="/a b"``.

    Raises:
        QueryError: A part has no ``=``.
    """
    try:
        parts = shlex.split(text)
    except ValueError as error:
        raise QueryError(f"tags: {error}") from None
    if lacking := [part for part in parts if "=" not in part]:
        raise QueryError(f"tags: expected key=value, found {lacking[0]!r}")
    return dict(part.split("=", 1) for part in parts)


def _by_trace(batch: ResourceSpans) -> Iterator[tuple[str, ResourceSpans]]:
    """The spans of each trace with their resource and scopes."""
    parts: dict[str, ResourceSpans] = {}
    for scope in batch.scope_spans:
        for span in scope.spans:
            trace_id = span.trace_id.hex()
            part = parts.setdefault(
                trace_id, ResourceSpans(resource=batch.resource, schema_url=batch.schema_url)
            )
            if not part.scope_spans or part.scope_spans[-1].scope != scope.scope:
                part.scope_spans.add(scope=scope.scope)
            part.scope_spans[-1].spans.append(span)
    yield from parts.items()


def _spans(parts: list[ResourceSpans]) -> list[Span]:
    return [span for part in parts for scope in part.scope_spans for span in scope.spans]


def _fits(parts: list[ResourceSpans], query: Query) -> bool:
    started = min(span.start_time_unix_nano for span in _spans(parts))
    if query.start is not None and started < query.start * NANOSECONDS:
        return False
    if query.end is not None and started > query.end * NANOSECONDS:
        return False
    return any(_has_tags(part, query.tags) for part in parts)


def _has_tags(part: ResourceSpans, tags: Mapping[str, str]) -> bool:
    shared = _texts(part.resource.attributes)
    spans = (span for scope in part.scope_spans for span in scope.spans)
    return any(tags.items() <= {**shared, **_texts(span.attributes)}.items() for span in spans)


def _texts(attributes: Any) -> dict[str, str]:
    return {entry.key: _text(entry.value) for entry in attributes}


def _text(value: AnyValue) -> str:
    kind = value.WhichOneof("value")
    found = "" if kind is None else getattr(value, kind)
    return str(found).lower() if isinstance(found, bool) else str(found)


def summary(trace_id: str, parts: list[ResourceSpans]) -> dict[str, Any]:
    """A trace as a search lists it. As in Tempo, the id comes without leading zeros."""
    spans = _spans(parts)
    started = min(span.start_time_unix_nano for span in spans)
    ended = max(span.end_time_unix_nano for span in spans)
    top = next((span for span in spans if not span.parent_span_id), None)
    return {
        "traceID": trace_id.lstrip("0"),
        "rootServiceName": _service(parts[0].resource.attributes),
        "rootTraceName": "<root span not yet received>" if top is None else top.name,
        "startTimeUnixNano": str(started),
        "durationMs": (ended - started) // 1_000_000,
    }


def _service(attributes: Any) -> str:
    entries: list[KeyValue] = list(attributes)
    return next((entry.value.string_value for entry in entries if entry.key == "service.name"), "")
