"""`cisco-ai-mcp-scanner`_ as a detector: one JSON line in, one out. Runs in the scanner's environment.

Only its YARA rules are used, which need no network: description and schema are matched apart, as the scanner
itself does.

.. _cisco-ai-mcp-scanner: https://pypi.org/project/cisco-ai-mcp-scanner/
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

# One of the scanner's dependencies would fetch a price list when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

SEVERITIES = ("INFO", "LOW", "MEDIUM", "HIGH", "CRITICAL")


def main() -> None:
    """Answer every line of standard input."""
    # Nothing but answers may be on standard output.
    answers, sys.stdout = sys.stdout, sys.stderr
    from mcpscanner.core.analyzers.yara_analyzer import YaraAnalyzer

    # The scanner logs each finding: what is found is said in the answers.
    logging.disable(logging.WARNING)
    analyzer = YaraAnalyzer()
    for line in sys.stdin:
        entry = json.loads(line)
        try:
            answer = verdict(asyncio.run(findings(analyzer, entry)))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"id": entry["id"], **answer}), file=answers, flush=True)


async def findings(analyzer: Any, entry: dict[str, Any]) -> list[tuple[str, Any]]:
    """The findings in the texts of an entry, each with the field it is in."""
    return [
        (field, finding)
        for field, text in texts(entry)
        for finding in await analyzer.analyze(text, {"content_type": field})
    ]


def texts(entry: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What the scanner looks at."""
    yield "description", entry["description"]
    rest = {key: value for key, value in entry.get("tool", {}).items() if key != "description"}
    if rest:
        yield "tool", json.dumps(rest)


def verdict(found: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Findings as a verdict: anything found is flagged."""
    detections = [
        {
            "rule": finding.details["raw_response"]["rule"],
            "message": finding.details["raw_response"]["description"],
            "severity": finding.severity,
            "field": field,
        }
        for field, finding in found
    ]
    known = [one["severity"] for one in detections if one["severity"] in SEVERITIES]
    severity = max(known, key=SEVERITIES.index, default=None)
    return {"flagged": bool(detections), "severity": severity, "detections": detections}


if __name__ == "__main__":
    main()
