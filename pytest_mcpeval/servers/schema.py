"""Servers as written in a ``.mcp.json`` or an ``mcpeval.yaml``: checked, and turned into definitions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, WithJsonSchema

from pytest_mcpeval.loading.messages import likeness, shown
from pytest_mcpeval.servers.definitions import ServerDefinition, Transport, url_problem
from pytest_mcpeval.servers.variables import learn_literals
from pytest_mcpeval.text.placeholders import OPENING, PlaceholderError, placeholders

if TYPE_CHECKING:
    from pytest_mcpeval.loading import Document, Problem

_MCP_JSON = "mcpServers"
_TRANSPORTS: dict[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}
# Likeness of a misspelt key to the one that is meant.
_MISSPELT = 0.8
_WAYS = ("command", "url", "module")
_SPELLED_BY_OTHERS = {"transport": "type", "transporttype": "type", "serverurl": "url", "httpurl": "url"}
_TEXTS = ("command", "args", "env", "cwd", "url", "headers")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BELONGS_TO = {"args": "command", "env": "command", "cwd": "command", "headers": "url"}


TextOrNumber = Annotated[str, WithJsonSchema({"type": ["string", "number"]})]


def _complete_schema(schema: dict[str, Any]) -> None:
    """What an editor would not learn from the fields alone."""
    schema["oneOf"] = [{"required": [way]} for way in _WAYS]
    schema["properties"]["startTimeout"] = schema["properties"]["start_timeout"]


class ServerEntry(BaseModel):
    """One server as written: exactly one of ``command``, ``url`` and ``module``, and what goes with it."""

    model_config = ConfigDict(
        defer_build=True,
        extra="forbid",
        coerce_numbers_to_str=True,
        json_schema_extra=_complete_schema,
    )

    type: Literal["stdio", "http", "streamable-http", "streamableHttp", "sse"] | None = None
    command: str | None = Field(None, min_length=1)
    args: list[TextOrNumber] = []
    env: dict[str, TextOrNumber] = {}
    cwd: str | None = None
    url: str | None = Field(None, min_length=1)
    headers: dict[str, TextOrNumber] = {}
    module: str | None = Field(None, pattern=r"^[\w.]+:[\w.]+$")
    start_timeout: float = Field(
        30.0, gt=0, le=86_400, validation_alias=AliasChoices("start_timeout", "startTimeout")
    )
    public: list[str] = []


_KNOWN = (*ServerEntry.model_fields, "startTimeout", "disabled")


def parse_servers(document: Document, section: str = _MCP_JSON) -> dict[str, ServerDefinition]:
    """The servers defined in a section of a document, by name.

    In a ``.mcp.json`` (section ``mcpServers``), keys of other hosts are ignored (see `ignored_keys`), and a
    server with ``disabled: true`` is not defined.

    Raises:
        DataFileError: With every problem of the section.
    """
    from pytest_mcpeval.loading import DataFileError

    problems = _shape_problems(document, section)
    if problems:
        raise DataFileError(problems)
    found: dict[str, ServerDefinition] = {}
    for name, entry in document.data[section].items():
        if section == _MCP_JSON and _is_remark(name, entry):
            continue
        try:
            definition = _definition(document, section, name, entry)
        except DataFileError as error:
            problems += error.problems
            continue
        if definition is not None:
            learn_literals(definition)
            found[name] = definition
    if problems:
        raise DataFileError(problems)
    return found


def ignored_keys(document: Document) -> Iterator[Problem]:
    """Yield the settings of a ``.mcp.json`` that are ignored here, each with its line."""
    for key in _foreign(document.data, (_MCP_JSON,)):
        yield document.problem(key, message=f"ignored: {shown(key)}")
    for name, entry in document.data[_MCP_JSON].items():
        if _is_remark(name, entry):
            yield document.problem(_MCP_JSON, name, message=f"ignored: {shown(name)}")
            continue
        if entry.get("disabled") is True:
            yield document.problem(_MCP_JSON, name, message=f"server {name!r} is disabled")
            continue
        spelled = _spelled_by_others(entry)
        if not isinstance(switch := entry.get("disabled", False), bool):
            words = f"server {name!r}: ignored: disabled {shown(switch)}, expected true or false"
            yield document.problem(_MCP_JSON, name, "disabled", message=words)
        for key in _foreign(entry, _KNOWN):
            words = f"{shown(key)} is read as {spelled[key]}" if key in spelled else f"ignored: {shown(key)}"
            yield document.problem(_MCP_JSON, name, key, message=f"server {name!r}: {words}")
        for key in [key for key in entry if spelled.get(key, key) == "type"]:
            if _spelled_type(entry[key]) is None:
                words = f"server {name!r}: ignored: type {shown(entry[key])}"
                yield document.problem(_MCP_JSON, name, key, message=words)


def _is_remark(name: str, entry: object) -> bool:
    """Return whether an entry among the servers is a remark, such as ``_comment`` with a text."""
    return not name[:1].isalpha() and not isinstance(entry, Mapping)


def _foreign(data: Mapping[str, Any], known: Collection[str]) -> list[str]:
    """Return the keys that are neither known nor misspelt known ones."""
    return [key for key in data if key not in known and _meant(key, known) is None]


def _meant(key: str, known: Collection[str]) -> str | None:
    """The known key that a misspelt one means; a key such as ``_comment`` means none."""
    if not key[:1].isalpha():
        return None
    fitting = [one for one in known if sorted(one) == sorted(key) or likeness(key, one) >= _MISSPELT]
    return max(fitting, key=lambda one: likeness(key, one), default=None)


def _spelled_by_others(entry: Mapping[str, Any]) -> dict[str, str]:
    """The keys that other hosts have for known ones which the entry leaves empty, each with the known one."""
    meant = {key: _SPELLED_BY_OTHERS.get(re.sub("[-_ ]", "", key.lower()), "") for key in entry}
    free = {known: key for key, known in reversed(meant.items()) if known and not entry.get(known)}
    return {key: known for known, key in free.items()}


def _spelled_type(written: object) -> str | None:
    """A ``type`` as it is spelled here; None for one that no other host spells so."""
    folded = str(written).lower().replace("-", "").replace("_", "").replace(" ", "")
    return next((one for one in _TRANSPORTS if one.lower().replace("-", "") == folded), None)


def _shape_problems(document: Document, section: str) -> list[Problem]:
    data = document.data
    if not isinstance(data, Mapping):
        return [document.problem(message=f'expected a mapping with "{section}"')]
    misspelt = [key for key in data if key != section and _meant(key, [section])]
    if section == _MCP_JSON and misspelt:
        words = f'expected "{section}"'
        return [document.problem(key, message=f"unknown key {shown(key)}: {words}") for key in misspelt]
    if section not in data:
        return [document.problem(message=f'expected a mapping with "{section}"')]
    if not isinstance(data[section], Mapping):
        return [document.problem(section, message=f'"{section}": expected a mapping of names to servers')]
    return []


def _definition(document: Document, section: str, name: str, entry: object) -> ServerDefinition | None:
    from pytest_mcpeval.loading import DataFileError
    from pytest_mcpeval.loading.schema import validate

    if section == _MCP_JSON and isinstance(entry, Mapping):
        if entry.get("disabled") is True:
            return None
        spelled = _spelled_by_others(entry)
        entry = {**entry, **{known: entry[key] for key, known in spelled.items()}}
        foreign = {"disabled", *_foreign(entry, _KNOWN)}
        # Some hosts write every key, empty; one that is misspelt stays a mistake.
        empty = {k for k, v in entry.items() if k in _KNOWN and v in (None, "", [], {})}
        entry = {k: v for k, v in entry.items() if k not in foreign | empty}
        if "type" in entry:
            entry["type"] = _spelled_type(entry["type"])
    validated = validate(ServerEntry, document, entry, at=(section, name))
    problems = _entry_problems(document, section, name, validated)
    if problems:
        raise DataFileError(problems)
    line = document.line(section, name)
    return definition_of(name, validated, document.path, line)


def _entry_problems(document: Document, section: str, name: str, entry: ServerEntry) -> list[Problem]:
    def problem(message: str, *key: str) -> Problem:
        return document.problem(section, name, *key, message=f"server {name!r}: {message}")

    given = [way for way in _WAYS if getattr(entry, way) is not None]
    if not given:
        return [problem("expected one of command, url and module")]
    if len(given) > 1:
        return [problem(f"has {' and '.join(given)}: expected one of them", given[1])]
    problems = [
        problem(f"{key} goes with {way}, but this server has {given[0]}", key)
        for key, way in _BELONGS_TO.items()
        if key in entry.model_fields_set and way != given[0]
    ]
    if entry.type is not None and given[0] != ("command" if entry.type == "stdio" else "url"):
        wanted = "command" if entry.type == "stdio" else "url"
        problems.append(
            problem(f"type {entry.type} goes with {wanted}, but this server has {given[0]}", "type")
        )
    problems += [problem(words, *keys) for keys, words in _unusable_texts(entry)]
    return [*problems, *_placeholder_problems(document, section, name, entry)]


def _unusable_texts(entry: ServerEntry) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield texts that no process or request can use, as keys and a message."""
    for key in _TEXTS:
        value = getattr(entry, key) or ()
        parts = {None: value} if isinstance(value, str) else value
        for part, text in parts.items() if isinstance(parts, Mapping) else enumerate(parts):
            if "\0" in f"{part}{text}":
                yield (key,) if part is None else (key, part), f"{key} has a NUL character: remove it"
    for name in entry.env:
        if not name or "=" in name:
            yield ("env", name), f"{shown(name)} cannot be the name of a variable"
    for name, text in entry.headers.items():
        if not _HEADER_NAME.fullmatch(name) or re.search(r"[\r\n]", text):
            yield (
                ("headers", name),
                f"{shown(name)} cannot be sent as a header: it has a character that headers cannot have",
            )
    if entry.url and OPENING not in entry.url and (problem := url_problem(entry.url)):
        yield ("url",), f"url: {problem}"


def _placeholder_problems(
    document: Document, section: str, name: str, entry: ServerEntry
) -> Iterator[Problem]:
    """What begins with ``${`` and is not a placeholder.

    A form of another host, in its own file, matters to those only who use the server.
    """
    for key in _TEXTS:
        for path, found in placeholders(getattr(entry, key), "definition"):
            if not isinstance(found, PlaceholderError) or (section == _MCP_JSON and found.is_foreign):
                continue
            yield document.problem(section, name, key, *path, message=f"server {name!r}: {found}")


def definition_of(name: str, entry: ServerEntry, path: Path, line: int) -> ServerDefinition:
    """The definition in a checked entry of a file."""
    common: dict[str, Any] = {
        "name": name,
        "start_timeout": entry.start_timeout,
        "directory": path.absolute().parent,
        "origin": f"{path}:{line}",
        "public": tuple(entry.public),
    }
    if entry.command is not None:
        command, args = entry.command, tuple(entry.args)
        return ServerDefinition(
            transport="stdio", command=command, args=args, env=entry.env, cwd=entry.cwd, **common
        )
    if entry.url is not None:
        transport = _TRANSPORTS[entry.type or "http"]
        return ServerDefinition(transport=transport, url=entry.url, headers=entry.headers, **common)
    return ServerDefinition(transport="module", module=entry.module or "", **common)
