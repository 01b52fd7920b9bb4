"""Phase 2 with a person at the keyboard: ask for the disposition of each server."""

from __future__ import annotations

import re
from typing import get_args

from pytest_mcpeval.kinds.session.records import Disposition, ServerScope
from pytest_mcpeval.kinds.session.safety_rules import mutation_hints
from pytest_mcpeval.kinds.session.state import AttachedServer, StateFile
from pytest_mcpeval.text.visible import visible

DISPOSITIONS: tuple[Disposition, ...] = get_args(Disposition)

_PIECE = re.compile(r'\s*"([^"]*)"\s*(?:,|$)|([^,]*)(?:,|$)')

CHOICES = """\
  read_only  only tools that change nothing are called; a tool that cannot be classified ends the scenario
  sandboxed  tools may change things, but only the test resources that you name
  skip       this server is never called
"""


def interview(file: StateFile) -> None:
    """Ask for every attached server that has no disposition yet; each answer is saved at once.

    Raises:
        EOFError: The input ended before all questions were answered; the answers so far are kept.
    """
    for server in file.state.attached_mcps:
        if file.state.disposition(server.name) is None:
            found = ask_disposition(server)
            file.update(safety_dispositions=(*file.state.safety_dispositions, found))
    file.update(status="scoping")


def ask_disposition(server: AttachedServer) -> ServerScope:
    """Ask for the disposition of one server. There is no default."""
    print(visible(f"\n{server.name}  ({server.source})"))
    print(visible(f"  tools: {', '.join(server.tools) or f'none listed: {server.listing_problem}'}"))
    if hints := mutation_hints(server.tools):
        words = f"  these look as if they change something: {', '.join(hints)}"
        print(visible(f"{words}. You probably want sandboxed or skip"))
    chosen = _chosen(server)
    resources = _resources() if chosen == "sandboxed" else ()
    notes = input("Notes (may be empty): ").strip()
    return ServerScope(server.name, chosen, resources, notes)


def _chosen(server: AttachedServer) -> Disposition:
    print(CHOICES.rstrip("\n"))
    while True:
        answer = input(f"{server.name}: read_only, sandboxed or skip? ").strip().lower()
        for disposition in DISPOSITIONS:
            if answer == disposition:
                return disposition
        print("Every server needs one of the three words; there is no default.")


def _resources() -> tuple[str, ...]:
    print(
        "Which test resources may be changed? One or several in each line, separated by commas, in the form "
        'the tools expect; an empty line ends. Put quotes around one that holds a comma: "a, b.md". Where '
        "tools name a thing in two ways, such as owner/name and name, give both."
    )
    found: list[str] = []
    while True:
        line = input("resource: ")
        named = resources_in(line)
        if len(named) > 1:
            print(visible(f"{len(named)} resources: {' | '.join(named)}"))
        found += named
        if not line.strip() and found:
            return tuple(dict.fromkeys(found))
        if not found:
            print("A sandbox without resources allows no change: name at least one.")


def resources_in(line: str) -> list[str]:
    """The resources that a line names: several with commas between them, quoted where they hold a comma.

    A single one is kept as it was typed: a path may begin or end with a space.
    """
    if "," not in line and '"' not in line:
        return [line] if line.strip() else []
    pieces = (found[1] if found[1] is not None else found[2].strip() for found in _PIECE.finditer(line))
    return [piece for piece in pieces if piece]
