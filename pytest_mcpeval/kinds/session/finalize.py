"""Phases 5 and 6 of an evaluation: ask the critic, parse and check its output, and write the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.core.baseline import write_atomically
from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.kinds.session.critic.asking import CriticRequest, ask_critic, prompt
from pytest_mcpeval.kinds.session.critic.findings import Cited, dangling_citations
from pytest_mcpeval.kinds.session.critic.friction import Material
from pytest_mcpeval.kinds.session.critic.parsing import embedded_critic, parse
from pytest_mcpeval.kinds.session.critic.settings import EMBEDDED, CriticModel
from pytest_mcpeval.kinds.session.endings import endings_of
from pytest_mcpeval.kinds.session.folder import Folder
from pytest_mcpeval.kinds.session.records import TranscriptEntry
from pytest_mcpeval.kinds.session.report import html, markdown, report_of
from pytest_mcpeval.kinds.session.run import EvaluationRun
from pytest_mcpeval.kinds.session.state import State, StateFile

if TYPE_CHECKING:
    from pytest_mcpeval.core.run_context import RunContext


def finalize(run: EvaluationRun, context: RunContext) -> State:
    """Ask the critic, unless its output exists, and write the report.

    The status of the state is then ``complete``, or ``critic_failed``.

    Raises:
        TargetError: Scenarios are left to be carried out, or the critic could not be asked.
    """
    with run.opened(context) as file:
        if file.state.status == "complete":
            return file.state
        _require_all_over(run, file.state)
        if file.state.attached_mcps and file.state.status != "reporting":
            _criticise(run, file, context.fixtures)
        if file.state.status == "reporting":
            write_report(run.folder, file, run.entries())
        return file.state


def _require_all_over(run: EvaluationRun, state: State) -> None:
    if state.status in ("scoped", "executing"):
        over = {entry.scenario_id for entry in state.execution if entry.status != "running"}
        left = [planned.id for planned in run.suite.scenarios if planned.id not in over]
        raise TargetError(
            f"{', '.join(left)} not carried out yet, but the critic needs a complete evaluation: run "
            "the file "
            f"without -k, and with --mcpeval-resume --mcpeval-name {state.eval_name}"
        )


def _criticise(run: EvaluationRun, file: StateFile, fixtures: Mapping[str, Any]) -> None:
    """Read an existing output instead of asking the critic again."""
    output = run.folder.critic_output
    kept = output.read_text(encoding="utf-8") if output.is_file() else None
    found = None if kept is None else parse(kept, file.state.server_names())
    if found is None or found.is_unusable:
        raw = _raw_output(run, file.state, fixtures)
        write_atomically(output, raw)
        found = parse(raw, file.state.server_names())
    failed = found.is_unusable
    file.update(
        status="critic_failed" if failed else "reporting",
        critic_failure_path=run.folder.relative(output) if failed else None,
        critic_findings=found.findings,
        critic_findings_dropped_raw=found.dropped,
        critic_findings_dropped=len(found.dropped),
        unmapped_mcp_names=found.unmapped_names,
        critic_summary=found.summary,
        missing_critic_summary=not found.has_summary,
        critic_manifest_notes=found.manifest_notes,
    )


def _raw_output(run: EvaluationRun, state: State, fixtures: Mapping[str, Any]) -> str:
    critic: CriticModel = run.suite.settings.critic
    if critic.way == EMBEDDED:
        return embedded_critic(_material(run, state))
    paths = (run.folder.transcript, run.folder.state)
    request = CriticRequest(prompt(*paths, state.server_names()), *paths)
    return ask_critic(critic, request, fixtures)


def _material(run: EvaluationRun, state: State) -> Material:
    entries = run.entries()
    endings = endings_of(state, entries)
    reading = {server.name: frozenset(server.reading_tools) for server in state.attached_mcps}
    return Material(
        entries=entries,
        tools={server.name: server.tools for server in state.attached_mcps},
        changes=lambda server, tool: tool not in reading.get(server, ()),
        resumed=state.resumed,
        incomplete={one.scenario.id: one.words for one in endings if not one.is_complete},
    )


def write_report(folder: Folder, file: StateFile, entries: Sequence[TranscriptEntry]) -> None:
    """Check the citations of all findings, write the report, and complete the evaluation."""
    targets = {scenario.id: scenario.targets_mcps for scenario in file.state.scenarios}
    cited = {entry.id: Cited(entry.tool, targets.get(entry.scenario_id, ())) for entry in entries}
    dangling = dangling_citations(file.state.critic_findings, cited, file.state.server_names())
    if tuple(dangling) != file.state.dangling_citations:
        file.update(dangling_citations=tuple(dangling))
    report = report_of(file.state, entries)
    write_atomically(folder.report, markdown(report))
    write_atomically(folder.html_report, html(report))
    file.update(status="complete", report_path=folder.relative(folder.report))
