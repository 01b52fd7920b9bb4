"""The login of a visit: credentials for one origin, from the environment, and the storage state of a user."""

from __future__ import annotations

import base64
import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_mcpeval.browser.control import PageError
from pytest_mcpeval.browser.directive import Auth, BearerAuth, Directive
from pytest_mcpeval.text.redact import redactor

STORAGE_STATE_KEYS = frozenset({"cookies", "origins"})


@dataclass(frozen=True)
class Authorization:
    """The value of the header ``Authorization``, and the origin that may see it."""

    origin: str
    value: str

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
    learn_credentials(auth, environ)
    if isinstance(auth, BearerAuth):
        value = f"Bearer {_variable(auth.token_env, environ)}"
    else:
        user, password = (_variable(name, environ) for name in (auth.username_env, auth.password_env))
        value = f"Basic {basic(user, password)}"
    return Authorization(origin_of(directive.url), value)


def basic(user: str, password: str) -> str:
    """User and password as the header ``Authorization`` has them."""
    return base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def learn_credentials(auth: Auth | None, environ: Mapping[str, str] = os.environ) -> None:
    """From now on, no output shows the credentials, as they are or as they are sent.

    User names are not redacted: many are ordinary words.
    """
    if isinstance(auth, BearerAuth):
        redactor.learn(auth.token_env, environ.get(auth.token_env, ""))
    elif auth is not None:
        learn_password(auth.password_env, environ.get(auth.username_env, ""), environ)


def learn_password(variable: str, user: str, environ: Mapping[str, str] = os.environ) -> None:
    """From now on, no output shows the password in a variable, alone or beside its user."""
    if password := environ.get(variable):
        redactor.learn(variable, password)
        redactor.learn(variable, basic(user, password))


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
    literal = f"[{host}]" if ":" in host else host
    own = {"http": 80, "https": 443}.get(parts.scheme)
    port = "" if parts.port in (None, own) else f":{parts.port}"
    return f"{parts.scheme}://{literal}{port}"


def storage_state_of(directive: Directive) -> dict[str, Any] | None:
    """The storage state of a directive as data; None when it has none.

    Raises:
        PageError: The file cannot be read, or it is none.
    """
    given = directive.storage_state
    if given is None:
        return None
    found, name = (given, "what was given") if isinstance(given, Mapping) else (_read(given), given)
    if (problem := storage_state_problem(found)) is not None:
        raise PageError(f"{name} is not a storage state of Playwright: {problem}")
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
    # Values may be credentials, keys are not.
    if not state or not state.keys() <= STORAGE_STATE_KEYS:
        return f"{expected}, found {', '.join(map(repr, state)) or 'neither'}"
    wrong = [key for key, entries in state.items() if not isinstance(entries, list)]
    return f"{expected}, found no list at {', '.join(wrong)}" if wrong else None


def redacted_archive(data: bytes) -> bytes:
    """A zip archive whose files are without secrets."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as source,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for entry in source.infolist():
            # Every byte is a character of this encoding, so binary data is unchanged.
            content = source.read(entry).decode("utf-8", "surrogateescape")
            target.writestr(entry, redactor.text(content).encode("utf-8", "surrogateescape"))
    return made.getvalue()
