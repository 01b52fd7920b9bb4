"""One case → its sample: make the calls of all steps, then evaluate every check on the answers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.sample import Check, Outcome, Sample, json_safe
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.kinds.scenario.askable import Unaskable, unlisted_resource, why_unaskable
from pytest_mcpeval.kinds.scenario.checks import (
    CheckRegistry,
    ParsedCheck,
    allows_error,
    implied,
    response_metadata,
)
from pytest_mcpeval.kinds.scenario.placeholders import capture, environment, filled, with_values
from pytest_mcpeval.kinds.scenario.spec import ScenarioSpec, Step
from pytest_mcpeval.servers.errors import CallError
from pytest_mcpeval.servers.response import Response
from pytest_mcpeval.text.placeholders import text_of
from pytest_mcpeval.text.visible import clipped

if TYPE_CHECKING:
    from pytest_mcpeval.servers.connection import Connection
    from pytest_mcpeval.servers.session import Moment

KEPT_CHARACTERS = 1_000_000
"""Maximum characters of an answer's text, and of its structured content as JSON, that a sample keeps."""


@dataclass(frozen=True)
class Answer:
    """The result of one step: a response or the reason why there is none, and the captured values.
    ``arguments`` are those sent, with values filled in; ``values`` are all values known after this
    step (captured ones and environment variables); ``capture_problems`` maps names that could not be
    captured to the reason. ``stderr_tail`` returns what the server wrote from the beginning of the
    case to this answer; it is called only if something is wrong. ``connection`` is that of a call
    without an answer. ``unaskable`` says why a call was not made, or does not count.
    """

    arguments: Mapping[str, Any]
    response: Response | None = None
    error: CallError | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    capture_problems: Mapping[str, str] = field(default_factory=dict)
    stderr_tail: Callable[[], str] = str
    connection: Connection | None = None
    unaskable: Unaskable | None = None

    @property
    def may_be_harmed(self) -> bool:
        """Whether the missing answer ended the connection, so that another case's call may be the cause."""
        if self.error is None or self.error.reason not in ("crashed", "connection", "timeout"):
            return False
        return self.error.reason != "timeout" or (
            self.connection is not None and not self.connection.responsive()
        )


def ask(spec: ScenarioSpec, connection: Connection) -> list[Answer]:
    """Make the calls of a case in order; the first call without an answer ends it."""
    answers: list[Answer] = []
    values: dict[str, Any] = {}
    began = connection.moment()
    for step in spec.steps:
        values |= environment(step.texts, os.environ)[0]
        answer = _call(step, values, connection, began)
        answers.append(answer)
        if answer.response is None or answer.capture_problems:
            break
    return answers


def _call(step: Step, values: dict[str, Any], connection: Connection, began: Moment) -> Answer:
    """Return the answer of one step; a rejected call is judged as an error if the step allows one."""
    arguments = _arguments(step, values)
    name = text_of(filled(step.name, values)) if step.target == "resource" else step.name
    started = perf_counter()
    try:
        if (problem := why_unaskable(step, name, arguments, connection)) is not None:
            return Answer(arguments, unaskable=problem)
        started = perf_counter()
        response = _response(step, name, arguments, connection)
    except CallError as error:
        if error.is_rejection and step.target == "resource" and not step.expects_rejection:
            problem = unlisted_resource(name, connection, step.timeout)
            if problem is not None:
                return Answer(arguments, unaskable=problem)
        if not error.is_rejection or not (step.expects_rejection or allows_error(step.checks)):
            tail = partial(connection.stderr_tail, since=began, until=connection.moment())
            return Answer(arguments, error=error, stderr_tail=tail, connection=connection)
        latency = (perf_counter() - started) * 1000
        limit = 1000 * step.timeout
        response = Response(error.message, is_error=True, latency_ms=latency, time_limit_ms=limit)
    problems: dict[str, str] = {}
    for name, path in step.capture.items():
        try:
            values[name] = capture(response, path)
        except LookupError as error:
            problems[name] = str(error)
    tail = partial(connection.stderr_tail, since=began, until=connection.moment())
    return Answer(arguments, response, None, dict(values), problems, tail)


def _arguments(step: Step, values: Mapping[str, Any]) -> Mapping[str, Any]:
    arguments: Mapping[str, Any] = filled(step.arguments, values)
    # In the protocol, arguments of prompts are texts.
    return {k: text_of(v) for k, v in arguments.items()} if step.target == "prompt" else arguments


def _response(step: Step, name: str, arguments: Mapping[str, Any], connection: Connection) -> Response:
    if step.target == "resource":
        return connection.read_resource(name, timeout=step.timeout)
    if step.target == "prompt":
        return connection.get_prompt(name, dict(arguments), timeout=step.timeout)
    any_name = step.expects_rejection
    return connection.call_tool(name, dict(arguments), timeout=step.timeout, any_name=any_name)


def judge(
    suite: Suite[ScenarioSpec], case: Case[ScenarioSpec], answers: list[Answer], registry: CheckRegistry
) -> Sample:
    """Evaluate every check of every step; steps that were not reached leave theirs inconclusive."""
    spec = case.spec
    checks: list[Check] = []
    for number, step in enumerate(spec.steps):
        answer = answers[number] if number < len(answers) else None
        if answer is not None and answer.unaskable is not None:
            found = _not_asked(suite, case, number, answer.unaskable)
        else:
            found = _checks_of(step, answer, registry)
        checks += found if len(spec.steps) == 1 else (replace(one, step=number + 1) for one in found)
    incident = next((one.error for one in answers if one.error is not None and one.error.is_incident), None)
    return Sample(
        suite=suite.key,
        kind=suite.kind,
        id=case.id,
        outcome=_outcome(spec, checks, answers),
        checks=tuple(checks),
        message=headline(checks),
        traits={**case.traits, "name": spec.name, "description": spec.description},
        measured=measured(spec.server.name, [(step.target, step.name) for step in spec.steps], answers),
        run=measured_run(answers, {(check.step or 1) - 1 for check in checks if not check.passed}),
        cause=f"server {spec.server.name} {spec.server.origin}: {incident.reason}" if incident else "",
    )


def _not_asked(
    suite: Suite[ScenarioSpec], case: Case[ScenarioSpec], number: int, problem: Unaskable
) -> Iterator[Check]:
    step = ("steps", number) if "steps" in suite.row_of(case) else ()
    line = suite.document.line(*case.keys, *step, *problem.keys)
    yield Check({"type": "askable"}, "failed", f"{suite.key}:{line}: {problem.message}")
    yield from _unanswered(case.spec.steps[number].checks, "not asked")


def _checks_of(step: Step, answer: Answer | None, registry: CheckRegistry) -> Iterator[Check]:
    if answer is None:
        yield from _unanswered(step.checks, "not called, because an earlier step got no answer")
    elif answer.response is None:
        assert answer.error is not None
        details = {"reason": answer.error.reason, "http_status": answer.error.http_status}
        yield Check({"type": "answered"}, "failed", answer.error.message, details)
        yield from _unanswered(step.checks, "no answer to judge")
    else:
        checks = [with_values(check, answer.values, registry) for check in step.checks]
        yield from evaluated(
            checks,
            answer.response,
            expects_rejection=step.expects_rejection,
            expects_empty=step.expects_empty,
        )
        for name, problem in answer.capture_problems.items():
            yield Check({"type": "capture", "name": name}, "failed", f"cannot capture {name!r}: {problem}")


def _unanswered(checks: Iterable[ParsedCheck], reason: str) -> Iterator[Check]:
    for check in checks:
        yield Check(check.rule, "inconclusive", reason)


def evaluated(
    checks: Iterable[ParsedCheck],
    response: Response,
    *,
    expects_rejection: bool = False,
    expects_empty: bool = False,
) -> Iterator[Check]:
    """Yield the result of every check on one response, after the implied ones: see `implied`."""
    found = [(check, check.evaluate(response)) for check in checks]
    yield from implied(found, response, expects_rejection=expects_rejection, expects_empty=expects_empty)
    yield from (judged for _, judged in found)


def _outcome(spec: ScenarioSpec, checks: list[Check], answers: list[Answer]) -> Outcome:
    incidents = (answer.error is not None and answer.error.is_incident for answer in answers)
    unasked = any(incidents) or any(answer.unaskable is not None for answer in answers)
    if unasked or any(check.broke for check in checks):
        return "error"
    if all(check.passed for check in checks):
        return "passed"
    return "wrong" if spec.tolerated else "failed"


def headline(checks: Iterable[Check]) -> str:
    """Return one line on what is wrong; empty if nothing is."""
    listed = list(checks)
    failed = sorted((c for c in listed if c.status == "failed"), key=lambda check: not check.broke)
    wrong = failed or [check for check in listed if not check.passed]
    if not wrong:
        return ""
    status = "failed" if wrong[0].status == "failed" else "inconclusive"
    count = f"{len(wrong)} of {len(listed)} checks {status}: " if len(listed) > 1 else ""
    return f"{count}{wrong[0].name}: {wrong[0].message}"


def measured(server: str, calls: Sequence[tuple[str, str]], answers: Sequence[Answer]) -> dict[str, Any]:
    """Return what was sent, ``(target, name)`` and arguments, and what the answers report."""
    text = "\n".join(answer.response.text for answer in answers if answer.response is not None)
    metadata = response_metadata(text)
    return {
        "server": server,
        "confidence": metadata.confidence if metadata.reports_confidence else None,
        "sourcesUsed": metadata.sources_used,
        "calls": [
            {"target": target, "name": name, "arguments": dict(answer.arguments)}
            for (target, name), answer in zip(calls, answers, strict=False)
        ],
    }


def measured_run(answers: Sequence[Answer], wrong: Container[int]) -> dict[str, Any]:
    """Return the milliseconds of the calls, and the verbatim answers.

    Answers whose number is in ``wrong`` also have what the server wrote to standard error.
    """
    return {
        "processingTimeMs": sum(answer.response.latency_ms for answer in answers if answer.response),
        "answers": [_kept(answer, index in wrong) for index, answer in enumerate(answers)],
    }


def _kept(answer: Answer, is_wrong: bool) -> dict[str, Any]:
    tail = answer.stderr_tail() if is_wrong else ""
    kept: dict[str, Any] = {"stderr": tail} if tail else {}
    if answer.response is None:
        return kept
    response = answer.response
    return {
        **kept,
        "text": clipped(response.text, KEPT_CHARACTERS),
        "structured": _kept_data(response.structured),
        "isError": response.is_error,
        "blocks": [dict(vars(block)) for block in response.blocks],
        "latencyMs": response.latency_ms,
    }


def _kept_data(data: Any) -> Any:
    data = json_safe(data)
    if isinstance(data, (dict, list)):
        text = json.dumps(data, ensure_ascii=False)
        return data if len(text) <= KEPT_CHARACTERS else clipped(text, KEPT_CHARACTERS)
    return clipped(data, KEPT_CHARACTERS) if isinstance(data, str) else data
