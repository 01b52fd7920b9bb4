"""Whether an evaluation begins, goes on, or is left alone: what is on disk, what the command line says."""

from __future__ import annotations

from typing import Literal

from pytest_mcpeval.core.kind import TargetError
from pytest_mcpeval.kinds.session.options import SessionOptions
from pytest_mcpeval.kinds.session.state import BEFORE_EXECUTION, State

Opening = Literal["begin", "begin_anew", "go_on", "resume", "read"]
"""``go_on``: this run has begun it. ``resume``: an earlier run has. ``read``: it is complete and stays so."""


def opening(state: State | None, options: SessionOptions, scenarios_file: str) -> Opening:
    """What to do with the state on disk, None when there is none.

    Raises:
        TargetError: It is not this run's, and the command line does not say what shall become of it.
    """
    if state is None:
        return "begin"
    if state.config.scenarios_file not in (None, scenarios_file):
        raise TargetError(
            f"the evaluation {state.eval_name!r} belongs to {state.config.scenarios_file}: "
            "give this one another name with --mcpeval-name"
        )
    if state.run_id == options.run_id:
        return "go_on"
    if options.restart:
        return "begin_anew"
    if state.status == "complete":
        if options.resume:
            return "read"
        raise TargetError(
            f"the evaluation {state.eval_name!r} is complete, and is not overwritten: give this one another "
            "name with --mcpeval-name, show its results again with --mcpeval-resume, or begin anew with "
            "--mcpeval-restart, which keeps its files"
        )
    if options.resume:
        return "begin" if state.status in BEFORE_EXECUTION else "resume"
    if state.status == "scoped":
        return "begin"
    raise TargetError(
        f"the evaluation {state.eval_name!r} is unfinished, its status is {state.status!r}: go on with "
        f"--mcpeval-resume --mcpeval-name {state.eval_name}, or begin anew with --mcpeval-restart instead"
    )
