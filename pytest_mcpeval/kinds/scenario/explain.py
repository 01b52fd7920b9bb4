"""The report text about a case that did not pass."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.sample import MARKS, Check, Sample
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.kinds.scenario.spec import ScenarioSpec
from pytest_mcpeval.text.visible import clipped, indented, visible

SHOWN_RESPONSE = 1_200
SHOWN_ARGUMENTS = 1_200


def explain(suite: Suite[ScenarioSpec], case: Case[ScenarioSpec], sample: Sample) -> str:
    """Return checks, arguments, answer, stderr and the place in the file, safe for a terminal."""
    parts = [*explain_sample(sample), *suite.place_of(case)]
    return visible("\n".join(parts))


def explain_sample(sample: Sample) -> Iterator[str]:
    """Yield the lines about a sample, without its place in a file."""
    yield sample.message
    name = sample.traits.get("name", sample.id)
    if name != sample.id:
        yield f"case: {name}"
    yield from evidence(sample)


def evidence(sample: Sample) -> Iterator[str]:
    """Yield the lines about the checks and calls of a sample."""
    for check in sample.checks:
        yield f"  {check_line(check)}"
        yield from (f"    {step}" for step in (check.details or {}).get("recovery", ()))
    answers = sample.run.get("answers", [])
    for number, call in enumerate(sample.measured.get("calls", [])):
        yield from _call_lines(sample, number, call, answers[number] if number < len(answers) else {})


def check_line(check: Check) -> str:
    """One check as ``✗ type: message``."""
    step = f"step {check.step}, " if check.step else ""
    return f"{MARKS[check.status]} {step}{check.name}: {check.message}"


def _call_lines(
    sample: Sample, number: int, call: Mapping[str, Any], answer: Mapping[str, Any]
) -> Iterator[str]:
    latency = f" ({answer['latencyMs']:.0f} ms)" if "latencyMs" in answer else ""
    unasked = any(check.name == "askable" and (check.step or 1) == number + 1 for check in sample.checks)
    verb = "did not call" if unasked else "called"
    yield f"{verb} {call['target']} {call['name']} on server {sample.measured['server']}{latency}"
    if call["arguments"]:
        text = json.dumps(call["arguments"], ensure_ascii=False, indent=2)
        yield indented(f"arguments: {_cut(text, SHOWN_ARGUMENTS)}", "  ")
    if "text" in answer:
        yield from _response_lines(answer)
    if answer.get("stderr"):
        yield "  the server's stderr ends with:"
        yield indented(answer["stderr"])


def _response_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    text = answer["text"]
    error = "error, " if answer.get("isError") else ""
    yield f"  response ({error}{len(text):,} characters):"
    yield indented(_cut(text, SHOWN_RESPONSE))
    others = [block for block in answer.get("blocks", []) if block["type"] != "text"]
    if others:
        listed = ", ".join(f"{b['type']} {b['mime_type'] or ''} ({b['size']:,} bytes)" for b in others)
        yield f"  other content: {listed}"
    if answer.get("structured") is not None:
        data = json.dumps(answer["structured"], ensure_ascii=False)
        yield f"  structured content: {_cut(data, SHOWN_RESPONSE)}"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{clipped(text, limit)}\n(the full text is in the report: --mcpeval-report=DIR)"
