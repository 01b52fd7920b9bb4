"""The canonical logs of what an agent did, independent of their source: schemas, reading and writing.

Every source writes the same files under ``trace/observability/``; scoring reads nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from pytest_mcpeval.browser.artifacts import CaseFolder, write_private
from pytest_mcpeval.core.sample import to_json
from pytest_mcpeval.loading.schema import sentences

RowT = TypeVar("RowT", bound=BaseModel)


class _Row(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, strict=True)


class ToolCall(_Row):
    """One line of ``tool_calls.jsonl``, in the order of the calls. ``timestamp`` is ISO 8601."""

    tool_name: str = Field(min_length=1)
    span_id: str = Field(min_length=1)
    arguments: dict[str, Any] | None = None
    result: str | None = None
    timestamp: str | None = None


class RoutingDecision(_Row):
    """One line of ``routing_decisions.jsonl``: a (sub-)agent was entered, from its parent agent if any."""

    target_agent: str = Field(min_length=1)
    span_id: str = Field(min_length=1)
    from_agent: str | None = None
    reason: str | None = None
    timestamp: str | None = None


class StepCount(_Row):
    """``step_count.json``: AGENT and TOOL spans whose parent is the root of the trace or an AGENT."""

    total_steps: int = Field(ge=0)
    step_span_ids: list[str]

    @model_validator(mode="after")
    def _agrees(self) -> StepCount:
        if len(self.step_span_ids) != self.total_steps:
            found = len(self.step_span_ids)
            raise ValueError(f"total_steps is {self.total_steps}, and step_span_ids lists {found}")
        return self


class Generation(_Row):
    """One line of ``generations.jsonl``: one call of a model. Costs in US dollars, times in ISO 8601."""

    span_id: str = Field(min_length=1)
    model: str | None = None
    input_tokens: int | None = Field(None, ge=0)
    output_tokens: int | None = Field(None, ge=0)
    total_tokens: int | None = Field(None, ge=0)
    input_cost_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    output_cost_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    total_cost_usd: float | None = Field(None, ge=0, allow_inf_nan=False)
    started_at: str | None = None
    ended_at: str | None = None


class Doubts(_Row):
    """``incomplete.json``: the names of logs that may lack something, each with the reason."""

    may_be_incomplete: dict[str, str]


class EvidenceError(Exception):
    """A canonical log is there and cannot be read; the text names file and line."""


def read_tool_calls(folder: CaseFolder) -> list[ToolCall] | None:
    """The tool calls of a case; None without the log.

    Raises:
        EvidenceError: The log is malformed.
    """
    return _read_rows(folder.tool_calls, ToolCall)


def read_routing_decisions(folder: CaseFolder) -> list[RoutingDecision] | None:
    """The routing decisions of a case; None without the log.

    Raises:
        EvidenceError: The log is malformed.
    """
    return _read_rows(folder.routing_decisions, RoutingDecision)


def read_generations(folder: CaseFolder) -> list[Generation] | None:
    """The model calls of a case; None without the log.

    Raises:
        EvidenceError: The log is malformed.
    """
    return _read_rows(folder.generations, Generation)


def read_step_count(folder: CaseFolder) -> StepCount | None:
    """The number of steps of a case; None without the file.

    Raises:
        EvidenceError: The file is malformed.
    """
    text = _text(folder.step_count)
    return None if text is None else _parsed(folder.step_count.name, text, StepCount)


def read_doubts(folder: CaseFolder) -> dict[str, str]:
    """The names of logs that may lack something, each with the reason.

    Raises:
        EvidenceError: The file is malformed.
    """
    text = _text(folder.doubts)
    return {} if text is None else _parsed(folder.doubts.name, text, Doubts).may_be_incomplete


def span_ids(path: Path) -> frozenset[str]:
    """The ids of the spans that a canonical log names; none in any other file."""
    found: set[str] = set()
    with suppress(EvidenceError):
        if path.name == "step_count.json":
            found.update(_parsed(path.name, _text(path) or "", StepCount).step_span_ids)
        elif (model := _LOGS.get(path.name)) is not None:
            found.update(row.span_id for row in _read_rows(path, model) or ())
    return frozenset(found)


def write_rows(path: Path, rows: Iterable[BaseModel]) -> None:
    """Write a canonical log, replacing what another source wrote; no rows leave an empty file.

    Raises:
        OSError: It cannot be written.
    """
    write_private(path, "".join(f"{to_json(row.model_dump())}\n" for row in rows))


def write_step_count(folder: CaseFolder, span_ids: Sequence[str]) -> None:
    """Write the step count.

    Raises:
        OSError: It cannot be written.
    """
    count = StepCount(total_steps=len(span_ids), step_span_ids=list(span_ids))
    write_private(folder.step_count, f"{to_json(count.model_dump(), indent=1)}\n")


def write_doubts(folder: CaseFolder, doubts: dict[str, str]) -> None:
    """Write which logs may lack something; none at all leave no file.

    Raises:
        OSError: It cannot be written.
    """
    if doubts:
        write_private(folder.doubts, f"{to_json(Doubts(may_be_incomplete=doubts).model_dump(), indent=1)}\n")
    else:
        folder.doubts.unlink(missing_ok=True)


def moment(text: str) -> int:
    """Whole microseconds since 1970 of an ISO time with a zone.

    Raises:
        EvidenceError: It is none.
    """
    try:
        return (_MOMENT.validate_python(text) - _EPOCH) // timedelta(microseconds=1)
    except (ValidationError, OverflowError):
        raise EvidenceError(f"expected a time such as 2026-01-31T12:00:00Z, found {text[:60]!r}") from None


_MOMENT = TypeAdapter(AwareDatetime)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_LOGS: dict[str, type[ToolCall | RoutingDecision | Generation]] = {
    "tool_calls.jsonl": ToolCall,
    "routing_decisions.jsonl": RoutingDecision,
    "generations.jsonl": Generation,
}


def _read_rows(path: Path, model: type[RowT]) -> list[RowT] | None:
    text = _text(path)
    if text is None:
        return None
    lines = enumerate(text.split("\n"), start=1)
    return [_parsed(f"{path.name}:{number}", line, model) for number, line in lines if line.strip()]


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise EvidenceError(f"{path.name}: expected UTF-8 text") from None
    except OSError as error:
        raise EvidenceError(f"{path.name}: cannot be read: {error.strerror or error}") from None


def _parsed(place: str, text: str, model: type[RowT]) -> RowT:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EvidenceError(f"{place}: expected JSON: {error}") from None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        _, first = sentences(error, model, data)[0]
        raise EvidenceError(f"{place}: {first}") from None
