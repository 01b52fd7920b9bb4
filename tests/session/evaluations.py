"""A small project with one session file, whose critic a test decides; and what a run left of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import SERVER, Project, Run

SESSION = "datasets/tiny.scenarios.yaml"


def session_in(folder: str) -> str:
    """The session file of a folder below ``datasets/``."""
    return f"datasets/{folder}/{folder}.scenarios.yaml"


def outcomes(run: Run, session: str = SESSION) -> dict[str, str]:
    """Case → outcome, of one session file, from ``report.json``."""
    return {case["id"]: case["outcome"] for case in run.report()["suites"][session]["cases"]}


def verdicts(run: Run, session: str = SESSION) -> dict[str, str]:
    """Gate → verdict, of one session file, from ``report.json``."""
    return {gate["name"]: gate["verdict"] for gate in run.report()["gates"] if gate["suite"] == session}


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
    name: str = SESSION

    @classmethod
    def at(
        cls, path: Path, *scenarios: Mapping[str, Any], transport: str = "module", **fields: Any
    ) -> SessionProject:
        """A project whose file has these scenarios; ``fields`` are more of its keys, None leaves one out."""
        made = cls(Project.at(path, transport=transport))
        made.session(*scenarios, **fields)
        return made

    @classmethod
    def within(
        cls,
        project: Project,
        folder: str,
        *scenarios: Mapping[str, Any],
        source: str = SERVER,
        servers: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> SessionProject:
        """One of several session files of a project, in a folder of its own, with a server of its own."""
        module = f"server_{folder}"
        project.write(f"datasets/{folder}/{module}.py", source)
        known = {"tiny": {"module": f"{module}:server"}, **(servers or {})}
        project.write_json(f"datasets/{folder}/mcpeval.yaml", {"servers": known})
        made = cls(project, session_in(folder))
        made.session(*scenarios, **fields)
        return made

    def session(self, *scenarios: Mapping[str, Any], name: str = "", **fields: Any) -> Path:
        """Write a session file."""
        content = {
            "dispositions": {"tiny": {"disposition": "sandboxed", "test_resources": ["hello", "again"]}},
            "approval": "approve",
            **fields,
            "scenarios": list(scenarios or [scenario(ECHO)]),
        }
        kept = {key: value for key, value in content.items() if value is not None}
        return self.project.write_json(name or self.name, kept)

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
        folder = Path(self.name).parent
        # Each folder has a module of its own, since Python loads each name once.
        module = "reviewing" if self.name == SESSION else f"reviewing_{folder.name}"
        text = f"def review(prompt):\n    return {output!r}\n"
        self.project.write(f"{module}.py" if self.name == SESSION else f"{folder}/{module}.py", text)
        return f"python:{module}:review"


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
