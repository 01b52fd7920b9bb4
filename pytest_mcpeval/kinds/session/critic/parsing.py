"""Parse the output of a critic: findings, unreadable headings, summary. Pure.

A finding is a heading ``### [MAJOR] glue_code: what is wrong`` and the lines up to the next heading, among
them ``MCP: <server>``, ``Evidence: S1-001, S1-002`` and ``Recommendation: <text>``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from pytest_mcpeval.kinds.session.critic.findings import (
    CROSS_MCP,
    DIMENSIONS,
    SEVERITIES,
    UNATTRIBUTED,
    Dimension,
    Finding,
    Severity,
    wire_line,
)
from pytest_mcpeval.kinds.session.critic.friction import Draft, Material, drafts

_WIRE_SEVERITIES = "|".join(severity.upper() for severity in SEVERITIES)
FINDING = re.compile(
    rf"^### \[({_WIRE_SEVERITIES})\] ({'|'.join(DIMENSIONS)}): (\S.*?)\s*$",
    re.MULTILINE,
)
"""The heading of a finding; the summary begins and ends with something visible."""

SUMMARY = re.compile(r"^## Summary\s*$", re.MULTILINE)
EVIDENCE_ID = re.compile(r"S\d+-\d+", re.ASCII)
MANIFEST_NOTE = re.compile(r"^(?:[-*] )?(Manifest unreadable: \S.*?)\s*$", re.MULTILINE)

_BORDER = re.compile(r"#{2,3}(?!#)")
_LEVEL_THREE = re.compile(r"###(?!#)")
# A finding under a heading of another level, case or indentation, which must not be lost.
_ATTEMPT = re.compile(
    rf"\s*#{{1,6}}\s*(?:\[\s*(?:{_WIRE_SEVERITIES})\s*\]"
    rf"|(?:{_WIRE_SEVERITIES})\b.*\b(?:{'|'.join(DIMENSIONS)})\b)",
    re.IGNORECASE,
)
_SEVERITY_TOKEN = re.compile(rf"\[({_WIRE_SEVERITIES})\]")


def may_be_finding(heading: str) -> bool:
    """Return whether a dropped heading may be a finding: it has a bracket, a colon or a severity."""
    text = heading.lstrip("# ")
    return bool(re.search(rf"[\[\]:]|\b({_WIRE_SEVERITIES})\b", text, re.IGNORECASE))


def severity_in(heading: str) -> Severity | None:
    """The severity that a heading which was dropped has in brackets, in any case; None when it has none."""
    found = re.search(rf"\[\s*({_WIRE_SEVERITIES})\s*\]", heading, re.IGNORECASE)
    return cast(Severity, found[1].title()) if found else None


@dataclass(frozen=True)
class CriticOutput:
    """The parsed output. ``dropped`` has heading and lines of every malformed finding, verbatim.
    ``unmapped_names`` are servers that findings named and that are not attached. ``summary`` is empty when
    there is none, and ``has_summary`` says whether there was a heading for it.
    """

    findings: tuple[Finding, ...]
    dropped: tuple[str, ...]
    unmapped_names: tuple[str, ...]
    summary: str
    has_summary: bool
    manifest_notes: tuple[str, ...] = ()

    @property
    def is_unusable(self) -> bool:
        """Whether the critic failed: no finding, nothing that looks like one, and no summary."""
        return not (self.findings or self.dropped or self.summary)


@dataclass(frozen=True)
class _Block:
    heading: str
    body: tuple[str, ...]

    @property
    def raw(self) -> str:
        return "\n".join((self.heading, *self.body)).rstrip()

    def value(self, key: str) -> str | None:
        """Return the text after ``key:`` at the beginning of a line, or None."""
        found = next((line for line in self.body if line.startswith(f"{key}:")), None)
        return None if found is None else found.removeprefix(f"{key}:").strip()


def parse(text: str, attached: Collection[str]) -> CriticOutput:
    """The findings and the summary in the raw output of a critic; ``attached`` are the servers' names."""
    findings: list[Finding] = []
    dropped: list[str] = []
    unmapped: list[str] = []
    for block in _blocks(text.replace("\r\n", "\n")):
        finding = _finding(block, f"F{len(findings) + 1}", attached)
        if finding is None:
            dropped.append(block.raw)
            continue
        findings.append(finding)
        name = block.value("MCP")
        if finding.mcp_name == UNATTRIBUTED and name and name not in attached:
            unmapped.append(name)
    summary = extract_summary(text)
    return CriticOutput(
        findings=tuple(findings),
        dropped=tuple(dropped),
        unmapped_names=tuple(unmapped),
        summary=summary or "",
        has_summary=summary is not None,
        manifest_notes=tuple(match[1] for match in MANIFEST_NOTE.finditer(text)),
    )


def extract_summary(text: str) -> str | None:
    """The text below ``## Summary``, severities in title case; None without such a heading."""
    lines = text.replace("\r\n", "\n").split("\n")
    start = next((number for number, line in enumerate(lines) if SUMMARY.match(line)), None)
    if start is None:
        return None
    rest = lines[start + 1 :]
    end = next((number for number, line in enumerate(rest) if line.startswith("## ")), len(rest))
    captured = "\n".join(rest[:end]).strip()
    return _SEVERITY_TOKEN.sub(lambda match: f"[{match[1].title()}]", captured)


def _blocks(text: str) -> Iterator[_Block]:
    lines = text.split("\n")
    borders = [number for number, line in enumerate(lines) if _BORDER.match(line) or _ATTEMPT.match(line)]
    for start, end in pairwise([*borders, len(lines)]):
        if _LEVEL_THREE.match(lines[start]) or _ATTEMPT.match(lines[start]):
            yield _Block(lines[start], tuple(lines[start + 1 : end]))


def _finding(block: _Block, finding_id: str, attached: Collection[str]) -> Finding | None:
    heading = FINDING.match(block.heading)
    evidence = [token.strip() for token in (block.value("Evidence") or "").split(",")]
    # If one of the ids is malformed, there is no evidence.
    if heading is None or not all(map(EVIDENCE_ID.fullmatch, evidence)):
        return None
    name = block.value("MCP")
    if name != CROSS_MCP and name not in attached:
        # A name with a line break or two spaces in a row cannot stand in a line as it is.
        name = next((server for server in attached if name and wire_line(server) == name), None)
    return Finding(
        id=finding_id,
        severity=cast(Severity, heading[1].title()),
        dimension=cast(Dimension, heading[2]),
        summary=heading[3],
        mcp_name=name or UNATTRIBUTED,
        evidence_ids=tuple(evidence),
        recommendation=block.value("Recommendation") or "",
    )


def embedded_critic(material: Material) -> str:
    """The output of the embedded critic: Markdown as any other critic would write it."""
    found = drafts(material)
    return "\n".join(_lines(found, material)) + "\n"


def _lines(found: Sequence[Draft], material: Material) -> Iterator[str]:
    yield "## Findings"
    yield ""
    for draft in found:
        yield f"### [{draft.severity.upper()}] {draft.dimension}: {wire_line(draft.summary)}"
        if draft.server:
            yield f"MCP: {wire_line(draft.server)}"
        yield f"Evidence: {', '.join(draft.evidence)}"
        yield f"Recommendation: {wire_line(draft.recommendation)}"
        if draft.detail:
            yield ""
            yield wire_line(draft.detail)
        yield ""
    yield "## Summary"
    yield ""
    yield _summary(found, material)


def _summary(found: Sequence[Draft], material: Material) -> str:
    calls = [entry for entry in material.entries if entry.is_call]
    incomplete = "; ".join(f"{scenario}: {words}" for scenario, words in material.incomplete.items())
    limits = f" What is not complete is no praise: {incomplete}." if incomplete else ""
    if not calls:
        return f"Nothing to evaluate: no call was made.{limits}"
    scope = f"{len(calls)} calls of {len({entry.scenario_id for entry in calls})} scenarios"
    if not found:
        return f"No friction found in {scope}.{limits}"
    numbers = Counter(draft.severity for draft in found)
    listed = ", ".join(
        f"{numbers[severity]} [{severity.upper()}]" for severity in SEVERITIES if numbers[severity]
    )
    worst = found[0]
    return f"Friction in {scope}: {listed}. First to look at: {wire_line(worst.summary)}.{limits}"
