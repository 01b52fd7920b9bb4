"""Who a visit is: credentials for one origin, from the environment, and the state of a logged-in user."""

from __future__ import annotations

import base64
import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from pytest_mcpeval.browser.control import PageError
from pytest_mcpeval.browser.directive import Auth, BearerAuth, Directive
from pytest_mcpeval.servers.variables import redact

STORAGE_STATE_KEYS = frozenset({"cookies", "origins"})

SHORTEST_SECRET = 6
"""Shorter ones are left as they are: replacing them would garble ordinary text."""


@dataclass(frozen=True)
class Authorization:
    """The value of the header ``Authorization``, and the origin that may see it.

    ``secrets`` is what must not stand in an artifact, each with what to write instead.
    """

    origin: str
    value: str
    secrets: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Authorization({self.origin!r}, ***)"


def authorization_of(directive: Directive, environ: Mapping[str, str] = os.environ) -> Authorization | None:
    """The credentials of a directive; None when it declares none.

    Raises:
        PageError: An environment variable is not set.
    """
    auth = directive.auth
    if auth is None:
        return None
    if isinstance(auth, BearerAuth):
        value = f"Bearer {_variable(auth.token_env, environ)}"
    else:
        user, password = (_variable(name, environ) for name in (auth.username_env, auth.password_env))
        value = f"Basic {basic(user, password)}"
    return Authorization(origin_of(directive.url), value, credentials_of(auth, environ))


def basic(user: str, password: str) -> str:
    """User and password as the header ``Authorization`` has them."""
    return base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def credentials_of(auth: Auth | None, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Credentials as they are and as they are sent, each with what to write instead in artifacts.

    Names of users are none: many are ordinary words.
    """
    if auth is None:
        return {}
    if isinstance(auth, BearerAuth):
        return long_enough({environ.get(auth.token_env, ""): f"${{{auth.token_env}}}"})
    user, password = (environ.get(name, "") for name in (auth.username_env, auth.password_env))
    shown = f"${{{auth.password_env}}}"
    return long_enough({password: shown, **({basic(user, password): shown} if password else {})})


def long_enough(secrets: Mapping[str, str]) -> dict[str, str]:
    """The secrets that can be told from ordinary text."""
    return {value: shown for value, shown in secrets.items() if len(value) >= SHORTEST_SECRET}


def _variable(name: str, environ: Mapping[str, str]) -> str:
    value = environ.get(name, "")
    if not value:
        raise PageError(
            f"access.auth takes a credential from {name}, which is not set: set it in the environment"
        )
    if not value.isprintable():
        raise PageError(f"access.auth takes a credential from {name}, which holds control characters")
    return value


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, as browsers write them: without the scheme's own port."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    own = {"http": 80, "https": 443}.get(parts.scheme)
    port = "" if parts.port in (None, own) else f":{parts.port}"
    return f"{parts.scheme}://{shown}{port}"


def storage_state_of(directive: Directive) -> dict[str, Any] | None:
    """The storage state of a directive as data; None when it has none.

    Raises:
        PageError: The file cannot be read, or it is none.
    """
    given = directive.storage_state
    if given is None:
        return None
    found, shown = (given, "what was given") if isinstance(given, Mapping) else (_read(given), given)
    if (problem := storage_state_problem(found)) is not None:
        raise PageError(f"{shown} is no storage state of Playwright: {problem}")
    return dict(found)


def _read(file: str) -> Any:
    try:
        return json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PageError(f"the storage state {file} cannot be read: {error}") from None


def storage_state_problem(state: object) -> str | None:
    """Why data is no storage state; None when it is one.

    Playwright passes over keys that it does not know, and the user is not logged in.
    """
    expected = "expected {cookies: […], origins: […]}"
    if not isinstance(state, Mapping):
        return f"{expected}, found {type(state).__name__}"
    # Values may be credentials, keys are none.
    if not state or not state.keys() <= STORAGE_STATE_KEYS:
        return f"{expected}, found {', '.join(map(repr, state)) or 'neither'}"
    wrong = [key for key, entries in state.items() if not isinstance(entries, list)]
    return f"{expected}, found no list at {', '.join(wrong)}" if wrong else None


def secrets_of(authorization: Authorization | None) -> Mapping[str, str]:
    """What must not stand in an artifact, each with what to write instead."""
    return {} if authorization is None else authorization.secrets


def redacted(text: str, secrets: Mapping[str, str]) -> str:
    """A text or a page without secrets, also as they are written in HTML and in addresses."""
    spelled = {spelling: shown for value, shown in secrets.items() for spelling in _in_markup(value)}
    return redact(text, spelled)


@cache
def _in_markup(value: str) -> frozenset[str]:
    attribute = escape(value, quote=False).replace('"', "&quot;")
    addressed = (quote(value, safe=""), quote(value))
    return frozenset({value, escape(value), escape(value, quote=False), attribute, *addressed})


def redacted_archive(data: bytes, secrets: Mapping[str, str]) -> bytes:
    """A zip archive whose files are without secrets."""
    if not secrets:
        return data
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as source,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for entry in source.infolist():
            # Every byte is a character of this encoding, so that what is no text stays as it is.
            content = source.read(entry).decode("utf-8", "surrogateescape")
            target.writestr(entry, redacted(content, secrets).encode("utf-8", "surrogateescape"))
    return made.getvalue()
