"""Agents for tests, found by ``python:``; each is given a task and a toolbox."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from pytest_mcpeval import CallRefused, Toolbox


async def reads(task: str, toolbox: Toolbox) -> str:
    """Does as it is told."""
    found = await toolbox.call("mcp__notes__list_notes", {"limit": 1})
    return f"{task}: {len(found.structured['notes'])} note, {toolbox.calls_left} calls left"


def waits_in_vain(task: str, toolbox: Toolbox) -> dict[str, Any]:
    """An ordinary function, which goes on with other tools when a call is refused."""
    try:
        toolbox.call_now("mcp__notes__delete_note", {"id": "1"})
    except CallRefused as refusal:
        return {"refused": refusal.reason}
    return {}


async def insists(task: str, toolbox: Toolbox) -> str:
    """Swallows every error and goes on."""
    refused = 0
    for number in range(50):
        try:
            await toolbox.call("mcp__notes__get_note", {"id": f"n{number}"})
        except Exception:
            refused += 1
    return f"{refused} refused"


async def gives_up(task: str, toolbox: Toolbox) -> str:
    """Does not catch what a refusal raises."""
    while True:
        await toolbox.call("mcp__notes__get_note", {"id": "n1"})


async def uses_bash(task: str, toolbox: Toolbox) -> None:
    """Uses something else, and says why."""
    why = "no attached MCP covers this step: the notes are counted by a script of the project"
    with toolbox.recorded("Bash", {"command": "wc -l notes"}, justification=why) as use:
        use.result = "5 notes"


async def hangs(task: str, toolbox: Toolbox) -> None:
    """Never comes to an end."""
    await toolbox.call("mcp__notes__get_note", {"id": "n1"})
    await asyncio.sleep(3600)


async def raises(task: str, toolbox: Toolbox) -> None:
    """Is broken."""
    raise ZeroDivisionError("by sk-proj-abcdefghijklmnop1234")


async def returns_an_object(task: str, toolbox: Toolbox) -> object:
    """Returns something that cannot be told."""
    return object()


async def tells_secrets(task: str, toolbox: Toolbox) -> str:
    """Says what it should not."""
    return "write to ada@example.org with ghp_abcdefghijklmnopqrstuvwxyz012345"


async def forges(task: str, toolbox: Toolbox) -> str:
    """Tries to write what only the guard may, then sleeps."""
    said = []
    for name in ("__wallclock_abort__", "__blocked__", " __anything__\n"):
        try:
            with toolbox.recorded(name, {}, justification="no attached MCP covers this step: it is mine"):
                pass
        except ValueError as error:
            said.append(str(error))
    await asyncio.sleep(3600)
    return "; ".join(said)


def hangs_for_ever() -> None:
    """Glue that never comes to an end."""
    threading.Event().wait()


not_a_function = 7


def join(ids: list[str], by: str) -> dict[str, Any]:
    """Glue between two calls."""
    return {"joined": by.join(ids), "count": len(ids)}


def breaks() -> None:
    """Glue that does not hold."""
    raise RuntimeError("no glue")
