"""A project with a manifest and a run that was captured before: what is scored without a browser."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_mcpeval import Place
from pytest_mcpeval.browser.artifacts import CaseFolder, RunFolder
from pytest_mcpeval.kinds.agent.captures import Capture, write_capture
from pytest_mcpeval.kinds.agent.evidence import (
    Generation,
    RoutingDecision,
    ToolCall,
    write_doubts,
    write_rows,
    write_step_count,
)
from pytest_mcpeval.kinds.agent.finalize import write_agent_files
from pytest_mcpeval.kinds.agent.load import AgentSuite, load_suite
from pytest_mcpeval.kinds.agent.options import RunOptions
from pytest_mcpeval.kinds.agent.run import revisit, score
from pytest_mcpeval.kinds.agent.scoring import write_score
from pytest_mcpeval.loading import load
from tests.support import Project, Run

AGENT = "people"
RUN_ID = "20260131T120000Z-aaaaaa"
PAGE = "<html><body><p>You asked: who leads Engineering?</p><p>Ada <b>Love</b>lace does.</p></body></html>"

# A transparent pixel.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000100ffff03000006000557bfabd40000000049454e44ae426082"
)


def case(case_id: str, text: str = "who leads Engineering?", **assertions: Any) -> dict[str, Any]:
    """A case of a manifest."""
    return {"id": case_id, "input": text, "assertions": assertions}


def manifest(*cases: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A manifest that is whole, with fields of a test's own."""
    return {
        "apiVersion": "agentevaluator/v1",
        "name": AGENT,
        "description": "Answers questions on people.",
        "access": {"url": "http://localhost:8901/"},
        "cases": list(cases),
        **fields,
    }


@dataclass(frozen=True)
class Evidence:
    """What a case left behind; None for a log that was not written."""

    page: str | None = PAGE
    landing: str | None = None
    calls: Sequence[Mapping[str, Any]] | None = None
    routes: Sequence[Mapping[str, Any]] | None = None
    steps: int | None = None
    generations: Sequence[Mapping[str, Any]] | None = None
    doubts: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    error: str | None = None
    fetch_error: str | None = None

    def write(self, folder: CaseFolder, text: str) -> None:
        """Write it as a capture would have."""
        folder.create()
        if self.page is not None:
            folder.after_submit_dom.write_text(self.page, encoding="utf-8")
        if self.landing is not None:
            folder.landing_dom.write_text(self.landing, encoding="utf-8")
        folder.landing_screenshot.write_bytes(PNG)
        folder.after_submit_screenshot.write_bytes(PNG)
        if self.calls is not None:
            write_rows(
                folder.tool_calls, [ToolCall(**_spanned("call", n, c)) for n, c in enumerate(self.calls)]
            )
        if self.routes is not None:
            rows = [RoutingDecision(**_spanned("route", n, route)) for n, route in enumerate(self.routes)]
            write_rows(folder.routing_decisions, rows)
        if self.steps is not None:
            write_step_count(folder, [f"step-{number}" for number in range(self.steps)])
        if self.generations is not None:
            rows_ = [Generation(**_spanned("generation", n, one)) for n, one in enumerate(self.generations)]
            write_rows(folder.generations, rows_)
        write_doubts(folder, dict(self.doubts))
        capture = Capture(
            folder.path.name,
            "http://localhost:8901/",
            text,
            started="2026-01-31T12:00:00+00:00",
            ended="2026-01-31T12:00:02+00:00",
            browser="Chromium 130 (playwright)",
            notes=self.notes,
            error=self.error,
            fetch_error=self.fetch_error,
            run_id=folder.path.parent.name,
        )
        write_capture(folder, capture)


def _spanned(word: str, number: int, row: Mapping[str, Any]) -> dict[str, Any]:
    return {"span_id": f"{word}-{number}", **row}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """A tool call with arguments."""
    return {"tool_name": tool, "arguments": arguments}


@dataclass(frozen=True)
class CapturedProject:
    """A project with ``agent.yaml`` and captured runs of its agent below ``runs/``."""

    project: Project

    @classmethod
    def at(cls, path: Path, *cases: Mapping[str, Any], **fields: Any) -> CapturedProject:
        """A project with these cases and nothing captured yet."""
        project = Project(path)
        project.write("pytest.ini", "[pytest]\n")
        made = cls(project)
        made.write_manifest(*cases, **fields)
        return made

    def write_manifest(self, *cases: Mapping[str, Any], **fields: Any) -> None:
        """Write ``agent.yaml``."""
        self.project.write_json("agent.yaml", manifest(*cases, **fields))

    def settings(self, **settings: Any) -> None:
        """Write ``mcpeval.yaml``."""
        self.project.write_json("mcpeval.yaml", {"agent": [settings]})

    def folder(self, run_id: str = RUN_ID) -> RunFolder:
        """The folder of a run."""
        return RunFolder.of(self.project.path / "runs", AGENT, run_id)

    def capture(
        self, case_id: str, found: Evidence, run_id: str = RUN_ID, text: str = "who leads Engineering?"
    ) -> CaseFolder:
        """Leave what a capture of a case would have."""
        folder = self.folder(run_id).case(case_id)
        found.write(folder, text)
        return folder

    def score(self, *arguments: str, run_id: str = RUN_ID, ci: str = "") -> Run:
        """Score a captured run through pytest."""
        run = f"runs/{AGENT}/{run_id}"
        return self.project.run("--mcpeval-score-only", run, *arguments, columns=120, CI=ci)

    def suite(self, run_id: str = RUN_ID) -> AgentSuite:
        """The suite of a run that is scored."""
        options = RunOptions(score_only=(self.folder(run_id).path,))
        place = Place("agent.yaml", {}, {}, options=options)
        return load_suite(load(self.project.path / "agent.yaml"), place)

    def score_here(self, run_id: str = RUN_ID) -> list[str]:
        """Score a captured run without pytest, for what comes afterwards: the notes on what is written."""
        suite, run = self.suite(run_id), self.folder(run_id)
        for one in suite.manifest.cases:
            visit = revisit(suite, one)
            write_score(visit.folder.score, score(suite, one, visit).as_data())
        ids = {one.id for one in suite.manifest.cases}
        return list(write_agent_files(suite, run, tried=dict.fromkeys(ids, ""), scored=ids))

    def read(self, name: str, run_id: str = RUN_ID) -> Any:
        """A JSON file of a run."""
        return json.loads((self.folder(run_id).path / name).read_text(encoding="utf-8"))
