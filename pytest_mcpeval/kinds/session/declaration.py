"""How session files and their lists of scenarios are detected, and their command line options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_mcpeval.core.declaration import Better, DocumentRole, KindDeclaration
from pytest_mcpeval.kinds.session.command_line import OPTIONS

if TYPE_CHECKING:
    from pytest_mcpeval.core.declaration import CommandLine
    from pytest_mcpeval.kinds.session.options import SessionOptions
    from pytest_mcpeval.loading import Document


class SessionDeclaration(KindDeclaration):
    """Evaluations: scenarios that an agent carries out with the attached servers, and a critic's report."""

    name = "session"
    file_description = "a `scenarios:` list (session)"
    file_keys = ("scenarios", "dispositions")
    option_table = OPTIONS
    commands: ClassVar[Mapping[str, str]] = {
        "interview": "pytest_mcpeval.kinds.session.cli.interview",
        "scope": "pytest_mcpeval.kinds.session.cli.scope",
        "guard": "pytest_mcpeval.kinds.session.cli.guard",
    }

    figures: ClassVar[Mapping[str, Better]] = {
        "findings.Critical": "lower",
        "findings.Major": "lower",
        "findings.Minor": "lower",
        "servers.*.errors": "lower",
    }

    def options(self, command_line: CommandLine) -> SessionOptions:
        """How the evaluations of a session are named and begun, and what their scenarios may cost.

        Raises:
            ValueError: The name cannot be one, options do not go together, or there is nothing to go on with.
        """
        from pytest_mcpeval.kinds.session.options import SessionOptions, session_options

        if command_line.decided:
            return SessionOptions.from_data(command_line.decided)
        value = command_line.value
        budgets = {name: value(f"mcpeval_{name}") for name in ("call_budget", "wallclock_budget")}
        return session_options(
            command_line.root,
            value("mcpeval_name"),
            resume=bool(value("mcpeval_resume")),
            restart=bool(value("mcpeval_restart")),
            budgets={name: found for name, found in budgets.items() if found is not None},
        )

    def decided(self, options: SessionOptions) -> Mapping[str, Any]:
        """Return all options: an evaluation has one name, and one process that claims it."""
        return asdict(options)

    def overrides(self, options: SessionOptions) -> Mapping[str, Any]:
        """The budgets."""
        return options.budgets

    def detect(self, data: Any) -> DocumentRole | None:
        """A mapping with ``scenarios``, or a list of mappings with a ``description`` and nothing to call."""
        if isinstance(data, dict):
            return "suite" if "scenarios" in data else None
        rows = data if isinstance(data, list) else []
        known = {"description", "targets_mcps", "targetsMcps"}
        fitting = [isinstance(row, dict) and "description" in row and row.keys() <= known for row in rows]
        return "suite" if fitting and all(fitting) else None

    def is_read_by_another(self, document: Document, root: Path) -> bool:
        """Whether it is the list of scenarios that a session file names."""
        from pytest_mcpeval.kinds.session.intake import is_named_by_a_session

        return isinstance(document.data, list) and is_named_by_a_session(document.path, root)
