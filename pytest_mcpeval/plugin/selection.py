"""``--mcpeval-project``, ``--mcpeval-tag`` and ``--mcpeval-difficulty``: which of the collected cases run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from pytest_mcpeval.config.settings import Settings
from pytest_mcpeval.loading.messages import shown, suggestion
from pytest_mcpeval.plugin.items import CaseItem
from pytest_mcpeval.python_tests.cases import is_python_case
from pytest_mcpeval.python_tests.markers import CASE_MARKER

OPTION_OF_TRAIT = {
    "project": "--mcpeval-project",
    "tags": "--mcpeval-tag",
    "difficulty": "--mcpeval-difficulty",
}


class Selector:
    """Deselects cases that were not asked for; tests that are no cases stay."""

    def __init__(self, settings: Settings, *, is_worker: bool) -> None:
        self._is_worker = is_worker
        named = {"project": settings.projects, "tags": settings.tags, "difficulty": settings.difficulties}
        self._wanted = {trait: names for trait, names in named.items() if names}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselect cases that have none of the wanted names; a batch keeps those of its cases that have one.

        Raises:
            pytest.UsageError: No case at all has one of the names.
        """
        if not self._wanted:
            return
        found = [(item, _traits_of(item)) for item in items]
        self._reject_unknown(session, [one for _, traits in found for one in traits or ()])
        dropped = [item for item, traits in found if traits and not any(map(self._is_wanted, traits))]
        for item in items:
            if isinstance(item, CaseItem):
                item.cases = tuple(case for case in item.cases if self._is_wanted(case.traits)) or item.cases
        if dropped:
            config.hook.pytest_deselected(items=dropped)
            gone = set(map(id, dropped))
            items[:] = [item for item in items if id(item) not in gone]

    def _is_wanted(self, traits: Mapping[str, Any]) -> bool:
        return all(names.intersection(_values(traits, trait)) for trait, names in self._wanted.items())

    def _reject_unknown(self, session: pytest.Session, cases: Iterable[Mapping[str, Any]]) -> None:
        if session.testsfailed:
            return  # A file that could not be collected may hold the name, and its error says more.
        listed = list(cases)
        for trait, names in self._wanted.items():
            known = sorted({name for traits in listed for name in _values(traits, trait)})
            for name in sorted(names.difference(known)):
                message = f"{OPTION_OF_TRAIT[trait]}: no case has {shown(name)}{suggestion(name, known)}"
                self._reject(session, f"{message} (known: {', '.join(known) or 'none'})")

    def _reject(self, session: pytest.Session, message: str) -> None:
        if not self._is_worker:
            raise pytest.UsageError(message)
        # What a worker raises here shows as an internal error; a report of collection reaches the controller.
        report = pytest.CollectReport("mcpeval", "failed", message, [])
        session.config.hook.pytest_collectreport(report=report)


def _traits_of(item: pytest.Item) -> list[Mapping[str, Any]] | None:
    """Return the traits of each case of an item; None for a test that is not a case."""
    if isinstance(item, CaseItem):
        return [case.traits for case in item.cases]
    if not is_python_case(item):
        return None
    markers = reversed(list(item.iter_markers(CASE_MARKER)))
    return [{name: value for marker in markers for name, value in marker.kwargs.items()}]


def _values(traits: Mapping[str, Any], trait: str) -> tuple[str, ...]:
    value = traits.get(trait) or ()
    return (value,) if isinstance(value, str) else tuple(value)
