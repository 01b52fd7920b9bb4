"""Length, citations, confidence, sources, and the metadata block."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcpeval import Check, Response
from pytest_mcpeval.kinds.scenario.checks import BUILTIN, Metadata, response_metadata

BLOCK = '<response_metadata>\n```json\n{"confidence": 82, "sourcesUsed": 3}\n```\n</response_metadata>'


def evaluate(rule: dict[str, Any], text: str) -> Check:
    return BUILTIN.parse(rule).evaluate(Response(text))


@pytest.mark.parametrize(
    ("text", "chars", "passes", "length"),
    [
        ("abcde", 5, True, 5),
        ("abcd", 5, False, 4),
        ("", 1, False, 0),
        (" \r\n\ufeffabc\u00a0\n", 3, True, 3),
        ("a\r\nb", 4, True, 4),
        ("abc \n" + BLOCK, 4, False, 3),
        (BLOCK, 1, False, 0),
        ("größe", 5, True, 5),
        ("😀", 2, True, 2),
        ("x" * 3_000_000, 3_000_000, True, 3_000_000),
    ],
)
def test_min_length(text: str, chars: int, passes: bool, length: int) -> None:
    check = evaluate({"type": "min_length", "chars": chars}, text)
    assert (check.passed, check.details) == (passes, {"length": length})
    assert check.message == f"length {length} {'≥' if passes else '<'} {chars} characters"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("see [Source 3].", "cites [Source 3]"),
        ("see [Source12]", "cites [Source12]"),
        ("see [Source\r\n 2]", "cites [Source 2]"),
        ("see [7]", "cites [7]"),
        ("a[0][1]", "cites [0]"),
        ("[source 3]", None),
        ("[Source]", None),
        ("[Source ٣] [٣]", None),
        ("[ 3 ]", None),
        ("", None),
    ],
)
def test_has_citation(text: str, message: str | None) -> None:
    check = evaluate({"type": "has_citation"}, text)
    assert check.passed is (message is not None)
    assert check.message == (message or "no citation such as [Source 1] or [1]")


@pytest.mark.parametrize(
    ("text", "threshold", "status", "message", "confidence"),
    [
        (BLOCK, 82, "passed", "confidence 82 ≥ 82", 82),
        (BLOCK, 83, "failed", "confidence 82 < 83", 82),
        (BLOCK, 81.5, "passed", "confidence 82 ≥ 81.5", 82),
        ('"confidence":72.5', 72.4, "passed", "confidence 72.5 ≥ 72.4", 72.5),
        ('"confidence": 0.85', 0.9, "failed", "confidence 0.85 < 0.9", 0.85),
        ('"confidence": 8.5e1 ', 80, "passed", "confidence 85.0 ≥ 80", 85.0),
        ('"confidence": "high", "confidence":\n 40', 40, "passed", "confidence 40 ≥ 40", 40),
        ('"confidence": -5', 1, "failed", "no confidence reported (counts as 0), 1 or more expected", 0),
        ('"Confidence": 90', 1, "failed", "no confidence reported (counts as 0), 1 or more expected", 0),
        ("", 50, "failed", "no confidence reported (counts as 0), 50 or more expected", 0),
    ],
)
def test_confidence_above(text: str, threshold: float, status: str, message: str, confidence: float) -> None:
    check = evaluate({"type": "confidence_above", "threshold": threshold}, text)
    assert (check.status, check.message, check.details) == (status, message, {"confidence": confidence})


def test_integers_stay_exact() -> None:
    details = evaluate({"type": "confidence_above", "threshold": 1}, '"confidence": 9007199254740993').details
    assert details is not None
    assert repr(details["confidence"]) == "9007199254740993"


def test_number_too_large_is_a_failure_in_both_directions() -> None:
    rule = {"type": "confidence_above", "threshold": 1}
    for check in (evaluate(rule, '"confidence": 1e999'), evaluate({"not": rule}, '"confidence": 1e999')):
        assert check.status == "failed"
        assert "is too large" in check.message


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        (BLOCK, "failed", "confidence 82 ≥ 82"),
        ('"confidence": 81', "passed", "confidence 81 < 82"),
        (
            "none",
            "inconclusive",
            'no confidence reported; let the tool report "confidence": N in its metadata',
        ),
    ],
)
def test_confidence_below(text: str, status: str, message: str) -> None:
    check = evaluate({"type": "confidence_below", "threshold": 82}, text)
    assert (check.status, check.message) == (status, message)


@pytest.mark.parametrize(
    ("text", "minimum", "status", "message", "count"),
    [
        (BLOCK, 3, "passed", "sourcesUsed 3 ≥ 3", 3),
        (BLOCK, 4, "failed", "sourcesUsed 3 < 4", 3),
        ("", 1, "failed", "no sourcesUsed reported (counts as 0), 1 or more expected", 0),
    ],
)
def test_sources_count(text: str, minimum: int, status: str, message: str, count: int) -> None:
    check = evaluate({"type": "sources_count", "min": minimum}, text)
    assert (check.status, check.message, check.details) == (status, message, {"sourcesUsed": count})


def block(body: str) -> str:
    return f"answer\n<response_metadata>\r\n```json\n{body}\n```\n</response_metadata>\n"


@pytest.mark.parametrize(
    ("text", "metadata"),
    [
        (
            block('{"confidence": 82.5, "sourcesUsed": 3, "processingTimeMs": 1200}'),
            Metadata(82.5, 3, 1200, True, True),
        ),
        (block('{"confidence": "high", "sourcesUsed": true}'), Metadata(reported=True)),
        (block("{}"), Metadata(reported=True)),
        (block("[1]"), Metadata()),
        (block("{broken"), Metadata()),
        (block("[" * 100_000), Metadata()),
        ('"confidence": 82', Metadata()),
        ("<response_metadata>```json\n{}", Metadata()),
        ("", Metadata()),
        (
            block('{"confidence": 1}') + block('{"confidence": 2}'),
            Metadata(1, reported=True, reports_confidence=True),
        ),
    ],
)
def test_response_metadata(text: str, metadata: Metadata) -> None:
    assert response_metadata(text) == metadata
