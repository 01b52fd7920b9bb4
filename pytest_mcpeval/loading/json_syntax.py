"""JSON syntax errors in plain words."""

from __future__ import annotations

import json

from .messages import shortened
from .source import LINE_BREAK

_SHOWN = 20


def syntax_problem(text: str, error: json.JSONDecodeError) -> str:
    """What is wrong at the place where the json module stopped, and how to fix it."""
    found = LINE_BREAK.split(text[error.pos : error.pos + _SHOWN + 1])[0]
    words = error.msg.removesuffix(" at").removesuffix(" starting")
    words = words[:1].lower() + words[1:]
    return f"is not JSON: {words}{_found(text, error.pos, found)}{_hint(error.msg, found)}"


def _found(text: str, position: int, found: str) -> str:
    if not text[position:].strip():
        return ", found the end of the text"
    return f", found {shortened(found, _SHOWN)}" if found.strip() else ""


def _hint(message: str, found: str) -> str:
    if "trailing comma" in message:
        return "; remove this comma"
    if message == "Extra data":
        return "; remove it"
    if found[:1] in ("]", "}"):
        return "; remove the comma before it" if "delimiter" not in message else ""
    if found.startswith(("//", "/*", "#")):
        return "; JSON has no comments"
    if found.startswith("'") or (found and "property name" in message):
        return "; names and texts need double quotes"
    if "control character" in message:
        return "; escape it, as in \\n"
    return ""
