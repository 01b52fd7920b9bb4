"""A turn: the question is understood, an agent chosen, tools called, an answer written."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import Span

from examples.web_agent import telemetry
from examples.web_agent.directory import Directory, ToolError
from examples.web_agent.telemetry import Recorder
from examples.web_agent.understanding import Agent, Request, understood

ASSISTANTS: tuple[Agent, ...] = ("concierge", "directory")
"""Whom one may talk to. The concierge routes to specialists; the directory answers by itself."""

HELP = (
    "I know the people of this company: ask me who someone's manager is, who reports to someone, how to "
    "reach someone, or who works in an office or a department."
)
NO_EXPORT = "I cannot export the directory: ask the administration for that."


@dataclass(frozen=True)
class Event:
    """What the page is told: ``agent`` and ``tool`` with details, ``answer`` with a bit of text, ``done``."""

    kind: str
    data: dict[str, Any]

    def line(self) -> str:
        """The event as a line of JSON."""
        return json.dumps({"kind": self.kind, **self.data}) + "\n"


Facts = Generator[Event, None, str]
"""Events on the way to a text."""


class Assistant:
    """Answers questions. ``pace`` is how many seconds it takes to write a word."""

    def __init__(self, directory: Directory, recorder: Recorder, pace: float = 0.0) -> None:
        self._directory = directory
        self._recorder = recorder
        self._pace = pace

    def answer(self, question: str, first: Agent) -> Iterator[Event]:
        """What happens on a question, step by step."""
        with self._recorder.request() as top:
            yield from self._enter(first, None, top, question, "chosen by the user")
            yield Event("done", {})

    def _enter(
        self, agent: Agent, sender: Agent | None, parent: Span, question: str, reason: str
    ) -> Iterator[Event]:
        with self._recorder.agent(agent, parent, reason) as span:
            yield Event("agent", {"id": _id(span), "name": agent, "from": sender, "reason": reason})
            request = self._understood(question, span)
            if agent == "concierge" and request.specialist != agent:
                why = f"the question is about: {request.task}"
                yield from self._enter(request.specialist, agent, span, question, why)
            else:
                yield from self._work(request, question, span)

    def _understood(self, question: str, parent: Span) -> Request:
        with self._recorder.generation(question, parent) as span:
            request = understood(question, self._directory)
            telemetry.written(span, question, request.task)
        return request

    def _work(self, request: Request, question: str, parent: Span) -> Iterator[Event]:
        facts = yield from self._facts(request, parent)
        prompt = f"{question} {facts}"
        with self._recorder.generation(prompt, parent) as span:
            for word in facts.split(" "):
                time.sleep(self._pace)
                yield Event("answer", {"text": f"{word} "})
            telemetry.written(span, prompt, facts)

    def _facts(self, request: Request, parent: Span) -> Facts:
        match request.task:
            case "talk":
                return HELP
            case "export":
                return NO_EXPORT
            case "count" | "list":
                return (yield from self._of_group(request, parent))
            case _:
                return (yield from self._of_someone(request, parent))

    def _of_group(self, request: Request, parent: Span) -> Facts:
        where = {"department": request.department, "office": request.office}
        arguments = {name: value for name, value in where.items() if value}
        place = " in ".join(arguments.values()) or "the company"
        if request.task == "count":
            count = yield from self._call("count_people", arguments, parent)
            return f"{count} people work in {place}."
        found = yield from self._call("search_people", arguments, parent)
        return f"In {place}: {_names(found)}."

    def _of_someone(self, request: Request, parent: Span) -> Facts:
        found = yield from self._call("search_people", {"query": request.name}, parent)
        if len(found) != 1:
            return (
                f"Which one do you mean: {_names(found)}?"
                if found
                else f"I know nobody called {request.name}."
            )
        known = found[0]
        if request.task == "reports":
            reports = yield from self._call("list_reports", {"person_id": known["id"]}, parent)
            return f"{known['name']} has {len(reports)} direct reports: {_names(reports)}."
        if request.task == "person":
            person = yield from self._call("get_person", {"person_id": known["id"]}, parent)
            return f"{person['name']}, {request.detail}: {person[request.detail]}."
        return (yield from self._manager(known, request.levels, parent))

    def _manager(self, known: dict[str, Any], levels: int, parent: Span) -> Facts:
        above = known
        for _ in range(levels):
            found = yield from self._call("get_manager", {"person_id": above["id"]}, parent)
            if found is None:
                return f"{above['name']} has no manager."
            above = found
        role = "the manager of " * levels
        return f"{above['name']} ({above['title']}) is {role}{known['name']}."

    def _call(self, name: str, arguments: dict[str, Any], parent: Span) -> Generator[Event, None, Any]:
        with self._recorder.tool(name, arguments, parent) as span:
            try:
                found = self._directory.tools[name](**arguments)
            except ToolError as error:
                telemetry.result(span, str(error), failed=True)
                raise
            text = json.dumps(found, ensure_ascii=False)
            telemetry.result(span, text)
        yield Event("tool", {"id": _id(span), "name": name, "arguments": arguments, "result": text})
        return found


def _names(people: list[dict[str, str]]) -> str:
    return ", ".join(person["name"] for person in people) or "nobody"


def _id(span: Span) -> str:
    return f"{span.get_span_context().span_id:016x}"
