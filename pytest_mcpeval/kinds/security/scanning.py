"""``scan:`` in ``mcpeval.yaml``: run detectors on the tools of live servers.

A flagged tool fails its item.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.core.fields import LONGEST_ID
from pytest_mcpeval.core.gate import names
from pytest_mcpeval.core.sample import Check, Outcome, Sample
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.kinds.security.explain import detection_lines
from pytest_mcpeval.kinds.security.schema import EntrySettings
from pytest_mcpeval.kinds.security.spec import Entry, case_id
from pytest_mcpeval.loading import DataFileError, Problem
from pytest_mcpeval.loading.messages import choice, counted, shown, suggestion
from pytest_mcpeval.servers.errors import CallError, ServerStartError
from pytest_mcpeval.text.visible import revealed, visible

if TYPE_CHECKING:
    from pytest_mcpeval.core.suite import SettingsFile
    from pytest_mcpeval.kinds.security.detectors.asking import Detected, Detector
    from pytest_mcpeval.servers.connection import Connection
    from pytest_mcpeval.servers.definitions import ServerDefinition
    from pytest_mcpeval.servers.tools import Tool

Connect = Callable[["ServerDefinition"], "Connection"]

ALSO_SCANNED = ("title", "output_schema", "annotations")
"""Fields of a live tool that entries of a corpus do not have."""

SCAN_SETTINGS = ("scan", "detectors", "timeout")
"""The settings that an entry with `scan` may have."""

_NOT_IN_ID = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True)
class ScanSpec:
    """What one case asks: one detector about all tools of a server; ``others`` are scanned with it."""

    detector: str
    server: str
    others: tuple[str, ...]
    settings: EntrySettings


@dataclass(frozen=True, kw_only=True)
class ScanSuite(Suite[ScanSpec]):
    """The ``scan`` entries of a settings file."""

    def origin_of(self, case: Case[ScanSpec]) -> str:
        """The entry of the settings file."""
        return f"{self.key}:{case.line}"


def scan_suite(file: SettingsFile) -> ScanSuite | None:
    """Return the suite of a settings file; None if no entry scans servers.

    Raises:
        DataFileError: A server is not defined, or two entries scan the same one with the same detector.
    """
    cases: list[Case[ScanSpec]] = []
    problems: list[Problem] = []
    for line, given in file.entries:
        settings = EntrySettings(**given)
        problems += _problems(file, line, given, settings)
        cases += _cases(file, line, settings)
    ids = [case.id for case in cases]
    problems += [
        Problem(file.document.path, case.line, f"scan: {case.id} is scanned twice: name a server once")
        for number, case in enumerate(cases)
        if case.id in ids[:number]
    ]
    if problems:
        raise DataFileError(problems)
    if not cases:
        return None
    return ScanSuite(
        key=file.key,
        kind="security",
        document=file.document,
        cases=tuple(cases),
        settings=None,
        servers=file.servers,
    )


def _problems(
    file: SettingsFile, line: int, given: Mapping[str, Any], settings: EntrySettings
) -> Iterator[Problem]:
    for key in given:
        # Settings of corpora have no effect here, so refuse them.
        if key not in SCAN_SETTINGS:
            message = f"scan: `{key}` is a setting of corpora and does nothing for servers: remove it"
            yield Problem(file.document.path, line, f"{message} (expected {choice(SCAN_SETTINGS)})")
    known = ", ".join(sorted(file.servers)) or "none"
    for server in settings.scan:
        if server not in file.servers:
            hint = suggestion(server, file.servers)
            message = f"scan: unknown server {shown(server)}{hint} (defined: {known})"
            yield Problem(file.document.path, line, message)
    for name, detector in settings.detectors.items():
        if detector.verdict_files:
            message = (
                f"scan: {shown(name)} has recorded verdicts, which live tools do not have: name a detector"
            )
            yield Problem(file.document.path, line, message)


def _cases(file: SettingsFile, line: int, settings: EntrySettings) -> Iterator[Case[ScanSpec]]:
    for name, detector in settings.detectors.items():
        for server in settings.scan:
            others = tuple(other for other in settings.scan if other != server)
            spec = ScanSpec(name, server, others, settings)
            yield Case(
                id=_NOT_IN_ID.sub("_", case_id(name, server))[:LONGEST_ID],
                line=line,
                keys=("security",),
                make_spec=lambda spec=spec: spec,  # type: ignore[misc]
                traits={"tags": ("scan",), "detector": name, "server": server},
                fixtures=() if detector.fixture is None else (detector.fixture,),
            )


Scanned = Sequence[tuple[Entry, "Detected"]]
"""The tools of a server, each with what the detector answered."""


def connect_all(suite: ScanSuite, spec: ScanSpec, connect: Connect) -> None:
    """Connect to a server and to those that are scanned with it.

    Raises:
        ServerStartError: The server cannot be started or reached.
        TargetError: Another server cannot, so descriptions that refer to its tools could not be detected.
    """
    connect(suite.servers[spec.server])
    for other in spec.others:
        try:
            connect(suite.servers[other])
        except ServerStartError as error:
            raise TargetError(f"{_kept_from(spec, other)}:\n{error}") from error


def _kept_from(spec: ScanSpec, other: str) -> str:
    hint = f"repair {other}, or scan it in a separate entry"
    return f"{spec.server} is not scanned, because the tools of {other}, its peers, are not known ({hint})"


def scan(suite: ScanSuite, spec: ScanSpec, connect: Connect, detector: Detector) -> Scanned:
    """List the tools of a server, and ask a detector about each, with the tools of the other servers
    as peers.

    Raises:
        ServerStartError: A server cannot be started or reached.
        TargetError: A server did not list its tools, or the one that is scanned has none.
    """
    tools = {spec.server: _listed(connect(suite.servers[spec.server]))}
    for other in spec.others:
        try:
            tools[other] = _listed(connect(suite.servers[other]))
        except TargetError as error:
            raise TargetError(f"{_kept_from(spec, other)}: {error}") from None
    if not tools[spec.server]:
        raise TargetError(f"{spec.server} lists no tools, so nothing was scanned: expected at least one")
    peers = [
        {"server": name, "tool": tool.name, "description": tool.description}
        for name in spec.others
        for tool in tools[name]
    ]
    entries = [_entry(spec.server, tool, peers) for tool in tools[spec.server]]
    return [(entry, detector.ask([entry])[0]) for entry in entries]


def _listed(connection: Connection) -> Sequence[Tool]:
    try:
        return connection.list_tools()
    except CallError as error:
        raise TargetError(f"the tools could not be listed: {error.message}") from None


def _entry(server: str, tool: Tool, peers: Sequence[Mapping[str, Any]]) -> Entry:
    described = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.input_schema),
        **{key: value for key in ALSO_SCANNED if (value := getattr(tool, key))},
    }
    seen: dict[str, Any] = {"description": tool.description, "server": server, "tool": described}
    return Entry(tool.name, "benign", "scanned", {**seen, "peers": list(peers)} if peers else seen)


def judge_scan(suite: ScanSuite, case: Case[ScanSpec], found: Scanned) -> Sample:
    """The sample of a server: failed when a tool is flagged, in error when one has no verdict."""
    spec = case.spec
    tools = [_tool(entry, one) for entry, one in found]
    flagged = [tool["tool"] for tool in tools if tool["flagged"]]
    broken = [tool["tool"] for tool in tools if tool["flagged"] is None]
    parts = [f"{len(flagged)} of {counted(len(tools), 'tool')} of {spec.server} flagged: {names(flagged)}"]
    parts = parts if flagged else []
    if broken:
        parts.append(f"{len(broken)} of {counted(len(tools), 'tool')} got no verdict: {names(broken)}")
    outcome: Outcome = "failed" if flagged else "error" if broken else "passed"
    return Sample(
        suite=suite.key,
        kind=suite.kind,
        id=case.id,
        outcome=outcome,
        checks=tuple(_check(tool) for tool in tools),
        message="; ".join(parts),
        traits=dict(case.traits),
        measured={
            "detector": spec.detector,
            "server": spec.server,
            "line": case.line,
            "tools": tools,
        },
        run={"processingTimeMs": 1000 * sum(one.seconds for _, one in found)},
    )


def _tool(entry: Entry, found: Detected) -> dict[str, Any]:
    if found.verdict is None:
        assert found.error is not None
        return {"tool": entry.id, "flagged": None, "error": found.error.message, "seen": dict(entry.seen)}
    verdict = found.verdict
    return {
        "tool": entry.id,
        **verdict.as_data(),
        # The texts are needed to show detections; harmless tools need no copy.
        **({"seen": dict(entry.seen)} if verdict.flagged else {}),
    }


def _check(tool: Mapping[str, Any]) -> Check:
    rule = {"type": "not_flagged", "tool": tool["tool"]}
    if tool["flagged"] is None:
        return Check(rule, "inconclusive", f"{tool['tool']}: {tool['error']}")
    rules = ", ".join(dict.fromkeys(one["rule"] for one in tool["detections"]))
    if tool["flagged"]:
        return Check(rule, "failed", f"{tool['tool']}: flagged{f' by {rules}' if rules else ''}")
    return Check(rule, "passed", f"{tool['tool']}: not flagged")


def explain_scan(suite: ScanSuite, case: Case[ScanSpec], sample: Sample) -> str:
    """Return every flagged tool with its description and detections, safe for a terminal."""
    return visible("\n".join([sample.message, *_lines(sample), *suite.place_of(case)]))


def _lines(sample: Sample) -> Iterator[str]:
    for tool in sample.measured["tools"]:
        if tool["flagged"] is None:
            yield f"? {revealed(tool['tool'])}: {tool['error']}"
        elif tool["flagged"]:
            yield f"{revealed(tool['tool'])}: {revealed(tool['seen']['description'])}"
            yield from detection_lines(tool["seen"], tool)
