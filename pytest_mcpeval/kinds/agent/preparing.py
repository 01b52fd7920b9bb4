"""Prepare a visit: credentials, and URLs and login from fixtures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_mcpeval.browser.directive import BasicAuth, BearerAuth
from pytest_mcpeval.browser.login import learn_credentials, learn_password, storage_state_problem
from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.kinds.agent.load import AgentSuite
from pytest_mcpeval.kinds.agent.schema import LangfuseSource, Manifest, TraceBackend
from pytest_mcpeval.kinds.agent.urls import page_url
from pytest_mcpeval.servers.definitions import is_secret_name
from pytest_mcpeval.text.redact import redactor

PLACES = ("url", "langfuse", "otel", "phoenix")


@dataclass(frozen=True)
class Places:
    """Actual addresses: URLs by ``url``, ``langfuse``, ``otel`` and ``phoenix``; and the login state."""

    urls: Mapping[str, str]
    storage_state: str | Mapping[str, Any] | None = None


def variables(manifest: Manifest) -> Iterator[str]:
    """The environment variables that hold a manifest's credentials."""
    auth, backend = manifest.access.auth, manifest.observability.backend
    if isinstance(auth, BearerAuth):
        yield auth.token_env
    elif isinstance(auth, BasicAuth):
        yield from (auth.username_env, auth.password_env)
    if isinstance(backend, LangfuseSource):
        yield from (backend.public_key_env, backend.secret_key_env)
    elif backend is not None and backend.headers_env is not None:
        yield backend.headers_env


def learn(manifest: Manifest) -> None:
    """From now on, no output shows the secret values of a manifest, as they are or as they are sent."""
    learn_credentials(manifest.access.auth)
    if manifest.observability.backend is not None:
        _learn_backend(manifest.observability.backend)


def _learn_backend(backend: TraceBackend) -> None:
    if isinstance(backend, LangfuseSource):
        public = os.environ.get(backend.public_key_env, "")
        redactor.learn(backend.public_key_env, public)
        learn_password(backend.secret_key_env, public)
    elif backend.headers_env is not None:
        given = os.environ.get(backend.headers_env, "")
        redactor.learn(backend.headers_env, given)
        for value in _secret_headers(given, backend.headers_env):
            redactor.learn(backend.headers_env, value)


def _secret_headers(given: str, variable: str) -> list[str]:
    """The values of headers that are secret; others, such as the name of a tenant, may be ordinary words."""
    from pytest_mcpeval.kinds.agent.observability.query_client import header_pairs
    from pytest_mcpeval.kinds.agent.observability.spans import ObservabilityError

    try:
        return [value for name, value in header_pairs(given, variable).items() if is_secret_name(name)]
    except ObservabilityError:
        return []


def require_credentials(suite: AgentSuite) -> None:
    """See that every credential is there before a browser is started.

    Raises:
        TargetError: One is not set.
    """
    missing = [name for name in variables(suite.manifest) if not os.environ.get(name)]
    if missing:
        raise TargetError(
            f"{suite.key}: the manifest takes credentials from {', '.join(missing)}, which "
            f"{'is' if len(missing) == 1 else 'are'} not set: set "
            f"{'it' if len(missing) == 1 else 'them'} in the environment",
            cause=f"credentials of {suite.key}",
        )


def places_of(suite: AgentSuite, fixtures: Mapping[str, Any]) -> Places:
    """What the fixtures of a case say.

    Raises:
        TargetError: A fixture has a value of another kind than expected.
    """
    settings = suite.settings
    urls = {} if settings.url_fixture is None else _urls(settings.url_fixture, fixtures[settings.url_fixture])
    if settings.login_fixture is None:
        return Places(urls)
    return Places(urls, _state(settings.login_fixture, fixtures[settings.login_fixture]))


def _urls(name: str, value: Any) -> dict[str, str]:
    given = {"url": value} if isinstance(value, str) else value
    if not isinstance(given, Mapping) or not given.keys() <= set(PLACES):
        raise TargetError(
            f"the fixture {name} is the url_fixture: expected a URL, or a mapping with {', '.join(PLACES)}, "
            f"found {value!r}",
            cause=f"url_fixture {name}",
        )
    for url in given.values():
        try:
            page_url(str(url))
        except ValueError as error:
            raise TargetError(f"the fixture {name}: {error}", cause=f"url_fixture {name}") from None
    return {key: str(url) for key, url in given.items()}


def _state(name: str, value: Any) -> str | Mapping[str, Any]:
    if isinstance(value, (str, Path)):
        if Path(value).is_file():
            return str(value)
        found = f"expected a file with it, found {str(value)[:200]!r}"
    elif (problem := storage_state_problem(value)) is None:
        return dict(value)
    else:
        found = f"{problem}; or the path of a file with it"
    raise TargetError(
        f"the fixture {name} is the login_fixture, but does not return a storage state of Playwright: "
        f"{found}",
        cause=f"login_fixture {name}",
    )
