"""Stateful suites: their cases run in the order of the file, all in one process."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.loading import DataFileError
from pytest_mcpeval.plugin.collection import DATA_SUFFIXES
from pytest_mcpeval.plugin.items import CaseItem
from pytest_mcpeval.plugin.runtime import Runtime
from pytest_mcpeval.servers.errors import ServerConfigError

if TYPE_CHECKING:
    from xdist.remote import Producer

UNITS_OF_A_WORKER = 16
"""Other tests are divided into this many parts per worker, so that all workers end at about the same time."""


class OrderOfStatefulSuites:
    """In the process that runs items: keeps the order of files, and refuses a case whose forerunners did not
    run here."""

    def __init__(self) -> None:
        self._items: dict[str, list[CaseItem]] = {}
        self._had_their_turn: dict[str, int] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, object, object]:
        """Whatever sorted the items, those of a stateful suite stand in the order of the file."""
        result = yield
        places: dict[str, list[int]] = {}
        for place, item in enumerate(items):
            if isinstance(item, CaseItem) and item.suite.stateful:
                places.setdefault(item.suite.key, []).append(place)
        for key, taken in places.items():
            found = [item for item in (items[place] for place in taken) if isinstance(item, CaseItem)]
            self._items[key] = sorted(found, key=lambda item: item.cases[0].keys)
            for place, item in zip(taken, self._items[key], strict=True):
                items[place] = item
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Note whose turn it is."""
        if isinstance(item, CaseItem) and item.suite.stateful:
            key = item.suite.key
            count = self._had_their_turn.setdefault(key, 0)
            if self._items[key][count : count + 1] == [item]:
                self._had_their_turn[key] = count + 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Refuse a case if the state it builds on is missing."""
        if not isinstance(item, CaseItem) or not item.suite.stateful:
            return
        listed, count = self._items[item.suite.key], self._had_their_turn[item.suite.key]
        if item not in listed[:count]:
            raise TargetError(
                f"{item.suite.key} is stateful, and its case {listed[count].name} did not run before this "
                "one in the same process: the state that this case builds on is missing (a worker died, "
                "or something "
                "other than pytest-mcpeval distributes the tests)",
                cause=f"{item.suite.key}: not run in order",
            )


class DistributionOfStatefulSuites:
    """In the controller of xdist workers: gives all cases of a stateful suite to one of them."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Producer) -> object | None:
        """The usual scheduler of a ``--dist``, unless a stateful suite is among what was collected.

        Of the others, ``each`` runs everything everywhere, and ``loadfile`` and ``loadscope`` split no file.
        """
        from xdist import scheduler

        usual = {
            "load": scheduler.LoadScheduling,
            "loadgroup": scheduler.LoadGroupScheduling,
            "worksteal": scheduler.WorkStealingScheduling,
        }.get(config.getvalue("dist"))
        return None if usual is None else _Scheduling(usual(config, log), _whole_suites(config, log), self)

    def stateful_files(self, collection: Sequence[str]) -> Collection[str]:
        """The files of stateful suites, as node ids name them."""
        found = set()
        for file in {node.partition("::")[0] for node in collection}:
            if Path(file).suffix.lower() in DATA_SUFFIXES:
                with suppress(DataFileError, ServerConfigError):
                    suite = self._runtime.suite(self._runtime.rootdir / file)
                    if suite is not None and suite.stateful:
                        found.add(file)
        return found


class _Scheduling:
    """One of two schedulers, chosen when the first worker reports what it collected."""

    def __init__(self, usual: Any, whole_suites: Any, distribution: DistributionOfStatefulSuites) -> None:
        self._chosen = usual
        self._whole_suites = whole_suites
        self._distribution: DistributionOfStatefulSuites | None = distribution

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chosen, name)

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        """Take what a worker collected."""
        if self._distribution is not None:
            files = self._distribution.stateful_files(collection)
            self._distribution = None
            if files:
                self._whole_suites.divide(collection, files)
                for known in self._chosen.nodes:
                    self._whole_suites.add_node(known)
                self._chosen = self._whole_suites
        self._chosen.add_node_collection(node, collection)


def _whole_suites(config: pytest.Config, log: Producer) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class WholeSuites(LoadScopeScheduling):  # type: ignore[misc]
        """Gives a stateful suite to one worker, and everything else in parts of about the same size."""

        units: dict[str, str]

        def divide(self, collection: Sequence[str], files: Collection[str]) -> None:
            free = [node for node in collection if node.partition("::")[0] not in files]
            size = max(1, len(free) // (self.numnodes * UNITS_OF_A_WORKER))
            self.units = {node: node.partition("::")[0] for node in collection}
            self.units |= {node: _group(node) or f"part {number // size}" for number, node in enumerate(free)}

        def _split_scope(self, nodeid: str) -> str:
            return self.units[nodeid]

        def remove_node(self, node: Any) -> str | None:
            """Take back the work of a worker that ended; the item it ended with is returned, and over."""
            workload = self.assigned_work.pop(node)
            left = [(unit, item) for unit in workload.values() for item, done in unit.items() if not done]
            if not left:
                return None
            unit, last = left[0]
            unit[last] = True
            self.workqueue.update({name: unit for name, unit in workload.items() if not all(unit.values())})
            for other in self.assigned_work:
                self._reschedule(other)
            return str(last)

    return WholeSuites(config, log)


def _group(nodeid: str) -> str | None:
    """What ``--dist loadgroup`` writes behind the node id of a test with the mark ``xdist_group``."""
    return nodeid.rpartition("@")[2] if nodeid.rfind("@") > nodeid.rfind("]") else None
