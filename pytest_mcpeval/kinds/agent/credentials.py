"""The credentials of a manifest: where they come from, and what is kept of a case without them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from pytest_mcpeval.browser.artifacts import CaseFolder, write_private
from pytest_mcpeval.browser.login import basic, credentials_of, long_enough, redacted
from pytest_mcpeval.kinds.agent.spec import LangfuseSource, Manifest, TraceBackend
from pytest_mcpeval.samples import to_json
from pytest_mcpeval.servers.definitions import is_secret_name
from pytest_mcpeval.servers.variables import redact_data


def secrets(manifest: Manifest) -> dict[str, str]:
    """The secret values of a manifest, as they are and as they are sent, each with what to write instead."""
    backend = manifest.observability.backend
    of_backend = {} if backend is None else _secrets_of_backend(backend)
    return {**of_backend, **credentials_of(manifest.access.auth)}


def _secrets_of_backend(backend: TraceBackend) -> dict[str, str]:
    if isinstance(backend, LangfuseSource):
        public = os.environ.get(backend.public_key_env, "")
        secret = os.environ.get(backend.secret_key_env, "")
        shown = f"${{{backend.secret_key_env}}}"
        sent = {basic(public, secret): shown} if secret else {}
        return long_enough({public: f"${{{backend.public_key_env}}}", secret: shown, **sent})
    if backend.headers_env is None:
        return {}
    given, shown = os.environ.get(backend.headers_env, ""), f"${{{backend.headers_env}}}"
    return long_enough({given: shown, **dict.fromkeys(_secret_headers(given, backend.headers_env), shown)})


def _secret_headers(given: str, variable: str) -> list[str]:
    """The values of headers that are secret; others, such as the name of a tenant, may be ordinary words."""
    from pytest_mcpeval.kinds.agent.observability.errors import ObservabilityError
    from pytest_mcpeval.kinds.agent.observability.query_client import header_pairs

    try:
        return [value for name, value in header_pairs(given, variable).items() if is_secret_name(name)]
    except ObservabilityError:
        return []


def redact_texts(folder: CaseFolder, replacements: Mapping[str, str]) -> None:
    """Take secrets out of the pages and logs of a case, before anything is judged on them.

    What is scored later, where the secrets are not known, then is the same.

    Raises:
        OSError: A file cannot be written.
    """
    if not replacements:
        return
    for path in folder.dom.glob("*.html"):
        html = path.read_bytes().decode("utf-8", "surrogateescape")
        write_private(path, redacted(html, replacements).encode("utf-8", "surrogateescape"))
    for path in folder.observability.glob("*.jsonl"):
        rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        write_private(path, "".join(f"{to_json(redact_data(row, replacements))}\n" for row in rows))
