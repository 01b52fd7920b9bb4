"""Data files become pytest items: one collector for each file."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

from pytest_mcpeval.config.project_file import MISTAKEN_NAMES, PROJECT_FILE_NAME
from pytest_mcpeval.loading import DataFileError, garbage_collection_paused
from pytest_mcpeval.plugin.items import CaseItem
from pytest_mcpeval.plugin.left_out import Collected, is_hidden_by_name
from pytest_mcpeval.plugin.runtime import Runtime
from pytest_mcpeval.reports.failure import FailureText
from pytest_mcpeval.servers.errors import ServerConfigError
from pytest_mcpeval.text.redact import redactor
from pytest_mcpeval.text.visible import visible

DATA_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".jsonl"})

MANY_ITEMS = 1_000
"""From this many cases on, the items of a file are excluded from garbage collection."""


class DataFileWarning(pytest.PytestWarning):
    """A data file can be run, but lacks something that makes its results meaningful."""


class DataFileCollectors:
    """Decides which files are data files, collects them, and runs their cases."""

    def __init__(self, runtime: Runtime, config: pytest.Config) -> None:
        self.runtime = runtime
        self._collected = Collected(runtime, config)
        datasets = [directory for directory in runtime.settings.datasets if directory.is_dir()]
        self._ways_to_datasets = {way for directory in datasets for way in (directory, *directory.parents)}
        # Hidden directories that are entered for the sake of a dataset directory below them.
        self._opened: set[Path] = set()

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect data files and project files; leave everything else to others."""
        if file_path.suffix.lower() not in DATA_SUFFIXES:
            return self._misnamed(file_path, parent)
        if self.runtime.is_ignored(file_path):
            return None
        is_ours = file_path.name in (PROJECT_FILE_NAME, *MISTAKEN_NAMES) or parent.session.isinitpath(
            file_path
        )
        if not (is_ours or self.runtime.is_data_file(file_path)):
            return None
        key = self.runtime.key(file_path)
        printable = visible(key).replace("\n", "\\n").replace("\t", "\\t")
        if key != printable:
            problem = (
                f"{printable}: the path of this file holds control characters or line breaks, which are "
                "spelled out here: rename the file, or its directory"
            )
            return RefusedFile.of(parent, file_path, problem, nodeid=printable)
        return SuiteFile.of(parent, file_path, self.runtime)

    @pytest.hookimpl(wrapper=True)
    def pytest_ignore_collect(
        self, collection_path: Path, config: pytest.Config
    ) -> Generator[None, bool | None, bool | None]:
        """Let pytest into dataset directories that only ``norecursedirs`` hides, and nowhere else."""
        ignored = yield
        if ignored:
            self._collected.ignored.add(collection_path)
        beside = collection_path.parent in self._opened
        if collection_path not in self._ways_to_datasets:
            return True if beside else ignored
        if ignored and not is_hidden_by_name(collection_path, config):
            return ignored
        if (ignored or beside) and collection_path not in self.runtime.settings.datasets:
            self._opened.add(collection_path)
        return False if ignored else ignored

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> None:
        """Note which files pytest visited: it does not ask every collector for items."""
        if isinstance(collector, (SuiteFile, RefusedFile)):
            self._collected.files.add(collector.path)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session) -> None:
        """Report files that were meant to be run and that pytest never collected, an error for each."""
        self._collected.load_deselected()
        for key, message in self._collected.missing():
            text = FailureText(visible(message))
            report = pytest.CollectReport(visible(key), "failed", text, [])  # type: ignore[arg-type]
            session.config.hook.pytest_collectreport(report=report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> object | None:
        """Run a case; leave every other test to others."""
        if not isinstance(pyfuncitem, CaseItem):
            return None
        pyfuncitem.run_case()
        return True

    def _misnamed(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """A file given on the command line that has the name of a data file, but not the suffix of one."""
        named = any(fnmatch(path.name, pattern) for pattern in self.runtime.settings.data_files)
        if not named or path.suffix == ".py" or not parent.session.isinitpath(path):
            return None
        problem = (
            f"{self.runtime.key(path)}: the suffix {path.suffix} is not one of a data file: expected one of "
            f"{', '.join(sorted(DATA_SUFFIXES))}"
        )
        return RefusedFile.of(parent, path, visible(problem))


class RefusedFile(pytest.File):
    """A file that is collected only to report a problem of its path or name."""

    problem: str

    @classmethod
    def of(
        cls, parent: pytest.Collector, path: Path, problem: str, *, nodeid: str | None = None
    ) -> RefusedFile:
        """The collector of one file; ``nodeid`` is the path as pytest has it, unless another one is given."""
        collector: RefusedFile = cls.from_parent(parent, path=path, nodeid=nodeid)
        collector.problem = problem
        return collector

    def collect(self) -> Iterator[pytest.Item]:
        """Say what is wrong."""
        raise self.CollectError(self.problem)


class SuiteFile(pytest.Module):
    """One data file, or a ``mcpeval.yaml``, whose errors are collection errors even where no suite uses it.

    A `pytest.Module` with an empty Python module, so that fixtures of every scope work.
    """

    runtime: Runtime

    @classmethod
    def of(cls, parent: pytest.Collector, path: Path, runtime: Runtime) -> SuiteFile:
        """The collector of one data file."""
        collector: SuiteFile = cls.from_parent(parent, path=path)
        collector.obj = ModuleType(path.stem)  # for fixtures that ask for `request.module`
        collector.obj.__file__ = str(path)
        collector.runtime = runtime
        return collector

    def collect(self) -> list[pytest.Item]:
        """An item for each case or batch of the file; a support file, such as a baseline, has none."""
        with garbage_collection_paused():
            items = self._items()
            if len(items) >= MANY_ITEMS:
                # They live as long as the session: no later search for cycles needs to visit them.
                gc.freeze()
        return items

    def _items(self) -> list[pytest.Item]:
        try:
            suite = self.runtime.suite(self.path)
            if suite is None:
                return []
            self.runtime.kinds[suite.kind].collected(suite)
        except DataFileError as error:
            raise self.CollectError(self.runtime.described(error)) from None
        except ServerConfigError as error:
            raise self.CollectError(str(error)) from None
        for text in suite.warnings:
            self.warn(DataFileWarning(visible(redactor.text(f"{suite.key}: {text}"))))
        return [CaseItem.of(self, self.runtime, suite, batch) for batch in suite.batches]
