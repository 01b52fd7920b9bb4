"""Command line options of agents."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pytest_mcpeval.browser.artifacts import new_run_id
from pytest_mcpeval.browser.directive import DriverOptions

Mode = Literal["drive_and_score", "capture_only", "score_only"]


@dataclass(frozen=True)
class RunOptions:
    """One session: the same for all its processes.

    ``run_id`` names the folder of every agent's run. ``score_only`` are folders of captured runs that are
    scored instead of driving; ``baseline_runs`` those with which assertions are compared. Each belongs to
    the agent that its files name. ``runs`` is how often cases are to be asked, which no agent is. ``plan`` is
    the file that is to hold what would be driven.
    """

    run_id: str = field(default_factory=new_run_id)
    runs_root: Path = Path("runs")
    runs: int | None = None
    capture_only: bool = False
    score_only: tuple[Path, ...] = ()
    baseline_runs: tuple[Path, ...] = ()
    driver: DriverOptions = field(default_factory=DriverOptions)
    plan: Path | None = None

    @property
    def mode(self) -> Mode:
        """What is done with a case."""
        if self.score_only:
            return "score_only"
        return "capture_only" if self.capture_only else "drive_and_score"
