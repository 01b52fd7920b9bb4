"""Findings in the wire format that every critic writes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_mcpeval.kinds.session.critic.findings import SEVERITIES, wire_line
from pytest_mcpeval.kinds.session.critic.friction import Draft, Material, drafts


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
    calls = sum(entry.is_call for entry in material.entries)
    told = "; ".join(f"{scenario}: {words}" for scenario, words in material.incomplete.items())
    limits = f" What is not complete is no praise: {told}." if told else ""
    if not calls:
        return f"Nothing to evaluate: no call was made.{limits}"
    scope = f"{calls} calls of {len(material.scenarios())} scenarios"
    if not found:
        return f"No friction found in {scope}.{limits}"
    numbers = Counter(draft.severity for draft in found)
    listed = ", ".join(
        f"{numbers[severity]} [{severity.upper()}]" for severity in SEVERITIES if numbers[severity]
    )
    worst = found[0]
    return f"Friction in {scope}: {listed}. First to look at: {wire_line(worst.summary)}.{limits}"
