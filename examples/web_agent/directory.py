"""The tools: questions to a directory of people. The same question always has the same answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PEOPLE = Path(__file__).with_name("people.json")


class ToolError(Exception):
    """A tool that cannot do what it was asked for; the text says why."""


@dataclass(frozen=True)
class Person:
    """Someone in the directory. ``manager`` is the id of another person."""

    id: str
    name: str
    title: str
    department: str
    office: str
    email: str
    phone: str
    manager: str | None


def load_people(path: Path = PEOPLE) -> tuple[Person, ...]:
    """The people of a file, by id."""
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return tuple(sorted((Person(**row) for row in rows), key=lambda person: person.id))


class Directory:
    """The people, and the tools over them. Tools answer with plain JSON data."""

    def __init__(self, people: tuple[Person, ...]) -> None:
        self.people = people
        self._by_id = {person.id: person for person in people}
        self.tools: Mapping[str, Callable[..., Any]] = {
            tool.__name__: tool
            for tool in (
                self.search_people,
                self.get_person,
                self.get_manager,
                self.list_reports,
                self.count_people,
                self.export_directory,
            )
        }

    @property
    def departments(self) -> list[str]:
        """Their names."""
        return sorted({person.department for person in self.people})

    @property
    def offices(self) -> list[str]:
        """Their names."""
        return sorted({person.office for person in self.people})

    def search_people(self, query: str = "", department: str = "", office: str = "") -> list[dict[str, str]]:
        """The people whose names hold all words of the query, of a department, in an office."""
        words = query.lower().split()
        return [
            {"id": person.id, "name": person.name}
            for person in self.people
            if all(word in person.name.lower() for word in words)
            and department in ("", person.department)
            and office in ("", person.office)
        ]

    def get_person(self, person_id: str) -> dict[str, Any]:
        """All that is known of a person."""
        return asdict(self._person(person_id))

    def get_manager(self, person_id: str) -> dict[str, Any] | None:
        """The manager of a person; None for the one at the top."""
        manager = self._person(person_id).manager
        return None if manager is None else asdict(self._person(manager))

    def list_reports(self, person_id: str) -> list[dict[str, str]]:
        """The people whose manager someone is."""
        self._person(person_id)
        return [
            {"id": person.id, "name": person.name} for person in self.people if person.manager == person_id
        ]

    def count_people(self, department: str = "", office: str = "") -> int:
        """How many people there are, of a department, in an office."""
        return len(self.search_people(department=department, office=office))

    def export_directory(self) -> list[dict[str, Any]]:
        """Everything. No assistant may call it."""
        return [asdict(person) for person in self.people]

    def _person(self, person_id: str) -> Person:
        if person_id not in self._by_id:
            raise ToolError(f"there is no person with the id {person_id!r}")
        return self._by_id[person_id]
