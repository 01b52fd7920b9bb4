"""Which servers of a ``.mcp.json`` are active: what ``.claude/settings.json`` and its local sibling say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_mcpeval.loading import DataFileError, load

SETTINGS_FILES = ("settings.json", "settings.local.json")
_ENABLE_ALL = "enableAllProjectMcpServers"
_ENABLED = "enabledMcpjsonServers"
_DISABLED = "disabledMcpjsonServers"


@dataclass(frozen=True)
class ServerFilter:
    """The three keys, from both files. Names are mapped to the file that lists them; the local file wins."""

    enable_all: bool = False
    enabled: Mapping[str, Path] | None = None
    disabled: Mapping[str, Path] | None = None
    allowlist: Path | None = None

    def reason_against(self, server: str) -> str:
        """Why a server of the ``.mcp.json`` is not active, or an empty text."""
        if self.enable_all:
            return ""
        if self.disabled and server in self.disabled:
            return f"disabled by {self.disabled[server]}"
        if self.enabled and server not in self.enabled:
            return f"disabled by {self.allowlist}"
        return ""


def read_filter(project: Path) -> ServerFilter:
    """The filter that the settings of a project amount to.

    Raises:
        DataFileError: A settings file cannot be read, or one of the keys has a value of another type.
    """
    files = [path for name in SETTINGS_FILES if (path := project / ".claude" / name).is_file()]
    settings = {path: _keys(path) for path in files}
    enable_all = [keys[_ENABLE_ALL] for keys in settings.values() if _ENABLE_ALL in keys]
    enabled = {name: path for path, keys in settings.items() for name in keys.get(_ENABLED, ())}
    disabled = {name: path for path, keys in settings.items() for name in keys.get(_DISABLED, ())}
    lists = [path for path, keys in settings.items() if keys.get(_ENABLED)]
    return ServerFilter(
        enable_all=enable_all[-1] if enable_all else False,
        enabled=enabled,
        disabled=disabled,
        allowlist=lists[-1] if lists else None,
    )


def _keys(path: Path) -> dict[str, Any]:
    document = load(path)
    if not isinstance(document.data, dict):
        raise DataFileError([document.problem(message="expected a mapping of settings")])
    found = {key: document.data[key] for key in (_ENABLE_ALL, _ENABLED, _DISABLED) if key in document.data}
    problems = []
    for key, value in found.items():
        is_flag = key == _ENABLE_ALL
        names = isinstance(value, list) and all(isinstance(name, str) for name in value)
        if not (isinstance(value, bool) if is_flag else names):
            wanted = "true or false" if is_flag else "a list of server names"
            problems.append(document.problem(key, message=f"{key}: expected {wanted}"))
    if problems:
        raise DataFileError(problems)
    return found
