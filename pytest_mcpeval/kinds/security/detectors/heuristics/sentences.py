"""Split texts into sentences with their places, and search expressions in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_mcpeval.kinds.security.detectors.texts import texts_of

_SENTENCE = re.compile(r"(?:[^.!?;\n。！？]|[.!?](?=\S))+[.!?;。！？]*")


@dataclass(frozen=True)
class Finding:
    """A finding of a rule: its place (see `Detection`) and a message."""

    message: str
    field: str
    span: tuple[int, int]


@dataclass(frozen=True)
class Sentence:
    """A sentence and the place of its first character in the text ``field``."""

    text: str
    field: str
    start: int


def sentences_of(seen: Mapping[str, Any]) -> Iterator[Sentence]:
    """Yield the sentences of all texts of a tool. Dots inside names and numbers do not end a sentence."""
    for field, text in texts_of(seen):
        yield from sentences(field, text)


def sentences(field: str, text: str) -> Iterator[Sentence]:
    """The sentences of one text."""
    for found in _SENTENCE.finditer(text):
        yield Sentence(found[0], field, found.start())


@dataclass(frozen=True)
class Expression:
    """Matches a sentence that contains ``pattern`` and all of ``also``, and nothing of ``unless``."""

    message: str
    pattern: re.Pattern[str]
    also: tuple[re.Pattern[str], ...] = ()
    unless: re.Pattern[str] | None = None

    @classmethod
    def of(cls, message: str, pattern: str, *also: str, unless: str | None = None) -> Expression:
        """Return an expression that ignores case."""
        flags = re.IGNORECASE
        return cls(
            message,
            re.compile(pattern, flags),
            tuple(re.compile(one, flags) for one in also),
            None if unless is None else re.compile(unless, flags),
        )

    def find(self, sentence: Sentence) -> Finding | None:
        """Return the finding in a sentence, or None."""
        found = self.pattern.search(sentence.text)
        if found is None or not all(one.search(sentence.text) for one in self.also):
            return None
        if self.unless is not None and self.unless.search(sentence.text):
            return None
        start = sentence.start + found.start()
        return Finding(self.message, sentence.field, (start, start + max(1, len(found[0]))))


def matching(seen: Mapping[str, Any], expressions: Sequence[Expression]) -> Iterator[Finding]:
    """Yield a finding for every sentence of an entry that matches an expression, each sentence once."""
    for sentence in sentences_of(seen):
        for expression in expressions:
            if (found := expression.find(sentence)) is not None:
                yield found
                break
