"""How it went with an agent: done, ended by a limit, or failed."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_mcpeval.core.sample import Check
from pytest_mcpeval.kinds.session.toolbox import Toolbox


@dataclass(frozen=True)
class Account:
    """What an agent said at the end, and what there is to judge about how it went."""

    answer: str = ""
    checks: tuple[Check, ...] = ()


def after_failure(toolbox: Toolbox, reason: str, message: str, *, late: bool, answer: str = "") -> Account:
    """The account of an agent that did not come to its end; one whom a limit stopped is not to blame."""
    if late and toolbox.abort_reason is None:
        toolbox.trip_wallclock()
        assert toolbox.abort_reason is not None, "whom the clock cut off is not done"
    if toolbox.abort_reason is not None:
        return Account(answer)
    check = Check({"type": "agent"}, "failed", toolbox.told(f"the agent {message}"), {"reason": reason})
    return Account(answer, (check,))
