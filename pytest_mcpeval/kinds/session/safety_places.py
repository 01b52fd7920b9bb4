"""Find places in arguments: paths, files, directories and URLs.

In doubt, a text is a place, so that mistakes only refuse.
"""

from __future__ import annotations

import re
import unicodedata

_STRONG = frozenset(
    """
    path paths filepath file files filename filenames dir dirs dirname directory directories folder folders
    uri uris url urls href cwd
    """.split()  # noqa: SIM905
)
"""Words that make an argument a place, anywhere in its name."""

_LAST = frozenset(
    """
    source sources src destination destinations dest dst target targets from to output out outfile location
    locations root into
    """.split()  # noqa: SIM905
)
"""Words that do so at the end of the name."""

_CONTENT = frozenset(
    """
    content contents text body data message description comment title type mode encoding format size count
    hash sha summary
    """.split()  # noqa: SIM905
)
"""Words at the end of a name that say what is put there, or how: ``file_text``."""

_NAME = frozenset("name names value values id ids".split())  # noqa: SIM905
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_INDEX = re.compile(r"\[\d+\]")
_COMPLETE = re.compile(r"[A-Za-z]:[\\/]|[\\/~]|[A-Za-z][A-Za-z0-9+.-]*:/|file:", re.IGNORECASE)
_CLIMBS = re.compile(r"(?:^|[\\/])\.\.(?:[\\/]|$)")
_FILE_NAME = re.compile(r"\S+\.[A-Za-z]\w{0,4}|\.\w\S*")


def is_place(path: str, text: str) -> bool:
    """Whether a text is a place, by its argument's name or its look. ``path`` is where the text stands.

    What is plainly content has to look like a complete path to be one, and to be a single line.
    """
    if is_place_name(path):
        return True
    if _words(path)[-1:] and _words(path)[-1] in _CONTENT:
        return is_complete(text) and "\n" not in text.strip()
    return looks_like_place(text) or is_file_name(text)


def is_place_name(path: str) -> bool:
    """Whether an argument of this name holds a place: ``path``, ``outputFile``, ``file.name``."""
    words = _words(path)
    while len(words) > 1 and words[-1] in _NAME:
        words.pop()
    if not words or words[-1] in _CONTENT:
        return False
    return words[-1] in _LAST or not _STRONG.isdisjoint(words)


def subject_of(path: str) -> str:
    """What an argument is about, in lower case: ``repo`` for ``repo``, ``repo_name`` and ``repo.id``."""
    words = _words(path)
    while len(words) > 1 and words[-1] in _NAME:
        words.pop()
    return "_".join(words) if _WORD.findall(path) else path.lower()


def _words(path: str) -> list[str]:
    """The words in the name of an argument; before ``name`` and ``id``, those of the object around it."""
    keys = _INDEX.sub("", path).split(".")
    words = [word.lower() for word in _WORD.findall(keys[-1])]
    if len(keys) > 1 and words and set(words) <= _NAME:
        return [word.lower() for word in _WORD.findall(keys[-2])] + words
    return words


def looks_like_place(text: str) -> bool:
    """Whether a text is a complete path, a URL, one that climbs, or a relative path of several parts."""
    inner = _stripped(text)
    if is_complete(inner):
        return True
    return not re.search(r"\s", inner) and re.search(r"[\\/]", inner) is not None


def is_file_name(text: str) -> bool:
    """Whether a text looks like the name of a file: ``notes.txt``, ``.env``."""
    return _FILE_NAME.fullmatch(_stripped(text)) is not None


def is_complete(text: str) -> bool:
    """Whether a text is a path from the root or from home, one that climbs out of where it is, or a URL."""
    inner = _stripped(text)
    return _COMPLETE.match(inner) is not None or _CLIMBS.search(inner) is not None


def is_relative(text: str) -> bool:
    """Whether a text, taken for a place, stays below where it is looked up."""
    return not is_complete(text)


def _stripped(text: str) -> str:
    """The text without what is hard to see at its ends, which servers cut off or ignore."""
    hidden = "".join(
        {letter for letter in text if letter in "'\"<`" or unicodedata.category(letter)[0] in "CZ"}
    )
    return text.strip(hidden)
