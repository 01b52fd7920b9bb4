"""Which cases may be prefetched: those that this process will certainly ask next, and as they are."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import dropwhile, islice
from typing import Any

import pytest

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.plugin.items import CaseItem

PRIVATE_OF_PYTEST = "_pytest"
CONFTEST = "conftest"


class PrefetchPolicy:
    """Follows the order of items, and for which of them the project itself prepares something.

    ``has_whole_files`` says that a file's items all run in this process (a serial run, or a distribution by
    file); otherwise only the very next item is known to run here.
    """

    def __init__(self, plugins: pytest.PytestPluginManager, *, has_whole_files: bool) -> None:
        self._plugins = plugins
        self._has_whole_files = has_whole_files
        self._cases: list[tuple[CaseItem, Case[Any]]] = []
        self._places: dict[tuple[str, str], int] = {}
        self._at_hand: tuple[pytest.Item | None, ...] = ()
        self._prepared: object = None
        self._installed: frozenset[str] | None = None

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the order of the selected cases."""
        items = (item for item in session.items if isinstance(item, CaseItem))
        self._cases = [(item, case) for item in items for case in item.cases]
        self._places = {(item.suite.key, case.id): index for index, (item, case) in enumerate(self._cases)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Note whose turn it is."""
        self._at_hand = (item, nextitem)

    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> None:
        """Note the item for which a fixture is set up that no other item shares."""
        if fixturedef.scope == "function" and not self._is_installed_fixture(str(request.fixturename)):
            self._prepared = request.node

    def upcoming(self, suite: Suite[Any], case: Case[Any], count: int) -> Iterable[Case[Any]]:
        """Up to ``count`` cases of a suite that will certainly be asked, in order, from the one in hand on.

        None where the project prepares something for the item in hand, and so for the others of its file.
        """
        if self._at_hand and self._at_hand[0] is not None and self._is_prepared(self._at_hand[0]):
            return ()
        if self._has_whole_files:
            start = self._places[suite.key, case.id]
            coming = self._cases[start : start + count]
        else:
            here = [item for item in self._at_hand if isinstance(item, CaseItem)]
            cases = [(item, other) for item in here for other in item.cases]
            coming = list(islice(dropwhile(lambda entry: entry[1] is not case, cases), count))
        return [
            other
            for item, other in coming
            if other is case or (item.suite is suite and not may_be_set_aside(item))
        ]

    def selected(self, suite: Suite[Any]) -> list[Case[Any]]:
        """All cases of a suite that will certainly be asked, in order."""
        return [case for item, case in self._cases if item.suite is suite and not may_be_set_aside(item)]

    def _is_prepared(self, item: pytest.Item) -> bool:
        """Whether a fixture or a hook of the project has a part in the set-up of an item.

        What pytest and installed plugins prepare is left out: with some of them, that is every test, and
        nothing could be prefetched anywhere.
        """
        return item is self._prepared or any(
            not self._is_installed(hook.plugin) for hook in item.ihook.pytest_runtest_setup.get_hookimpls()
        )

    def _is_installed_fixture(self, name: str) -> bool:
        """Only by its name: a fixture definition does not say who made it."""
        owners = [plugin for plugin in self._plugins.get_plugins() if hasattr(plugin, name)]
        return bool(owners) and all(map(self._is_installed, owners))

    def _is_installed(self, plugin: object) -> bool:
        if self._installed is None:
            found = (_module_of(plugin) for plugin, _ in self._plugins.list_plugin_distinfo())
            packages = (__package__, PRIVATE_OF_PYTEST, *found)
            self._installed = frozenset(name.partition(".")[0] for name in packages)
        module = _module_of(plugin)
        # A package with a plugin may have tests, and these a conftest.
        return module.rpartition(".")[2] != CONFTEST and module.partition(".")[0] in self._installed


def _module_of(plugin: object) -> str:
    """A plugin is a module or an object."""
    return str(getattr(plugin, "__name__", None) or type(plugin).__module__)


def may_be_set_aside(item: pytest.Item) -> bool:
    """Whether a mark may keep an item from running. Conditions in words are for pytest to judge."""
    for mark in item.iter_markers():
        if mark.name == "skip" or (mark.name == "xfail" and not mark.kwargs.get("run", True)):
            return True
        if mark.name == "skipif":
            conditions = (mark.kwargs["condition"],) if "condition" in mark.kwargs else mark.args
            if not conditions or any(condition is not False for condition in conditions):
                return True
    return False
