"""Objects found by ``pkg.mod:object``, and in-process servers among them."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.errors import ServerStartError


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
        raise ImportProblem(f"{type(error).__name__}: {error}{_place(error)}{searched}") from error
    if directory is not None:
        _require_own(name, module.__file__, directory)
    return found


def _searched(name: str, module: ModuleType | None, error: BaseException) -> str:
    """Where Python looked in vain for the module itself; where the module is that lacks something."""
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
    """Two directories may each have a ``search.py``; Python loads one of them only."""
    stem = directory.joinpath(*name.split("."))
    own = next((path for path in (stem / "__init__.py", stem.with_suffix(".py")) if path.is_file()), None)
    if own is not None and loaded_from is not None and not own.samefile(loaded_from):
        raise ImportProblem(
            f"{own} cannot be imported, since a module {name!r} is already loaded from {loaded_from}: "
            "rename one of them"
        )


def load_server(definition: ServerDefinition) -> Any:
    """The mcp ``Server`` or ``MCPServer`` object, or what the zero-argument callable returns.

    Raises:
        ServerStartError: The module cannot be imported, has no such object, or it is no server.
    """
    from mcp.server import MCPServer, Server

    try:
        found = imported(definition.module, definition.directory)
        if not isinstance(found, MCPServer | Server) and callable(found):
            found = found()
    except ImportProblem as error:
        raise _failure(definition, str(error)) from error
    except Exception as error:
        raise _failure(definition, f"{type(error).__name__}: {error}{_place(error)}") from error
    if not isinstance(found, MCPServer | Server):
        kind = type(found).__name__
        raise _failure(
            definition, f"expected an mcp Server or MCPServer or a function returning one, got {kind}"
        )
    return found


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "importlib" not in frame.filename and frame.filename != __file__]
    return f" (at {own[-1].filename}:{own[-1].lineno})" if own else ""


def _failure(definition: ServerDefinition, reason: str) -> ServerStartError:
    return ServerStartError(definition.name, reason, command=definition.module, origin=definition.origin)
