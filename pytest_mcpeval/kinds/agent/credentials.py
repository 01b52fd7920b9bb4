"""The credentials of a manifest: where they come from, and that no output shows them."""

from __future__ import annotations

import os

from pytest_mcpeval.browser.login import learn_credentials, learn_password
from pytest_mcpeval.kinds.agent.schema import LangfuseSource, Manifest, TraceBackend
from pytest_mcpeval.servers.definitions import is_secret_name
from pytest_mcpeval.text.redact import redactor


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
    from pytest_mcpeval.kinds.agent.observability.errors import ObservabilityError
    from pytest_mcpeval.kinds.agent.observability.query_client import header_pairs

    try:
        return [value for name, value in header_pairs(given, variable).items() if is_secret_name(name)]
    except ObservabilityError:
        return []
