"""``mcpeval.yaml``: what the data below a directory is run against, and which gates hold.

Every ``mcpeval.yaml`` from a data file's directory up to the root directory applies; the nearest wins, key by
key. Within one file later entries win over earlier ones. Servers come from these files and from the
``.mcp.json`` in the root directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.config.merge import merge
from pytest_mcpeval.config.project_rules import ProjectFile, read_project_file, read_servers_file
from pytest_mcpeval.core.kind import Kind
from pytest_mcpeval.core.suite import Place
from pytest_mcpeval.loading import DataFileError, Problem
from pytest_mcpeval.loading.messages import counted

if TYPE_CHECKING:
    from pytest_mcpeval.servers.definitions import ServerDefinition

PROJECT_FILE_NAME = "mcpeval.yaml"
MISTAKEN_NAMES = ("mcpeval.yml", "mcpeval.json", ".mcpeval.yaml", ".mcpeval.yml")
SERVERS_FILE_NAME = ".mcp.json"


class ProjectFiles:
    """Reads project files once, and says what applies to a data file."""

    def __init__(self, rootdir: Path, kinds: Mapping[str, Kind[Any]]) -> None:
        self._rootdir = rootdir
        self._kinds = kinds
        self._read: dict[Path, ProjectFile | DataFileError] = {}
        self._reported: set[Path] = set()
        self._above: dict[Path, tuple[Path, ...]] = {}

    def place(self, path: Path, key: str, kind: Kind[Any]) -> Place:
        """What applies to a data file of a kind.

        Raises:
            DataFileError: Project files that apply have problems.
            ServerConfigError: The environment variable ``MCP_URL`` cannot be applied.
        """
        files = self._applying(path, with_servers=kind.uses_servers)
        merged: dict[str, Any] = {}
        origins: dict[str, str] = {}
        for file in files:
            for rule in file.rules.get(kind.name, ()):
                if rule.applies_to(path.relative_to(file.path.parent).as_posix()):
                    merged = merge(merged, rule.settings)
                    origins |= {name: f"{self._key(file.path)}:{line}" for name, line in rule.lines.items()}
        return Place(key, merged, _servers(files) if kind.uses_servers else {}, origins)

    def names(self, path: Path) -> bool:
        """Whether an entry of a project file that applies names a file. Files with problems name none."""
        found = (self._result(candidate) for candidate in self._found_above(path))
        return any(
            rule.names(path.relative_to(file.path.parent).as_posix())
            for file in found
            if isinstance(file, ProjectFile)
            for rules in file.rules.values()
            for rule in rules
        )

    def spelled_out_at(self, path: Path) -> str | None:
        """``path:line`` of the nearest entry with the path of a file in its ``files``; None without one."""
        for candidate in self._found_above(path):
            file = self._result(candidate)
            rules = file.rules.values() if isinstance(file, ProjectFile) else ()
            for rule in (rule for some in rules for rule in some):
                if rule.spells_out(path.relative_to(candidate.parent).as_posix()):
                    return f"{self._key(candidate)}:{rule.files_line}"
        return None

    def all_of(self, paths: Iterable[Path]) -> Iterator[ProjectFile | DataFileError]:
        """Project files, and those that were read for data files; what is wrong with one is reported once."""
        for path in sorted({*paths, *self._read}):
            found = self._result(path)
            if isinstance(found, ProjectFile) or path not in self._reported:
                yield found
                self._reported.add(path)

    def ignored(self) -> Iterator[Problem]:
        """What ``.mcp.json`` says that means nothing here; it has been read."""
        from pytest_mcpeval.servers.schema import ignored_keys

        for path in self._servers_file():
            yield from ignored_keys(self.read(path).document)

    def servers_at(self, path: Path) -> Mapping[str, ServerDefinition]:
        """The servers a file at a path may talk to, by name; raises as `place` does."""
        return _servers(self._applying(path))

    def _key(self, path: Path) -> str:
        return Path(os.path.relpath(path, self._rootdir)).as_posix()

    def _applying(self, path: Path, *, with_servers: bool = True) -> list[ProjectFile]:
        """The project files that apply at a path, the nearest last; ``.mcp.json`` only ``with_servers``."""
        found: list[ProjectFile] = []
        problems: list[Problem] = []
        servers_file = self._servers_file() if with_servers else ()
        for candidate in reversed([*self._found_above(path), *servers_file]):
            try:
                found.append(self.read(candidate))
            except DataFileError as error:
                problems += error.problems
        if problems:
            raise DataFileError(problems)
        return found

    def _servers_file(self) -> Iterator[Path]:
        path = self._rootdir / SERVERS_FILE_NAME
        if path.is_file():
            yield path

    def _found_above(self, path: Path) -> tuple[Path, ...]:
        if path.parent not in self._above:
            # As with conftest files, files above the root directory do not count.
            directories = takewhile(lambda parent: parent not in self._rootdir.parents, path.parents)
            candidates = (one / name for one in directories for name in (PROJECT_FILE_NAME, *MISTAKEN_NAMES))
            self._above[path.parent] = tuple(one for one in candidates if one.is_file())
        return self._above[path.parent]

    def read(self, path: Path) -> ProjectFile:
        """One project file or ``.mcp.json``, read once.

        Raises:
            DataFileError: With every problem of the file the first time, and in one line from then on.
        """
        found = self._result(path)
        if isinstance(found, ProjectFile):
            return found
        if path not in self._reported:
            self._reported.add(path)
            raise found
        words = f"has {counted(len(found.problems), 'problem')}, reported where the file was first used"
        message = f"{words}: correct them first"
        raise DataFileError([Problem(path, found.problems[0].line, message)])

    def _result(self, path: Path) -> ProjectFile | DataFileError:
        if path not in self._read:
            try:
                if path.name in MISTAKEN_NAMES:
                    message = f"is not read under this name: call it {PROJECT_FILE_NAME}"
                    raise DataFileError([Problem(path, 0, message)])
                is_servers_file = path.name == SERVERS_FILE_NAME
                self._read[path] = (
                    read_servers_file(path) if is_servers_file else read_project_file(path, self._kinds)
                )
            except DataFileError as error:
                self._read[path] = error
        return self._read[path]


def _servers(files: list[ProjectFile]) -> Mapping[str, ServerDefinition]:
    from pytest_mcpeval.servers.variables import apply_mcp_url

    servers = {name: server for file in files for name, server in file.servers.items()}
    return apply_mcp_url(servers, os.environ)
