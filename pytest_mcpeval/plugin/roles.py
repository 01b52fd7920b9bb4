"""The roles of a process: serial (everything), controller (judges), worker (runs items)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import pytest

from pytest_mcpeval.browser.slots import keep_standard_error
from pytest_mcpeval.config.settings import DECIDED, settings_from
from pytest_mcpeval.core.error_gates import raised_where
from pytest_mcpeval.kinds.registry import Kinds
from pytest_mcpeval.kinds.scenario.checks import BUILTIN
from pytest_mcpeval.plugin.collection import DataFileCollectors
from pytest_mcpeval.plugin.executing import Executor
from pytest_mcpeval.plugin.prefetch_policy import PrefetchPolicy
from pytest_mcpeval.plugin.runtime import Runtime
from pytest_mcpeval.plugin.selection import Selector
from pytest_mcpeval.plugin.session_end import Reporter
from pytest_mcpeval.plugin.stateful import DistributionOfStatefulSuites, OrderOfStatefulSuites
from pytest_mcpeval.plugin.terminal_output import TerminalOutput, VerdictLine
from pytest_mcpeval.python_tests.fixtures import context_key
from pytest_mcpeval.python_tests.judging import PythonCases
from pytest_mcpeval.reports import redacted

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

Role = Literal["serial", "controller", "worker"]


def role_of(config: pytest.Config) -> Role:
    """Return the role of this process."""
    if hasattr(config, "workerinput"):
        return "worker"
    distributed = config.getoption("dist", "no") != "no" and not config.option.collectonly
    return "controller" if distributed else "serial"


def take_part(config: pytest.Config) -> None:
    """Register what this process needs for its role.

    Raises:
        pytest.UsageError: A hook registered a kind or check whose name is taken.
    """
    role = role_of(config)
    runtime = _runtime(config)
    config.add_cleanup(keep_standard_error())
    config.stash[context_key] = runtime
    _add_datasets_to_testpaths(config, runtime)
    parts: dict[str, object] = {}
    if role != "controller":
        # Collects and runs items.
        distribution = getattr(config, "workerinput", {}).get("mcpeval_distribution", "loadfile")
        runtime.has_whole_files = distribution in ("loadfile", "loadscope")
        policy = PrefetchPolicy(config.pluginmanager, has_whole_files=runtime.has_whole_files)
        runtime.prefetch.upcoming, runtime.prefetch.selected = policy.upcoming, policy.selected
        parts |= {
            "collectors": DataFileCollectors(runtime, config),
            "executor": Executor(runtime),
            "prefetch-policy": policy,
            "stateful": OrderOfStatefulSuites(),
            "selector": Selector(runtime.settings, is_worker=role == "worker"),
            "python-cases": PythonCases(runtime),
        }
    parts["redacted"] = redacted
    if role != "worker":
        # Judges and reports.
        reporter = Reporter(runtime, config)
        output, verdict = TerminalOutput(reporter, config), VerdictLine(reporter)
        parts |= {"reporter": reporter, "terminal": output, "verdict": verdict}
        if html := config.getoption("htmlpath", None):
            # Evidence is put into html for each case: not where no report was asked for.
            from pytest_mcpeval.reports.html import HtmlReport

            page = _link_to_page(html, runtime.settings.report_directory)
            parts["html"] = HtmlReport(runtime.kinds, lambda: reporter.evaluation, page)
    if role == "controller":
        # Distributes items among workers.
        notes = WorkerNotes(config.getoption("dist"), runtime)
        parts |= {"worker-notes": notes, "stateful": DistributionOfStatefulSuites(runtime)}
    for name, part in parts.items():
        config.pluginmanager.register(part, f"mcpeval-{name}")


def _runtime(config: pytest.Config) -> Runtime:
    try:
        checks = BUILTIN.with_types(_flat(config.hook.pytest_mcpeval_checks()))
        kinds = Kinds(checks, _flat(config.hook.pytest_mcpeval_kinds()))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    except Exception as error:
        raise pytest.UsageError(f"a pytest_mcpeval_ hook raised {raised_where(error)}") from None
    return Runtime(settings_from(config, [*kinds.declarations.values()]), kinds)


def _flat(lists: Iterable[Iterable[Any]]) -> list[Any]:
    found = list(lists)
    if not all(isinstance(entries, (list, tuple, set)) for entries in found):
        raise ValueError("a pytest_mcpeval_ hook did not return a list")
    return [entry for entries in found for entry in entries]


def _add_datasets_to_testpaths(config: pytest.Config, runtime: Runtime) -> None:
    """Without paths on the command line, the dataset directories are meant too.

    If pytest starts below the root directory, only dataset directories there are added.
    """
    sources = pytest.Config.ArgsSource
    everything = config.rootpath.is_relative_to(config.invocation_params.dir)
    if config.args_source is sources.ARGS or not everything:
        return
    listed = {(config.invocation_params.dir / path).resolve() for path in config.args}
    for directory in runtime.settings.datasets:
        found = directory.resolve()
        if directory.is_dir() and listed.isdisjoint(
            (found,) if config.args_source is sources.TESTPATHS else (found, *found.parents)
        ):
            config.args.append(str(directory))


def _link_to_page(html: str, directory: Path | None) -> str:
    """The link from the page of pytest-html to ``report.html``, which is in ``directory``; empty for None."""
    if directory is None:
        return ""
    here, page = os.path.abspath(html), os.path.abspath(directory / "report.html")
    if here == page:
        raise pytest.UsageError(
            f"--html and --mcpeval-report would both write {html}: name another file with --html"
        )
    return quote(Path(os.path.relpath(page, os.path.dirname(here))).as_posix())


class WorkerNotes:
    """Sends workers what only the controller knows."""

    def __init__(self, distribution: str, runtime: Runtime) -> None:
        self._distribution = distribution
        shapes = runtime.kinds.declarations.values()
        self._decided = json.dumps({one.name: one.decided(runtime.options(one.name)) for one in shapes})

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: WorkerController) -> None:
        """How items are distributed decides what may be prefetched; folders of a run have one name."""
        node.workerinput["mcpeval_distribution"] = self._distribution
        node.workerinput[DECIDED] = self._decided
