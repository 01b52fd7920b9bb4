"""Environment variables in server definitions: ``${VAR}``, ``${VAR:-default}`` and ``MCP_URL``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pytest_mcpeval.servers.definitions import ServerDefinition, is_secret_name
from pytest_mcpeval.servers.errors import ServerConfigError
from pytest_mcpeval.text import shortened

_OPENING = "${"
_ESCAPED = "$${"
_FORMS = re.compile(
    r"\$\$\{|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>(?:(?!\$\{)[^}])*))?\}|\$\{"
)
"""What begins with ``${``: escaped, a variable, or neither."""
_FOREIGN_FORM = re.compile(r"\$\{(?:env|input|workspaceFolder)[:}][^}]*\}?")
_MCP_URL = "MCP_URL"
_DEEPEST_QUOTES = 3
_SHORTEST_SECRET = 6
_LONGEST_SHOWN = 40


def expand(definition: ServerDefinition, environ: Mapping[str, str]) -> ServerDefinition:
    """The definition with its variables replaced by their values, and ``cwd`` as a complete path.

    ``${VAR:-default}`` takes the default when the variable is unset or empty, as in a shell. ``$${`` stands
    for ``${`` itself.

    Raises:
        ServerConfigError: A variable without default is not set, or what begins with ``${`` is none; it is
            named with server and file:line.
    """

    def text(value: str, where: str) -> str:
        _reject_foreign_form(definition, value, where)
        return _FORMS.sub(lambda match: _value(match, definition, environ, where), value)

    return replace(
        definition,
        command=text(definition.command, "command"),
        args=tuple(text(value, f"args[{index}]") for index, value in enumerate(definition.args)),
        env={key: text(value, f"env.{key}") for key, value in definition.env.items()},
        cwd=str((definition.directory or Path()) / text(definition.cwd or "", "cwd")),
        url=text(definition.url, "url"),
        headers={key: text(value, f"headers.{key}") for key, value in definition.headers.items()},
    )


def _value(match: re.Match[str], definition: ServerDefinition, environ: Mapping[str, str], where: str) -> str:
    name, default = match["name"], match["default"]
    if match[0] == _ESCAPED:
        return _OPENING
    if name is None:
        # Without its end, what follows may be anything, such as the rest of a password.
        inside, closing, _ = match.string[match.end() :].partition("}")
        written = f"${{{shortened(inside, _LONGEST_SHOWN)}}}" if closing else _OPENING
        raise ServerConfigError(
            f"{_prefix(definition)}server {definition.name!r} has {written} (in {where}), no variable",
            "write ${NAME}, or ${NAME:-default} without a variable in the default, or $${ for ${ itself",
        )
    value = environ.get(name)
    if value is None and default is None:
        raise ServerConfigError(
            f"{_prefix(definition)}server {definition.name!r} needs the environment variable {name} "
            f"(in {where}), which is not set",
            f"set it, or write ${{{name}:-default}}",
        )
    return default if default is not None and not value else value or ""


def _reject_foreign_form(definition: ServerDefinition, value: str, where: str) -> None:
    if found := _FOREIGN_FORM.search(value):
        raise ServerConfigError(
            f"{_prefix(definition)}server {definition.name!r} uses {found[0]} (in {where}), a form of "
            "another host: write ${NAME} for an environment variable"
        )


def _prefix(definition: ServerDefinition) -> str:
    return f"{definition.origin}: " if definition.origin else ""


def secrets(definition: ServerDefinition, environ: Mapping[str, str]) -> dict[str, str]:
    """The secret values this definition brings into play, each with what to print instead.

    Those of variables and of ``env`` and ``headers`` entries whose names look secret; values shorter than
    six characters are left out, since replacing them would garble ordinary text.
    """
    texts = [definition.command, *definition.args, definition.cwd or "", definition.url]
    named = {**definition.env, **definition.headers}
    found: dict[str, str] = {}
    for text in [*texts, *named.values()]:
        found.update(_values(text, environ, wanted=is_secret_name))
    for name, text in named.items():
        if is_secret_name(name):
            found.update(_values(text, environ, wanted=lambda _: True) or {text: f"<{name}>"})
    return {value: shown for value, shown in found.items() if len(value) >= _SHORTEST_SECRET}


def _values(text: str, environ: Mapping[str, str], wanted: Callable[[str], bool]) -> dict[str, str]:
    """The values that variables in a text stand for, each with how it is written there."""
    matches = [match for match in _variables(text) if wanted(match["name"])]
    return {
        environ.get(match["name"]) or match["default"] or "": f"${{{match['name']}}}" for match in matches
    }


def _variables(text: str) -> Iterator[re.Match[str]]:
    return (match for match in _FORMS.finditer(text) if match["name"] is not None)


def redact(text: str, replacements: Mapping[str, str]) -> str:
    """The text with secret values replaced; the longest first, since one may contain another.

    Values are also found as they are written inside JSON or the `repr` of a text, also one inside another.
    """
    for value in sorted(replacements, key=len, reverse=True):
        for spelling in _spellings(value):
            text = text.replace(spelling, replacements[value])
    return text


@cache
def _spellings(value: str) -> tuple[str, ...]:
    """How a value may be written, the longest first."""
    found = {value}
    for _ in range(_DEEPEST_QUOTES):
        found |= {quoted for one in found for quoted in _quoted(one)}
    return tuple(sorted(found, key=len, reverse=True))


def _quoted(text: str) -> Iterator[str]:
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    # What stands around a text decides whether Python escapes an apostrophe in it.
    yield repr(text)[1:-1]
    yield repr('"' + text)[2:-1]


def redact_data(data: Any, replacements: Mapping[str, str]) -> Any:
    """JSON data with secret values replaced in every text, keys included."""
    if isinstance(data, str):
        return redact(data, replacements)
    if isinstance(data, Mapping):
        return {
            redact_data(key, replacements): redact_data(value, replacements) for key, value in data.items()
        }
    if isinstance(data, (list, tuple)):
        return [redact_data(value, replacements) for value in data]
    return data


def apply_mcp_url(
    definitions: Mapping[str, ServerDefinition], environ: Mapping[str, str]
) -> dict[str, ServerDefinition]:
    """The definitions with the URL of the streamable HTTP server taken from ``MCP_URL``, if it is set.

    ``/mcp`` is appended unless the path already ends in it. With no server defined at all, one called
    ``default`` comes into being. A definition that mentions ``${MCP_URL}`` itself is the one meant, and
    nothing else is changed.

    Raises:
        ServerConfigError: ``MCP_URL`` is no HTTP URL, or several HTTP servers are defined.
    """
    found = dict(definitions)
    value = environ.get(_MCP_URL, "")
    if not value or any(_mentions_mcp_url(definition) for definition in found.values()):
        return found
    url = _endpoint(value)
    http = [name for name, definition in found.items() if definition.transport == "http"]
    if len(http) > 1:
        raise ServerConfigError(
            f"{_MCP_URL} is set, but several HTTP servers are defined ({', '.join(sorted(http))}): "
            f"write ${{{_MCP_URL}}} as the url of the one meant, or unset it"
        )
    if not found:
        return {"default": ServerDefinition("default", "http", url=url, origin=f"environment: {_MCP_URL}")}
    return found | {name: replace(found[name], url=url) for name in http}


def _mentions_mcp_url(definition: ServerDefinition) -> bool:
    texts: Iterable[str] = [definition.url, *definition.args, *definition.env.values()]
    return any(match["name"] == _MCP_URL for text in texts for match in _variables(text))


def _endpoint(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ServerConfigError(f"{_MCP_URL} is {value[:80]!r}: expected a URL such as http://localhost:3000")
    path = parts.path.rstrip("/")
    path = path if path.endswith("/mcp") else f"{path}/mcp"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
