"""The assertion on the captured page: its text that is new since it was opened and is not the input."""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cache
from itertools import accumulate

from pytest_mcpeval.kinds.agent.assertions.verdicts import Judged, failed, inconclusive, passed
from pytest_mcpeval.kinds.agent.captured import Captured
from pytest_mcpeval.kinds.agent.outcomes import AssertionOutcome, Evidence, Reason
from pytest_mcpeval.kinds.agent.schema import AgentCase
from pytest_mcpeval.kinds.agent.visible_text import Block, normalized
from pytest_mcpeval.loading.messages import shown

SURROUNDING = 40
SHOWN_TEXT = 600

LANDING, TYPED, TITLE = 1, 2, 3
NO_ANSWER = {
    LANDING: "where the page showed it before the input",
    TYPED: "where the page repeats the input",
    TITLE: "in the title of the page",
}
"""Why a text on the page is not an answer."""

PART_OF_AN_ANSWER = 2
"""An input of up to this many words may occur in an answer. A longer one that occurs whole is a quotation."""

SAME_SHARE = 0.5
"""The share of its words that a text of the landing page has kept, if it is still the same text."""

LARGEST_COMPARISON = 4_000_000
MOST_COMPARED = 200
"""If more texts than this are gone, they are taken together: every word of them is old."""

_TOKEN = re.compile(r"\w+|[^\w\s]")

_UNRENDERED = re.compile(
    r"^[/@]\w+\s+"  # a command, or who is asked
    r"|^\s*\d+[.)]\s+"  # the number in a list
    r"|^```\w+"  # the language of a piece of code
    r"|(?<=\])\([^()\s]+\)",  # where a link leads
    re.MULTILINE,
)
"""Parts of an input that chat pages interpret and do not repeat."""

_CUT = re.compile(r"…|\.\.\.")
_LABEL = re.compile(r"(?:\d\d?[:.]\d\d\s+|[^:：]{1,20}(?::\s+|：))*")
"""A time and a name before a message."""


def final_response_contains(case: AgentCase, captured: Captured) -> Iterator[AssertionOutcome]:
    """The page with the answer contains the text, ignoring blanks, in a place that is new and is not
    the input.

    Without a captured landing page: anywhere in its visible text.
    """
    wanted = case.assertions.final_response_contains
    if wanted is None:
        return
    judged = Judged("final_response_contains", None, wanted)
    blocks, landing = captured.response_blocks, captured.landing_blocks
    if isinstance(blocks, Reason):
        yield inconclusive(judged, blocks)
        return
    page = Page(blocks)
    searched = normalized(wanted)
    place, instead = page.text.find(searched), set[int]()
    if landing is not None and place >= 0:
        if isinstance(landing, Reason):
            message = f"the page shows {shown(wanted)}, but whether it did before is not known: "
            yield inconclusive(judged, replace(landing, message=message + landing.message))
            return
        place, instead = page.new_place(searched, landing, case.input)
    path = captured.folder.relative(captured.folder.captured_dom("after_submit"))
    if place < 0:
        message = f"the page does not show {shown(wanted)}"
        if instead:
            where = " and ".join(words for kind, words in NO_ANSWER.items() if kind in instead)
            message = f"the page shows {shown(wanted)} only {where}: that is not an answer"
        evidence = Evidence(path, f"visible text, all {len(page.text):,} characters")
        end_of_text = page.text if len(page.text) <= SHOWN_TEXT else f"…{page.text[-SHOWN_TEXT:]}"
        yield failed(judged, message, end_of_text, evidence)
        return
    end = place + len(searched)
    around = page.text[max(0, place - SURROUNDING) : end + SURROUNDING]
    detail = f"visible text, characters {place + 1}–{end}: {around}"
    unknown = _unknown(searched, case) if landing is None else ""
    yield passed(judged, f"the page shows {shown(wanted)}{unknown}", Evidence(path, detail))


def _unknown(searched: str, case: AgentCase) -> str:
    """Return a warning for a pass if it is not known how the page looked before."""
    if searched in normalized(case.input):
        return "; beware, it is also part of the input, which chat pages repeat"
    return "; the page was not captured before the input, so the text may have been there before"


class Page:
    """The visible text of a page; for each character, whether it is new, or why not."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.text = " ".join(block.text for block in blocks)
        self._blocks = blocks
        self._marks = bytearray(len(self.text))
        lengths = (len(block.text) + 1 for block in blocks)
        self._starts = list(accumulate(lengths, initial=0))[:-1]

    def new_place(self, wanted: str, landing: Sequence[Block], typed: str) -> tuple[int, set[int]]:
        """Return the place of the expected text with something new in it; else -1, and why other
        places do not count.  A block that the landing page had too is old, as often as the landing
        page had it. In a block that changed, such as a heading with a counter, the unchanged words
        are old.
        """
        left = Counter(block.text for block in landing)
        changed: set[int] = set()
        for index, block in enumerate(self._blocks):
            if block.is_title:
                self._mark(*self._span(index), TITLE)
            elif left[block.text] > 0:
                left[block.text] -= 1
                self._mark(*self._span(index), LANDING)
            else:
                changed.add(index)
        self._mark_typed(typed)
        # Other blocks have nothing in common with the expected text.
        sought = _tokens(wanted)
        parts = (text for text in left.elements() if any(part in text.casefold() for part in sought))
        vanished = [tokens for text in parts if any(map(_is_word, tokens := _tokens(text)))]
        together = (
            {token for tokens in vanished for token in tokens} if len(vanished) > MOST_COMPARED else None
        )
        instead: set[int] = set()
        place = self.text.find(wanted)
        while place >= 0:
            end = place + len(wanted)
            for index in range(bisect(self._starts, place) - 1, bisect(self._starts, end - 1)):
                if index in changed:
                    changed.remove(index)
                    self._mark_kept(index, vanished, together)
            visible = [at for at in range(place, end) if not self.text[at].isspace()]
            counting = [at for at in visible if _counts(self.text[at])] or visible
            instead.update(self._marks[at] for at in counting)
            if 0 in instead:
                return place, set()
            place = self.text.find(wanted, place + 1)
        return -1, instead

    def _span(self, index: int) -> tuple[int, int]:
        return self._starts[index], self._starts[index] + len(self._blocks[index].text)

    def _mark(self, start: int, end: int, mark: int) -> None:
        self._marks[start:end] = bytes([mark]) * (end - start)

    def _mark_kept(self, index: int, vanished: list[list[str]], together: set[str] | None) -> None:
        """Mark the words that a block has kept of a block of the landing page, each of which is used once."""
        start, end = self._span(index)
        found = list(_TOKEN.finditer(self.text, start, end))
        tokens = [token[0].casefold() for token in found]
        known, best, kept = set(tokens), -1, list[int]()
        share = SAME_SHARE
        if together is not None:
            kept = [at for at, token in enumerate(tokens) if token in together]
        for number, old in enumerate(vanished if together is None else ()):
            words = [token for token in old if _is_word(token)]
            if sum(word in known for word in words) < share * len(words):
                continue
            places = _kept(old, tokens)
            now = sum(_is_word(tokens[at]) for at in places) / len(words)
            if now > share or (best < 0 and now == share):
                best, kept, share = number, places, now
        if best >= 0:
            del vanished[best]
        for at in kept:
            self._mark(*found[at].span(), LANDING)

    def _mark_typed(self, typed: str) -> None:
        """Mark the input where the page repeats it: as a message, in a heading, quoted, or cut off with dots.

        Parts that chat pages do not repeat, such as a command or the marks of a list, may be missing.
        An input of one or two words, which an answer may contain, is marked only where it is a whole
        message, or else at its first occurrence.
        """
        repeated = (normalized(typed), normalized(_UNRENDERED.sub(" ", typed)))
        text_of = {_letters(text)[0]: text for text in repeated}
        text_of.pop("", None)
        letters, places = _letters(self.text)
        edges = {edge for index in range(len(self._blocks)) for edge in self._span(index)}
        is_repeated = False
        for sought, text in text_of.items():
            is_short = _words(text) <= PART_OF_AN_ANSWER
            if is_short and is_repeated:
                break
            spans: list[tuple[int, int]] = []
            found = letters.find(sought)
            while found >= 0:
                first, last = places[found], places[found + len(sought) - 1]
                if not (
                    self._has_letter(first - 1)
                    or self._has_letter(last + 1)
                    or all(self._marks[first : last + 1])
                ):
                    spans.append(self._with_punctuation(first, last + 1))
                found = letters.find(sought, found + 1)
            is_repeated = bool(spans)
            if is_short:
                spans = [span for span in spans if edges.issuperset(span)] or spans[:1]
            for start, end in spans:
                self._mark(start, end, TYPED)
        for index in range(len(self._blocks)):
            self._mark_cut(index, text_of)

    def _mark_cut(self, index: int, inputs: Mapping[str, str]) -> None:
        """Mark the beginning of an input if a block has only that, or continues with dots, with or
        without a label.

        One or two words count only where the block ends in dots, and words up to a punctuation mark of the
        input only before dots: they may be an answer, one of those that a question offers. ``inputs`` are
        texts by their letters.
        """
        start, end = self._span(index)
        if label := _LABEL.match(self.text, start, end):
            start = label.end()
        cut = _CUT.search(self.text, start, end)
        head = self.text[start : cut.start() if cut else end].rstrip()
        if not head or all(self._marks[start : start + len(head)]):
            return
        is_long = _words(head) > PART_OF_AN_ANSWER
        if cut is not None:
            letters = _letters(head)[0]
            is_beginning = any(letters and text.startswith(letters) for text in inputs)
            found = is_beginning and (is_long or cut.end() == end)
        else:
            rests = [text[len(head) :] for text in inputs.values() if text.lower().startswith(head.lower())]
            found = is_long and any(rest[:1].isspace() or _counts(rest[:1]) for rest in rests if rest)
        if found:
            self._mark(start, start + len(head), TYPED)

    def _with_punctuation(self, start: int, end: int) -> tuple[int, int]:
        while start > 0 and not self.text[start - 1].isspace() and not _counts(self.text[start - 1]):
            start -= 1
        while end < len(self.text) and not self.text[end].isspace() and not _counts(self.text[end]):
            end += 1
        return start, end

    def _has_letter(self, at: int) -> bool:
        return 0 <= at < len(self.text) and self.text[at].isalnum()


def _tokens(text: str) -> list[str]:
    return [token.casefold() for token in _TOKEN.findall(text)]


def _words(text: str) -> int:
    """Return the number of words of a text; in scripts without blanks, two characters count as one word."""
    return max(len(text.split()), sum(unicodedata.east_asian_width(char) in "WF" for char in text) // 2)


def _is_word(token: str) -> bool:
    """Return whether a token distinguishes texts; numbers and punctuation do not."""
    return _counts(token[0]) and not token.isdigit()


def _kept(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """The places of the tokens in ``new`` that are those of ``old``, in their order."""
    if len(old) * len(new) > LARGEST_COMPARISON:
        known = set(old)
        return [at for at, token in enumerate(new) if token in known]
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return [at for block in blocks for at in range(block.b, block.b + block.size)]


def _letters(text: str) -> tuple[str, array[int]]:
    """A text without layout, punctuation and emphasis, in lower case; and the place of each letter."""
    letters, places = list[str](), array("L")
    for at, char in enumerate(text):
        if _counts(char):
            folded = char.casefold()
            letters.append(folded)
            places.extend([at] * len(folded))
    return "".join(letters), places


@cache
def _counts(char: str) -> bool:
    return not char.isspace() and char != "~" and not unicodedata.category(char).startswith(("P", "Sk"))
