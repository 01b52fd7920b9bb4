"""Traces as OpenTelemetry's protocol writes them, in JSON and protobuf → spans."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_mcpeval.kinds.agent.observability.genai import RawSpan
from pytest_mcpeval.kinds.agent.observability.spans import MalformedSpanError, ObservabilityError

# Tempo: batches; OTLP: resourceSpans; some shims keep protobuf's own spelling.
BATCHES = ("resourceSpans", "batches", "resource_spans")
SCOPES = ("scopeSpans", "instrumentationLibrarySpans", "scope_spans")

_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]+")
_SPAN_ID_BYTES = 8
_TRACE_ID_BYTES = 16


@dataclass(frozen=True)
class RawTrace:
    """The spans of an answer, how many were malformed, and the sessions that they belong to."""

    spans: tuple[RawSpan, ...]
    skipped: int
    sessions: frozenset[str]


def trace_of(data: Any) -> RawTrace:
    """The spans in a JSON answer.

    Raises:
        ObservabilityError: It is not a trace at all.
    """
    if isinstance(data, Mapping) and isinstance(data.get("trace"), Mapping):
        data = data["trace"]
    if not isinstance(data, Mapping) or (data and not any(name in data for name in BATCHES)):
        raise ObservabilityError("expected a trace with `batches` or `resourceSpans`")
    spans: list[RawSpan] = []
    skipped = 0
    sessions: set[str] = set()
    for shared, found in _spans(data):
        try:
            raw = _raw_span(found)
        except MalformedSpanError:
            skipped += 1
            continue
        spans.append(raw)
        session = raw.attributes.get("session.id", shared.get("session.id"))
        sessions |= set() if session is None else {str(session)}
    return RawTrace(tuple(spans), skipped, frozenset(sessions))


def _spans(data: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    for batch in _listed(data, BATCHES):
        resource = batch.get("resource") if isinstance(batch, Mapping) else None
        shared = _shared(resource)
        for scope in _listed(batch, SCOPES):
            yield from ((shared, span) for span in _listed(scope, ("spans",)))


def _listed(data: Any, names: tuple[str, ...]) -> list[Any]:
    """What is listed under any of the names; what is malformed stands for one malformed span below it."""
    if not isinstance(data, Mapping):
        return [None]
    given = [data[name] for name in names if data.get(name) is not None]
    return [entry for found in given for entry in (found if isinstance(found, list) else [None])]


def _shared(resource: Any) -> Mapping[str, Any]:
    try:
        return _attributes(resource.get("attributes")) if isinstance(resource, Mapping) else {}
    except MalformedSpanError:
        return {}


def _raw_span(data: Any) -> RawSpan:
    if not isinstance(data, Mapping):
        raise MalformedSpanError("expected a mapping")
    parent = _either(data, "parentSpanId", "parent_span_id", "parentSpanID")
    name = data.get("name", "")
    if not isinstance(name, str):
        raise MalformedSpanError("expected a name")
    return RawSpan(
        trace_id=identifier(_either(data, "traceId", "traceID", "trace_id"), _TRACE_ID_BYTES),
        span_id=identifier(_either(data, "spanId", "spanID", "span_id"), _SPAN_ID_BYTES),
        parent_id=_parent(parent),
        name=name,
        started=_whole(_either(data, "startTimeUnixNano", "start_time_unix_nano")),
        ended=_whole(_either(data, "endTimeUnixNano", "end_time_unix_nano") or 0) or None,
        attributes=_attributes(data.get("attributes")),
    )


def _parent(found: Any) -> str | None:
    parent = identifier(found, _SPAN_ID_BYTES) if found else None
    return None if parent is None or not parent.strip("0") else parent


def _either(data: Mapping[str, Any], *names: str) -> Any:
    return next((data[name] for name in names if name in data), None)


def identifier(found: Any, size: int) -> str:
    """An id in lower-case hexadecimal with all its zeros, from hexadecimal or base64.

    Raises:
        MalformedSpanError: It is neither.
    """
    if not isinstance(found, str) or not found:
        raise MalformedSpanError("expected an id")
    # Base64 of 8 or 16 bytes ends in "=", which no hexadecimal number does.
    if _HEXADECIMAL.fullmatch(found) and len(found) <= 2 * size:
        return found.lower().zfill(2 * size)
    try:
        decoded = base64.b64decode(found, validate=True)
    except (ValueError, binascii.Error):
        decoded = b""
    if len(decoded) != size:
        raise MalformedSpanError(f"expected an id of {size} bytes, found {found[:40]!r}")
    return decoded.hex()


def _attributes(found: Any) -> dict[str, Any]:
    if found is None:
        return {}
    if not isinstance(found, list):
        raise MalformedSpanError("expected a list of attributes")
    return dict(_pair(entry) for entry in found)


def _pair(entry: Any) -> tuple[str, Any]:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("key"), str):
        raise MalformedSpanError("expected an attribute with key and value")
    return entry["key"], _value(entry.get("value"))


def _value(found: Any) -> Any:
    """A value of OTLP: ``{"stringValue": …}`` and its like; integers may be written as strings."""
    if found is None or found == {}:
        return None
    if not isinstance(found, Mapping) or len(found) != 1:
        raise MalformedSpanError("expected a value with its type")
    kind, value = next(iter(found.items()))
    match kind.replace("_v", "V"):
        case "stringValue" | "boolValue" | "doubleValue" | "bytesValue":
            return value
        case "intValue":
            return _whole(value)
        case "arrayValue":
            return [_value(entry) for entry in _values(value)]
        case "kvlistValue":
            return dict(_pair(entry) for entry in _values(value))
    raise MalformedSpanError(f"expected a value of a known type, found {str(kind)[:40]!r}")


def _values(found: Any) -> list[Any]:
    values = found.get("values", []) if isinstance(found, Mapping) else None
    if not isinstance(values, list):
        raise MalformedSpanError("expected a list of values")
    return values


def _whole(value: Any) -> int:
    try:
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise ValueError
        number = int(value)
    except ValueError:
        raise MalformedSpanError(f"expected a whole number, found {str(value)[:40]!r}") from None
    if not -(2**63) <= number < 2**64:
        raise MalformedSpanError("expected a number of 64 bits")
    return number


def json_of_protobuf(body: bytes) -> Any:
    """A trace in protobuf as its JSON form. Tempo's ``Trace`` and OTLP's ``TracesData`` are the same bytes.

    Raises:
        ObservabilityError: It is no such message, or the package that reads them is missing.
    """
    try:
        from google.protobuf.json_format import MessageToDict
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
    except ImportError:
        raise ObservabilityError(
            "the answer is in protobuf, and the package that reads it is not installed: "
            "pip install 'pytest-mcpeval[otel]'"
        ) from None
    try:
        return MessageToDict(TracesData.FromString(body))
    except (DecodeError, ValueError) as error:
        raise ObservabilityError(f"the answer is not a trace in protobuf: {error}") from None
