"""The metadata block that an answer may end with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .javascript_regex import compile_pattern, found_in
from .json_values import is_number

METADATA_TAG = "<response_metadata>"
BLOCK = r"<response_metadata>\s*```json([\s\S]*?)```\s*<\/response_metadata>"
JAVASCRIPT_SPACE = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


@dataclass(frozen=True)
class Metadata:
    """What an answer reports about itself; all zeros, and ``reported`` false, if there is nothing readable.

    ``reports_confidence`` distinguishes a confidence of zero from none.
    """

    confidence: float = 0
    sources_used: int = 0
    processing_time_ms: float = 0
    reported: bool = False
    reports_confidence: bool = False


def trimmed(text: str) -> str:
    """The text without white space (as JavaScript defines it) at both ends."""
    return text.strip(JAVASCRIPT_SPACE)


def response_metadata(text: str) -> Metadata:
    """The metadata of the first ``<response_metadata>`` block that holds fenced JSON; never raises."""
    if METADATA_TAG not in text:  # Fast path for most answers: a search costs more.
        return Metadata()
    try:
        match = found_in(compile_pattern(BLOCK, ignore_case=False), text)
        found = json.loads(trimmed(match.groups[1])) if match else None
    except (ValueError, RecursionError, TimeoutError):
        return Metadata()
    if not isinstance(found, Mapping):
        return Metadata()
    return Metadata(
        confidence=_number(found, "confidence"),
        sources_used=int(_number(found, "sourcesUsed")),
        processing_time_ms=_number(found, "processingTimeMs"),
        reported=True,
        reports_confidence=is_number(found.get("confidence")),
    )


def _number(found: Mapping[str, Any], key: str) -> float:
    value: Any = found.get(key)
    return value if is_number(value) and abs(value) < 1e15 else 0
