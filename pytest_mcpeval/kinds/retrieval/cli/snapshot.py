"""``pytest-mcpeval snapshot``: save the tools of live servers as a corpus, or say how they have changed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_mcpeval.servers import ServerDefinition

DESCRIPTION = """\
Start servers, list their tools, and write them as a tool corpus for golden sets: sorted, with schemas, and
with the versions that the servers report. With --check, write nothing and compare the tools with a corpus.
"""

NOT_COMPARED = 3
"""The exit code of ``--check`` when there is no verdict: 1 means drift."""

SUFFIXES = (".json", ".yaml", ".yml")

Row = Mapping[str, Any]


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "snapshot", help="save the tools of live servers as a corpus", description=DESCRIPTION
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these servers")
    parser.add_argument("--servers", metavar="FILE", default=".mcp.json", help="default: .mcp.json")
    parser.add_argument("--corpus-version", metavar="VERSION", help="default: the name of the corpus file")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--out", metavar="FILE", help="write the corpus to this JSON file")
    target.add_argument(
        "--check",
        metavar="FILE",
        help="compare with this corpus; exit code 1 if tools changed, 3 if it could not compare",
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Write a corpus, or compare with one."""
    from pytest_mcpeval.config.project_rules import read_servers_file
    from pytest_mcpeval.loading import DataFileError
    from pytest_mcpeval.servers import CallError, ServerConfigError, ServerStartError

    try:
        servers = read_servers_file(Path(options.servers).absolute()).servers
        if problem := _unknown(options.names, servers):
            return _refused(f"{options.prog}: {problem}", 2)
        if options.out and (problem := _unfit_output(Path(options.out), options.corpus_version)):
            return _refused(f"{options.prog}: {problem}", 2)
        chosen = {name: servers[name] for name in options.names or sorted(servers)}
        rows, versions = _listed(chosen)
        if options.check:
            return _checked(Path(options.check), rows, chosen, whole=not options.names)
    except (CallError, DataFileError, ServerConfigError, ServerStartError) as error:
        return _refused(f"{options.prog}: {error}", NOT_COMPARED if options.check else 1)
    if problems := _problems(rows):
        return _refused(f"{options.prog}: nothing was written:\n" + "\n".join(problems), 1)
    try:
        return _written(Path(options.out), rows, versions, options.corpus_version)
    except OSError as error:
        return _refused(f"{options.prog}: cannot write {options.out}: {error.strerror or error}", 1)


def _refused(message: str, code: int) -> int:
    from pytest_mcpeval.text.visible import visible

    print(visible(message), file=sys.stderr)
    return code


def _unknown(names: Iterable[str], servers: Mapping[str, ServerDefinition]) -> str:
    from pytest_mcpeval.loading.messages import suggestion

    known = ", ".join(sorted(servers)) or "none"
    missing = next((name for name in names if name not in servers), None)
    if missing is not None:
        return f"no server {missing!r} is defined{suggestion(missing, servers)} (defined: {known})"
    return "" if servers else "no server is defined in the file"


def _unfit_output(path: Path, version: str | None) -> str:
    """Why no corpus of this version can be read from such a file, or an empty text."""
    if path.is_dir():
        return f"--out {path} is a directory: name a file in it"
    if path.suffix.lower() not in SUFFIXES:
        return f"--out {path}: expected a file name that ends with {' or '.join(SUFFIXES)}"
    return "--corpus-version is empty: leave it out, or say one" if version == "" else ""


def _problems(rows: Sequence[Row]) -> list[str]:
    """Why the tools make no corpus that can be read: a line for each."""
    from pydantic import ValidationError

    from pytest_mcpeval.kinds.retrieval.schema import ToolModel

    found = [] if rows else ["the servers have no tools, but a corpus needs at least one"]
    seen: set[str] = set()
    for row in rows:
        if row["tool_id"] in seen:
            found.append(f"{row['tool_id']}: the server lists this tool twice")
        seen.add(row["tool_id"])
        try:
            ToolModel.model_validate(row)
        except ValidationError as error:
            texts = {str(one["loc"][0]): str(one["msg"]) for one in error.errors()}
            found += [f"{row['tool_id']}: {key}: {text}" for key, text in texts.items()]
    return found


def _listed(definitions: Mapping[str, ServerDefinition]) -> tuple[list[Row], dict[str, Any]]:
    """The tools of all servers as rows of a corpus, and what each server says of itself."""
    from pytest_mcpeval.kinds.retrieval.corpus import CorpusTool
    from pytest_mcpeval.servers import Connections

    rows: list[Row] = []
    versions: dict[str, Any] = {}
    with Connections(definitions) as connections:
        for name in sorted(definitions):
            connection = connections.get(name)
            rows += [
                CorpusTool(
                    f"{name}:{tool.name}", name, tool.name, tool.description, tool.input_schema
                ).as_data()
                for tool in connection.list_tools()
            ]
            about = {"name": connection.server_name, "version": connection.server_version}
            versions[name] = {**about, "protocol": connection.protocol_version}
    return sorted(rows, key=lambda row: str(row["tool_id"])), versions


def _written(path: Path, rows: list[Row], versions: Mapping[str, Any], version: str | None) -> int:
    from pytest_mcpeval.core.baseline import write_atomically
    from pytest_mcpeval.core.sample import to_json

    head = {} if version is None else {"version": version}
    write_atomically(path, to_json({**head, "generated_from": versions, "tools": rows}, indent=1) + "\n")
    print(f"wrote {path}: {len(rows)} tools of {len(versions)} servers")
    return 0


def _checked(path: Path, rows: list[Row], definitions: Mapping[str, ServerDefinition], *, whole: bool) -> int:
    """Print what differs from a corpus; servers that were not asked do not count, unless all were meant."""
    from pytest_mcpeval.kinds.retrieval.load import load_corpus
    from pytest_mcpeval.text.visible import visible

    frozen = [row for row in load_corpus(path).rows if whole or row["server"] in definitions]
    lines = list(drift(frozen, rows))
    for line in lines:
        print(visible(line))
    print(f"{path}: {len(lines) or 'no'} {'tool has' if len(lines) == 1 else 'tools have'} changed")
    return 1 if lines else 0


def drift(frozen: Iterable[Row], live: Iterable[Row]) -> Iterator[str]:
    """One line for each tool that was added, removed or changed, sorted by id."""
    old = {str(row["tool_id"]): row for row in frozen}
    new = {str(row["tool_id"]): row for row in live}
    for tool in sorted({*old, *new}):
        if tool not in old:
            yield f"added    {tool}"
        elif tool not in new:
            yield f"removed  {tool}"
        elif changed := [
            key for key in ("description", "schema") if old[tool].get(key) != new[tool].get(key)
        ]:
            yield f"changed  {tool}: {' and '.join(changed)}"
