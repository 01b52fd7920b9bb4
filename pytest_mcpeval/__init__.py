"""Evals of MCP systems as pytest suites.

What tests, conftest files and further kinds of evaluation need is importable from here; it is loaded when
it is first asked for, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from pytest_mcpeval.browser.directive import BrowserError
    from pytest_mcpeval.core.case import Case
    from pytest_mcpeval.core.charts import Bar, Bars, Curve, Matrix
    from pytest_mcpeval.core.declaration import CommandLine, ReportFile
    from pytest_mcpeval.core.errors import TargetError
    from pytest_mcpeval.core.evaluation import Evaluation, SuiteResult
    from pytest_mcpeval.core.fields import FileModel, RowModel
    from pytest_mcpeval.core.gate import GateResult, at_least, at_most
    from pytest_mcpeval.core.kind import Kind
    from pytest_mcpeval.core.option import Option
    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.core.sample import Check, Sample
    from pytest_mcpeval.core.suite import Place, SettingsFile, Suite
    from pytest_mcpeval.core.tables import Row, Table
    from pytest_mcpeval.kinds.loader import SuiteLoader
    from pytest_mcpeval.kinds.scenario.checks import (
        CheckFailed,
        CheckSpecError,
        CheckType,
        Expect,
        NoParameters,
        Parameters,
        Verdict,
        check_type,
        failed,
        inconclusive,
        judged,
        passed,
    )
    from pytest_mcpeval.kinds.session.toolbox import CallRefused, Toolbox
    from pytest_mcpeval.loading import DataFileError, Document, Problem
    from pytest_mcpeval.loading.schema import validate
    from pytest_mcpeval.python_tests.agents import AgentVisit, CaptureAgent, Trajectory
    from pytest_mcpeval.python_tests.client import (
        AsyncCallTool,
        AsyncCaseClient,
        CallTool,
        CaseClient,
        MakeExpect,
    )
    from pytest_mcpeval.servers import Block, CallError, Response, ServerConfigError, ServerStartError, Tool

__all__ = [
    "AgentVisit",
    "AsyncCallTool",
    "AsyncCaseClient",
    "Bar",
    "Bars",
    "Block",
    "BrowserError",
    "CallError",
    "CallRefused",
    "CallTool",
    "CaptureAgent",
    "Case",
    "CaseClient",
    "Check",
    "CheckFailed",
    "CheckSpecError",
    "CheckType",
    "CommandLine",
    "Curve",
    "DataFileError",
    "Document",
    "Evaluation",
    "Expect",
    "FileModel",
    "GateResult",
    "Kind",
    "MakeExpect",
    "Matrix",
    "NoParameters",
    "Option",
    "Parameters",
    "Place",
    "Problem",
    "ReportFile",
    "Response",
    "Row",
    "RowModel",
    "RunContext",
    "Sample",
    "ServerConfigError",
    "ServerStartError",
    "SettingsFile",
    "Suite",
    "SuiteLoader",
    "SuiteResult",
    "Table",
    "TargetError",
    "Tool",
    "Toolbox",
    "Trajectory",
    "Verdict",
    "__version__",
    "at_least",
    "at_most",
    "check_type",
    "failed",
    "inconclusive",
    "judged",
    "passed",
    "validate",
]

_MODULES = {
    "browser.directive": ("BrowserError",),
    "core.case": ("Case",),
    "core.charts": ("Bar", "Bars", "Curve", "Matrix"),
    "core.declaration": (
        "CommandLine",
        "ReportFile",
    ),
    "core.errors": ("TargetError",),
    "core.evaluation": ("Evaluation", "SuiteResult"),
    "core.fields": ("FileModel", "RowModel"),
    "core.gate": ("GateResult", "at_least", "at_most"),
    "core.kind": ("Kind",),
    "core.option": ("Option",),
    "core.run_context": ("RunContext",),
    "core.sample": ("Check", "Sample"),
    "core.suite": ("Place", "SettingsFile", "Suite"),
    "core.tables": ("Row", "Table"),
    "kinds.loader": ("SuiteLoader",),
    "kinds.scenario.checks": (
        "CheckFailed",
        "CheckSpecError",
        "CheckType",
        "Expect",
        "NoParameters",
        "Parameters",
        "Verdict",
        "check_type",
        "failed",
        "inconclusive",
        "judged",
        "passed",
    ),
    "kinds.session.toolbox": ("CallRefused", "Toolbox"),
    "loading": ("DataFileError", "Document", "Problem"),
    "loading.schema": ("validate",),
    "python_tests.agents": ("AgentVisit", "CaptureAgent", "Trajectory"),
    "python_tests.client": ("AsyncCallTool", "AsyncCaseClient", "CallTool", "CaseClient", "MakeExpect"),
    "servers": ("Block", "CallError", "Response", "ServerConfigError", "ServerStartError", "Tool"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
