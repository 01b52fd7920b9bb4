"""Who a visit is: credentials for one origin, from the environment, and the state of a logged-in user."""

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
from pytest_mcpeval.browser.directive import BearerAuth, Directive

REDACTED = "[redacted]"


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
    if isinstance(auth, BearerAuth):
        value = f"Bearer {_variable(auth.token_env, environ)}"
    else:
        user, password = (_variable(name, environ) for name in (auth.username_env, auth.password_env))
        value = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
    return Authorization(origin_of(directive.url), value)


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
        PageError: The file cannot be read, or is none.
    """
    given = directive.storage_state
    if given is None or isinstance(given, Mapping):
        return None if given is None else dict(given)
    try:
        found = json.loads(Path(given).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PageError(f"the storage state {given} cannot be read: {error}") from None
    if not isinstance(found, dict) or not found.keys() <= {"cookies", "origins"}:
        raise PageError(f"{given} is no storage state of Playwright: expected {{cookies: […], origins: […]}}")
    return found


def secrets_of(authorization: Authorization | None) -> tuple[str, ...]:
    """What must not stand in an artifact."""
    if authorization is None:
        return ()
    return (authorization.value, authorization.value.partition(" ")[2])


def redacted(text: str, secrets: tuple[str, ...]) -> str:
    """A text without secrets."""
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return text


def redacted_archive(data: bytes, secrets: tuple[str, ...]) -> bytes:
    """A zip archive whose files are without secrets."""
    if not secrets:
        return data
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as source,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for entry in source.infolist():
            content = source.read(entry)
            for secret in secrets:
                content = content.replace(secret.encode(), REDACTED.encode())
            target.writestr(entry, content)
    return made.getvalue()
