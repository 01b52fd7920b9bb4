"""The options of labelled corpora and scans. Imported in every session, so it has hardly any imports."""

from __future__ import annotations

from pytest_mcpeval.core.option import Option

SARIF = "--mcpeval-sarif"

OPTIONS = (
    Option(
        SARIF,
        "write the detections in scanned servers (`security: [{scan: …}]`) into FILE, as SARIF 2.1.0",
        metavar="FILE",
        is_report=True,
    ),
)
