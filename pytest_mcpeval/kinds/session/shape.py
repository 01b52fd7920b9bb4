"""How session files look, and the lists of scenarios they read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.shape import KindShape, Shape

if TYPE_CHECKING:
    from pytest_mcpeval.loading import Document


class SessionShape(KindShape):
    """Evaluations: scenarios that an agent carries out with the attached servers, and a critic's report."""

    name = "session"
    shape_description = "a `scenarios:` list (session)"
    shape_keys = ("scenarios", "dispositions")

    def recognise(self, data: Any) -> Shape | None:
        """A mapping with ``scenarios``, or a list of mappings with a ``description`` and nothing to call."""
        if isinstance(data, dict):
            return "suite" if "scenarios" in data else None
        rows = data if isinstance(data, list) else []
        known = {"description", "targets_mcps", "targetsMcps"}
        fitting = [isinstance(row, dict) and "description" in row and row.keys() <= known for row in rows]
        return "suite" if fitting and all(fitting) else None

    def is_read_by_another(self, document: Document, root: Path) -> bool:
        """Whether it is the list of scenarios that a session file names."""
        from pytest_mcpeval.kinds.session.named_files import is_named_by_a_session

        return isinstance(document.data, list) and is_named_by_a_session(document.path, root)
