"""The checks that come with the package: one line each."""

from __future__ import annotations

from . import answer, code, groups, text
from .registry import CheckRegistry

BUILTIN = CheckRegistry(
    [
        text.contains,
        text.contains_any,
        text.contains_all,
        text.matches_regex,
        code.has_code_block,
        code.has_import,
        answer.min_length,
        answer.has_citation,
        answer.confidence_above,
        answer.confidence_below,
        answer.sources_count,
        groups.NOT,
        groups.ANY_OF,
        groups.ALL_OF,
    ]
)
