"""The text of a page that a person could read: HTML without scripts, styles, templates and comments."""

from __future__ import annotations

import re
import unicodedata
from html.parser import HTMLParser
from typing import NamedTuple

RAW = frozenset({"script", "style", "noscript", "iframe", "noembed", "noframes", "xmp"})
"""Elements without elements in them, whatever stands there: browsers write their text as it is."""

SKIPPED = RAW - {"xmp"} | {"template"}
INLINE = frozenset(
    {
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em"),
        *("font", "i", "ins", "kbd", "label", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span"),
        *("strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
    }
)
"""Elements that do not separate words: ``H<sub>2</sub>O`` is one. Nor do custom elements."""

FRAME = "mcpeval-frame"
"""Stands for a frame in captured pages; no custom element of the page."""

_BLANKS = re.compile(r"\s+")
_WIDTHLESS = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Invisible characters that allow or forbid breaking a word."""


class Block(NamedTuple):
    """A text between two elements that separate words; ``is_title`` for one in a ``title`` element."""

    text: str
    is_title: bool = False


def visible_text(html: str) -> str:
    """The readable text of a document: its `visible_blocks`, with a space between them."""
    return " ".join(block.text for block in visible_blocks(html))


def visible_blocks(html: str) -> list[Block]:
    """The readable texts of a document, each run of blanks as one space, in Unicode's normal form C.

    Left out are ``script``, ``style``, ``noscript`` and ``template`` elements, what stands in a frame's tags,
    comments, soft hyphens and blanks without width. A template with ``shadowrootmode`` is an open shadow root
    and is read. Elements other than inline ones separate words, and blocks.
    """
    parser = _Reader()
    parser.feed(html)
    parser.close()
    parser.end_block()
    return parser.blocks


def normalized(text: str) -> str:
    """A text as `visible_text` gives it, so that the two can be compared."""
    return _BLANKS.sub(" ", unicodedata.normalize("NFC", _WIDTHLESS.sub("", text))).strip()


def _separates(tag: str) -> bool:
    return tag not in INLINE and ("-" not in tag or tag == FRAME)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._parts: list[str] = []
        self._titles = 0
        # The open elements among SKIPPED, each with whether its text is left out.
        self._open: list[tuple[str, bool]] = []
        self._skipped = 0

    def end_block(self) -> None:
        """What follows belongs to another block."""
        text = normalized("".join(self._parts))
        if text:
            self.blocks.append(Block(text, self._titles > 0))
        self._parts.clear()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if _separates(tag):
            self.end_block()
        self._titles += tag == "title"
        if tag in RAW:
            self.set_cdata_mode(tag)
        if tag in SKIPPED:
            is_shadow_root = tag == "template" and any(name == "shadowrootmode" for name, _ in attrs)
            self._open.append((tag, not is_shadow_root))
            self._skipped += not is_shadow_root

    def handle_endtag(self, tag: str) -> None:
        if _separates(tag):
            self.end_block()
        self._titles -= tag == "title" and self._titles > 0
        if tag not in SKIPPED or all(name != tag for name, _ in self._open):
            return
        while True:
            name, counts = self._open.pop()
            self._skipped -= counts
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self._parts.append(data)
