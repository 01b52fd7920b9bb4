"""The score of a case → its sample; values that differ from run to run are under ``run``."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.agent.assertions.generations import dollars, milliseconds
from pytest_mcpeval.kinds.agent.captured import Captured
from pytest_mcpeval.kinds.agent.load import AgentSuite
from pytest_mcpeval.kinds.agent.run import Visit
from pytest_mcpeval.kinds.agent.scoring import CaseScore
from pytest_mcpeval.kinds.agent.timeline import measured, measured_run, timeline
from pytest_mcpeval.loading.messages import counted

CAPTURED = "CAPTURED"


def sample_of(suite: AgentSuite, score: CaseScore, visit: Visit) -> Sample:
    """The sample of a scored case."""
    captured = Captured(visit.folder, suite.manifest.interaction.max_dom_bytes)
    return Sample(
        suite=suite.key,
        kind=suite.kind,
        id=score.case_id,
        outcome=score.outcome,
        checks=tuple(outcome.as_check() for outcome in score.outcomes),
        message=headline(score),
        traits={"agent": suite.manifest.name},
        measured=measured(captured),
        run={
            **measured_run(captured),
            **_capture(visit),
            "outcomes": [outcome.as_data() for outcome in score.outcomes],
            "attachments": attachments(visit, captured),
        },
    )


def captured_sample(suite: AgentSuite, case_id: str, visit: Visit) -> Sample:
    """The sample of a case that was captured and not scored."""
    error = None if visit.capture is None else visit.capture.error or visit.capture.fetch_error
    return Sample(
        suite=suite.key,
        kind=suite.kind,
        id=case_id,
        outcome="skipped" if error is None else "error",
        message=error or "captured, not scored (--mcpeval-capture-only)",
        label=CAPTURED,
        traits={"agent": suite.manifest.name},
        run=_capture(visit),
    )


def headline(score: CaseScore) -> str:
    """One sentence on a case that did not pass; empty for one that did."""
    if score.error is not None:
        return score.error
    for status in ("failed", "inconclusive"):
        found = [outcome for outcome in score.outcomes if outcome.status == status]
        if found:
            first = f"{found[0].assertion_kind}: {found[0].message}"
            rest = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            total = counted(len(score.outcomes), "assertion")
            return f"{len(found)} of {total} {status}: {first}{rest}"
    return ""


def _capture(visit: Visit) -> dict[str, Any]:
    found: dict[str, Any] = {"case_dir": str(visit.folder.path)}
    if visit.capture is not None:
        found |= {
            "notes": list(visit.capture.notes),
            "browser": visit.capture.browser,
            "processingTimeMs": _milliseconds(visit.capture.started, visit.capture.ended),
        }
    return found


def _milliseconds(started: str, ended: str) -> float | None:
    try:
        return (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds() * 1000
    except (ValueError, TypeError):
        return None


def attachments(visit: Visit, captured: Captured) -> list[dict[str, Any]]:
    """What an html report shows of a case: its screenshots, and what the agent did in time."""
    folder = visit.folder
    images = {
        "landing": folder.landing_screenshot,
        "after submit": folder.after_submit_screenshot,
        "when it failed": folder.failure_screenshot,
    }
    found: list[dict[str, Any]] = [
        {"title": title, "image": str(path)} for title, path in images.items() if path.is_file()
    ]
    rows = timeline(captured)
    if rows:
        found.append({"title": "what the agent did", "header": ["time", "", "with", "result"], "rows": rows})
    figures = _figures(captured)
    if figures:
        found.append({"title": "model calls", "header": ["tokens", "cost", "latency"], "rows": [figures]})
    return found


def _figures(captured: Captured) -> list[str]:
    found = {**measured(captured), **measured_run(captured)}
    tokens, cost, latency = found["total_tokens"], found["total_cost_usd"], found["latency_ms"]
    if tokens is None and cost is None and latency is None:
        return []
    return [
        "–" if tokens is None else f"{tokens:,}",
        "–" if cost is None else dollars(cost),
        "–" if latency is None else milliseconds(latency),
    ]
