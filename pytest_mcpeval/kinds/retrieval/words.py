"""Split texts into words, and find the names of tools in queries."""

from __future__ import annotations

import re
import unicodedata

_PART = re.compile(r"[^\W_]+")
# Thai, Lao, Burmese, Khmer, Japanese, Chinese, and Korean, whose particles are joined to words.
_WITHOUT_BLANKS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]"
)
# Between a small letter or digit and a capital, and before the last of several capitals: `HTTPServer`.
_INNER_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words(text: str) -> list[str]:
    """The words of a text or name, folded: two of ``createIssue``, ``create-issue`` or ``create_issue``."""
    return [_folded(word) for part in _parts(text) for word in _INNER_BORDER.split(part)]


def names_the_tool(query: str, tool: str) -> bool:
    """Whether a query contains a tool's bare name, however written: ``Create issue``, ``createissue``.

    Upper case, ``_``, ``-`` and other separators do not count; the name must begin and end where words of
    the query do. A name in a script that puts no blanks between words may stand anywhere in it.
    """
    name = "".join(map(_folded, _parts(tool)))
    said = [_folded(part) for part in _parts(query)]
    if len(name) > 1 and _WITHOUT_BLANKS.search(name):
        return name in "".join(said)
    return bool(name) and any(_begins_with(said[start:], name) for start in range(len(said)))


def _begins_with(parts: list[str], name: str) -> bool:
    """Whether the first few parts, joined, are the name."""
    for part in parts:
        if not name.startswith(part):
            return False
        name = name[len(part) :]
        if not name:
            return True
    return False


def _parts(text: str) -> list[str]:
    return _PART.findall(unicodedata.normalize("NFKC", text))


def _folded(part: str) -> str:
    return unicodedata.normalize("NFKC", part.casefold())
