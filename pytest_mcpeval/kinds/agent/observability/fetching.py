"""Traces of a case → its canonical logs. Asks until the traces are complete, or their time is up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.kinds.agent.evidence import write_doubts
from pytest_mcpeval.kinds.agent.observability.backends import Backend, Found, Window
from pytest_mcpeval.kinds.agent.observability.logs import (
    BEHIND_MODELS,
    LOGS,
    ends_below_remote_parents,
    is_complete,
    logs_of,
    shows_more_than_models,
    tells_anything,
    tells_of_any,
    unique,
    write_logs,
)
from pytest_mcpeval.kinds.agent.observability.spans import ObservabilityError
from pytest_mcpeval.kinds.agent.schema import LangfuseSource, OtelSource, TraceBackend
from pytest_mcpeval.kinds.agent.urls import policy_problem
from pytest_mcpeval.loading.messages import counted

__all__ = ["FetchResult", "ObservabilityError", "TraceQuery", "fetch"]

ONLY_MODELS = "no span belongs to a tool or an agent, so the traces may show model calls only"

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 2.0

REMOTE_PARENT_SECONDS = 6.0
"""A parent that is missing for this long after everything else is assumed to be in another system.

By default, exporters send batches every 5 s. Half of ``trace_wait_ms``, if that is less.
"""


@dataclass(frozen=True)
class TraceQuery:
    """Whose traces: those of a session, from one ISO time to another."""

    session_id: str
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True)
class FetchResult:
    """How many traces were read and malformed spans skipped, remarks, and the names of the written logs."""

    traces: int
    skipped_spans: int
    notes: tuple[str, ...]
    written: tuple[str, ...]


def fetch(backend: TraceBackend, query: TraceQuery, folder: CaseFolder) -> FetchResult:
    """Write the canonical logs of a case from its traces, replacing those from the agent's page.
    Without traces, or if no span belongs to a tool, an agent or a model, no log is written. A file
    next to the logs says which may be incomplete.

    Raises:
        ObservabilityError: The backend cannot be asked, or its answer cannot be read.
        OSError: A log cannot be written.
    """
    window = Window(query.session_id, _moment("since", query.since), _moment("until", query.until))
    # Names may lead elsewhere than they did when the manifest was loaded, and credentials go there.
    if problem := policy_problem(backend.url, backend.host_policy):
        raise ObservabilityError(problem)
    asked = _opened(backend)
    try:
        found, complete = _polled(asked, window, backend.trace_wait_ms / 1000)
    finally:
        asked.close()
    notes = [*_notes(found, complete=complete, backend=backend, window=window)]
    doubts = dict.fromkeys(LOGS, "; ".join(_gaps(found, complete=complete, backend=backend)))
    written: tuple[str, ...] = ()
    if tells_anything(found.spans):
        blind = () if shows_more_than_models(found.spans) else BEHIND_MODELS
        kept = tuple(name for name in blind if tells_of_any(folder, name))
        written = write_logs(logs_of(found.spans), folder, kept)
        if blind:
            notes.append(ONLY_MODELS + (f": logs from the page are kept ({', '.join(kept)})" if kept else ""))
        for name in set(blind) - set(kept):
            doubts[name] = "; ".join(filter(None, (doubts[name], ONLY_MODELS)))
    if written or any(doubts.values()):
        write_doubts(folder, {name: why for name, why in doubts.items() if why})
    return FetchResult(found.traces, found.skipped, tuple(notes), written)


def _moment(name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    moment = None
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
    if moment is None or moment.tzinfo is None:
        raise ObservabilityError(
            f"{name}: expected an ISO time with a zone such as 2026-01-31T12:00:00Z, found {text!r}"
        )
    return moment


def _opened(backend: TraceBackend) -> Backend:
    if isinstance(backend, OtelSource):
        from pytest_mcpeval.kinds.agent.observability.tempo import Tempo

        return Tempo(backend)
    if isinstance(backend, LangfuseSource):
        from pytest_mcpeval.kinds.agent.observability.langfuse import Langfuse

        return Langfuse(backend)
    from pytest_mcpeval.kinds.agent.observability.phoenix import Phoenix

    return Phoenix(backend)


def _polled(asked: Backend, window: Window, seconds: float) -> tuple[Found, bool]:
    """Return the spans once the traces are complete and no longer grow, or when the time is up.

    And whether they are complete.
    """
    began = grown = time.monotonic()
    pause, before = FIRST_PAUSE_SECONDS, -1
    quiet = min(REMOTE_PARENT_SECONDS, seconds / 2)
    while True:
        found = asked.find(window)
        spans = unique(found.spans)
        now = time.monotonic()
        if len(spans) != before:
            grown = now
        complete = not found.pending and is_complete(spans.values())
        if complete and len(spans) == before:
            return found, True
        remote = not found.pending and ends_below_remote_parents(spans.values())
        if remote and len(spans) == before and now - grown >= quiet:
            return found, True
        left = began + seconds - now
        if left <= 0:
            return found, complete
        before = len(spans)
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, LONGEST_PAUSE_SECONDS)


def _waited(backend: TraceBackend) -> str:
    return f"within {backend.trace_wait_ms:,} ms (trace_wait_ms)"


def _gaps(found: Found, *, complete: bool, backend: TraceBackend) -> Iterator[str]:
    """Yield reasons why spans may be missing."""
    if found.skipped:
        yield f"{counted(found.skipped, 'malformed span')} skipped: evidence may be missing"
    if found.pending:
        yield f"{counted(found.pending, 'trace')} listed by the backend and not readable {_waited(backend)}"
    elif tells_anything(found.spans) and not complete:
        traces = counted(found.traces, "trace")
        yield f"{traces} found, not complete {_waited(backend)}: evidence may be missing"


def _notes(found: Found, *, complete: bool, backend: TraceBackend, window: Window) -> Iterator[str]:
    yield from found.notes
    yield from _gaps(found, complete=complete, backend=backend)
    waited = _waited(backend)
    if not found.traces:
        since = "" if window.since is None else f" that began at {window.since.isoformat()} or later"
        yield f"no trace of the session {window.session_id!r}{since} was found {waited}"
    elif not tells_anything(found.spans):
        yield (
            f"{counted(found.traces, 'trace')} found {waited}, and no span in them is of a tool, an agent or "
            "a model: see that the agent emits GenAI attributes such as gen_ai.operation.name"
        )
    elif complete and ends_below_remote_parents(unique(found.spans).values()):
        yield "top-level spans have a missing parent: it is assumed to be in another system"
    telling = len({span.trace_id for span in found.spans if span.kind != "other"})
    if telling > 1 and "{run_id}" not in backend.session_id:
        yield (
            f"{telling} traces of the session {window.session_id!r} are taken together; if one is of another "
            "run at the same time, give each run sessions of its own: {run_id} in session_id"
        )
    if not tells_anything(found.spans):
        yield "no log is written from traces"
