"""Why something other than an MCP tool was used: what such a sentence must say."""

from __future__ import annotations

import re
from collections.abc import Collection

NOT_COVERED = "no attached MCP covers this step"

_TOOL = re.compile(r"\bmcp__[\w.-]+")
_NOT_COVERED = re.compile(r"\bno\s+attached\s+mcp\s+covers\s+this\s+step\b", re.IGNORECASE)
_GENERIC = re.compile(
    r"\b(?:(?:it|this|that|bash|local(?:ly)?)\s+)?(?:is|was|would\s+be|seemed)?\s*(?:much\s+|a\s+lot\s+|just\s+)?"
    r"(?:faster|easier|simpler|quicker|more\s+convenient|convenient|handy)(?:\s+(?:locally|this\s+way|here|to\s+use))?",
    re.IGNORECASE,
)
_FILLER = frozenset(
    """
    a an and as at because but by chose considered for i in instead is it of on rather so than that
    the this to used using was with bash python webfetch read grep
    """.split()  # noqa: SIM905
)
_FEWEST_WORDS = 3


def justification_problem(text: str | None, tools: Collection[str]) -> str | None:
    """What a justification lacks, or None.

    It must name a tool in ``tools`` (``mcp__server__tool``) that was considered, or say that none covers the
    step; and it must give a reason that is more than "faster" or "easier".
    """
    if not text or not text.strip():
        return "is missing"
    named = [found.rstrip(".-") for found in _TOOL.findall(text)]
    if not named and not _NOT_COVERED.search(text):
        return f"neither names the MCP tool that was considered nor says '{NOT_COVERED}'"
    unknown = [name for name in named if name not in tools]
    if unknown and len(unknown) == len(named):
        return f"names {unknown[0]}, which no attached server has"
    return None if _gives_reason(text) else "gives no reason, or only a general one"


def _gives_reason(text: str) -> bool:
    rest = _GENERIC.sub(" ", _NOT_COVERED.sub(" ", _TOOL.sub(" ", text)))
    words = [word for word in re.findall(r"[^\W\d_]{2,}", rest.lower()) if word not in _FILLER]
    return len(words) >= _FEWEST_WORDS
