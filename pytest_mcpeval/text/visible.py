"""Make untrusted text safe to show."""

from __future__ import annotations

import re
from pathlib import Path

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
# The runner of GitHub Actions obeys `::` at the beginning of a line, after white space, and `##[` anywhere.
# It takes a carriage return for the end of a line.
_WORKFLOW_COMMAND = re.compile(r"(?:^|(?<=\r))([^\S\n]*):(?=:)|(#)(?=#\[)", re.MULTILINE)
_UNSEEN = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(f"[{_UNSEEN}]")
_INVISIBLE_RUN = re.compile(f"[{_UNSEEN}]+")
# What means something in GitHub's Markdown, where it does. Underscores within a word do not.
_MARKDOWN = re.compile(
    r"[`*\[|~]"
    r"|\\(?=[!-/:-@\[-`{-~]|$)"
    r"|(?<![A-Za-z0-9_])_(?=_*\S)|_(?![A-Za-z0-9_])"
    r"|(?<=[A-Za-z0-9])_(?=_+(?![A-Za-z0-9_]))|(?<=_)_(?=_*(?![A-Za-z0-9_]))"
    r"|<(?=[A-Za-z/!?])"
    r"|&(?=\#?\w+;)"
    r"|:(?=//)|(?<!:):(?=[\w+-]+:)"
    r"|(?<![\w])@(?=\w)|@(?=[\w-]+\.\w)"
    r"|(?<=www)\."
    r"|\$(?=.*\$)|(?<=\$)\$"
)
_MARKDOWN_START = re.compile(r"(?:\#{1,6}(?= |$)|>|[+-](?= |$)|-{2,}(?=$)|={2,}(?=$)|\d{1,9}(?=[.)](?: |$)))")
_SURROGATE = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """Return the text with control and bidirectional characters escaped, so that no terminal obeys
    them.  Newlines and tabs stay; carriage returns before a newline are dropped. The beginnings of
    workflow commands are escaped too (``::error::`` at the beginning of a line, ``##[error]``
    anywhere), so that no runner of GitHub Actions obeys them.
    """
    text = without_workflow_commands(_CONTROL.sub(_spelled, text.replace("\r\n", "\n")))
    return _SURROGATE.sub(_spelled, text)


def without_workflow_commands(text: str) -> str:
    """Return the text with the beginnings of workflow commands escaped.

    Control characters stay, such as colours.
    """
    if "::" not in text and "##[" not in text:
        return text
    return _WORKFLOW_COMMAND.sub(lambda found: f"{found[1] or ''}\\x{'23' if found[2] else '3a'}", text)


def revealed(text: str) -> str:
    """Return the text as `visible` does, with all invisible characters escaped too.

    These are zero-width and other format characters, tags, variation selectors and blank fillers.
    """
    return _INVISIBLE.sub(_spelled, visible(text))


def invisible_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of invisible characters; neighbours are one span."""
    return [found.span() for found in _INVISIBLE_RUN.finditer(text)]


def from_here(path: Path) -> str:
    """Return a path relative to the working directory, if it lies below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _spelled(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escaped_markdown(text: str) -> str:
    """Return the text as literal Markdown on one line, escaped only where it means something else."""
    escaped = _MARKDOWN.sub(r"\\\g<0>", " ".join(visible(text).split()))
    if found := _MARKDOWN_START.match(escaped):
        # Of a numbered item, what follows the number.
        place = found.end() if found[0].isdigit() else 0
        escaped = f"{escaped[:place]}\\{escaped[place:]}"
    return escaped


def clipped(text: str, limit: int) -> str:
    """Return at most ``limit`` characters of a text, with a count of what was left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def indented(text: str, prefix: str = "    ") -> str:
    """Return the text with a prefix on every line; other line separators are escaped."""
    lines = visible(text).splitlines()
    return "\n".join(prefix + line if line else prefix.rstrip() for line in lines)
