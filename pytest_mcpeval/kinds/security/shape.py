"""How labelled corpora look, and the files they read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcpeval.kinds.shape import KindShape, Shape

_OF_CORPORA = {"label", "provenance"}


class SecurityShape(KindShape):
    """Labelled corpora: tool descriptions that a detector ought to flag, or ought not to."""

    name = "security"
    shape_description = "an `entries:` list (security)"
    shape_keys = ("entries",)

    def recognise(self, data: Any) -> Shape | None:
        """A mapping with ``entries``; recorded verdicts are a support file."""
        if not isinstance(data, dict) or "entries" not in data:
            return None
        return "support" if _is_recorded(data) else "suite"


def _is_recorded(data: object) -> bool:
    """Whether a document holds recorded verdicts, and nothing that only a corpus has.

    A corpus that passed for them would not be run, and nobody would be told.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("detectors"), list):
        return False
    entries = data.get("entries")
    rows = [row for row in entries if isinstance(row, Mapping)] if isinstance(entries, list) else []
    return any("verdicts" in row for row in rows) and not any(row.keys() >= _OF_CORPORA for row in rows)
