"""A span of a trace, independent of its backend, and errors of fetching spans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

SpanKind = Literal["tool", "agent", "generation", "other"]

NANOSECONDS = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class ObservabilityError(Exception):
    """A trace backend cannot be asked, or its answer cannot be read. The text is for people."""


class MalformedSpanError(ValueError):
    """A span that cannot be read; it is skipped and counted."""


@dataclass(frozen=True)
class Usage:
    """Tokens and costs of a model call. Costs are in US dollars; None if unknown."""

    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    input_cost_usd: float | None = None
    output_cost_usd: float | None = None
    total_cost_usd: float | None = None


@dataclass(frozen=True)
class Span:
    """One span, normalized.

    ``name`` is that of the tool or agent, where it is one. ``started`` and ``ended`` are nanoseconds since
    1970; ``ended`` is None for a span that has not ended. ``parent_id`` is None at the top of a trace.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    kind: SpanKind
    name: str
    started: int
    ended: int | None = None
    arguments: Mapping[str, Any] | None = None
    result: str | None = None
    reason: str | None = None
    usage: Usage = field(default_factory=Usage)

    @property
    def key(self) -> tuple[str, str]:
        """The unique key of the span."""
        return self.trace_id, self.span_id

    @property
    def parent_key(self) -> tuple[str, str] | None:
        """The key of its parent."""
        return None if self.parent_id is None else (self.trace_id, self.parent_id)


def iso_time(nanoseconds: int) -> str:
    """Nanoseconds since 1970, of 64 bits, as ISO 8601 in UTC to the microsecond."""
    moment = _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def parsed_time(text: Any) -> datetime:
    """An ISO time, in UTC where it names no zone.

    Raises:
        MalformedSpanError: It is none.
    """
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise MalformedSpanError(f"expected an ISO time, found {str(text)[:40]!r}") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def nanoseconds_of(moment: datetime) -> int:
    """Nanoseconds since 1970 of a time with a zone."""
    return (moment - _EPOCH) // _MICROSECOND * 1000
