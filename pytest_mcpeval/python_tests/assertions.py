"""The marker ``mcpeval_assert``: what must hold of the agent that a test written in Python has visited."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_mcpeval.core.errors import InvalidTest
from pytest_mcpeval.kinds.scenario.run import headline
from pytest_mcpeval.python_tests.cases import EvidenceMissing, recorder_of
from pytest_mcpeval.python_tests.markers import ASSERT_MARKER, marked_assertions

if TYPE_CHECKING:
    from pytest_mcpeval.core.sample import Check
    from pytest_mcpeval.kinds.agent.outcomes import AssertionOutcome


class MarkedAssertionsFailed(AssertionError):  # noqa: N818 - reads as what happened
    """Assertions of the markers did not hold; the sample of the test says which."""


def judge_marked_assertions(item: pytest.Item) -> None:
    """Evaluate the assertions of a test's markers on its last visit, and record them as checks.

    Raises:
        MarkedAssertionsFailed: One does not hold.
        EvidenceMissing: None failed, and one could not be decided.
        TargetError: The last visit did not come to its end, or its trace backend could not be asked.
        InvalidTest: The test visited no agent, or its markers contradict each other.
    """
    __tracebackhide__ = True
    from pytest_mcpeval.kinds.agent.captures import read_capture
    from pytest_mcpeval.kinds.agent.schema import AgentCase, Observability
    from pytest_mcpeval.kinds.agent.scoring import score_case

    try:
        marked = marked_assertions(item)
    except ValueError as error:
        raise InvalidTest(f"{ASSERT_MARKER}: the markers of the test together: {error}") from None
    recorder = recorder_of(item)
    if not marked:
        return
    if not recorder.visits:
        message = "has nothing to judge: the test visited no agent; use the fixture mcpeval_capture"
        raise InvalidTest(f"{ASSERT_MARKER} {message}")
    captured = recorder.visits[-1].captured()
    capture = read_capture(captured.folder)
    typed = "" if capture is None else capture.input
    # A test's name and what it typed need not be what a manifest allows.
    cases = [AgentCase.model_construct(id=item.name, input=typed, assertions=one) for one in marked]
    scores = [score_case(item.name, case, captured, Observability()) for case in cases]
    # Two markers may assert the same.
    outcomes = [outcome for score in scores for outcome in score.outcomes]
    recorder.checks.extend(_check(one) for n, one in enumerate(outcomes) if one not in outcomes[:n])
    found = {score.outcome for score in scores}
    if "failed" in found:
        raise MarkedAssertionsFailed(headline(recorder.checks))
    if "inconclusive" in found:
        raise EvidenceMissing(headline(recorder.checks))


def _check(outcome: AssertionOutcome) -> Check:
    """An outcome as a check that says what to do about missing evidence."""
    from pytest_mcpeval.kinds.agent.recovery import recovery_of_test

    check = outcome.as_check()
    if outcome.reason is None:
        return check
    return replace(check, details={**(check.details or {}), "recovery": recovery_of_test(outcome.reason)})
