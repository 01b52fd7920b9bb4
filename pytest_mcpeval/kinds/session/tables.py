"""The session section of a report: the findings of each evaluation, and what its servers cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from pytest_mcpeval.kinds.session.critic.findings import SEVERITIES
from pytest_mcpeval.kinds.session.metrics import measure
from pytest_mcpeval.samples import Sample
from pytest_mcpeval.tables import Row, Table, Tone

_COUNTS = ("tools", "calls", "errors", "description_tokens")


def tables(suites: Mapping[str, Sequence[Sample]]) -> list[Table]:
    """One row for each suite, and one for each server of each suite."""
    measured = {key: measure(samples) for key, samples in suites.items()}
    header = ("Sessions", "scenarios", "aborted", "calls", "blocked", *SEVERITIES)
    rows = tuple(_row(key, found) for key, found in measured.items() if found["scenarios"])
    servers = ("Servers", "tools", "calls", "errors", "≈ tokens of tools")
    return [
        Table("Sessions", header, rows),
        Table("Servers of sessions", servers, tuple(_server_rows(measured))),
    ]


def _row(key: str, found: Mapping[str, Any]) -> Row:
    counts: Mapping[str, int] = found.get("findings", {})
    aborted = sum(found["aborted"].values())
    figures = (found["scenarios"], aborted, found["calls"], found["blocked"])
    severities = (str(counts[severity]) if counts else "" for severity in SEVERITIES)
    tone: Tone = "bad" if counts.get("Critical") else "fair" if counts.get("Major") else ""
    return Row((PurePosixPath(key).name, *map(str, figures), *severities), tone)


def _server_rows(measured: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    for key, found in measured.items():
        for server in found.get("servers", ()):
            name = (
                server["server"] if len(measured) == 1 else f"{PurePosixPath(key).stem}: {server['server']}"
            )
            yield Row((name, *(f"{server[column]:,}" for column in _COUNTS)))
