"""Check a step before its call: the server lists the target, and the arguments fit its schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.scenario.checks.schemas import errors_by, problem_of_schema
from pytest_mcpeval.kinds.scenario.spec import Step
from pytest_mcpeval.loading.messages import closest
from pytest_mcpeval.servers.errors import CallError
from pytest_mcpeval.servers.tools import Prompt, Tool, unlisted
from pytest_mcpeval.text.visible import clipped

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

    from pytest_mcpeval.servers.connection import Connection

SHOWN_PROBLEMS = 5
ON_PURPOSE = "(a case that asks for it on purpose says `expect_rejection: true`)"
TEMPLATE_EXPRESSION = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True)
class Unaskable:
    """Why a step cannot be judged; ``keys`` lead to the mistake within the step.

    ``is_certain`` is false if the server gives too little information to know whether the step is valid.
    """

    keys: tuple[str | int, ...]
    message: str
    is_certain: bool = True


def why_unaskable(
    step: Step, name: str, arguments: Mapping[str, Any], connection: Connection
) -> Unaskable | None:
    """Return the reason not to make a step's call: it is invalid, or it is valid although a rejection
    is expected.  Of a resource, only the second is checked: the protocol allows resources that a
    server does not list.  Raises: CallError: The server could not list its tools, prompts or
    resources.
    """
    if step.target == "resource":
        if step.expects_rejection and is_listed(name, connection, step.timeout):
            return Unaskable(
                ("expect_rejection",), f"{_valid(step)}: server {connection.name!r} lists {name}"
            )
        return None
    problem = _problem(step, name, arguments, connection, fresh=False)
    if (problem is not None) != step.expects_rejection:
        # The cached list may be out of date.
        problem = _problem(step, name, arguments, connection, fresh=True)
    if not step.expects_rejection or (problem is not None and not problem.is_certain):
        return problem
    if problem is not None:
        return None
    exists = f"server {connection.name!r} lists the {step.target}, and what is sent fits"
    return Unaskable(("expect_rejection",), f"{_valid(step)}: {exists}")


def _valid(step: Step) -> str:
    return f"`expect_rejection` needs an invalid call, but this {step.target} is valid"


def unlisted_resource(uri: str, connection: Connection, timeout: float) -> Unaskable | None:
    """Return the mistake if the server rejected a resource that it does not list, else None."""
    try:
        if is_listed(uri, connection, timeout):
            return None
        listed = [found for uris in _resources(connection, timeout) for found in uris]
    except CallError:
        return None
    message = unlisted(connection.name, "resource", uri, listed)
    return Unaskable(("resource",), f"{message} {ON_PURPOSE}")


def is_listed(uri: str, connection: Connection, timeout: float) -> bool:
    """Return whether the server lists a resource, or a template that its URI fits.

    Raises:
        CallError: The server could not list its resources.
    """
    uris, templates = _resources(connection, timeout)
    return uri in uris or any(_pattern_of(template).fullmatch(uri) for template in templates)


def _resources(connection: Connection, timeout: float) -> tuple[list[str], list[str]]:
    try:
        return connection.list_resources(timeout=timeout)
    except CallError as error:
        if not error.is_rejection:
            raise
        # A server may have no list of templates.
        return [], []


def _pattern_of(template: str) -> re.Pattern[str]:
    """Return the pattern of the URIs that a template (RFC 6570) can produce.

    An expression matches any text.
    """
    literal = map(re.escape, TEMPLATE_EXPRESSION.split(template))
    return re.compile(".*".join(literal), re.DOTALL)


def _problem(
    step: Step, name: str, arguments: Mapping[str, Any], connection: Connection, *, fresh: bool
) -> Unaskable | None:
    try:
        found: Tool | Prompt | None
        if step.target == "tool":
            tools = connection.list_tools(timeout=step.timeout, fresh=fresh)
            names, found = [tool.name for tool in tools], next((t for t in tools if t.name == name), None)
        else:
            prompts = connection.list_prompts(timeout=step.timeout)
            names, found = [one.name for one in prompts], next((p for p in prompts if p.name == name), None)
    except CallError as error:
        if error.reason != "protocol":
            raise
        message = f"the server cannot list its {step.target}s: {error.message}"
        return Unaskable((step.target,), message, is_certain=False)
    if found is None:
        message = unlisted(connection.name, step.target, name, names)
        return Unaskable((step.target,), f"{message} {ON_PURPOSE}")
    try:
        problems = _of_tool(found, arguments) if isinstance(found, Tool) else _of_prompt(found, arguments)
    except ValueError as error:
        message = f"{step.target} {name!r} of server {connection.name!r}: {error}"
        return Unaskable((step.target,), message, is_certain=False)
    if not problems:
        return None
    listed = "; ".join(problems[:SHOWN_PROBLEMS])
    more = f" (and {len(problems) - SHOWN_PROBLEMS} more)" if len(problems) > SHOWN_PROBLEMS else ""
    words = f"`input` does not fit {step.target} {name!r} of server {connection.name!r}: {listed}{more}"
    return Unaskable(("input",), f"{words} {ON_PURPOSE}")


def _of_tool(tool: Tool, arguments: Mapping[str, Any]) -> list[str]:
    """Return every reason why arguments do not fit the input schema of a tool.

    Raises:
        ValueError: The schema cannot be used.
    """
    schema = tool.input_schema
    known = schema.get("properties")
    near = []
    # A server ignores a misspelt argument that its schema allows, so the intended argument would not be
    # tested.
    if isinstance(known, Mapping) and not {"patternProperties", "unevaluatedProperties"} & schema.keys():
        near = list(_misspelt(arguments, known)) if not schema.get("additionalProperties") else []
    try:
        errors = list(_errors_by_input_schema(tool)(dict(arguments)))
    except Exception as error:
        problem = problem_of_schema(schema) or f"{type(error).__name__}: {error}"
        raise ValueError(f"its input schema cannot be used: {clipped(problem, 200)}") from error
    found = sorted(f"{error.json_path}: {clipped(error.message, 200)}" for error in errors)
    if any(error.validator == "additionalProperties" for error in errors) and "project" in arguments:
        near.append("`project` is that of the case or file, unless `send_project` is false")
    return [*found, *near]


@lru_cache(1024)
def _errors_by_input_schema(tool: Tool) -> Callable[[Any], Iterator[ValidationError]]:
    """Return the validator of a tool's schema, cached: making it takes longer than using it."""
    return errors_by(tool.input_schema)


def _of_prompt(prompt: Prompt, arguments: Mapping[str, Any]) -> Sequence[str]:
    """Return every reason why arguments do not fit those that a prompt declares."""
    needed = [name for name, is_required in prompt.arguments.items() if is_required]
    missing = [f"{name!r} is required" for name in needed if name not in arguments]
    return [*missing, *_misspelt(arguments, prompt.arguments)]


def _misspelt(arguments: Mapping[str, Any], known: Mapping[str, Any]) -> Sequence[str]:
    left = [name for name in known if name not in arguments]
    # `project` comes from the case and is sent to all tools, so its author did not misspell an argument here.
    meant = [(name, closest(name, left)) for name in arguments if name not in known and name != "project"]
    return [f"{name!r} is not an argument; did you mean {near!r}?" for name, near in meant if near]
