"""Which servers exist, and how each is reached."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

Transport = Literal["stdio", "http", "sse", "module"]

_SECRET_NAME = re.compile(r"token|key|secret|passw|auth|credential|cookie", re.IGNORECASE)
_VARIABLE_ONLY = re.compile(r"^\$\{[^}]*\}$")


@dataclass(frozen=True)
class ServerDefinition:
    """One server, as its file says.

    ``command``, ``args``, ``env`` and ``cwd`` belong to ``stdio``; ``url`` and ``headers`` to ``http``
    (streamable HTTP) and ``sse`` (the legacy transport); ``module`` (``pkg.mod:object``) to an in-process
    server. ``directory`` is that of the defining file: where a process starts unless ``cwd`` says otherwise
    (relative to it), and importable for a ``module``. ``start_timeout`` is in seconds. ``origin`` is
    ``path:line``, where it was defined. ``public`` names the variables whose values may be shown.
    """

    name: str
    transport: Transport
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, hash=False)
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    module: str = ""
    directory: Path | None = None
    start_timeout: float = 30.0
    origin: str = ""
    public: tuple[str, ...] = ()

    def display(self) -> str:
        """The command line, URL or module for people.

        Taken before variables are expanded, ``${TOKEN}`` stays ``${TOKEN}``; literal values of options that
        look secret are masked.
        """
        if self.transport == "stdio":
            return " ".join(_quoted(part) for part in (self.command, *_masked(self.args)))
        return self.module if self.transport == "module" else public_url(self.url)


def is_secret_name(name: str) -> bool:
    """Whether a variable, option or header of this name probably holds a secret."""
    return _SECRET_NAME.search(name) is not None


def public_url(url: str) -> str:
    """The URL without user information, query and fragment, which may hold secrets."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def url_problem(url: str) -> str:
    """Why no server can be reached by a URL; empty if one may be."""
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        return f"{error}; expected a URL such as http://localhost:3000/mcp"
    return "" if is_whole else "expected a URL such as http://localhost:3000/mcp"


def _quoted(argument: str) -> str:
    # shlex alone would quote ${TOKEN} as well, which reads as if it were meant literally.
    return shlex.quote(argument) if not argument or re.search(r"[\s'\"]", argument) else argument


def _masked(arguments: tuple[str, ...]) -> list[str]:
    masked: list[str] = []
    value_is_secret = False
    for argument in arguments:
        option, equals, value = argument.partition("=")
        is_option = option.startswith("-") and is_secret_name(option)
        if value_is_secret and not argument.startswith("-"):
            masked.append(_mask(argument))
        else:
            masked.append(f"{option}={_mask(value)}" if is_option and equals else argument)
        value_is_secret = is_option and not equals
    return masked


def _mask(value: str) -> str:
    return value if _VARIABLE_ONLY.match(value) else "***"
