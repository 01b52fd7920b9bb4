"""A small project with one session file, whose critic a test decides; and what a run left of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import Project, Run

SESSION = "datasets/tiny.scenarios.yaml"


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """A step that calls a tool of the one server."""
    return {"call": f"mcp__tiny__{tool}", "arguments": arguments}


def scenario(*steps: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A scenario for the one server, carried out by steps."""
    return {"description": "Say something", "targets_mcps": ["tiny"], "steps": list(steps), **fields}


ECHO = call("echo", text="hello")
"""A call that the sandbox allows."""


@dataclass(frozen=True)
class Evaluation:
    """The folder of one evaluation."""

    path: Path

    @property
    def state(self) -> dict[str, Any]:
        """``state.json``."""
        found: dict[str, Any] = json.loads((self.path / "state.json").read_text())
        return found

    @property
    def transcript(self) -> list[dict[str, Any]]:
        """The lines of ``transcript.jsonl``."""
        text = (self.path / "transcript.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    @property
    def transcript_exists(self) -> bool:
        """Whether anything was logged."""
        return (self.path / "transcript.jsonl").exists()

    @property
    def report(self) -> str:
        """``report.md``."""
        return (self.path / "report.md").read_text()

    def section(self, title: str) -> list[str]:
        """The lines of a section of the report that are not empty."""
        _, found, rest = self.report.partition(f"\n## {title}\n")
        assert found, self.report
        return [line for line in rest.partition("\n## ")[0].splitlines() if line]

    def write(self, **changes: Any) -> None:
        """Change the state as a killed process would have left it."""
        (self.path / "state.json").write_text(json.dumps({**self.state, **changes}))


@dataclass(frozen=True)
class SessionProject:
    """A project with the session file `SESSION`."""

    project: Project

    @classmethod
    def at(
        cls, path: Path, *scenarios: Mapping[str, Any], transport: str = "module", **fields: Any
    ) -> SessionProject:
        """A project whose file has these scenarios; ``fields`` are more of its keys, None leaves one out."""
        made = cls(Project.at(path, transport=transport))
        made.session(*scenarios, **fields)
        return made

    def session(self, *scenarios: Mapping[str, Any], name: str = SESSION, **fields: Any) -> Path:
        """Write a session file."""
        content = {
            "dispositions": {"tiny": {"disposition": "sandboxed", "test_resources": ["hello", "again"]}},
            "approval": "approve",
            **fields,
            "scenarios": list(scenarios or [scenario(ECHO)]),
        }
        kept = {key: value for key, value in content.items() if value is not None}
        return self.project.write_json(name, kept)

    def run(self, *arguments: str, name: str = "one", columns: int = 160) -> Run:
        """Run the session file as an evaluation of that name."""
        return self.project.run(
            "datasets", "--mcpeval-name", name, *arguments, columns=columns, HOME=str(self.project.path)
        )

    def evaluation(self, name: str = "one") -> Evaluation:
        """What an evaluation left."""
        return Evaluation(self.project.path / "mcp-evals" / f"mcp-eval-{name}")

    def critic(self, output: str) -> str:
        """A critic that writes this, as a setting."""
        self.project.write("reviewing.py", f"def review(prompt):\n    return {output!r}\n")
        return "python:reviewing:review"


def finding(
    severity: str = "MAJOR",
    dimension: str = "glue_code",
    summary: str = "too many calls",
    server: str = "tiny",
    evidence: Sequence[str] = ("S1-001",),
) -> str:
    """A finding as critics write it."""
    return (
        f"### [{severity}] {dimension}: {summary}\nMCP: {server}\nEvidence: {', '.join(evidence)}\n"
        "Recommendation: Do it at once.\n\n"
    )


SUMMARY = "## Summary\n\nIt went well. Mostly. Nothing else.\n"
