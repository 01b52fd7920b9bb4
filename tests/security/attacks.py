"""A small project with a labelled corpus whose verdicts a test decides, in ``verdicts.txt``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import Project, Run

DETECT = """
import json
import os
import signal
from pathlib import Path

HERE = Path(__file__).parent
VERDICTS = json.loads((HERE / "verdicts.txt").read_text())


def detect(entry):
    with (HERE / "seen.txt").open("a") as seen:
        seen.write(json.dumps(entry) + "\\n")
    found = VERDICTS[entry["description"]]
    if isinstance(found, list):
        found = found.pop(0)
    if found == "raise":
        raise RuntimeError("the model is gone")
    if found == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return found


def detect_many(entries):
    return [detect(entry) for entry in entries]
"""

CORPUS = "datasets/attacks_v1.json"


def corpus_in(folder: str) -> str:
    """The corpus of a folder below ``datasets/``."""
    return f"datasets/{folder}/attacks_v1.json"


ATTACKS = ("tool_poisoning", "prompt_injection", "shadowing", "rug_pull")
MALICIOUS, BENIGN = 8, 12
Verdict = bool | str | dict[str, Any] | list[Any]


def malicious(number: int, **fields: Any) -> dict[str, Any]:
    """A malicious entry; the categories take turns."""
    return _entry(f"bad_{number}", f"Attack number {number}.", "malicious", ATTACKS[number % 4], fields)


def benign(number: int, **fields: Any) -> dict[str, Any]:
    """A benign entry; the first four are hard negatives, one for each attack category."""
    if number < 4:
        name = f"hn_{ATTACKS[number]}_{number}"
        return _entry(name, f"Harmless number {number}.", "benign", "hard_negative", fields)
    return _entry(f"ok_{number}", f"Harmless number {number}.", "benign", "benign", fields)


def _entry(
    name: str, description: str, label: str, category: str, fields: Mapping[str, Any]
) -> dict[str, Any]:
    """An entry of a corpus."""
    provenance = {"source": "self-authored", "license": "MIT"}
    row = {"id": name, "description": description, "label": label, "category": category}
    return {**row, "provenance": provenance, **fields}


def entries() -> list[dict[str, Any]]:
    """All entries of the corpus."""
    return [*map(malicious, range(MALICIOUS)), *map(benign, range(BENIGN))]


@dataclass(frozen=True)
class AttackProject:
    """A project with a corpus of `MALICIOUS` and `BENIGN` entries and a detector named ``mine``."""

    project: Project
    folder: str = "datasets"
    module: str = "detecting"
    """Where the detector is; modules of one run have names of their own."""

    @classmethod
    def at(cls, path: Path, **settings: Any) -> AttackProject:
        """A project whose detector is always right; ``settings`` stand in ``mcpeval.yaml``."""
        return cls(Project.at(path))._filled(settings)

    @classmethod
    def within(cls, project: Project, name: str, **settings: Any) -> AttackProject:
        """The same as one of several corpora of a project, in a folder below ``datasets/``."""
        return cls(project, f"datasets/{name}", f"detecting_{name}")._filled(settings)

    def _filled(self, settings: Mapping[str, Any]) -> AttackProject:
        self.project.write(f"{self.folder}/{self.module}.py", DETECT)
        self.corpus(entries())
        self.settings(**settings)
        self.verdicts({})
        return self

    def corpus(self, rows: Sequence[Mapping[str, Any]], **fields: Any) -> None:
        """Write the corpus."""
        content = {"version": "v1", **fields, "entries": list(rows)}
        self.project.write_json(f"{self.folder}/attacks_v1.json", content)

    def settings(self, **settings: Any) -> None:
        """Write ``mcpeval.yaml``."""
        entry = {"files": "attacks_v1.json", "detectors": {"mine": self.detector}, **settings}
        self.project.write_json(f"{self.folder}/mcpeval.yaml", {"security": [entry]})

    @property
    def detector(self) -> str:
        """The detector whose verdicts a test decides, as a setting."""
        return f"python:{self.module}:detect"

    def verdicts(self, others: Mapping[str, Verdict]) -> None:
        """Decide what the detector says of entries (by id); of all others it says what is right."""
        rows = json.loads((self.project.path / self.folder / "attacks_v1.json").read_text())["entries"]
        said = {
            row["description"]: others.get(row["id"], row["label"] == "malicious")
            for row in rows
            if "description" in row
        }
        self.project.write(f"{self.folder}/verdicts.txt", json.dumps(said))

    @property
    def baseline(self) -> Path:
        """The committed baseline, where there is one."""
        return self.project.path / self.folder / "baseline_v1.json"

    @property
    def seen(self) -> list[dict[str, Any]]:
        """What the detector was given, call by call."""
        text = (self.project.path / self.folder / "seen.txt").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def bless(self) -> None:
        """Write the baseline of the verdicts as they are."""
        done = self.project.run("--mcpeval-bless", "-q")
        assert done.status == 0, done.out

    def run(self, *arguments: str, columns: int = 120, CI: str = "") -> Run:  # noqa: N803
        """Run the corpus, and all others of the project."""
        return self.project.run("datasets", *arguments, columns=columns, CI=CI)


def metrics(run: Run, detector: str = "mine", corpus: str = CORPUS) -> dict[str, Any]:
    """The metrics of a detector, from ``report.json``."""
    found = run.report()["suites"][corpus]["metrics"]["per_detector"]
    return next(one for one in found if one["detector"] == detector)


def gates(run: Run, corpus: str = CORPUS) -> dict[str, dict[str, Any]]:
    """Gate name → gate, from ``report.json``."""
    return {gate["name"]: gate for gate in run.report()["gates"] if gate["suite"] == corpus}


def outcomes(run: Run, corpus: str = CORPUS) -> dict[str, str]:
    """Item id → outcome, from ``report.json``."""
    return {case["id"]: case["outcome"] for case in run.report()["suites"][corpus]["cases"]}
