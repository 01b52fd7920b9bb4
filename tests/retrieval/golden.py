"""A small project with a golden set whose ranking a test decides: its search reads ``ranking.txt``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import Project, Run

SEARCH = """
import json
import os
import signal
from pathlib import Path

RANKING = json.loads(Path(__file__).with_name("ranking.txt").read_text())


def search(query, k):
    found = RANKING[query]
    if found == "raise":
        raise RuntimeError("the index is gone")
    if found == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return found
"""

TOOLS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
QUERIES = 12

Found = str | list[str]


def golden_in(folder: str) -> str:
    """The golden set of a folder below ``datasets/``."""
    return f"datasets/{folder}/golden_v1.json"


def gates(run: Run, golden: str) -> dict[str, dict[str, Any]]:
    """Gate name → gate, of one golden set, from ``report.json``."""
    return {gate["name"]: gate for gate in run.report()["gates"] if gate["suite"] == golden}


def outcomes(run: Run, golden: str) -> dict[str, str]:
    """Query → outcome, of one golden set, from ``report.json``."""
    return {case["id"]: case["outcome"] for case in run.report()["suites"][golden]["cases"]}


def tool(name: str) -> str:
    """The id of a tool of the corpus."""
    return f"numbers:{name}"


def query(number: int, **fields: Any) -> dict[str, Any]:
    """A query of which the tool of that number is the relevant one."""
    labels = [{"tool_id": tool(TOOLS[number]), "relevance": 2}]
    return {"id": f"q{number}", "query": f"goal {number}", "labels": labels, **fields}


def rank(number: int, place: int | None) -> list[str]:
    """A ranked list with the relevant tool of a query at a place from 1, or without it."""
    others = [tool(name) for name in TOOLS if name != TOOLS[number]][:10]
    if place is not None:
        others.insert(place - 1, tool(TOOLS[number]))
    return others[:10]


@dataclass(frozen=True)
class GoldenProject:
    """A project with a golden set of `QUERIES` queries."""

    project: Project
    folder: str = "datasets"
    module: str = "search"
    """Where the search is; modules of one run have names of their own."""

    @classmethod
    def at(cls, path: Path, **settings: Any) -> GoldenProject:
        """A project in which every query finds its tool at rank 1; ``settings`` stand in ``mcpeval.yaml``."""
        return cls(Project.at(path))._filled(settings)

    @classmethod
    def within(cls, project: Project, name: str, **settings: Any) -> GoldenProject:
        """The same as one of several golden sets of a project, in a folder below ``datasets/``."""
        return cls(project, f"datasets/{name}", f"search_{name}")._filled(settings)

    def _filled(self, settings: Mapping[str, Any]) -> GoldenProject:
        tools = [
            {"tool_id": tool(name), "server": "numbers", "tool": name, "description": f"The number {name}."}
            for name in TOOLS
        ]
        self.project.write_json(f"{self.folder}/tools_v1.json", {"version": "v1", "tools": tools})
        self.project.write(f"{self.folder}/{self.module}.py", SEARCH)
        self.golden([query(number) for number in range(QUERIES)])
        self.settings(**settings)
        self.ranking({})
        return self

    def held_to(self, blessed: GoldenProject) -> GoldenProject:
        """This one, with the baseline of another."""
        shutil.copy(blessed.baseline, self.baseline)
        return self

    @classmethod
    def copied(cls, path: Path, to: Path) -> GoldenProject:
        """A copy of a project that was made before."""
        shutil.copytree(path, to, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".pytest_cache"))
        return cls(Project(to))

    def golden(self, queries: Sequence[Mapping[str, Any]], **fields: Any) -> None:
        """Write the golden set."""
        content = {"corpus_version": "v1", **fields, "queries": list(queries)}
        self.project.write_json(f"{self.folder}/golden_v1.json", content)

    def settings(self, **settings: Any) -> None:
        """Write ``mcpeval.yaml``; None leaves a setting out."""
        entry = {
            "files": "golden_v1.json",
            "corpus": "tools_v1.json",
            "baseline": "baseline_v1.json",
            "retriever": f"python:{self.module}:search",
            **settings,
        }
        kept = {name: value for name, value in entry.items() if value is not None}
        self.project.write_json(f"{self.folder}/mcpeval.yaml", {"retrieval": [kept]})

    def ranking(self, places: Mapping[int, int | Found | None]) -> None:
        """Decide at which rank queries find their tools (None: not at all); the others do at 1."""
        ranking: dict[str, Found] = {}
        for number in range(QUERIES):
            place = places.get(number, 1)
            ranking[f"goal {number}"] = (
                rank(number, place) if place is None or isinstance(place, int) else place
            )
        self.project.write(f"{self.folder}/ranking.txt", json.dumps(ranking))

    @property
    def baseline(self) -> Path:
        """The committed baseline."""
        return self.project.path / self.folder / "baseline_v1.json"

    def bless(self) -> None:
        """Write the baseline of the ranking as it is."""
        done = self.project.run("--mcpeval-bless", "-q")
        assert done.status == 0, done.out

    def run(self, *arguments: str, columns: int = 120) -> Run:
        """Run the golden set, and all others of the project."""
        return self.project.run("datasets", *arguments, columns=columns)
