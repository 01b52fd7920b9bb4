"""The list of built-in checks, and the checks that combine other checks.

``not``, ``any_of`` and ``all_of`` have three-valued logic: a nested check without evidence, or one
that raised an exception, never makes a group pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_mcpeval.kinds.scenario.checks import answer, code, json_checks, protocol, results, schemas, text

from .registry import CheckGroup, CheckRegistry
from .verdict import Verdict, failed, passed


def _negated(verdicts: Sequence[Verdict]) -> Verdict:
    """The nested check does not hold."""
    (inner,) = verdicts
    if inner.unjudged or inner.status == "inconclusive":
        return inner
    if inner.status == "passed":
        return failed(f"should not hold: {inner.message}", inner.details)
    return passed(f"does not hold, as required: {inner.message}", inner.details)


def _any(verdicts: Sequence[Verdict]) -> Verdict:
    """At least one of the nested checks holds."""
    holding = [verdict for verdict in verdicts if verdict.status == "passed"]
    if holding:
        return passed(f"{len(holding)} of {len(verdicts)} hold: {holding[0].message}")
    return _undecided(verdicts) or failed(f"none of {len(verdicts)} holds: {_messages(verdicts)}")


def _all(verdicts: Sequence[Verdict]) -> Verdict:
    """All nested checks hold."""
    broken = [verdict for verdict in verdicts if verdict.status == "failed" and not verdict.unjudged]
    if broken:
        return failed(f"{len(broken)} of {len(verdicts)} do not hold: {_messages(broken)}")
    return _undecided(verdicts) or passed(f"all {len(verdicts)} hold")


def _undecided(verdicts: Sequence[Verdict]) -> Verdict | None:
    open_ones = [verdict for verdict in verdicts if verdict.unjudged or verdict.status == "inconclusive"]
    return max(open_ones, key=lambda verdict: (verdict.broke, verdict.unjudged), default=None)


def _messages(verdicts: Sequence[Verdict]) -> str:
    return "; ".join(verdict.message for verdict in verdicts)


BUILTIN = CheckRegistry(
    [
        text.contains,
        text.contains_any,
        text.contains_all,
        text.matches_regex,
        code.has_code_block,
        code.has_import,
        code.valid_syntax,
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
        CheckGroup("not", "check", _negated, _negated.__doc__ or ""),
        CheckGroup("any_of", "checks", _any, _any.__doc__ or ""),
        CheckGroup("all_of", "checks", _all, _all.__doc__ or ""),
    ]
)
