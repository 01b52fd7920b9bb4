"""``{query}`` and ``{limit}`` in arguments and URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

_PLACEHOLDER = re.compile(r"\{(query|limit)\}")


def filled(template: Any, query: str, limit: int) -> Any:
    """JSON data with the placeholders in its texts filled in; a text that is only ``{limit}`` is a number."""
    if template == "{limit}":
        return limit
    if isinstance(template, str):
        values = {"query": query, "limit": str(limit)}
        return _PLACEHOLDER.sub(lambda match: values[match[1]], template)
    if isinstance(template, Mapping):
        return {key: filled(inner, query, limit) for key, inner in template.items()}
    if isinstance(template, list):
        return [filled(inner, query, limit) for inner in template]
    return template


def filled_url(template: str, query: str, limit: int) -> str:
    """A URL with the placeholders filled in, percent-encoded: no query can change its parts."""
    values = {"query": quote(query, safe=""), "limit": str(limit)}
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)
