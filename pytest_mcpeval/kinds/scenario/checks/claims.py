"""What checks claim about an answer, to find groups of checks that always pass or always fail.  Such
a group decides nothing. It is found by a semantic tableau (R. M. Smullyan, First-Order Logic, 1968,
chapter II) over facts that may imply or exclude each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MOST = 100_000_000
"""Upper bound: no answer has more characters or results, or takes more milliseconds."""

MOST_STEPS = 10_000
"""After this many combinations, the search stops and the group counts as one that decides something."""


@dataclass(frozen=True)
class Fact:
    """A statement about an answer, true or false. ``at least``: the number that ``subject`` names is
    ``value`` or higher. ``has``: ``value`` is part of the text it names. ``is``: ``value`` is exactly
    what it names.
    """

    subject: str
    relation: Literal["at least", "has", "is"]
    value: float | str

    def implies(self, other: Fact) -> bool:
        """Return whether every answer with this fact has the other fact too."""
        if (self.subject, self.relation) != (other.subject, other.relation) or self.value == other.value:
            return self == other
        if isinstance(self.value, str) or isinstance(other.value, str):
            return self.relation == "has" and str(other.value) in str(self.value) and self._is_final(other)
        return self.relation == "at least" and self.value >= other.value

    def excludes(self, other: Fact) -> bool:
        """Return whether no answer has both facts."""
        same = (self.subject, self.relation) == (other.subject, other.relation)
        return same and self.relation == "is" and self != other and self._is_final(other)

    def _is_final(self, other: Fact) -> bool:
        """Return whether neither of the two facts contains a placeholder."""
        return not any("${" in value for value in (self.value, other.value) if isinstance(value, str))


@dataclass(frozen=True)
class Combined:
    """Claims combined by ``not`` (one claim), ``any_of`` or ``all_of``."""

    word: str
    parts: tuple[Claim, ...]


Claim = Fact | Combined


def fact(subject: str) -> Fact:
    """Return a fact without a value."""
    return Fact(subject, "at least", 1)


def opposite(claim: Claim) -> Combined:
    """Return the negation of a claim."""
    return Combined("not", (claim,))


def text_has(text: str, case_sensitive: bool = False) -> Claim:
    """Return the claim that the answer's text has this part; an exact match implies one that ignores case."""
    part = Fact("text", "has", text.lower())
    return Combined("all_of", (part, Fact("text as written", "has", text))) if case_sensitive else part


def decides_nothing(claim: Claim) -> str | None:
    """Return why a claim is true of every answer, or of none; None if neither is known."""
    if not _is_possible(claim, False):
        return "every answer would pass, since one of these checks passes whenever the others fail"
    if not _is_possible(claim, True):
        return "no answer would pass, since these checks can never pass together"
    return None


def _is_possible(claim: Claim, outcome: bool) -> bool:
    """Return whether a claim can have this outcome: whether a consistent set of facts leads to it."""
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
