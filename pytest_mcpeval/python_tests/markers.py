"""The markers of tests written in Python: what they say, and what is wrong with what they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import pytest

from pytest_mcpeval.kinds.scenario.checks import (
    CheckGroup,
    CheckRegistry,
    CheckSpecError,
    CheckType,
    ParsedCheck,
)
from pytest_mcpeval.kinds.scenario.checks.parameters import spellings
from pytest_mcpeval.kinds.scenario.schema import Difficulty
from pytest_mcpeval.loading import DataFileError
from pytest_mcpeval.loading.messages import suggestion
from pytest_mcpeval.servers.errors import ServerConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_mcpeval.core.run_context import RunContext
    from pytest_mcpeval.kinds.agent.schema import Assertions
    from pytest_mcpeval.servers.definitions import ServerDefinition

CASE_MARKER = "mcpeval_case"
CHECKS_MARKER = "mcpeval_checks"
SERVER_MARKER = "mcpeval_server"
ASSERT_MARKER = "mcpeval_assert"
MARKERS = (ASSERT_MARKER, CASE_MARKER, CHECKS_MARKER, SERVER_MARKER)
CASE_KEYS = ("difficulty", "name", "project", "tags")


def marked_server(item: pytest.Item, servers: Mapping[str, ServerDefinition]) -> str:
    """The name of the server a test talks to: the marker's, or the only one that is defined.

    Raises:
        ServerConfigError: No such server is defined, or several are and the test names none.
    """
    marker = item.get_closest_marker(SERVER_MARKER)
    if marker is None and len(servers) == 1:
        return next(iter(servers))
    if marker is None:
        known = ", ".join(sorted(servers))
        raise ServerConfigError(
            f"several servers are defined ({known}): mark the test with {SERVER_MARKER}(name)"
            if servers
            else "no server is defined: define one under `servers:` in mcpeval.yaml, or in .mcp.json"
        )
    name = marker.args[0] if marker.args else ""
    if name not in servers:
        raise ServerConfigError(_unknown_server(name, servers))
    return str(name)


def _unknown_server(name: object, servers: Mapping[str, ServerDefinition]) -> str:
    known = ", ".join(sorted(servers)) or "none"
    return f"no server {name!r} is defined{suggestion(str(name), servers)} (defined: {known})"


def marked_checks(item: pytest.Item, registry: CheckRegistry) -> list[ParsedCheck]:
    """The checks of all markers of a test, each once: those of the module, of the class and of the test.

    Raises:
        CheckSpecError: A check is written wrongly; `marker_problems` says how.
    """
    found: list[ParsedCheck] = []
    for marker in reversed(list(item.iter_markers(CHECKS_MARKER))):
        for name, value in marker.kwargs.items():
            check = registry.parse(rule_of_keyword(registry, name, value))
            if all(check.rule != other.rule for other in found):
                found.append(check)
    return found


def rule_of_keyword(registry: CheckRegistry, name: str, value: Any) -> dict[str, Any]:
    """The rule that a keyword ``name=value`` of a marker stands for, still to be parsed.

    ``value`` is the first parameter of the check, or a mapping of its parameters. For a check that needs no
    parameter, True asks for it and False for its opposite. An unknown name is left for `CheckRegistry.parse`.
    """
    found = registry.get(name)
    if found is None:
        return {"type": name}
    if isinstance(found, CheckGroup):
        return {"type": name, found.key: value}
    fields, known = found.parameters.model_fields, spellings(found.parameters)
    if isinstance(value, bool) and not any(field.is_required() for field in fields.values()):
        return {"type": name} if value else {"type": "not", "check": {"type": name}}
    short = {"type": name, next(iter(known.values()), "value"): value}
    if not isinstance(value, Mapping):
        return short
    # A schema is a mapping as well; where no mapping is expected, it holds misspelt parameters.
    is_short = not value.keys() <= known.keys() and registry.accepts([short])
    return short if is_short else {"type": name, **value}


def checks_of(context: RunContext) -> CheckRegistry:
    """The types of check for scenario cases, those from hooks included."""
    from pytest_mcpeval.kinds.scenario.kind import ScenarioKind

    kind = context.kinds["scenario"]
    assert isinstance(kind, ScenarioKind)
    return kind.checks


def marker_problems(marker: pytest.Mark, path: Path, context: RunContext) -> Iterator[str]:
    """What is wrong with one marker of a test in the file at ``path``, a sentence for each mistake."""
    if marker.name == SERVER_MARKER:
        found = _server_problems(marker, path, context)
    elif marker.name == CHECKS_MARKER:
        found = _checks_problems(marker, checks_of(context))
    elif marker.name == ASSERT_MARKER:
        found = _assert_problems(marker)
    else:
        found = case_problems(marker)
    for problem in found:
        yield f"{marker.name}: {problem}"


def _server_problems(marker: pytest.Mark, path: Path, context: RunContext) -> Iterator[str]:
    if len(marker.args) != 1 or marker.kwargs or not isinstance(marker.args[0], str):
        yield f'expected the name of one server, as in {SERVER_MARKER}("docs")'
        return
    try:
        servers = context.servers_at(path)
    except DataFileError as error:
        yield context.described(error)
        return
    except ServerConfigError as error:
        yield str(error)
        return
    if marker.args[0] not in servers:
        yield _unknown_server(marker.args[0], servers)


def _checks_problems(marker: pytest.Mark, registry: CheckRegistry) -> Iterator[str]:
    if marker.args or not marker.kwargs:
        yield f"expected checks as keywords, as in {CHECKS_MARKER}(min_length=200, has_citation=True)"
    for name, value in marker.kwargs.items():
        found = registry.get(name)
        takes_no_value = isinstance(found, CheckType) and not found.parameters.model_fields
        if takes_no_value and not isinstance(value, bool | Mapping):
            yield f"{name}: expected True, or False for the opposite, found {value!r}"
            continue
        rule = rule_of_keyword(registry, name, value)
        try:
            registry.parse(rule)
        except CheckSpecError as error:
            shorthand = () if isinstance(value, Mapping) else tuple(rule)[-1:]
            for at, message in error.problems:
                yield f"{_place(name, at, shorthand)}{message}"


def _place(name: str, at: Sequence[str | int], shorthand: tuple[str, ...]) -> str:
    """Where in a keyword a mistake is; the key that the short form leaves out is not mentioned."""
    if tuple(at) == ("type",):
        return ""
    keys = [part for part in at if part not in shorthand]
    return name + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in keys) + ": "


def marked_assertions(item: pytest.Item) -> list[Assertions]:
    """The assertions of each marker of a test: those of the module, of the class and of the test.

    Raises:
        ValueError: One is written wrongly, as `marker_problems` says, or two contradict each other.
    """
    from pydantic import ValidationError

    from pytest_mcpeval.kinds.agent.schema import Assertions
    from pytest_mcpeval.loading.schema import sentences

    given = [marker.kwargs for marker in reversed(list(item.iter_markers(ASSERT_MARKER)))]
    found = [Assertions.model_validate(one) for one in given]
    together: dict[str, Any] = {}
    for one in given:
        for name, value in one.items():
            known = together.get(name, [])
            lists = isinstance(value, list) and isinstance(known, list)
            together[name] = [*known, *(new for new in value if new not in known)] if lists else value
    try:
        Assertions.model_validate(together)
    except ValidationError as error:
        raise ValueError("; ".join(text for _, text in sentences(error, Assertions, together))) from None
    return found


def _assert_problems(marker: pytest.Mark) -> Iterator[str]:
    from pydantic import ValidationError

    from pytest_mcpeval.kinds.agent.schema import Assertions
    from pytest_mcpeval.loading.schema import sentences

    if marker.args or not any(value not in (None, [], {}) for value in marker.kwargs.values()):
        yield f'expected assertions as keywords, as in {ASSERT_MARKER}(must_call=["search"], max_steps=4)'
    for name in marker.kwargs:
        if name not in Assertions.model_fields:
            close = suggestion(name, Assertions.model_fields)
            yield f"unknown assertion {name!r}{close}; expected {', '.join(Assertions.model_fields)}"
    given = {name: one for name, one in marker.kwargs.items() if name in Assertions.model_fields}
    try:
        Assertions.model_validate(given)
    except ValidationError as error:
        for _, text in sentences(error, Assertions, given):
            yield text


def case_problems(marker: pytest.Mark) -> Iterator[str]:
    """What is wrong with a marker that describes a case."""
    if marker.args or not marker.kwargs:
        yield f'expected keywords, as in {CASE_MARKER}(project="mina", tags=["intro"])'
    for key, value in marker.kwargs.items():
        if key not in CASE_KEYS:
            yield f"unknown keyword {key!r}{suggestion(key, CASE_KEYS)}; expected {', '.join(CASE_KEYS)}"
        elif key == "tags":
            if not isinstance(value, list | tuple) or not all(isinstance(tag, str) for tag in value):
                yield f"tags: expected a list of texts, found {value!r}"
        elif not isinstance(value, str):
            yield f"{key}: expected a text, found {value!r}"
        elif key == "difficulty" and value not in get_args(Difficulty):
            yield f"difficulty: expected {', '.join(get_args(Difficulty))}, found {value!r}"
