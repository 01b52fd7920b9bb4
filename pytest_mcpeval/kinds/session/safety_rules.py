"""Classify a tool as reading or changing, by its name, its description and its annotations.

The name decides by whole words between underscores: the first must be a verb of reading, and none may
be a verb of changing. What the server says of the tool, in its description or by the protocol's
hints, overrides the name in both directions. A tool that cannot be classified is ``undecided``, and
nothing undecided is ever taken for reading.
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
"""The first word of a reading tool is one of these."""

CHANGING = frozenset(
    """
    create write delete update push publish send set add remove replace apply run execute move
    rename patch insert merge close cancel archive revoke upload ingest
    """.split()  # noqa: SIM905
)
"""No word of a reading tool is one of these."""

HINTS = ("write", "delete", "create", "update", "push", "publish", "send", "execute", "run")
"""Parts of names that are worth a word to the person who is asked for a disposition."""

# Words as camelCase, hyphens and dots divide them: only a reason to doubt.
_FINER_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_]+")
_KIND = (
    r"(?:tool|operation|function|action|command|call|request|method|endpoint|query|lookup|look|view|report)s?"
)
_CLAIM = r"read[\s-]?only"
_MENTION = re.compile(rf"\b{_CLAIM}\b", re.IGNORECASE)
# Where a claim may end: other words that follow may be its object, or qualify it.
_ENDS = r"(?=\s*(?:[.!;\])*]|$|[-–—]\s)|\s+and\b)"
# The claim must be about the tool itself: modes, files and users may be read-only too.
_READ_ONLY = re.compile(
    rf"^[\W_]*(?:an?\s+)?(?P<first>{_CLAIM})(?:{_ENDS}|(?=\s*[:,])|\s+{_KIND}\b)"
    rf"|\b(?:this|the)\s+{_KIND}\s+is\s+(?:\w+ly\s+)?(?P<tool>{_CLAIM})\b{_ENDS}"
    rf"|\b(?:this|it)(?:\s+is|['’]s)\s+(?:\w+ly\s+)?(?:an?\s+)?(?P<this>{_CLAIM})(?:{_ENDS}|\s+{_KIND}\b)"
    rf"|[(\[](?P<note>{_CLAIM})[)\]]\W*$",
    re.IGNORECASE,
)
_WITH_RESERVE = re.compile(
    r"[^.!?\n]*\b(?:unless|except|if|when|while|until|default|mode|once|only\s+for|flag|setting|theory|mostly"
    r"|usually|normally|generally|supposed(?:ly)?|intended|in\s+principle|almost|not|no|false|off|never)\b"
    r"|[^.!?\n]*[=?]",
    re.IGNORECASE,
)
_NOT_READ_ONLY = re.compile(
    rf"\b(?:this|it|tool|{_KIND})(?:(?:\s+is|['’]s)\s+not|\s+isn['’]t)\s+(?:an?\s+)?{_CLAIM}\b"
    rf"|\bnot\s+{_CLAIM}\b|\b{_CLAIM}\W{{1,3}}(?:no|false|off|never)\b",
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
_DONE = (
    r"(?:created|deleted|removed|written|overwritten|modified|updated|changed|replaced|erased|renamed|moved|sent"
    r"|published|pushed|merged|closed|cancell?ed|archived|revoked|uploaded|inserted|appended|truncated|purged"
    r"|dropped|cleared|reset|marked|acknowledged|consumed|stored|saved|executed|applied|invalidated|destroyed)"
)
_SOON = (
    r"(?:then|also|automatically|immediately|subsequently|afterwards|permanently|silently|irreversibly"
    r"|now)\s+"
)
# In the passive voice. Of a thing that is looked for, a clause behind "that", "if" or "when" says how it is.
_IS_CHANGED = re.compile(
    rf"\b(?:will|shall|gets?|being|may|might)\s+(?:be\s+)?(?:\w+ly\s+)?(?:{_SOON})?{_DONE}\b"
    rf"|\b(?:is|are)\s+(?:{_SOON})+{_DONE}\b"
    rf"|(?:^|[.!;]\s+|\n\s*|,?\s+and\s+)(?!(?:no|none|nothing|never)\b)"
    rf"(?:(?!\b(?:if|when|whether|once|that|which|where|who|whose|what|after|before|how)\b)\w+\s+){{1,4}}"
    rf"(?:is|are)\s+{_DONE}\b",
    re.IGNORECASE,
)
# What a tool may well change, in words that also have harmless meanings.
_MAY_CHANGE = re.compile(
    r"\b(?:drop|dropping|alter|altering)\s+(?:table|database|schema|index|view)s?\b"
    r"|\b(?:any|arbitrary)\s+(?:sql|ddl|shell|code|commands?|statements?|scripts?)\b"
    rf"|{_START}(?:generate|issue|mint|provision|allocate)s?\s+(?:\w+\s+){{0,4}}?(?:links?|urls?|tokens?|keys?"
    r"|invit(?:e|ation)s?|credentials?|certificates?)\b"
    rf"|{_START}(?:marks|acks|ack|stars|pins|flags|tags|labels|trashes|copies|resolves|notifies|releases)\s+"
    r"(?!(?:of|for|from|in|on|by|with|and|or|to|that|which|are|is|at|as|nearby)\b)\w+",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"(?P<word>\b(?:not(?!\s+(?:only|just|merely|simply))|never|nothing|without|no|cannot|neither|nor|non)\b|n't\b|n’t\b)"
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
# A negation before these words denies them, not the verb: "does not ask before deleting".
_TURNS = re.compile(
    r"\b(?:before|after|when(?:ever)?|while|until|unless|if|once|because|instead"
    r"|(?:ask|confirm|prompt|warn|wait|hesitat|fail|stop|refus|bother|forget|mind|check|verif|need|requir|notif|care"
    r"|request|permi|approv|question|remorse|delay|problem)\w*)\b",
    re.IGNORECASE,
)
_NO_FINITE_VERB = re.compile(r"(?:ing|effects?|mutations?|destructive)$", re.IGNORECASE)
_REACH = 60


@dataclass(frozen=True)
class Classification:
    """The classification of a tool and its reason, a half-sentence."""

    effect: Effect
    reason: str


def classify(name: str, tool: Tool | None = None) -> Classification:
    """What a tool does; ``tool`` is what its server lists under the name, if it lists anything."""
    said = list(_statements(tool)) if tool is not None else []
    effects = {statement.effect for statement in said}
    if len(effects) > 1:
        reasons = ", but ".join(statement.reason for statement in said)
        return Classification("undecided", reasons)
    by_name = classify_name(name)
    # A doubtful description does not override a clear name.
    return said[0] if said and (said[0].effect != "undecided" or by_name.effect == "read") else by_name


def classify_name(name: str) -> Classification:
    """What a tool does, judged by its name alone."""
    words = name.lower().split("_")
    if changing := next((word for word in words if word in CHANGING), None):
        return Classification("mutating", f"its name has the word '{changing}'")
    if words[0] not in READING:
        return Classification("undecided", "its name does not begin with a reading verb")
    if hidden := next((word for word in map(str.lower, _FINER_WORD.findall(name)) if word in CHANGING), None):
        return Classification("undecided", f"its name may have the word '{hidden}'")
    return Classification("read", f"its name begins with '{words[0]}'")


def _statements(tool: Tool) -> Iterator[Classification]:
    """Yield the server's statements about a tool, one by one."""
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
    elif doubtful := _mentions(_IS_CHANGED, tool.description) or _mentions(_MAY_CHANGE, tool.description):
        yield Classification("undecided", f"its description mentions '{doubtful.lower()}'")


def _says_read_only(text: str) -> bool:
    """Return whether a description says, without qualification, that the tool itself is read-only.

    If it uses the word for anything else too, it does not count as a claim.
    """
    claims = [match for match in _READ_ONLY.finditer(text) if not _WITH_RESERVE.match(text, match.end())]
    return bool(claims) and len(claims) == len(_MENTION.findall(text))


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
    if _TURNS.search(negation["between"]):
        return False
    if negation["word"].lower() in ("without", "no") and not _NO_FINITE_VERB.search(words):
        return False
    return not _LIST.search(negation["between"] + words) or _LISTED.fullmatch(negation["between"]) is not None


def mutation_hints(tools: Iterable[str]) -> tuple[str, ...]:
    """The tools whose names suggest that they change something. Nothing is decided by it."""
    return tuple(name for name in tools if any(part in name.lower() for part in HINTS))
