"""``{query}`` and other placeholders in arguments, bodies and URLs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from pytest_mcpeval.targets.base import Request

# A brace after a dollar belongs to an escaped placeholder: `$${name}` has become `${name}`.
_PLACEHOLDER = re.compile(r"(?<!\$)\{(\w+)\}")


def filled(template: Any, request: Request) -> Any:
    """JSON data with the placeholders in its texts filled in from a request; unknown ones stay.

    A text that is only a placeholder becomes the value itself, such as a number or a mapping;
    elsewhere, values that are not texts are written as JSON.
    """
    if isinstance(template, str):
        whole = _PLACEHOLDER.fullmatch(template)
        if whole is not None and whole[1] in request:
            return request[whole[1]]
        return _PLACEHOLDER.sub(lambda found: _text(request, found), template)
    if isinstance(template, Mapping):
        return {key: filled(inner, request) for key, inner in template.items()}
    if isinstance(template, list):
        return [filled(inner, request) for inner in template]
    return template


def filled_url(template: str, request: Request) -> str:
    """A URL with the placeholders filled in, percent-encoded: no request can change its parts."""
    return _PLACEHOLDER.sub(
        lambda found: quote(_text(request, found), safe="") if found[1] in request else found[0], template
    )


def _text(request: Request, found: re.Match[str]) -> str:
    if found[1] not in request:
        return found[0]
    value = request[found[1]]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
