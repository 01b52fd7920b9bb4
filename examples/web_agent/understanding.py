"""What is asked for: the part that a language model plays elsewhere, done by rules."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from examples.web_agent.directory import Directory

Task = Literal["manager", "reports", "person", "list", "count", "export", "talk"]
Agent = Literal["concierge", "org_chart", "directory"]

SPECIALISTS: dict[Task, Agent] = {
    "manager": "org_chart",
    "reports": "org_chart",
    "person": "directory",
    "list": "directory",
    "count": "directory",
}
"""Who is asked; the concierge itself does the rest."""

_MANAGER_OF = re.compile(r"\b(?:manager|boss) of (?P<rest>.+)", re.I)
_MANAGES = re.compile(r"\bwho (?:manages|leads) (?P<name>.+)", re.I)
_REPORTS = re.compile(r"\b(?:reports to|works for|reports of) (?P<name>.+)", re.I)
_DETAIL = re.compile(r"\b(?P<detail>e-?mail|phone|title|office|department)\b.*? of (?P<name>.+)", re.I)
_POSSESSIVE = re.compile(
    r"\b(?P<name>[\w-]+(?: [\w-]+)?)['’]s (?P<detail>e-?mail|phone|title|office)\b", re.I
)
_WHO_IS = re.compile(r"\bwho is (?P<name>.+)", re.I)
_ENDING = re.compile(r"[\s?!.,;:]+$")


@dataclass(frozen=True)
class Request:
    """What is asked for: of whom, which detail, how many levels up, or of which department and office."""

    task: Task
    name: str = ""
    detail: str = ""
    levels: int = 1
    department: str = ""
    office: str = ""

    @property
    def specialist(self) -> Agent:
        """Who knows."""
        return SPECIALISTS.get(self.task, "concierge")


def understood(question: str, directory: Directory) -> Request:
    """What a question asks for."""
    text = _ENDING.sub("", question.strip())
    if re.search(r"\b(?:export|download|dump)\b", text, re.I):
        return Request("export")
    return _of_people(text) or _of_groups(text, directory) or _of_someone(text) or Request("talk")


def _of_people(text: str) -> Request | None:
    if found := _MANAGER_OF.search(text):
        levels, rest = 1, found["rest"]
        while again := re.match(r"the (?:manager|boss) of (?P<rest>.+)", rest, re.I):
            levels, rest = levels + 1, again["rest"]
        return Request("manager", name=rest, levels=levels)
    if found := _MANAGES.search(text):
        return Request("manager", name=found["name"])
    if found := _REPORTS.search(text):
        return Request("reports", name=found["name"])
    if found := _DETAIL.search(text) or _POSSESSIVE.search(text):
        return Request("person", name=found["name"], detail=found["detail"].lower().replace("-", ""))
    return None


def _of_groups(text: str, directory: Directory) -> Request | None:
    department, office = _named(text, directory.departments), _named(text, directory.offices)
    counts = re.search(r"\bhow many\b", text, re.I) is not None
    if counts or department or office:
        return Request("count" if counts else "list", department=department, office=office)
    return None


def _of_someone(text: str) -> Request | None:
    found = _WHO_IS.search(text)
    return None if found is None else Request("person", name=found["name"], detail="title")


def _named(text: str, names: Iterable[str]) -> str:
    return next((name for name in names if re.search(rf"\b{re.escape(name)}\b", text, re.I)), "")
