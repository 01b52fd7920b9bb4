"""The session section of a report: the findings of each evaluation, and what its servers cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.tables import Rating, Row, Table
from pytest_mcpeval.kinds.session.critic.findings import SEVERITIES
from pytest_mcpeval.kinds.session.metrics import measure

_COUNTS = ("tools", "calls", "errors", "description_tokens")


def tables(samples: Mapping[str, Sequence[Sample]]) -> list[Table]:
    """What each suite did and found, and what each of its servers cost."""
    measured = {key: measure(own) for key, own in samples.items()}
    carried_out = {key: found for key, found in measured.items() if found["scenarios"]}
    judged = {key: found["findings"] for key, found in carried_out.items() if found.get("findings")}
    calls = ("Sessions", "scenarios", "aborted", "calls", "blocked")
    servers = ("Servers", "tools", "calls", "errors", "≈ tokens of tools")
    return [
        Table("Sessions", calls, tuple(_row(key, found) for key, found in carried_out.items())),
        Table("Findings", ("", *SEVERITIES), tuple(_findings(key, counts) for key, counts in judged.items())),
        Table("Servers of sessions", servers, tuple(_server_rows(measured))),
    ]


def _row(key: str, found: Mapping[str, Any]) -> Row:
    figures = (found["scenarios"], sum(found["aborted"].values()), found["calls"], found["blocked"])
    return Row((PurePosixPath(key).name, *map(str, figures)))


def _findings(key: str, counts: Mapping[str, int]) -> Row:
    rating: Rating = "bad" if counts["Critical"] else "fair" if counts["Major"] else ""
    return Row((PurePosixPath(key).name, *(str(counts[severity]) for severity in SEVERITIES)), rating)


def _server_rows(measured: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    for key, found in measured.items():
        for server in found.get("servers", ()):
            name = (
                server["server"] if len(measured) == 1 else f"{PurePosixPath(key).stem}: {server['server']}"
            )
            yield Row((name, *(f"{server[column]:,}" for column in _COUNTS)))
