"""What `interview` and `scope` share: the evaluation they work on, and the person they ask."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.kinds.session.discovery import Discovery


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what both commands take."""
    parser.add_argument("--name", metavar="NAME", help="name of the evaluation in mcp-evals/")
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="the scenario file to write at the end (default: datasets/sessions/NAME.scenarios.yaml)",
    )


def out_file(options: argparse.Namespace, root: Path, name: str) -> Path:
    """The scenario file to write."""
    given = options.out
    return Path(given).absolute() if given else root / "datasets" / "sessions" / f"{name}.scenarios.yaml"


def discovered(context: RunContext, out: Path) -> Discovery:
    """The servers that the scenario file may attach.

    Raises:
        DataFileError: A file that defines servers cannot be used.
    """
    from pytest_mcpeval.kinds.session.discovery import attached_servers
    from pytest_mcpeval.kinds.session.schema import SessionSettings

    return attached_servers(context.servers_at(out), context.rootdir, SessionSettings(user_servers=True))


def guarded(options: argparse.Namespace, work: Callable[[], int]) -> int:
    """The exit code of some work; what goes wrong is one sentence on standard error."""
    from pytest_mcpeval.core.errors import TargetError
    from pytest_mcpeval.loading import DataFileError
    from pytest_mcpeval.servers import CallError, ServerConfigError, ServerStartError

    try:
        return work()
    except (CallError, DataFileError, ServerConfigError, ServerStartError, TargetError, ValueError) as error:
        return failed(f"{options.prog}: {error}")
    except (EOFError, KeyboardInterrupt):
        return failed(f"\n{options.prog}: the input ended; start the command again to continue")


def failed(message: str) -> int:
    """Print what is wrong; returns the exit code."""
    from pytest_mcpeval.text.visible import visible

    print(visible(message), file=sys.stderr)
    return 1
