"""``pytest-mcpeval validate``: every problem of data files, without running anything."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.cli.project import root_directory, runtime_of
from pytest_mcpeval.loading.messages import counted
from pytest_mcpeval.text.visible import from_here

if TYPE_CHECKING:
    from pytest_mcpeval.loading import DataFileError, Problem
    from pytest_mcpeval.plugin.runtime import Runtime

DESCRIPTION = """\
Check data files and mcpeval.yaml files with the scans and baselines they name, and list every problem with
its file and line.

For a directory, the files that pytest --mcpeval would collect below it are checked: mcpeval.yaml files,
files in datasets/, and those with names such as *.eval.yaml. A file is checked whatever its name.

Kinds and checks from conftest files are known, and so are ini keys: pytest reads both, without running
anything.
"""

SKIPPED_DIRECTORIES = frozenset({"node_modules", "__pycache__", "build", "dist", "venv"})


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "validate",
        help="check data files and mcpeval.yaml",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="files and directories")
    _add_root(parser)
    return parser


def _add_root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rootdir",
        metavar="DIR",
        help="root directory, with the .mcp.json to use (default: as pytest finds it from here)",
    )


def run(options: argparse.Namespace) -> int:
    """Check the files; prints problems and a summary."""
    from pytest_mcpeval.text.visible import visible

    missing = [path for path in options.paths if not Path(path).exists()]
    if missing:
        print(f"{options.prog}: no such file or directory: {', '.join(missing)}", file=sys.stderr)
        return 2
    root = Path(options.rootdir).absolute() if options.rootdir else root_directory(Path.cwd())
    try:
        runtime = runtime_of(root, [os.path.abspath(path) for path in options.paths])
    except ValueError as error:
        message = f"pytest does not start in {from_here(root)}:\n{error}"
        print(visible(f"{options.prog}: {message}"), file=sys.stderr)
        return 2
    files = list(dict.fromkeys(file for path in options.paths for file in data_files(Path(path), runtime)))
    if not files:
        print(f"{options.prog}: no data files found in {', '.join(options.paths)}", file=sys.stderr)
        return 1
    return _report(files, runtime)


@dataclass(frozen=True)
class Checked:
    """What was found in one file; ``waits_for`` is another file whose problems come first."""

    summary: str = ""
    cases: int = 0
    problems: tuple[Problem, ...] = ()
    waits_for: Path | None = None
    warnings: tuple[str, ...] = ()


def _report(files: list[Path], runtime: Runtime) -> int:
    from pytest_mcpeval.loading import lines_of
    from pytest_mcpeval.text.visible import visible

    all_checked = [checked(file, runtime) for file in files]
    problems = list(dict.fromkeys(problem for found in all_checked for problem in found.problems))
    waiting = [
        f"{from_here(file)}: not checked as long as {from_here(found.waits_for)} has problems"
        for file, found in zip(files, all_checked, strict=True)
        if found.waits_for
    ]
    summaries = [line for found in all_checked for line in (found.summary, *found.warnings) if line]
    for line in [*lines_of(problems), *waiting] if problems else summaries:
        print(visible(line))
    totals = f"{counted(len(files), 'file')}, {counted(sum(found.cases for found in all_checked), 'case')}"
    print(f"{totals}: {counted(len(problems), 'problem') if problems else 'no problems'}")
    return 1 if problems else 0


def checked(file: Path, runtime: Runtime) -> Checked:
    """The problems of one file, or what is in it."""
    from pytest_mcpeval.config.project_file import PROJECT_FILE_NAME
    from pytest_mcpeval.loading import DataFileError, Problem
    from pytest_mcpeval.servers.errors import ServerConfigError

    try:
        is_settings = file.name == PROJECT_FILE_NAME
        if is_settings:
            runtime.project_files.read(file)
        suite = runtime.suite(file)
    except DataFileError as error:
        return _wrong(file, error, runtime)
    except ServerConfigError as error:
        return Checked(problems=(Problem(Path(from_here(file)), 0, str(error)),))
    if suite is None:
        return Checked(f"{from_here(file)}: {'settings' if is_settings else 'read by other files'}")
    kind, count = runtime.kinds[suite.kind], len(suite.cases)
    try:
        kind.check_baseline(suite)
    except DataFileError as error:
        return Checked(problems=_as_shown(error.problems), cases=count)
    warnings = tuple(f"{from_here(file)}: {text}" for text in suite.warnings)
    return Checked(f"{from_here(file)}: {kind.described(suite)}", count, warnings=warnings)


def _wrong(file: Path, error: DataFileError, runtime: Runtime) -> Checked:
    """Its own problems, and in full those of settings files it depends on."""
    own = [problem for problem in error.problems if problem.path.absolute() == file]
    others = list(dict.fromkeys(p.path.absolute() for p in error.problems if p.path.absolute() != file))
    of_others = [problem for other in others for problem in _as_shown(_problems_of(other, error, runtime))]
    return Checked(problems=(*_as_shown(own), *of_others), waits_for=others[0] if others else None)


def _problems_of(file: Path, found: DataFileError, runtime: Runtime) -> Iterable[Problem]:
    """Those of another file. A settings file is read again: its problems are shown in full only once."""
    from pytest_mcpeval.config.project_file import (
        MISTAKEN_NAMES,
        PROJECT_FILE_NAME,
        SERVERS_FILE_NAME,
        ProjectFiles,
    )
    from pytest_mcpeval.loading import DataFileError

    if file.name not in (PROJECT_FILE_NAME, *MISTAKEN_NAMES, SERVERS_FILE_NAME):
        return [problem for problem in found.problems if problem.path.absolute() == file]
    try:
        ProjectFiles(runtime.rootdir, runtime.kinds).read(file)
    except DataFileError as error:
        return error.problems
    return ()


def _as_shown(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(replace(problem, path=Path(from_here(problem.path.absolute()))) for problem in problems)


def data_files(path: Path, runtime: Runtime) -> Iterator[Path]:
    """The file itself, or the files below a directory that the plugin would collect, sorted."""
    path = Path(os.path.abspath(path))
    if path.is_file():
        yield path
        return
    for directory, names, files in os.walk(path):
        names[:] = sorted(name for name in names if _is_searched(Path(directory, name)))
        yield from (file for name in sorted(files) if _is_data_file(file := Path(directory, name), runtime))


def _is_searched(directory: Path) -> bool:
    hidden = directory.name.startswith(".") or directory.name in SKIPPED_DIRECTORIES
    return not hidden and not (directory / "pyvenv.cfg").exists()


def _is_data_file(file: Path, runtime: Runtime) -> bool:
    from pytest_mcpeval.config.project_file import PROJECT_FILE_NAME
    from pytest_mcpeval.loading.loader import PARSERS

    if file.suffix.lower() not in PARSERS:
        return False
    return file.name == PROJECT_FILE_NAME or runtime.is_data_file(file)
