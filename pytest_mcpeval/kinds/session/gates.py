"""Findings → gate results. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_mcpeval.core.gate import GateResult, Verdict, switched_off
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.session.critic.findings import SEVERITIES, Finding, Severity, count_words
from pytest_mcpeval.kinds.session.critic.parsing import severity_in
from pytest_mcpeval.kinds.session.metrics import incomplete
from pytest_mcpeval.kinds.session.records import MCP_PREFIX
from pytest_mcpeval.kinds.session.schema import GatesModel
from pytest_mcpeval.text.visible import clipped, visible

NEW_FINDINGS = "new_findings"
_SHOWN = 5

Place = tuple[str, str, str]
"""(server, dimension, severity): identifies a finding independently of its wording."""


def gate_names(gates: GatesModel, *, has_baseline: bool) -> list[str]:
    """The gates a suite has, in the order they are reported."""
    found = ["fail_on"] if gates.fail_on != "never" else []
    limited = [severity for severity in SEVERITIES if gates.max_findings.get(severity) is not None]
    found += map(_max_name, limited)
    return [*found, NEW_FINDINGS] if has_baseline else found


def judge_gates(
    suite: str,
    gates: GatesModel,
    findings: Sequence[Finding] | None,
    committed: Sequence[Finding] | None,
    dropped: Sequence[str] = (),
) -> list[GateResult]:
    """Every gate of a suite; ``committed`` are the findings of the baseline, None without one.

    Without findings, because there is no report, every gate is in error. So is one that would pass without
    the ``dropped`` headings and might fail with them.
    """
    if findings is None:
        names = gate_names(gates, has_baseline=committed is not None)
        return [GateResult(suite, name, "error", "there is no report of the critic") for name in names]
    results = []
    if gates.fail_on == "never":
        results.append(switched_off(suite, "fail_on", "fail_on: never"))
    else:
        failing = SEVERITIES[: SEVERITIES.index(gates.fail_on) + 1]
        bad = [finding for finding in findings if finding.severity in failing]
        words = f"{count_words(findings)}; none may be {' or '.join(failing)}{_listed(bad)}"
        verdict: Verdict = "failed" if bad else "passed"
        result = GateResult(suite, "fail_on", verdict, words, float(len(bad)), None, 0.0)
        results.append(_doubted(result, _that_may_be(dropped, failing)))
    for severity in SEVERITIES:
        if severity not in gates.max_findings:
            continue
        limit = gates.max_findings[severity]
        if limit is None:
            setting = f"max_findings: {{{severity}: null}}"
            results.append(switched_off(suite, _max_name(severity), setting))
        else:
            result = _at_most(suite, severity, limit, findings)
            # Headings that would stay within the allowed number decide nothing.
            room = limit - sum(finding.severity == severity for finding in findings)
            doubts = _that_may_be(dropped, [severity])
            results.append(_doubted(result, doubts if len(doubts) > room else []))
    if committed is not None:
        results.append(_doubted(_new_findings(suite, findings, committed), dropped))
    return results


def _that_may_be(dropped: Sequence[str], severities: Sequence[Severity]) -> list[str]:
    """Return the headings that may be findings of these severities; one without a severity may have any."""
    return [heading for heading in dropped if severity_in(heading) in (None, *severities)]


def _doubted(result: GateResult, dropped: Sequence[str]) -> GateResult:
    """Return the result, as an error if it passed although dropped headings could have failed it."""
    if result.verdict != "passed" or not dropped:
        return result
    return replace(result, verdict="error", message=f"{_unread(dropped)}; otherwise: {result.message}")


def held_to_calls(gates: Iterable[GateResult], samples: Sequence[Sample]) -> list[GateResult]:
    """Return the results, as errors if no MCP tool was called; otherwise they name incomplete scenarios.

    ``samples`` are those of the suite. Without calls there is nothing in which friction could be found.
    """
    lines = [line for sample in samples for line in sample.measured.get("transcript", ())]
    if not any(line.get("blocked_tool", line["tool"]).startswith(MCP_PREFIX) for line in lines):
        nothing = "no MCP tool was called, so no friction could be found"
        return [replace(gate, verdict="error", message=f"{nothing}; {gate.message}") for gate in gates]
    early = incomplete(samples)
    words = f"; not complete: {early}" if early else ""
    return [replace(gate, message=f"{gate.message}{words}") for gate in gates]


def unfit_for_baseline(suite: str, dropped: Sequence[str]) -> GateResult:
    """Return the refusal to commit findings, since some could not be read."""
    return GateResult(suite, NEW_FINDINGS, "error", f"{_unread(dropped)}: a baseline would lack them")


def _unread(dropped: Sequence[str]) -> str:
    headings = "heading" if len(dropped) == 1 else "headings"
    shown = "; ".join(clipped(visible(heading), 120) for heading in dropped[:_SHOWN])
    return f"{len(dropped)} {headings} of the critic could not be read as findings ({shown})"


def _max_name(severity: Severity) -> str:
    return f"max_{severity.lower()}"


def _at_most(suite: str, severity: Severity, limit: int, findings: Sequence[Finding]) -> GateResult:
    found = [finding for finding in findings if finding.severity == severity]
    verdict: Verdict = "failed" if len(found) > limit else "passed"
    words = f"{len(found)} {severity} findings, wanted at most {limit}{_listed(found)}"
    return GateResult(suite, _max_name(severity), verdict, words, float(len(found)), None, float(limit))


def _new_findings(suite: str, findings: Sequence[Finding], committed: Sequence[Finding]) -> GateResult:
    new = new_findings(findings, committed)
    gone = new_findings(committed, findings)
    words = f"{len(new)} findings that are not in the baseline{_listed(new)}"
    words += f" ({len(gone)} of the baseline are gone)" if gone else ""
    return GateResult(suite, NEW_FINDINGS, "failed" if new else "passed", words, float(len(new)), 0.0, 0.0)


def new_findings(findings: Iterable[Finding], committed: Iterable[Finding]) -> list[Finding]:
    """The findings beyond those that were committed for the same server, dimension and severity.

    A critic seldom uses the same words twice, so words only decide which of several findings is the new one.
    """
    left: dict[Place, Counter[str]] = {}
    for finding in committed:
        left.setdefault(_place(finding), Counter())[finding.summary] += 1
    new = []
    unmatched = []
    for finding in findings:
        summaries = left.get(_place(finding), Counter())
        if summaries[finding.summary] > 0:
            summaries[finding.summary] -= 1
        else:
            unmatched.append(finding)
    rest: Mapping[Place, int] = {place: summaries.total() for place, summaries in left.items()}
    room = Counter(rest)
    for finding in unmatched:
        if room[_place(finding)] > 0:
            room[_place(finding)] -= 1
        else:
            new.append(finding)
    return new


def _place(finding: Finding) -> Place:
    return finding.mcp_name, finding.dimension, finding.severity


def _listed(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    listed = [
        f"{finding.id} [{finding.severity}] {finding.mcp_name}: {clipped(finding.summary, 120)} "
        f"({', '.join(finding.evidence_ids[:_SHOWN])})"
        for finding in findings[:_SHOWN]
    ]
    more = f"; and {len(findings) - _SHOWN} more" if len(findings) > _SHOWN else ""
    return f": {'; '.join(listed)}{more}"
