"""The checks that come with the package: one line each."""

from __future__ import annotations

from pytest_mcpeval.kinds.scenario.checks import (
    answer,
    code,
    groups,
    json_checks,
    protocol,
    results,
    schemas,
    syntax,
    text,
)

from .registry import CheckRegistry

BUILTIN = CheckRegistry(
    [
        text.contains,
        text.contains_any,
        text.contains_all,
        text.matches_regex,
        code.has_code_block,
        code.has_import,
        syntax.valid_syntax,
        answer.min_length,
        answer.has_citation,
        answer.confidence_above,
        answer.confidence_below,
        answer.sources_count,
        protocol.is_error,
        protocol.not_error,
        protocol.max_latency_ms,
        json_checks.equals,
        json_checks.json_path,
        schemas.matches_schema,
        results.min_results,
        results.max_results,
        groups.NOT,
        groups.ANY_OF,
        groups.ALL_OF,
    ]
)
