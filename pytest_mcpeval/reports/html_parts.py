"""The parts pytest-html is given: escaped text, tables and blocks, with their styles inline."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from pytest_mcpeval.text.visible import shortened, visible

SHOWN_CHARACTERS = 20_000
GOOD, FAIR, BAD = "#2e7d32", "#b26a00", "#c62828"
COLOURS = {
    "passed": GOOD,
    "failed": BAD,
    "inconclusive": FAIR,
    "not_evaluated": FAIR,
    "not_set": FAIR,
    "error": BAD,
}
RATINGS = {"": "inherit", "good": GOOD, "fair": FAIR, "bad": BAD}

TABLE = "border-collapse:collapse;margin:0 16px 16px 0;display:inline-table;vertical-align:top"
CAPTION = "text-align:left;font-weight:bold;padding:4px 0"
CELL = "border:1px solid #e6e6e6;padding:3px 8px;text-align:left;vertical-align:top"
FIGURE = "border:1px solid #e6e6e6;padding:3px 8px;text-align:right;white-space:nowrap"
LABEL = "margin:8px 0 2px;font-weight:bold"
TEXT = (
    "white-space:pre-wrap;overflow-wrap:anywhere;color:#333;background:#f6f6f6;padding:6px;margin:0;"
    "max-height:24em;overflow:auto"
)


def shown(text: str) -> str:
    """Untrusted text, escaped, of limited length."""
    return escape(visible(shortened(text, SHOWN_CHARACTERS)))


def coloured(text: str, colour: str) -> str:
    """Untrusted text in a colour."""
    return f'<span style="color:{colour}">{shown(text)}</span>'


def grid(title: str, rows: Iterable[str]) -> str:
    """A table of rows that are html already."""
    caption = f'<caption style="{CAPTION}">{shown(title)}</caption>' if title else ""
    return f'<table style="{TABLE}">{caption}<tbody>{"".join(rows)}</tbody></table>'


def cells(*contents: str, style: str = CELL) -> str:
    """Cells whose contents are html already."""
    return "".join(f'<td style="{style}">{content}</td>' for content in contents)


def block(title: str, text: str) -> str:
    """Untrusted text as it stands, below a title."""
    return f'<p style="{LABEL}">{shown(title)}</p><pre style="{TEXT}">{shown(text)}</pre>'
