"""How manifests, and the files of runs, are detected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_mcpeval.core.declaration import Better, DocumentRole, KindDeclaration
from pytest_mcpeval.kinds.agent.command_line import OPTIONS, run_options

if TYPE_CHECKING:
    from pytest_mcpeval.core.declaration import CommandLine
    from pytest_mcpeval.core.suite import Suite
    from pytest_mcpeval.kinds.agent.options import RunOptions

_MANIFEST_KEYS = ("apiVersion", "access", "cases")
_ARTIFACT_KEYS = (
    {"version", "agent_name"},
    {"case_id", "completed"},
    {"case_id", "observations"},
    {"total_steps", "step_span_ids"},
    {"may_be_incomplete"},
)


class AgentDeclaration(KindDeclaration):
    """Manifests: a deployed web agent, and what its answers must satisfy."""

    name = "agent"
    file_description = "a manifest with `apiVersion`, `access` and `cases` (agent)"
    file_keys = _MANIFEST_KEYS
    file_names = ("agent.yaml", "*.agent.yaml")
    option_table = OPTIONS
    commands: ClassVar[Mapping[str, str]] = {
        "discover": "pytest_mcpeval.kinds.agent.cli.discover",
        "fetch-observability": "pytest_mcpeval.kinds.agent.cli.fetch_observability",
        "report": "pytest_mcpeval.kinds.agent.cli.report",
        "validate-narrative": "pytest_mcpeval.kinds.agent.cli.validate_narrative",
    }

    figures: ClassVar[Mapping[str, Better]] = {"pass_rate": "higher"}

    def options(self, command_line: CommandLine) -> RunOptions:
        """How agents are driven."""
        return run_options(command_line)

    def decided(self, options: RunOptions) -> Mapping[str, Any]:
        """A session has one folder for each agent."""
        return {"run_id": options.run_id}

    def collected_session(
        self, options: RunOptions, suites: Sequence[Suite[Any]], selected: Mapping[str, Sequence[str]]
    ) -> None:
        """Write what would be driven, where ``--mcpeval-plan`` asks for it."""
        if options.plan is not None:
            from pytest_mcpeval.kinds.agent.directives import write_plan

            write_plan(options.plan, [suite for suite in suites if suite.kind == self.name], selected)

    def detect(self, data: Any) -> DocumentRole | None:
        """A mapping with one of the keys that only manifests have; what runs leave behind is support."""
        if _is_artifact(data):
            return "support"
        found = isinstance(data, dict) and any(key in data for key in _MANIFEST_KEYS)
        return "suite" if found else None


def _is_artifact(data: Any) -> bool:
    """Whether a document is a file of a run, which may lie among data files."""
    if isinstance(data, list):
        return bool(data) and all(isinstance(row, dict) and "span_id" in row for row in data[:1])
    return isinstance(data, dict) and any(keys <= data.keys() for keys in _ARTIFACT_KEYS)
