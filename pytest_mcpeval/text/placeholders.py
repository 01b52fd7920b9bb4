"""The placeholder language of all files: ``${…}``.

In *definitions* (servers and targets) ``${NAME}`` and ``${NAME:-default}`` are environment variables. In
*cases* ``${name}`` is a captured value, and ``${env.NAME}`` and ``${env.NAME:-default}`` are environment
variables. ``$${`` is a literal ``${`` in both; everything else that begins with ``${`` is a mistake.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pytest_mcpeval.text.redact import redactor
from pytest_mcpeval.text.visible import clipped

Dialect = Literal["definition", "case"]
Path = tuple[str | int, ...]

OPENING = "${"

_FORMS = re.compile(
    r"\$\$\{"
    r"|\$\{(?P<env>env\.)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>(?:(?!\$\{)[^}])*))?\}"
    r"|\$\{"
)
_FOREIGN = re.compile(
    r"\$\{(?:(?:env|input|command|config|workspaceFolder):(?!-)[^}]*|workspaceFolder|workspaceRoot|userHome)\}"
)
_ADVICE: Mapping[Dialect, str] = {
    "definition": "write ${NAME}, or ${NAME:-default} without a variable in the default, or $${ for ${ "
    "itself",
    "case": "write ${name} for a captured value, ${env.NAME} or ${env.NAME:-default} for an environment "
    "variable, or $${ for ${ itself",
}
_LONGEST_SHOWN = 40


@dataclass(frozen=True)
class Placeholder:
    """A captured value or an environment variable; only a variable has a default.

    ``key`` is the text between the braces.
    """

    name: str
    key: str
    captured: bool = False
    default: str | None = None

    @property
    def written(self) -> str:
        """As in the file."""
        return f"${{{self.key}}}"


class PlaceholderError(ValueError):
    """A text begins with ``${`` but is not a placeholder. ``written`` is the part that may be shown."""

    def __init__(self, written: str, reason: str, advice: str, *, is_foreign: bool = False) -> None:
        super().__init__(f"{written} is {reason}: {advice}")
        self.written = written
        self.reason = reason
        self.advice = advice
        self.is_foreign = is_foreign


@lru_cache(4096)
def parsed(text: str, dialect: Dialect) -> tuple[str | Placeholder, ...]:
    """Return the literal parts and the placeholders of a text, in order; ``$${`` is a literal ``${``.

    Raises:
        PlaceholderError: Something begins with ``${`` and is neither.
    """
    if dialect == "definition" and (foreign := _FOREIGN.search(text)):
        advice = "write ${NAME} for an environment variable"
        raise PlaceholderError(foreign[0], "a form of another host", advice, is_foreign=True)
    parts: list[str | Placeholder] = []
    end = 0
    for match in _FORMS.finditer(text):
        parts += [text[end : match.start()], _part(match, dialect)]
        end = match.end()
    return tuple(part for part in (*parts, text[end:]) if part != "")


def _part(match: re.Match[str], dialect: Dialect) -> str | Placeholder:
    name, default = match["name"], match["default"]
    if name is None:
        if match[0] != OPENING:
            return OPENING
        # The closing brace is missing, so the rest may be anything, such as part of a password.
        inside, closing, _ = match.string[match.end() :].partition("}")
        written = f"${{{clipped(inside, _LONGEST_SHOWN)}}}" if closing else OPENING
        raise PlaceholderError(written, "not a placeholder", _ADVICE[dialect])
    if dialect == "definition" and match["env"]:
        raise PlaceholderError(match[0], "a form of cases", f"write ${{{match[0][6:]}")
    captured = dialect == "case" and not match["env"]
    if captured and default is not None:
        advice = f"write ${{env.{name}:-…}} if you mean the environment variable"
        raise PlaceholderError(f"${{{name}:-…}}", "a captured value with a default", advice)
    return Placeholder(name, match[0][2:-1], captured, default)


def placeholders(data: Any, dialect: Dialect) -> Iterator[tuple[Path, Placeholder | PlaceholderError]]:
    """Yield every placeholder and every mistake in texts and keys of JSON data, with its path."""
    if isinstance(data, str):
        if OPENING not in data:
            return
        try:
            yield from (((), part) for part in parsed(data, dialect) if isinstance(part, Placeholder))
        except PlaceholderError as error:
            yield (), error
    elif isinstance(data, Mapping):
        for key, inner in data.items():
            for part in (key, inner):
                yield from (((key, *path), found) for path, found in placeholders(part, dialect))
    elif isinstance(data, (list, tuple)):
        for index, inner in enumerate(data):
            yield from (((index, *path), found) for path, found in placeholders(inner, dialect))


def filled(data: Any, dialect: Dialect, value_of: Callable[[Placeholder], Any]) -> Any:
    """Return JSON data with every placeholder replaced.  A text that consists of one placeholder
    becomes the value, with its type; inside a longer text and in keys, the value is converted by
    `text_of`.  Raises: PlaceholderError: Something begins with ``${`` and is not a placeholder.
    """
    if isinstance(data, str):
        if OPENING not in data:
            return data
        parts = parsed(data, dialect)
        values = [value_of(part) if isinstance(part, Placeholder) else part for part in parts]
        return values[0] if len(values) == 1 else "".join(map(text_of, values))
    if isinstance(data, Mapping):
        return {
            text_of(filled(key, dialect, value_of)): filled(inner, dialect, value_of)
            for key, inner in data.items()
        }
    if isinstance(data, (list, tuple)):
        return [filled(inner, dialect, value_of) for inner in data]
    return data


def filled_in(data: Any, dialect: Dialect, environ: Mapping[str, str] = os.environ) -> Any:
    """Return JSON data with its environment variables filled in; captured values are not allowed.

    Raises:
        ValueError: A variable is not set, or something begins with ``${`` and is not a placeholder.
    """

    def value_of(placeholder: Placeholder) -> str:
        if placeholder.captured:
            advice = f"an environment variable is ${{env.{placeholder.name}}}, and $${{ is ${{ itself"
            raise ValueError(f"{placeholder.written} is not a captured value: {advice}")
        value = from_environment(placeholder, environ)
        if value is None:
            prefix = "env." if dialect == "case" else ""
            advice = f"set it, or write ${{{prefix}{placeholder.name}:-default}}"
            raise ValueError(f"needs the environment variable {placeholder.name}, which is not set: {advice}")
        return value

    return filled(data, dialect, value_of)


def text_of(value: Any) -> str:
    """Return a text unchanged, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def from_environment(placeholder: Placeholder, environ: Mapping[str, str]) -> str | None:
    """Return the value of a variable, or its default if it is unset or empty, as a shell does; None
    without either.  From now on, no output shows the value.
    """
    value = environ.get(placeholder.name)
    redactor.learn(placeholder.name, value or "")
    return placeholder.default if placeholder.default is not None and not value else value
