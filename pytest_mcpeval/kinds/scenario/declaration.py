"""How scenario files are detected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pytest_mcpeval.core.declaration import Better, DocumentRole, KindDeclaration


class ScenarioDeclaration(KindDeclaration):
    """Suites of calls to a server, each with checks on the answer."""

    name = "scenario"
    file_description = "a `tests:` list (scenario)"
    file_keys = ("tests", "tool", "steps")

    figures: ClassVar[Mapping[str, Better]] = {
        "summary.passRate": "higher",
        "summary.averageConfidence": "higher",
        "byTool.*.passRate": "higher",
        "byTag.*.passRate": "higher",
    }

    def detect(self, data: Any) -> DocumentRole | None:
        """A mapping with ``tests``, or rows that each have a ``tool`` or ``steps``."""
        if isinstance(data, dict):
            return "suite" if "tests" in data else None
        rows = data if isinstance(data, list) else []
        fitting = any(isinstance(row, dict) and {"tool", "steps"} & row.keys() for row in rows)
        return "suite" if fitting else None
