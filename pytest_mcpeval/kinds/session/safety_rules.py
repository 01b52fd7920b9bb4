"""Does a tool read, or does it change something? Told from its name, its description and its annotations.

The name decides by whole words between underscores: the first must be a verb of reading, and none may be a
verb of changing. What the server says of the tool, in its description or by the protocol's hints, wins over
the name in both directions. What cannot be told is ``undecided``, and nothing undecided is ever taken for
reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from pytest_mcpeval.servers.tools import Tool

Effect = Literal["read", "mutating", "undecided"]

READING = frozenset(
    """
    list get search read show query fetch describe count head inspect peek status exists diff
    """.split()  # noqa: SIM905
)
"""What the first word of a reading tool must be."""

CHANGING = frozenset(
    """
    create write delete update push publish send set add remove replace apply run execute move
    rename patch insert merge close cancel archive revoke upload ingest
    """.split()  # noqa: SIM905
)
"""What no word of a reading tool may be."""

HINTS = ("write", "delete", "create", "update", "push", "publish", "send", "execute", "run")
"""Parts of names that are worth a word to the person who is asked for a disposition."""

_FINER_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_]+")
_READ_ONLY = re.compile(r"\bread[\s-]?only\b", re.IGNORECASE)
# Forms that are verbs wherever they stand.
_CHANGES = re.compile(
    r"\b(?:creat|delet|remov|writ|overwrit|eras|renam|mutat|revok|truncat|archiv)(?:e|es|ing)\b"
    r"|\bmodif(?:y|ies|ying)\b|\bmutations?\b|\bdestructive\b|\bdestroy(?:s|ing)?\b|\bside[\s-]effects?\b"
    r"|\b(?:upload|append|insert|publish|overwrit)(?:s|es|ing)\b",
    re.IGNORECASE,
)
_NOUNS_TOO = (
    r"(?:update|add|set|send|push|publish|run|execute|apply|move|patch|merge|close|cancel|replace|ingest"
    r"|insert|upload|append|archive|edit|toggle|reset|change|drop|clear)(?:e?s)?|applies"
)
# Forms that may be nouns as well: verbs at the beginning of a sentence, and where only a verb can stand.
_CHANGES_HERE = re.compile(
    rf"(?:(?:^|[.!?:;]\s+|\n\s*(?:[-*]\s+)?)\s*|\b(?:to|can|will|may|might|also|then)\s+)(?:{_NOUNS_TOO})\b"
    rf"|\b(?:and|or)\s+(?:{_NOUNS_TOO})\s+(?:an?|the|all|any|every|new|it|its|them|your|this|that|existing)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"(?:\b(?:not|never|without|no|cannot|neither|nor|non)\b|n't\b|n’t\b)(?:[^\w.:;!?]+\w+){0,4}[^\w.:;!?]*$",
    re.IGNORECASE,
)
_REACH = 60


@dataclass(frozen=True)
class Classification:
    """What a tool does, and how that is known; the reason is a half-sentence."""

    effect: Effect
    reason: str


def classify(name: str, tool: Tool | None = None) -> Classification:
    """What a tool does; ``tool`` is what its server lists under the name, if it lists anything."""
    said = list(_statements(tool)) if tool is not None else []
    effects = {statement.effect for statement in said}
    if len(effects) > 1:
        reasons = ", but ".join(statement.reason for statement in said)
        return Classification("undecided", reasons)
    return said[0] if said else classify_name(name)


def classify_name(name: str) -> Classification:
    """What a tool does, judged by its name alone."""
    words = name.lower().split("_")
    if changing := next((word for word in words if word in CHANGING), None):
        return Classification("mutating", f"its name has the word '{changing}'")
    if words[0] not in READING:
        return Classification("undecided", "its name begins with no verb of reading")
    if hidden := next((word for word in _finer_words(name) if word in CHANGING), None):
        return Classification("undecided", f"its name may have the word '{hidden}'")
    return Classification("read", f"its name begins with '{words[0]}'")


def _finer_words(name: str) -> Iterator[str]:
    """Words as camelCase, hyphens and dots divide them: only ever a reason to doubt."""
    return (word.lower() for word in _FINER_WORD.findall(name))


def _statements(tool: Tool) -> Iterator[Classification]:
    """What the server says about a tool, each statement on its own."""
    hints = tool.annotations
    if hints.get("readOnlyHint") is True:
        yield Classification("read", "its annotations say readOnlyHint")
    if hints.get("readOnlyHint") is False:
        yield Classification("mutating", "its annotations say that it is not read-only")
    if hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not False:
        yield Classification("mutating", "its annotations say destructiveHint")
    if _mentions(_READ_ONLY, tool.description):
        yield Classification("read", "its description says read-only")
    found = _mentions(_CHANGES, tool.description) or _mentions(_CHANGES_HERE, tool.description)
    if found:
        yield Classification("mutating", f"its description mentions '{found.lower()}'")


def _mentions(pattern: re.Pattern[str], text: str) -> str:
    """The first match that is not denied by the words before it."""
    for match in pattern.finditer(text):
        if not _NEGATION.search(text[max(0, match.start() - _REACH) : match.start()]):
            return " ".join(re.findall(r"\w+", match.group()))
    return ""


def mutation_hints(tools: Iterable[str]) -> tuple[str, ...]:
    """The tools whose names suggest that they change something. Nothing is decided by it."""
    return tuple(name for name in tools if any(part in name.lower() for part in HINTS))
