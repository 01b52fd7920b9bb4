"""Environment variables in server definitions: ``${VAR}``, ``${VAR:-default}`` and ``MCP_URL``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pytest_mcpeval.servers.definitions import ServerDefinition, is_secret_name, url_problem
from pytest_mcpeval.servers.errors import ServerConfigError
from pytest_mcpeval.text.placeholders import (
    OPENING,
    Placeholder,
    PlaceholderError,
    filled,
    from_environment,
    placeholders,
)
from pytest_mcpeval.text.redact import redactor

_MCP_URL = "MCP_URL"


def expand(definition: ServerDefinition, environ: Mapping[str, str]) -> ServerDefinition:
    """The definition with its variables replaced by their values, and ``cwd`` as a complete path.

    ``${VAR:-default}`` takes the default when the variable is unset or empty, as in a shell. ``$${`` stands
    for ``${`` itself.

    Raises:
        ServerConfigError: A variable without default is not set, or what begins with ``${`` is none; it is
            named with server and file:line.
    """

    learn_literals(definition)

    place = f"{definition.origin}: " if definition.origin else ""

    def text(value: str, where: str) -> str:
        filled: str = expanded(value, environ, f"{place}server {definition.name!r}", where)
        return filled

    return replace(
        definition,
        command=text(definition.command, "command"),
        args=tuple(text(value, f"args[{index}]") for index, value in enumerate(definition.args)),
        env={key: text(value, f"env.{key}") for key, value in definition.env.items()},
        cwd=str((definition.directory or Path()) / text(definition.cwd or "", "cwd")),
        url=text(definition.url, "url"),
        headers={key: text(value, f"headers.{key}") for key, value in definition.headers.items()},
    )


def expanded(data: Any, environ: Mapping[str, str], owner: str, where: str) -> Any:
    """JSON data of a definition with its variables replaced by their values; ``owner`` has it at ``where``.

    Raises:
        ServerConfigError: As `expand` has it.
    """

    def value_of(placeholder: Placeholder) -> str:
        value = from_environment(placeholder, environ)
        if value is None:
            raise ServerConfigError(
                f"{owner} needs the environment variable {placeholder.name} (in {where}), which is not set",
                f"set it, or write ${{{placeholder.name}:-default}}",
            )
        return value

    try:
        return filled(data, "definition", value_of)
    except PlaceholderError as error:
        raise ServerConfigError(
            f"{owner} has {error.written} (in {where}), {error.reason}", error.advice
        ) from None


def learn_literals(definition: ServerDefinition) -> None:
    """What a definition itself holds that must not be shown either.

    These are the values in ``env``, the headers whose names look secret, and the defaults of such variables.
    """
    redactor.publish(definition.public)
    named = {**definition.env, **{k: v for k, v in definition.headers.items() if is_secret_name(k)}}
    for name, text in named.items():
        if OPENING not in text:
            redactor.learn(name, text)
    texts = [definition.command, *definition.args, definition.cwd, definition.url]
    for _, one in placeholders([*texts, definition.env, definition.headers], "definition"):
        if isinstance(one, Placeholder) and is_secret_name(one.name):
            redactor.learn(one.name, one.default or "")


def apply_mcp_url(
    definitions: Mapping[str, ServerDefinition], environ: Mapping[str, str]
) -> dict[str, ServerDefinition]:
    """The definitions with the URL of the streamable HTTP server taken from ``MCP_URL``, if it is set.

    ``/mcp`` is appended unless the path already ends in it. With no server defined at all, one called
    ``default`` comes into being. A definition that mentions ``${MCP_URL}`` itself is the one meant, and
    nothing else is changed.

    Raises:
        ServerConfigError: ``MCP_URL`` is not an HTTP URL, or several HTTP servers are defined.
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
    found = (one for _, one in placeholders(list(texts), "definition"))
    return any(isinstance(one, Placeholder) and one.name == _MCP_URL for one in found)


def _endpoint(value: str) -> str:
    if url_problem(value):
        raise ServerConfigError(f"{_MCP_URL} is {value[:80]!r}: expected a URL such as http://localhost:3000")
    parts = urlsplit(value)
    path = parts.path.rstrip("/")
    path = path if path.endswith("/mcp") else f"{path}/mcp"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
