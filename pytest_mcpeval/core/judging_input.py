"""The input of judging at the end of a session: suites with their samples, and the state of the session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_mcpeval.core.kind import Kind
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.sample_store import Selection
from pytest_mcpeval.core.suite import Suite


@dataclass(frozen=True)
class SuiteRun:
    """One suite of a session, ready to be judged: what was selected, and the samples that came back.

    ``suite`` is None for cases written in Python, and for a file that cannot be read again; ``problem`` says
    why it cannot.
    """

    selection: Selection
    samples: Sequence[Sample]
    kind: Kind[Any]
    suite: Suite[Any] | None = None
    problem: Exception | None = None


@dataclass(frozen=True)
class SessionState:
    """How the session went besides the samples.

    ``stopped``: a person or ``-x`` ended it early. ``failures``: failed reports so far. ``others``: node ids
    of failed tests that are no cases. ``crashed``: node ids during which a worker died. ``uncollected``:
    those of files that could not be collected. ``lost_worker``: a worker died and left cases undone.
    ``exit_status``: that of a failure for which no test is the reason, or 0.
    """

    stopped: bool = False
    failures: int = 0
    others: tuple[str, ...] = ()
    crashed: frozenset[str] = frozenset()
    uncollected: tuple[str, ...] = ()
    lost_worker: bool = False
    exit_status: int = 0

    @property
    def has_incidents(self) -> bool:
        """Whether an incident, not a verdict, made the run incomplete."""
        return bool(self.uncollected) or self.lost_worker or self.exit_status != 0
