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
_KIND = (
    r"(?:tool|operation|function|action|command|call|request|method|endpoint|query|lookup|look|view|report)s?"
)
# Of the tool itself: modes, files and users may be read-only as well.
_READ_ONLY = re.compile(
    rf"^[\W_]*(?:an?\s+)?(?P<first>read[\s-]?only)(?=\s*(?:[^\w\s-]|[-–—]\s|$)|\s+{_KIND}\b)"
    rf"|\b(?:this|the)\s+{_KIND}\s+is\s+(?:\w+ly\s+)?(?P<tool>read[\s-]?only)\b"
    rf"|\b(?:this|it)(?:\s+is|['’]s)\s+(?:\w+ly\s+)?(?:an?\s+)?(?P<this>read[\s-]?only)"
    rf"(?=\s*(?:[^\w\s-]|[-–—]\s|$)|\s+{_KIND}\b)"
    r"|[(\[](?P<note>read[\s-]?only)[)\]]\W*$",
    re.IGNORECASE,
)
_WITH_RESERVE = re.compile(
    r"[^.!?\n]*\b(?:unless|except|if|when|while|until|default|mode|once|only\s+for|flag|setting)\b",
    re.IGNORECASE,
)
_NOT_READ_ONLY = re.compile(
    rf"\b(?:this|it|tool|{_KIND})(?:(?:\s+is|['’]s)\s+not|\s+isn['’]t)\s+(?:an?\s+)?read[\s-]?only\b",
    re.IGNORECASE,
)
# Forms that are verbs wherever they stand.
_CHANGES = re.compile(
    r"\b(?:creat|delet|remov|writ|overwrit|eras|renam|mutat|revok|truncat|archiv|purg|invalidat|terminat"
    r"|persist|unsubscrib|uninstall|enqueu|dequeu)(?:e|es|s|ing)\b"
    r"|\b(?:de|in)crement(?:s|ing)\b"
    r"|\bmodif(?:y|ies|ying)\b|\bmutations?\b|\bdestructive\b|\bdestroy(?:s|ing)?\b|\bside[\s-]effects?\b"
    r"|\b(?:upload|append|insert|publish|overwrit)(?:s|es|ing)\b",
    re.IGNORECASE,
)
_NOUNS_TOO = (
    r"(?:update|add|set|send|push|publish|run|execute|apply|move|patch|merge|close|cancel|replace|ingest"
    r"|insert|upload|append|archive|edit|toggle|reset|change|drop|clear|save|(?:de|in)crement|pop|wipe|flush"
    r"|install|deploy|restart|kill|enable|disable|lock|unlock|assign|unassign|approve|reject|submit|register"
    r"|subscribe|grant|commit|rotate|acknowledge|consume|claim|reserve|transfer|import|restore|revert|undo"
    r"|schedule|bump|alter|swap|switch|rebuild|regenerate|mute|ban|pay|charge|refund|purge|persist)(?:e?s)?"
    r"|applies"
)
# Rarer as verbs: plain nouns unless they have an object.
_WITH_OBJECT = (
    r"(?:mark|store|record|log|book|order|post|stage|block|stop|start|trigger|cache|copy|make|turn|open|label|tag"
    r"|trash|star|pin|flag|lease|release|check\s*out|checkout|sync|fork|clone|comment|rate|vote|notify|resolve)"
    r"(?:e?s)?|notifies|copies"
)
_OBJECT = (
    r"(?:an?|the|all|any|every|each|both|new|it|its|them|your|this|that|these|those|existing|one|some|messages?"
    r"|items?|entries|records?|results?|files?|data|everything|him|her)"
)
_SAVINGS = r"(?!\s+(?:tokens?|time|space|bandwidth|context|you)\b)"
_START = r"(?:(?:^|[.!?:;]\s+|\n\s*(?:[-*]\s+)?)[\s(*]*)"
# Forms that may be nouns as well: verbs at the beginning of a sentence, and where only a verb can stand.
_CHANGES_HERE = re.compile(
    rf"(?:{_START}|\b(?:to|can|will|may|might|also|then)\s+)(?:{_NOUNS_TOO})\b{_SAVINGS}"
    rf"|(?:\b(?:and|or|then|also|which|that|it|tool)|,)\s+(?:{_NOUNS_TOO})\s+{_OBJECT}\b{_SAVINGS}"
    rf"|(?:{_START}|\b(?:and|or|then|also|will|which|that|it|tool)\s+|,\s+)(?:{_WITH_OBJECT})\s+{_OBJECT}\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"(?P<word>\b(?:not(?!\s+(?:only|just|merely|simply))|never|without|no|cannot|neither|nor|non)\b|n't\b|n’t\b)"
    r"(?P<between>(?:[^\w.:;!?]+\w+){0,6}[^\w.:;!?]*)$",
    re.IGNORECASE,
)
_LIST = re.compile(r",|\b(?:and|or|nor|but|then)\b", re.IGNORECASE)
_LISTED = re.compile(
    rf"\W*(?:{_NOUNS_TOO}|{_WITH_OBJECT}|(?:creat|delet|remov|writ|overwrit|eras|renam|mutat|revok|truncat|archiv)"
    r"(?:e|es|ing)|modif(?:y|ies|ying)|change[sd]?|changing|read|reads|reading|destroy|mutations?|side|effects?"
    r"|in|any|way|ever|or|and|nor|\W)*",
    re.IGNORECASE,
)
_NO_FINITE_VERB = re.compile(r"(?:ing|effects?|mutations?|destructive)$", re.IGNORECASE)
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
    if _says_read_only(tool.description):
        yield Classification("read", "its description says read-only")
    if _NOT_READ_ONLY.search(tool.description):
        yield Classification("mutating", "its description says that it is not read-only")
    found = _mentions(_CHANGES, tool.description) or _mentions(_CHANGES_HERE, tool.description)
    if found:
        yield Classification("mutating", f"its description mentions '{found.lower()}'")


def _says_read_only(text: str) -> bool:
    """Whether a description says of the tool itself, and without reserve, that it is read-only."""
    return any(not _WITH_RESERVE.match(text, match.end()) for match in _READ_ONLY.finditer(text))


def _mentions(pattern: re.Pattern[str], text: str) -> str:
    """The first match that is not denied by the words before it."""
    for match in pattern.finditer(text):
        if not _is_denied(match.group(), text[max(0, match.start() - _REACH) : match.start()]):
            return " ".join(re.findall(r"\w+", match.group()))
    return ""


def _is_denied(words: str, before: str) -> bool:
    """Whether a negation reaches the words: over other verbs of a list, but over no other comma or 'and'."""
    negation = _NEGATION.search(before)
    if negation is None:
        return False
    if negation["word"].lower() in ("without", "no") and not _NO_FINITE_VERB.search(words):
        return False
    return not _LIST.search(negation["between"] + words) or _LISTED.fullmatch(negation["between"]) is not None


def mutation_hints(tools: Iterable[str]) -> tuple[str, ...]:
    """The tools whose names suggest that they change something. Nothing is decided by it."""
    return tuple(name for name in tools if any(part in name.lower() for part in HINTS))
