"""``pytest-mcpeval doctor``: whether evals can run on this machine and in this project, and how to fix it."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pytest_mcpeval.cli.project import DefinitionError, defined_servers, root_directory, runtime_of

if TYPE_CHECKING:
    from pytest_mcpeval.plugin.runtime import Runtime
    from pytest_mcpeval.servers import ServerDefinition

DESCRIPTION = """\
Check what evals need: Python, packages and extras, the browser, servers and whether they start, environment
variables that files name, and data files with their baselines. Each finding has its fix.

The exit code is 0, or 1 if something that this project needs does not work.
"""
MARKS = {"ok": "✓", "wrong": "✗", "note": "–"}
_REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+).*extra == ['\"]([a-z]+)['\"]")
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_NEEDS_BROWSER = "agent"


class Finding(NamedTuple):
    """One line. ``note``: something is not there, and this project does not need it."""

    status: Literal["ok", "wrong", "note"]
    text: str


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="check that evals can run here, and say how to fix what cannot",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rootdir", metavar="DIR", help="root directory (default: as pytest finds it)")
    return parser


def run(options: argparse.Namespace) -> int:
    """Print every finding as it is made; 1 if one is wrong."""
    from pytest_mcpeval.text.visible import visible

    wrong = 0
    for finding in _findings(options.rootdir):
        print(visible(f"{MARKS[finding.status]} {finding.text}"), flush=True)
        wrong += finding.status == "wrong"
    print(f"doctor: {f'{wrong} to fix' if wrong else 'evals can run here'}")
    return int(wrong > 0)


def _findings(rootdir: str | None) -> Iterator[Finding]:
    root = Path(rootdir).absolute() if rootdir else root_directory(Path.cwd())
    kinds, data = _data(root)
    yield from _packages()
    yield from _browser(is_needed=_NEEDS_BROWSER in kinds)
    yield from _servers(rootdir)
    yield from _variables(root)
    yield from data


def _packages() -> Iterator[Finding]:
    import yaml

    found = ".".join(map(str, sys.version_info[:3]))
    yield Finding(
        "ok", f"Python {found}, pytest-mcpeval {version('pytest-mcpeval')}, pytest {version('pytest')}"
    )
    yield Finding("ok", f"mcp {version('mcp')}")
    if yaml.__with_libyaml__:
        yield Finding("ok", "PyYAML reads with libyaml")
    else:
        yield Finding(
            "note", "PyYAML has no libyaml: large data files load slowly; install a wheel of PyYAML"
        )
    extras: dict[str, list[str]] = {}
    for line in requires("pytest-mcpeval") or ():
        if (match := _REQUIREMENT.match(line)) and match[2] != "all":
            extras.setdefault(match[2], []).append(match[1])
    for name, packages in sorted(extras.items()):
        missing = [package for package in packages if not _is_installed(package)]
        if missing:
            command = f"pip install 'pytest-mcpeval[{name}]'"
            yield Finding("note", f"extra {name} is not installed ({', '.join(missing)}): {command}")
        else:
            yield Finding("ok", f"extra {name}")


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _browser(*, is_needed: bool) -> Iterator[Finding]:
    from pytest_mcpeval.browser.finding import installed_browser

    missing: Literal["wrong", "note"] = "wrong" if is_needed else "note"
    browser = installed_browser(os.environ)
    if browser is None:
        yield Finding(missing, "no Chromium, which agents need: pytest-mcpeval install-browser")
    else:
        yield Finding("ok", f"Chromium: {browser}")


def _servers(rootdir: str | None) -> Iterator[Finding]:
    from pytest_mcpeval.servers import CallError, Connections, ServerConfigError, ServerStartError

    try:
        definitions, ignored = defined_servers(rootdir)
    except DefinitionError as error:
        # Without any server there may be detectors and agents.
        is_none = str(error).startswith("no server is defined")
        yield Finding("note" if is_none else "wrong", str(error))
        return
    yield from (Finding("note", line) for line in ignored)
    with Connections(definitions) as connections:
        for name, definition in definitions.items():
            if definition.transport == "stdio" and (problem := _program_problem(definition)):
                yield Finding("wrong", f"server {name}: {problem}")
                continue
            try:
                count = len(connections.get(name).list_tools())
            except (CallError, ServerConfigError, ServerStartError) as error:
                yield Finding("wrong", f"server {name}: {error}")
            else:
                yield Finding("ok", f"server {name}: {count} {'tool' if count == 1 else 'tools'}")


def _program_problem(definition: ServerDefinition) -> str:
    command = definition.command
    if "${" in command or "/" in command or shutil.which(command, path=os.environ.get("PATH")):
        return ""
    if command in ("node", "npx", "npm"):
        return f"{command} is not on the PATH: install Node.js"
    if command in ("uv", "uvx"):
        return f"{command} is not on the PATH: pip install uv"
    return f"{command} is not on the PATH: install it, or name its whole path ({definition.origin})"


def _variables(root: Path) -> Iterator[Finding]:
    """The variables without a default that definitions name, and whether they are set."""
    named: dict[str, str] = {}
    for path in (root / ".mcp.json", *sorted(root.rglob("mcpeval.yaml"))):
        if path.is_file() and not {"node_modules", ".venv", "venv"} & {*path.parts}:
            for name in _VARIABLE.findall(path.read_text("utf-8", "replace")):
                named.setdefault(name, path.relative_to(root).as_posix())
    for name, place in named.items():
        if name in os.environ:
            yield Finding("ok", f"variable {name} is set")
        else:
            yield Finding("wrong", f"variable {name}, which {place} names, is not set: export {name}=…")


def _data(root: Path) -> tuple[set[str], list[Finding]]:
    """The kinds of the data files, and what is wrong with the files and their baselines."""
    from pytest_mcpeval.cli.validate import checked, data_files
    from pytest_mcpeval.loading import lines_of
    from pytest_mcpeval.loading.messages import counted

    try:
        runtime = runtime_of(root)
    except ValueError as error:
        return set(), [Finding("wrong", f"pytest does not start here: {str(error).strip().splitlines()[-1]}")]
    files = [*data_files(root, runtime)]
    found = [checked(file, runtime) for file in files]
    problems = [problem for one in found for problem in one.problems]
    findings = [Finding("wrong", line) for line in lines_of([*dict.fromkeys(problems)])]
    if not files:
        findings.append(Finding("note", "no data files: pytest-mcpeval init writes some"))
    elif not findings:
        cases = sum(one.cases for one in found)
        counts = f"{counted(len(files), 'data file')} with {counted(cases, 'case')}"
        findings.append(Finding("ok", f"{counts}, no problems"))
    return {*_kinds(files, runtime)}, findings


def _kinds(files: Iterable[Path], runtime: Runtime) -> Iterator[str]:
    from pytest_mcpeval.loading import DataFileError

    for file in files:
        try:
            suite = runtime.suite(file)
        except DataFileError:
            continue
        if suite is not None:
            yield suite.kind
