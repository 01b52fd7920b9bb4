"""``steps:``, carried out in order: calls with captures, pages and expectations."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_mcpeval.core.sample import Check, CheckStatus, to_json
from pytest_mcpeval.kinds.scenario.checks import allows_error
from pytest_mcpeval.kinds.scenario.placeholders import (
    capture,
    environment,
    filled,
    require_environment,
    with_values,
)
from pytest_mcpeval.kinds.scenario.run import evaluated
from pytest_mcpeval.kinds.session.execution.settings import PagesModel
from pytest_mcpeval.kinds.session.execution.spec import Step
from pytest_mcpeval.kinds.session.toolbox import CallRefused, Toolbox
from pytest_mcpeval.servers.errors import CallError
from pytest_mcpeval.servers.json_paths import json_answer, nodes
from pytest_mcpeval.servers.modules import ImportProblem, described, imported
from pytest_mcpeval.servers.response import Response
from pytest_mcpeval.targets.threads import DaemonThreads, Late

NO_ANSWER = "no answer to judge"


class _Stop(Exception):  # noqa: N818 (names what happens)
    """The following steps cannot be carried out."""


@dataclass
class _Script:
    toolbox: Toolbox
    values: dict[str, Any] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)

    def add(self, number: int, checks: Iterator[Check] | Sequence[Check]) -> None:
        self.checks.extend(replace(check, step=number) for check in checks)


def run_steps(steps: Sequence[Step], toolbox: Toolbox) -> list[Check]:
    """Carry out steps until one has no answer or the scenario is over; every expectation has its check.

    Raises:
        TargetError: An environment variable that a step names is not set.
    """
    script = _Script(toolbox)
    for step in steps:
        require_environment(step.texts, step.place, os.environ)
        script.values |= environment(step.texts, os.environ)[0]
    for number, step in enumerate(steps, 1):
        try:
            _run(number, step, script)
        except _Stop as stop:
            for later, following in enumerate(steps[number:], number + 1):
                script.add(later, _unreached(following, str(stop)))
            break
    return script.checks


def _unreached(step: Step, reason: str) -> Iterator[Check]:
    yield from _inconclusive(step, reason)
    if step.written.refused:
        yield Check({"type": "refused", "tool": step.tool}, "inconclusive", reason)


def _inconclusive(step: Step, reason: str) -> Iterator[Check]:
    for check in step.checks:
        yield Check(check.rule, "inconclusive", reason)


def _run(number: int, step: Step, script: _Script) -> None:
    arguments = dict(filled(step.written.arguments, script.values))
    try:
        if step.written.python is not None:
            _judge(number, step, _used(step.written.python, step, arguments, script), script)
        elif step.written.pages is not None:
            _walk(number, step, step.written.pages, arguments, script)
        else:
            _judge(number, step, _called(step, arguments, script), script)
    except CallRefused as refusal:
        _refused(number, step, refusal, script)
    except CallError as error:
        if error.is_incident:
            raise
        rule = {"type": "answered", "tool": step.tool}
        script.add(number, [Check(rule, "failed", error.message, {"reason": error.reason})])
        script.add(number, _inconclusive(step, NO_ANSWER))
        raise _Stop(f"not reached: step {number} got no answer") from None


def _called(step: Step, arguments: Mapping[str, Any], script: _Script) -> Response:
    """The answer to a call; a rejected call is an error to judge, where a check allows for one."""
    try:
        return script.toolbox.call_now(step.tool, arguments, timeout=step.written.timeout)
    except CallError as error:
        if not error.is_rejection or not allows_error(step.checks):
            raise
        return Response(error.message, is_error=True)


def _used(python: str, step: Step, arguments: Mapping[str, Any], script: _Script) -> Response:
    """What a Python function returned, as the answer of the tool it stands for."""

    def result() -> Any:
        return json.loads(to_json(imported(python, step.directory)(**arguments)))

    # On a thread that can be abandoned, since the time limit of the session is strict.
    threads = DaemonThreads("mcpeval-step")
    seconds = min(step.written.timeout, max(0.0, script.toolbox.seconds_left))
    justification = step.written.justification or ""
    with script.toolbox.recorded(step.tool, arguments, justification=justification) as use:
        try:
            use.result = threads.call(result, seconds)
        except Late:
            raise CallError("timeout", f"{python} did not return in time") from None
        except ImportProblem as error:
            raise CallError("unreachable", f"{python} cannot be imported: {error}") from error
        except Exception as error:
            raise CallError("protocol", f"{python} raised {described(error)}") from error
        finally:
            threads.close()
    text = use.result if isinstance(use.result, str) else to_json(use.result)
    return Response(text, structured=None if isinstance(use.result, str) else use.result)


def _judge(number: int, step: Step, response: Response, script: _Script, *, captures: bool = True) -> None:
    if step.written.refused:
        message = f"{step.tool} passed, but the guard must refuse it"
        script.add(number, [Check({"type": "refused", "tool": step.tool}, "failed", message)])
    missing: dict[str, LookupError] = {}
    for name, path in (step.written.capture if captures else {}).items():
        try:
            script.values[name] = capture(response, path)
        except LookupError as error:
            missing[name] = error
    if step.checks:
        checks = [with_values(check, script.values, step.registry) for check in step.checks]
        script.add(number, evaluated(checks, response))
    for name, reason in missing.items():
        message = f"cannot capture {name!r}: {reason}"
        script.add(number, [Check({"type": "capture", "name": name}, "failed", message)])
    if missing:
        names = " and ".join(repr(name) for name in missing)
        raise _Stop(f"not reached: step {number} could not capture {names}")


def _walk(number: int, step: Step, pages: PagesModel, arguments: dict[str, Any], script: _Script) -> None:
    """Page after page, to the end or the limit; the step's checks hold for every page."""
    if pages.items is not None:
        arguments[pages.argument] = pages.start
    count = 0
    while count < pages.at_most:
        response = _called(step, arguments, script)
        count += 1
        following = None if response.is_error else _following(pages, response, arguments)
        is_last = following is None or count == pages.at_most
        _judge(number, step, response, script, captures=is_last)
        if following is None:
            break
        arguments = {**arguments, pages.argument: following}
    rule = {"type": "pages", "at_least": pages.at_least}
    words = f"{count} {'page' if count == 1 else 'pages'}"
    status: CheckStatus = "passed" if count >= pages.at_least else "failed"
    message = f"{words}, expected at least {pages.at_least}"
    script.add(number, [Check(rule, status, message, {"pages": count})])


def _following(pages: PagesModel, response: Response, arguments: Mapping[str, Any]) -> Any:
    """What the argument for the page is on the next one; None after the last."""
    try:
        answer = json_answer(response)
    except ValueError:
        return None
    if pages.next is not None:
        found = nodes(pages.next, answer)
        cursor = found[0][1] if found else None
        return None if cursor in ("", arguments.get(pages.argument)) else cursor
    return arguments[pages.argument] + pages.step if nodes(pages.items or "$", answer) else None


def _refused(number: int, step: Step, refusal: CallRefused, script: _Script) -> None:
    expected = step.written.refused
    rule = {"type": "refused" if expected else "permitted", "tool": step.tool}
    script.add(number, [Check(rule, "passed" if expected else "failed", refusal.reason)])
    script.add(number, _inconclusive(step, NO_ANSWER))
    if refusal.ended is not None:
        raise _Stop(f"not reached: the scenario was over ({refusal.ended})")
    if step.written.capture:
        raise _Stop(f"not reached: step {number} was refused")
