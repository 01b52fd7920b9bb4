"""Phase 3 with a person at the keyboard: scenarios, their approval, and the file they are written to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_mcpeval.kinds.session.discovery import USER_FILE
from pytest_mcpeval.kinds.session.edge_cases import Manifest, Proposal, derive
from pytest_mcpeval.kinds.session.intake import target_problem
from pytest_mcpeval.kinds.session.interview import ask_disposition
from pytest_mcpeval.kinds.session.records import Disposition, ScenarioRecord, ServerScope
from pytest_mcpeval.kinds.session.schema import MOST_SCENARIOS, IntakeModel, approval_of
from pytest_mcpeval.kinds.session.state import State, StateFile
from pytest_mcpeval.text.visible import visible

ASK_APPROVAL = """\
Approve this list? Type exactly one of:
  approve            carry out the whole list
  user-only          drop the derived scenarios, carry out yours
or one edit:
  drop S3
  rewrite S2 to TEXT
  add TEXT
Nothing else approves."""

_DROP = re.compile(r"drop\s+S(\d+)", re.IGNORECASE)
_REWRITE = re.compile(r"rewrite\s+S(\d+)\s+to\s+(\S.*)", re.IGNORECASE)
_ADD = re.compile(r"add\s+(\S.*)", re.IGNORECASE)


def ask_scenarios() -> list[Proposal]:
    """The scenarios that a person describes, at most 8."""
    print(
        f"What should be tried? One scenario in each line, 1 to {MOST_SCENARIOS}; an empty line ends, as in\n"
        "  Which drafts were changed this week? Write their titles into overview.md.\n"
        "  Look up the opening hours of the library, and put them into the calendar."
    )
    found: list[Proposal] = []
    while len(found) < MOST_SCENARIOS:
        text = input(f"S{len(found) + 1}: ").strip()
        if not text:
            break
        found.append(Proposal(text))
    return found


def checked(rows: Iterable[IntakeModel], file: StateFile) -> list[Proposal]:
    """The scenarios of a file, once each target is attached and may be called.

    Raises:
        ValueError: A target is not attached; the message names the scenario.
    """
    found = []
    for number, row in enumerate(rows, 1):
        proposal = Proposal(row.description, targets_mcps=tuple(row.targets_mcps))
        answers = [_may_be_called(number, target, file) for target in proposal.targets_mcps]
        if all(answers):
            found.append(proposal)
    return found


def _dispositions(file: StateFile) -> Mapping[str, Disposition | None]:
    found = {name: file.state.disposition(name) for name in file.state.server_names()}
    return {name: None if scope is None else scope.disposition for name, scope in found.items()}


def _may_be_called(number: int, target: str, file: StateFile) -> bool:
    dispositions = _dispositions(file)
    problem = target_problem(target, dispositions)
    if problem and target not in dispositions:
        raise ValueError(f"scenario {number}: targets_mcps: {problem}")
    if not problem:
        return True
    print(visible(f"Scenario {number}: {problem}."))
    answer = input("drop or change? ").strip().lower()
    if answer == "change":
        server = next(one for one in file.state.attached_mcps if one.name == target)
        new = ask_disposition(server)
        others = tuple(one for one in file.state.safety_dispositions if one.mcp_name != target)
        file.update(safety_dispositions=(*others, new))
        if new.disposition != "skip":
            return True
    print(f"Scenario {number} is dropped.")
    return False


def with_derived(
    proposals: Sequence[Proposal], tools: Mapping[str, Sequence[Manifest]], file: StateFile
) -> list[Proposal]:
    """The scenarios of a person, and behind them as many derived ones as there is room for."""
    room = MOST_SCENARIOS - len(proposals)
    read_only = [name for name, disposition in _dispositions(file).items() if disposition == "read_only"]
    return [*proposals, *derive(tools, [one.description for one in proposals], room, read_only)]


def approve(proposals: Sequence[Proposal]) -> tuple[str, tuple[ScenarioRecord, ...]]:
    """The word of approval and what it approves; every other answer is an edit or asked again.

    Raises:
        EOFError: Nobody approved.
        ValueError: The approval leaves no scenario.
    """
    found = list(proposals)
    while True:
        print()
        for number, one in enumerate(found, 1):
            targets = f"  → {', '.join(one.targets_mcps)}" if one.targets_mcps else ""
            print(visible(f"S{number} [{one.source}] {one.description}{targets}"))
            if one.note:
                print(visible(f"     {one.note}"))
        print(ASK_APPROVAL)
        answer = input("> ")
        try:
            token = approval_of(answer)
        except ValueError:
            edited = edit(found, answer)
            if edited is not None:
                found = edited
            elif _ADD.fullmatch(answer.strip()):
                print(f"{MOST_SCENARIOS} scenarios are the most: drop one first.")
            else:
                print("That neither approves nor edits the list.")
            continue
        kept = [one for one in found if token == "approve" or one.source == "user"]
        if not kept:
            raise ValueError("no scenario is left: nothing to evaluate")
        return token, tuple(
            ScenarioRecord(f"S{number}", one.description, one.source, one.targets_mcps, one.note)
            for number, one in enumerate(kept, 1)
        )


def edit(proposals: Sequence[Proposal], request: str) -> list[Proposal] | None:
    """The list after ``drop S3``, ``rewrite S2 to …`` or ``add …``; None when it is no such request."""
    text = request.strip()
    if found := _DROP.fullmatch(text):
        index = int(found[1]) - 1
        kept = [one for place, one in enumerate(proposals) if place != index]
        return kept if len(kept) < len(proposals) else None
    if found := _REWRITE.fullmatch(text):
        index = int(found[1]) - 1
        if not 0 <= index < len(proposals):
            return None
        new = replace(proposals[index], description=found[2], source="user", note="")
        return [*proposals[:index], new, *proposals[index + 1 :]]
    if (found := _ADD.fullmatch(text)) and len(proposals) < MOST_SCENARIOS:
        return [*proposals, Proposal(found[1])]
    return None


_HEAD = """\
# Written by pytest-mcpeval scope. Before it runs: say who carries the scenarios out, with `agent:` here or in
# the entry of mcpeval.yaml, or with `steps:` in each scenario.
"""


def scenarios_file(state: State, approval: str) -> str:
    """The YAML of dispositions, scenarios and approval."""
    import yaml

    has_user_servers = any(server.source.endswith(USER_FILE) for server in state.attached_mcps)
    data = {
        "kind": "session",
        **({"user_servers": True} if has_user_servers else {}),
        "dispositions": {one.mcp_name: _disposition(one) for one in state.safety_dispositions},
        "approval": approval,
        "scenarios": [_scenario(one) for one in state.scenarios],
    }
    return _HEAD + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)


def _disposition(found: ServerScope) -> Any:
    more = {
        **({"test_resources": list(found.test_resources)} if found.test_resources else {}),
        **({"notes": found.notes} if found.notes else {}),
    }
    return {"disposition": found.disposition, **more} if more else found.disposition


def _scenario(found: ScenarioRecord) -> dict[str, Any]:
    return {
        "description": found.description,
        **({"source": found.source} if found.source == "derived" else {}),
        **({"note": found.note} if found.note else {}),
        **({"targets_mcps": list(found.targets_mcps)} if found.targets_mcps else {}),
    }
