"""The known categories of entries."""

from __future__ import annotations

import re

ATTACKS = ("tool_poisoning", "prompt_injection", "shadowing", "rug_pull")
"""The predefined attack categories; a corpus may have more."""

BENIGN = "benign"
HARD_NEGATIVE = "hard_negative"
HARMLESS = (BENIGN, HARD_NEGATIVE)

_CONVENTION = re.compile(r"hn_(.+)_\d+")


def resembled(entry_id: str) -> str | None:
    """The category that the id of a hard negative names by convention: ``hn_<category>_<n>``."""
    found = _CONVENTION.fullmatch(entry_id)
    return found[1] if found else None
