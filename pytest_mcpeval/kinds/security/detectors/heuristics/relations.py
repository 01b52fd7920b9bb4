"""Compare an entry with the tools of other servers, and with its own earlier description."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from pytest_mcpeval.kinds.security.detectors.heuristics import phrases
from pytest_mcpeval.kinds.security.detectors.heuristics.sentences import Finding, sentences, sentences_of

ALIKE = 0.9
"""Sentences more similar than this count as the same sentence, reworded."""

SUSPECT = (
    *phrases.CONCEALMENT,
    *phrases.OVERRIDE,
    *phrases.NO_CONSENT,
    *phrases.SECRETS,
    *phrases.EXFILTRATION,
    *phrases.OBEYED_RESULTS,
)


def other_tools(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield sentences that name a peer's tool and prescribe how to call it."""
    names = dict.fromkeys(name for peer in seen.get("peers", ()) for name in _names(peer))
    if not names:
        return
    pattern = re.compile("|".join(names))
    for sentence in sentences_of(seen):
        if (named := pattern.search(sentence.text)) is None:
            continue
        if phrases.LAID_DOWN.find(sentence) is not None:
            start = sentence.start + named.start()
            message = f"lays down how {named[0]} of another server is called"
            yield Finding(message, sentence.field, (start, start + len(named[0])))


def _names(peer: Mapping[str, Any]) -> Iterator[str]:
    """Yield expressions for the ways to name a peer; an everyday word alone does not count."""
    name = re.escape(peer["tool"])
    yield _bare(re.escape(f"{peer['server']}:{peer['tool']}"))
    yield _bare(name) if _is_coined(peer["tool"]) else rf"(?<=[`\"'“‘]){name}(?=[`\"'”’])"


def _bare(name: str) -> str:
    return rf"(?<![\w:])(?<!\w-){name}(?!-?\w)"


def _is_coined(name: str) -> bool:
    """Return whether a word can only be a name: ``send_mail``, ``send-mail``, ``sendMail``, not ``send``."""
    return not name.isalpha() or (name[1:] != name[1:].lower() and not name.isupper())


def changed_description(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield sentences that are new since the earlier description and suspect by another rule."""
    previous = seen.get("previous")
    if not isinstance(previous, str):
        return
    known = {_folded(one.text) for one in sentences("previous", previous)}
    for sentence in sentences("description", str(seen["description"])):
        found = next((one for rule in SUSPECT if (one := rule.find(sentence)) is not None), None)
        # Comparing is slow, so compare only suspect sentences.
        folded = _folded(sentence.text)
        if found is None or folded in known or any(_is_alike(folded, old) for old in known):
            continue
        yield Finding(f"new since it was approved: {found.message}", found.field, found.span)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .;!?")


def _is_alike(one: str, other: str) -> bool:
    matcher = SequenceMatcher(None, one, other)
    # The quick ratios are upper bounds of the ratio.
    ratios = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)
    return all(ratio() > ALIKE for ratio in ratios)
