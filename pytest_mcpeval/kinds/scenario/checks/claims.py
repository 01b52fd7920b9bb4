"""What checks claim of an answer, so far as it tells which of them can hold, or fail, at once.

A group that holds for every answer, or for none, decides nothing. It is found by a semantic tableau (R. M.
Smullyan, First-Order Logic, 1968, chapter II) over facts that may imply or exclude each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MOST = 100_000_000
"""No answer has more characters or results than this, or takes more milliseconds."""

MOST_STEPS = 10_000
"""After so many combinations, a group counts as one that decides something."""


@dataclass(frozen=True)
class Fact:
    """One thing that is true of an answer or not.

    ``at least``: the number that ``subject`` names is ``value`` or higher. ``has``: ``value`` is part of the
    text it names. ``is``: ``value`` is exactly what it names.
    """

    subject: str
    relation: Literal["at least", "has", "is"]
    value: float | str

    def implies(self, other: Fact) -> bool:
        """Whether the other fact is true of every answer of which this one is."""
        if (self.subject, self.relation) != (other.subject, other.relation) or self.value == other.value:
            return self == other
        if isinstance(self.value, str) or isinstance(other.value, str):
            return self.relation == "has" and str(other.value) in str(self.value) and self._is_final(other)
        return self.relation == "at least" and self.value >= other.value

    def excludes(self, other: Fact) -> bool:
        """Whether no answer has both facts."""
        same = (self.subject, self.relation) == (other.subject, other.relation)
        return same and self.relation == "is" and self != other and self._is_final(other)

    def _is_final(self, other: Fact) -> bool:
        """Whether no captured value takes the place of a placeholder in one of the two."""
        return not any("${" in value for value in (self.value, other.value) if isinstance(value, str))


@dataclass(frozen=True)
class Combined:
    """Claims put together: by ``not`` (one), ``any_of`` or ``all_of``."""

    word: str
    parts: tuple[Claim, ...]


Claim = Fact | Combined


def fact(subject: str) -> Fact:
    """That something is so, of which there is no more or less."""
    return Fact(subject, "at least", 1)


def opposite(claim: Claim) -> Combined:
    """What holds where the claim does not."""
    return Combined("not", (claim,))


def text_has(text: str, case_sensitive: bool = False) -> Claim:
    """The text of the answer has this part; what has it in these cases has it in any."""
    part = Fact("text", "has", text.lower())
    return Combined("all_of", (part, Fact("text as written", "has", text))) if case_sensitive else part


def decides_nothing(claim: Claim) -> str | None:
    """Why a claim holds for every answer, or for none; None if it is not known to."""
    if not _is_possible(claim, False):
        return "every answer would pass, since one of these checks holds wherever the others fail"
    if not _is_possible(claim, True):
        return "no answer would pass, since these checks can never hold together"
    return None


def _is_possible(claim: Claim, outcome: bool) -> bool:
    """Whether a claim can turn out so: whether some set of facts that agree with each other makes it so."""
    branches: list[tuple[list[tuple[Claim, bool]], list[list[tuple[Claim, bool]]], list[Fact], list[Fact]]]
    branches = [([(claim, outcome)], [], [], [])]
    for _ in range(MOST_STEPS):
        if not branches:
            return False
        pending, choices, true, false = branches.pop()
        agree = True
        while pending and agree:
            one, holds = pending.pop()
            if isinstance(one, Fact):
                (true if holds else false).append(one)
                if holds:
                    excluded = one.relation == "is" and any(map(one.excludes, true))
                    agree = not excluded and not any(map(one.implies, false))
                else:
                    agree = not any(other.implies(one) for other in true)
            elif one.word == "not":
                pending.append((one.parts[0], not holds))
            elif (one.word == "all_of") == holds:
                pending += [(part, holds) for part in one.parts]
            else:
                choices.append([(part, holds) for part in one.parts])
        if agree and not choices:
            return True
        if agree:
            choice, *others = choices
            branches += [([part], [*others], [*true], [*false]) for part in choice]
    return True
