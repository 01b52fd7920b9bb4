"""Objects found by ``pkg.mod:object``, and in-process servers among them."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_mcpeval.loading.messages import shortened
from pytest_mcpeval.servers.causes import root_cause
from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.errors import ServerStartError

_LONGEST_TEXT = 500


class ImportProblem(Exception):  # noqa: N818 (the error that uses it names what is affected)
    """A module cannot be imported, or lacks what was looked for; the text says why and where."""


def imported(target: str, directory: Path | None) -> Any:
    """The object that ``pkg.mod:object.attribute`` names; ``directory`` is importable from now on.

    Raises:
        ImportProblem: There is no such object, importing failed, or another module of that name is loaded.
    """
    name, _, path = target.partition(":")
    if directory is not None and str(directory) not in sys.path:
        sys.path.insert(0, str(directory))
    module: ModuleType | None = None
    try:
        module = importlib.import_module(name)
        found: Any = module
        for attribute in path.split("."):
            found = getattr(found, attribute)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # `pytest.skip` of a module as well: what is evaluated does not decide that it is not.
        searched = _searched(name, module, error)
        raise ImportProblem(f"{described(error)}{searched}") from error
    if directory is not None:
        _require_own(name, module.__file__, directory)
    return found


def _searched(name: str, module: ModuleType | None, error: BaseException) -> str:
    """Return where Python searched for a missing module, or where a module is that lacks something."""
    if module is not None:
        return f"; {name} is {module.__file__}" if module.__file__ else ""
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is None or not f"{name}.".startswith(f"{missing}."):
        return ""
    package = sys.modules.get(missing.rpartition(".")[0])
    if package is not None:
        return f"; searched in {', '.join(getattr(package, '__path__', ()))}"
    return f"; searched in {', '.join(dict.fromkeys(map(os.path.abspath, sys.path)))}"


def _require_own(name: str, loaded_from: str | None, directory: Path) -> None:
    """Raise if another module of this name is loaded: two directories may each have a ``search.py``."""
    stem = directory.joinpath(*name.split("."))
    own = next((path for path in (stem / "__init__.py", stem.with_suffix(".py")) if path.is_file()), None)
    if own is not None and loaded_from is not None and not own.samefile(loaded_from):
        raise ImportProblem(
            f"{own} cannot be imported, since a module {name!r} is already loaded from {loaded_from}: "
            "rename one of them"
        )


def load_server(definition: ServerDefinition) -> Any:
    """The mcp ``Server`` or ``MCPServer`` object, or what the zero-argument callable returns.

    Not for the main thread, where Ctrl-C would look like an error of the module.

    Raises:
        ServerStartError: The module cannot be imported, has no such object, or it is not a server.
    """
    from mcp.server import MCPServer, Server

    try:
        found = imported(definition.module, definition.directory)
        if not isinstance(found, MCPServer | Server) and callable(found):
            found = found()
    except ImportProblem as error:
        raise _failure(definition, str(error)) from error
    except BaseException as error:
        raise _failure(definition, described(error)) from error
    if not isinstance(found, MCPServer | Server):
        kind = type(found).__name__
        raise _failure(
            definition, f"expected an mcp Server or MCPServer or a function returning one, got {kind}"
        )
    return found


def described(error: BaseException) -> str:
    """What was raised, the first of several, and where, on one line."""
    error = root_cause(error)
    text = shortened(" ".join(str(error).split()), _LONGEST_TEXT)
    place = _last_of(traceback.extract_tb(error.__traceback__))
    return f"{type(error).__name__}{f': {text}' if text else ''}{place}"


def _last_of(frames: Sequence[traceback.FrameSummary]) -> str:
    begin = max((index for index, frame in enumerate(frames, 1) if frame.filename == __file__), default=0)
    own = [frame for frame in frames[begin:] if "importlib" not in frame.filename]
    return f" (at {own[-1].filename}:{own[-1].lineno})" if own else ""


def place_of_thread(thread: int) -> str:
    """Where a thread is in its import, as the end of a sentence."""
    frame = sys._current_frames().get(thread)
    return _last_of(traceback.extract_stack(frame)) if frame else ""


def _failure(definition: ServerDefinition, reason: str) -> ServerStartError:
    if "main thread" in reason or "no current event loop" in reason:
        reason += (
            "; a `module` server is imported in a thread of its own: do this below "
            '`if __name__ == "__main__":`, or give the server a `command`'
        )
    return ServerStartError(definition.name, reason, command=definition.module, origin=definition.origin)
