"""Text to search terms: lower-case words, the parts of camelCase names, common endings cut off."""

from __future__ import annotations

import re

WORD = re.compile(r"[A-Za-z0-9]+")
NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

# The words that questions are phrased with; they say nothing about what is asked.
STOP_WORDS = frozenset(
    WORD.findall(
        "a about actually all also am an and another any anyone anything are as at be because been"
        " between both but by called can could did do does doing each either else every everyone"
        " exactly explain for from get gets give gives go going got had has have he help her here"
        " him his how i if in into is it its just let like likes make makes making many may me mean"
        " meaning means meant might more most much must my named need needed needs no not of on one"
        " ones only or other others our out over own people person please put puts really said say"
        " says shall she should show shows simply so some somebody someone something stand stands"
        " such tell than that the their them then there these they thing things this to try trying"
        " under up us use used uses using very want was way ways we well were what when where"
        " whether which while who why will with work works would you your"
    )
)

# Of endings that fit, the first is cut off, so longer ones come before those they end in.
ENDINGS = WORD.findall("ations ation ating ated ates ate ions ion ings ing ives ive ers er ed es s e")
SHORTEST_STEM = 3


def terms(text: str) -> list[str]:
    """The search terms of a text, in order, with repetitions."""
    return [stem(word) for name in WORD.findall(text) for word in _spellings(name) if word not in STOP_WORDS]


def stem(word: str) -> str:
    """A word without its ending, so that ``deploys``, ``deployed`` and ``deploying`` are one term."""
    if word.endswith(("ss", "us")) or any(character.isdigit() for character in word):
        return word
    if word.endswith("ies") and len(word) > SHORTEST_STEM + 2:
        return f"{word[:-3]}y"
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return word[: -len(ending)]
    return word


def _spellings(name: str) -> list[str]:
    """``MerkleTree`` is found by ``merkletree``, ``merkle`` and ``tree``."""
    parts = [part.lower() for part in NAME_PART.findall(name) if len(part) > 1]
    whole = name.lower()
    return [whole, *parts] if len(parts) > 1 and whole.isalpha() else [whole]
