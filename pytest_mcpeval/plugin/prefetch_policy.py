"""What can be known of an item before its turn: whether its case will certainly be asked, and as it is."""

from __future__ import annotations

import pytest

PRIVATE_OF_PYTEST = "_pytest"
CONFTEST = "conftest"


def may_be_set_aside(item: pytest.Item) -> bool:
    """Whether a mark may keep an item from running. Conditions in words are for pytest to judge."""
    return any(map(_sets_aside, item.iter_markers()))


def _sets_aside(mark: pytest.Mark) -> bool:
    if mark.name == "skipif":
        conditions = (mark.kwargs["condition"],) if "condition" in mark.kwargs else mark.args
        return not conditions or any(condition is not False for condition in conditions)
    return mark.name == "skip" or (mark.name == "xfail" and not mark.kwargs.get("run", True))


class SetUpsOfTheProject:
    """Notes for which items the project itself prepares something, by a fixture or a hook of their set-up.

    What pytest and installed plugins prepare is left out: with some of them, that is every test, and nothing
    could be asked ahead anywhere.
    """

    def __init__(self, plugins: pytest.PytestPluginManager) -> None:
        self._plugins = plugins
        self._prepared: object = None
        self._installed: frozenset[str] | None = None

    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> None:
        """Note the item for which a fixture is set up that no other item shares."""
        if fixturedef.scope == "function" and not self._is_installed_fixture(str(request.fixturename)):
            self._prepared = request.node

    def affect(self, item: pytest.Item) -> bool:
        """Whether they have a part in an item that is set up, and so in the others of its file."""
        return item is self._prepared or any(
            not self._is_installed(hook.plugin) for hook in item.ihook.pytest_runtest_setup.get_hookimpls()
        )

    def _is_installed_fixture(self, name: str) -> bool:
        """By its name, as the definition does not tell; a name of the project's own is its own."""
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
