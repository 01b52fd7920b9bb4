"""The templates of reports, which are beside this module: what they get is escaped for their format."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.text.visible import clipped, escaped_markdown, visible

if TYPE_CHECKING:
    from jinja2 import Environment

SHOWN_CHARACTERS = 20_000
"""Of one text, in html."""


def rendered(template: str, **values: Any) -> str:
    """A template filled in."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters |= {
        "literal": escaped_markdown,
        "shown": lambda text: visible(clipped(text, SHOWN_CHARACTERS)),
        "words": lambda verdict: verdict.replace("_", " "),
        "as_json": lambda data: (
            data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, indent=2)
        ),
    }
    return found
