"""The embedded critic: friction that can be counted in a transcript, without a model. Pure.

What each rule looks for is documented in ``docs/sessions.md``; the figures are the constants below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_mcpeval.kinds.session.critic.findings import CROSS_MCP, SEVERITIES, Dimension, Severity
from pytest_mcpeval.kinds.session.records import TranscriptEntry, mcp_tool, server_of

OVERSIZED: Mapping[Severity, int] = {"Critical": 1_000_000, "Major": 100_000, "Minor": 25_000}
"""Severity → bytes from which a result is oversized; the worst first."""
REPEATED: Mapping[Severity, int] = {"Critical": 5, "Major": 3, "Minor": 2}
"""Severity → how often the same call was made."""
FAILED_ATTEMPTS: Mapping[Severity, int] = {"Critical": 3, "Major": 2, "Minor": 1}
"""Severity → failed calls of a tool before its parameters were right or the agent gave up."""
GLUED: Mapping[Severity, int] = {"Major": 3, "Minor": 1}
"""Severity → calls of a scenario that only carry data from one MCP call to another."""
RESHAPED: Mapping[Severity, int] = {"Major": 3, "Minor": 1}
"""Severity → arguments that had to be derived from earlier results."""

_KIND = re.compile(r"[a-z]+")


@dataclass(frozen=True)
class Draft:
    """A finding before it is written. ``server`` is empty if no server is responsible."""

    severity: Severity
    dimension: Dimension
    summary: str
    server: str
    evidence: tuple[str, ...]
    recommendation: str
    detail: str = ""


@dataclass(frozen=True)
class Material:
    """What the critic reads: the transcript, and server → its tools."""

    entries: Sequence[TranscriptEntry]
    tools: Mapping[str, Sequence[str]]
    changes: Callable[[str, str], bool] = lambda server, tool: True
    """(server, tool) → whether the tool may change something, so that repeating a call is not redundant."""
    resumed: Sequence[str] = ()
    """Times at which a later run resumed and repeated the interrupted scenario from its start."""
    incomplete: Mapping[str, str] = field(default_factory=dict)
    """Scenario → how it ended, for scenarios that are not complete."""

    def server_of(self, tool: str) -> str:
        """The server of ``mcp__<server>__<tool>``, or an empty text."""
        return server_of(tool, self.tools)

    def tool_of(self, entry: TranscriptEntry) -> str:
        """The tool's own name."""
        server = self.server_of(entry.tool)
        return entry.tool.removeprefix(mcp_tool(server, "")) if server else entry.tool

    def attempts(self) -> Sequence[tuple[str, list[TranscriptEntry]]]:
        """Scenarios and their calls, in order; an interrupted and resumed scenario has several attempts.

        The agent is not responsible for calls that the next attempt repeats.
        """
        found: dict[tuple[str, int], list[TranscriptEntry]] = {}
        for entry in self.entries:
            if entry.is_call:
                attempt = sum(moment <= entry.ts for moment in self.resumed)
                found.setdefault((entry.scenario_id, attempt), []).append(entry)
        return [(scenario, entries) for (scenario, _), entries in found.items()]


def drafts(material: Material) -> list[Draft]:
    """Everything that the rules find, the worst first, then in the order of the transcript."""
    rules = (_repeated, _guessed, _oversized, _inconsistent, _glued, _unjustified, _reshaped)
    found = [draft for rule in rules for draft in rule(material)]
    places = {entry.id: place for place, entry in enumerate(material.entries)}
    return sorted(found, key=lambda draft: (SEVERITIES.index(draft.severity), places[draft.evidence[0]]))


def _severity(scale: Mapping[Severity, int], number: int) -> Severity | None:
    return next((severity for severity, least in scale.items() if number >= least), None)


def _repeated(material: Material) -> Iterator[Draft]:
    """Yield repetitions of a call although nothing that could change its answer has happened."""
    for _, entries in material.attempts():
        for group in _same_calls(material, entries):
            severity = _severity(REPEATED, len(group))
            if severity is None:
                continue
            name = material.tool_of(group[0])
            yield Draft(
                severity,
                "redundant_calls",
                f"`{name}` was called {len(group)} times with the same arguments",
                material.server_of(group[0].tool),
                tuple(entry.id for entry in group),
                f"Make one answer of `{name}` enough, or say in its description what it leaves out.",
                "No call in between could have changed the answer.",
            )


def _same_calls(material: Material, entries: Iterable[TranscriptEntry]) -> Iterator[list[TranscriptEntry]]:
    groups: dict[tuple[str, str], list[TranscriptEntry]] = {}
    for entry in entries:
        server = material.server_of(entry.tool)
        if not server or not entry.was_answered:
            continue
        key = (entry.tool, _arguments(entry))
        groups.setdefault(key, []).append(entry)
        if material.changes(server, material.tool_of(entry)):
            # Earlier calls to this server may have other answers now.
            stale = [one for one in groups if material.server_of(one[0]) == server and one != key]
            yield from (groups.pop(one) for one in stale)
    yield from groups.values()


def _guessed(material: Material) -> Iterator[Draft]:
    """A call that failed, and the same tool again with other parameters."""
    for _, entries in material.attempts():
        by_tool: dict[str, list[TranscriptEntry]] = {}
        for entry in entries:
            if material.server_of(entry.tool) and entry.was_answered:
                by_tool.setdefault(entry.tool, []).append(entry)
        for attempts in (found for calls in by_tool.values() for found in _attempts(calls)):
            failed = [entry for entry in attempts if entry.failed]
            severity = _severity(FAILED_ATTEMPTS, len(failed))
            assert severity is not None, "an attempt has failed"
            name = material.tool_of(attempts[0])
            shapes = ", ".join(dict.fromkeys(str(entry.result_shape) for entry in failed))
            yield Draft(
                severity,
                "parameter_inference",
                f"`{name}` was tried again with other parameters after {_times(len(failed), 'error')}",
                material.server_of(attempts[0].tool),
                tuple(entry.id for entry in attempts),
                f"Say in the schema of `{name}` what its parameters must look like, with an example.",
                f"Errors: {shapes}.",
            )


def _attempts(calls: Sequence[TranscriptEntry]) -> Iterator[list[TranscriptEntry]]:
    """Failed calls and the one after them, where the parameters were changed in between."""
    run: list[TranscriptEntry] = []
    for entry in calls:
        changed = bool(run) and _arguments(entry) != _arguments(run[-1])
        if run and changed:
            run.append(entry)
            if not entry.failed:
                yield run
                run = []
        elif entry.failed:
            run = run or [entry]
        else:
            run = []
    if len(run) > 1:
        yield run


def _arguments(entry: TranscriptEntry) -> str:
    return entry.args_digest or entry.args_summary


def _oversized(material: Material) -> Iterator[Draft]:
    found: dict[str, list[TranscriptEntry]] = {}
    for entry in material.entries:
        if material.server_of(entry.tool) and (entry.result_bytes or 0) >= OVERSIZED["Minor"]:
            found.setdefault(entry.tool, []).append(entry)
    for entries in found.values():
        largest = max(entry.result_bytes or 0 for entry in entries)
        severity = _severity(OVERSIZED, largest)
        assert severity is not None, "the smallest are left out"
        name = material.tool_of(entries[0])
        yield Draft(
            severity,
            "response_shape",
            f"`{name}` answers with up to {largest:,} bytes",
            material.server_of(entries[0].tool),
            tuple(entry.id for entry in entries),
            f"Give `{name}` pages, a limit or a choice of fields.",
        )


def _inconsistent(material: Material) -> Iterator[Draft]:
    """Yield tools whose answers are sometimes a list, sometimes a mapping, sometimes a text."""
    kinds: dict[str, dict[str, list[TranscriptEntry]]] = {}
    for entry in material.entries:
        found = _KIND.match(entry.result_shape or "") if entry.was_answered else None
        if material.server_of(entry.tool) and not entry.failed and found:
            kinds.setdefault(entry.tool, {}).setdefault(found[0], []).append(entry)
    for by_kind in kinds.values():
        if len(by_kind) < 2:
            continue
        examples = [entries[0] for entries in by_kind.values()]
        name = material.tool_of(examples[0])
        yield Draft(
            "Minor",
            "response_shape",
            f"`{name}` answers in different shapes: {', '.join(sorted(by_kind))}",
            material.server_of(examples[0].tool),
            tuple(entry.id for entry in examples),
            f"Let `{name}` always answer in one shape, also when there is nothing or only one.",
            "Shapes: " + "; ".join(str(entry.result_shape) for entry in examples) + ".",
        )


def _glued(material: Material) -> Iterator[Draft]:
    """Calls of other tools that stand between two MCP calls."""
    for scenario, entries in material.attempts():
        servers = [material.server_of(entry.tool) for entry in entries]
        mcp = [place for place, server in enumerate(servers) if server]
        if len(mcp) < 2:
            continue
        glue = [place for place in range(mcp[0], mcp[-1]) if not servers[place] and not entries[place].is_mcp]
        severity = _severity(GLUED, len(glue))
        if severity is None:
            continue
        before = max(place for place in mcp if place < glue[0])
        after = min(place for place in mcp if place > glue[-1])
        yield Draft(
            severity,
            "glue_code",
            f"{scenario} needed {_times(len(glue), 'call')} of other tools between two MCP calls: "
            f"{_named(entries[place] for place in glue)}",
            servers[before],
            tuple(entries[place].id for place in (before, after) if servers[place] == servers[before]),
            f"Let `{material.tool_of(entries[before])}` return what the next call needs.",
        )


def _named(entries: Iterable[TranscriptEntry]) -> str:
    """Return tools with the ids of their calls, which are not evidence against a server."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        found.setdefault(entry.tool, []).append(entry.id)
    return ", ".join(f"`{tool}` ({', '.join(ids)})" for tool, ids in found.items())


def _unjustified(material: Material) -> Iterator[Draft]:
    """Yield uses of other tools without a reason.

    No server is responsible, since the agent did not say what it lacks.
    """
    known = {mcp_tool(server, tool) for server, tools in material.tools.items() for tool in tools}
    for scenario, entries in material.attempts():
        problems = {
            entry.id: problem
            for entry in entries
            if not entry.is_mcp and (problem := justification_problem(entry.justification, known))
        }
        if not problems:
            continue
        yield Draft(
            "Major",
            "glue_code",
            f"{scenario} used {_times(len(problems), 'other tool')} without saying why no MCP tool would do",
            "",
            tuple(problems),
            "Name the MCP tool that was considered and why not, or say that none covers the step.",
            "; ".join(f"The justification of {entry} {problem}" for entry, problem in problems.items()) + ".",
        )


def _reshaped(material: Material) -> Iterator[Draft]:
    """Values of one result that another call could only take in another form."""
    tools = {entry.id: entry.tool for entry in material.entries}
    pairs: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
    for entry in material.entries:
        for source in entry.argument_sources:
            giver, taker = tools.get(source.entry_id, ""), entry.tool
            if source.how == "reshaped" and material.server_of(giver) and material.server_of(taker):
                pairs.setdefault((giver, taker), []).append((source.entry_id, entry.id, source.argument))
    for (giver, taker), seen in pairs.items():
        severity = _severity(RESHAPED, len(seen))
        assert severity is not None, "there is one"
        first, second = material.server_of(giver), material.server_of(taker)
        is_cross = first != second
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(argument for _, _, argument in seen))
        given = giver.removeprefix(mcp_tool(first, ""))
        taken = taker.removeprefix(mcp_tool(second, ""))
        yield Draft(
            severity,
            "cross_mcp" if is_cross else "parameter_inference",
            f"{names} of `{taken}` had to be derived from the results of `{given}`",
            CROSS_MCP if is_cross else second,
            tuple(dict.fromkeys(one for pair in seen for one in pair[:2])),
            f"Let `{given}` return values in the form in which `{taken}` takes them.",
        )


def _times(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


NOT_COVERED = "no attached MCP covers this step"

_TOOL = re.compile(r"\bmcp__[\w.-]+")
_NOT_COVERED = re.compile(r"\bno\s+attached\s+mcp\s+covers\s+this\s+step\b", re.IGNORECASE)
_GENERIC = re.compile(
    r"\b(?:(?:it|this|that|bash|local(?:ly)?)\s+)?(?:is|was|would\s+be|seemed)?\s*(?:much\s+|a\s+lot\s+|just\s+)?"
    r"(?:faster|easier|simpler|quicker|more\s+convenient|convenient|handy)(?:\s+(?:locally|this\s+way|here|to\s+use))?",
    re.IGNORECASE,
)
_FILLER = frozenset(
    """
    a an and as at because but by chose considered for i in instead is it of on rather so than that
    the this to used using was with bash python webfetch read grep
    """.split()  # noqa: SIM905
)
_FEWEST_WORDS = 3


def justification_problem(text: str | None, tools: Collection[str]) -> str | None:
    """Return what a justification lacks, or None.

    It must name a tool in ``tools`` (``mcp__server__tool``) that was considered, or say that none covers the
    step; and it must give a reason that is more than "faster" or "easier".
    """
    if not text or not text.strip():
        return "is missing"
    named = [found.rstrip(".-") for found in _TOOL.findall(text)]
    if not named and not _NOT_COVERED.search(text):
        return f"neither names the MCP tool that was considered nor says '{NOT_COVERED}'"
    unknown = [name for name in named if name not in tools]
    if unknown and len(unknown) == len(named):
        return f"names {unknown[0]}, which no attached server has"
    rest = _GENERIC.sub(" ", _NOT_COVERED.sub(" ", _TOOL.sub(" ", text)))
    words = [word for word in re.findall(r"[^\W\d_]{2,}", rest.lower()) if word not in _FILLER]
    return None if len(words) >= _FEWEST_WORDS else "gives no reason, or only a general one"
