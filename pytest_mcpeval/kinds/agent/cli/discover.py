"""``pytest-mcpeval discover``: the agents' manifests below a directory."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.text.visible import from_here

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.agent.schema import Manifest

DESCRIPTION = """\
Check the manifests of agents (agent.yaml, *.agent.yaml) below a directory, and list path, name, description
and number of cases of each. Hidden and symlinked directories are skipped.

The exit code is 0 if all of them are valid, even if there are none; 1 if one is invalid, if two have the same
name, or if ROOT is not a directory.
"""

NONE_FOUND = """\
No manifest found below {root}.
Write one: an agent.yaml with apiVersion: agentevaluator/v1, name, access.url and cases. A bundled one is
datasets/agents/people-directory/agent.yaml; docs/agents.md explains every key."""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "discover",
        help="list the manifests of agents below a directory",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("root", nargs="?", default=Path(), type=Path, metavar="ROOT", help="where to look")
    return parser


def run(options: argparse.Namespace) -> int:
    """List the manifests; problems go to stderr."""
    from pytest_mcpeval.kinds.agent.load import load_manifest, taken_name
    from pytest_mcpeval.loading import DataFileError, load
    from pytest_mcpeval.text.visible import visible

    if not options.root.is_dir():
        print(f"{options.prog}: {options.root} is not a directory", file=sys.stderr)
        return 1
    paths = list(manifests(options.root.absolute()))
    if not paths:
        print(NONE_FOUND.format(root=options.root))
    code = 0
    named: dict[str, Path] = {}
    for path in paths:
        try:
            manifest = load_manifest(path)
            print(visible(_block(path, manifest)))
            first = named.setdefault(manifest.name, path)
            if first != path:
                raise DataFileError([taken_name(load(path), manifest.name, first)])
        except DataFileError as error:
            print(visible(f"{from_here(path)}: not valid\n{error}\n"), file=sys.stderr)
            code = 1
    return code


def manifests(root: Path) -> Iterator[Path]:
    """The files below a directory that have the name of a manifest, sorted."""
    from pytest_mcpeval.kinds.agent.declaration import AgentDeclaration

    for directory, names, files in os.walk(root):
        names[:] = sorted(
            name for name in names if not name.startswith(".") and not Path(directory, name).is_symlink()
        )
        for name in sorted(files):
            if any(fnmatch(name, pattern) for pattern in AgentDeclaration.file_names):
                yield Path(directory, name)


def _block(path: Path, manifest: Manifest) -> str:
    return (
        f"{from_here(path)}\n"
        f"  name         {manifest.name}\n"
        f"  description  {' '.join(manifest.description.split()) or '–'}\n"
        f"  cases        {len(manifest.cases)}\n"
    )
