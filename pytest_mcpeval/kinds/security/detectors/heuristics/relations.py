"""An entry beside what it stands with: the tools of other servers, and its own earlier description."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from pytest_mcpeval.kinds.security.detectors.heuristics import phrases
from pytest_mcpeval.kinds.security.detectors.heuristics.rule import Finding
from pytest_mcpeval.kinds.security.detectors.heuristics.sentences import Sentence, sentences, sentences_of

SUSPECT = (
    *phrases.CONCEALMENT,
    *phrases.NO_CONSENT,
    *phrases.SECRETS,
    *phrases.EXFILTRATION,
    *phrases.OBEYED_RESULTS,
)


def other_tools(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Sentences that name a peer's tool and lay down how it is to be called."""
    names = [name for peer in seen.get("peers", ()) for name in _names(peer)]
    if not names:
        return
    pattern = re.compile("|".join(rf"(?<![\w:]){re.escape(name)}(?!\w)" for name in names))
    for sentence in sentences_of(seen):
        if (named := pattern.search(sentence.text)) is None:
            continue
        if phrases.LAID_DOWN.find(sentence) is not None:
            start = sentence.start + named.start()
            message = f"lays down how {named[0]} of another server is called"
            yield Finding(message, sentence.field, (start, start + len(named[0])))


def _names(peer: Mapping[str, Any]) -> Iterator[str]:
    yield f"{peer['server']}:{peer['tool']}"
    if "_" in peer["tool"]:
        yield peer["tool"]


def changed_description(seen: Mapping[str, Any]) -> Iterator[Finding]:
    """Sentences that the earlier description did not have, and that are suspect by another rule."""
    previous = seen.get("previous")
    if not isinstance(previous, str):
        return
    known = {_folded(one.text) for one in sentences("previous", previous)}
    for sentence in sentences("description", str(seen["description"])):
        if _folded(sentence.text) in known or _is_reworded(sentence, known):
            continue
        for rule in SUSPECT:
            if (found := rule.find(sentence)) is not None:
                yield Finding(f"new since it was approved: {found.message}", found.field, found.span)
                break


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .;!?")


def _is_reworded(sentence: Sentence, known: set[str]) -> bool:
    folded = _folded(sentence.text)
    return any(SequenceMatcher(None, folded, old).ratio() > 0.9 for old in known)
