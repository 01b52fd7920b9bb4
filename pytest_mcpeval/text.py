"""Untrusted text, made safe to show."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+\-!|~&@:])")
_SURROGATE = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with control and bidirectional characters spelled out, so that no terminal obeys them.

    Newlines and tabs stay; carriage returns before a newline are dropped.
    """
    text = text.replace("\r\n", "\n")
    return _SURROGATE.sub(_spelled, _CONTROL.sub(_spelled, text))


def _spelled(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def shortened(text: str, limit: int) -> str:
    """At most ``limit`` characters of a text, with a count of what was left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def indented(text: str, prefix: str = "    ") -> str:
    """Every line of a text behind a prefix."""
    return "\n".join(prefix + line if line else prefix.rstrip() for line in text.splitlines())


def literal_markdown(text: str) -> str:
    """Untrusted text as literal Markdown on one line."""
    return _MARKDOWN.sub(r"\\\1", " ".join(visible(text).split()))
