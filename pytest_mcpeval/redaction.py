"""Values from the environment, taken out of everything that leaves the process.

Whoever fills in a variable tells its value here, and whatever shows, writes or sends text asks for that text
without it. One registry for the whole process: an output cannot be made with the wrong one.
"""

from __future__ import annotations

import base64
import json
import shlex
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

SHORTEST = 6
"""Characters; shorter values cannot be told from ordinary text, and stay."""

_DEEPEST_QUOTES = 3


class Redactor:
    """The values that must not be shown, and the names of the variables that are written in their place."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, None]] = {}
        self._public: set[str] = set()
        self._spellings: tuple[tuple[str, str], ...] | None = ()
        self._lock = threading.Lock()

    def learn(self, name: str, value: str) -> None:
        """The value of a variable, from now on written as ``${NAME}``; and each line of it."""
        if len(value) < SHORTEST or name in self._names.get(value, ()):
            return
        with self._lock:
            for part in {value, value.strip(), *(line.strip() for line in value.splitlines())}:
                if len(part) >= SHORTEST:
                    self._names.setdefault(part, {})[name] = None
            self._spellings = None

    def publish(self, names: Iterable[str]) -> None:
        """The values of these variables are no secrets, whoever uses them."""
        if not self._public.issuperset(names):
            with self._lock:
                self._public |= set(names)
                self._spellings = None

    def forget(self) -> None:
        """Begin anew."""
        with self._lock:
            self._names, self._public, self._spellings = {}, set(), ()

    def text(self, text: str) -> str:
        """The text without the values, however they are quoted or encoded.

        Where values overlap, all of it goes, and the longest one gives its name.
        """
        spans = [
            (start, start + len(spelling), name)
            for spelling, name in self._known()
            if spelling in text
            for start in _places(spelling, text)
        ]
        if not spans:
            return text
        shown = self._shown_already(text)
        return _replaced(
            text, [span for span in spans if not any(a <= span[0] and span[1] <= b for a, b in shown)]
        )

    def data(self, data: Any) -> Any:
        """JSON data without the values: in texts, in keys, and where a whole number is one."""
        if not self._known():
            return data
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, Mapping):
            return {self.data(key): self.data(value) for key, value in data.items()}
        if isinstance(data, (list, tuple)):
            return [self.data(value) for value in data]
        if isinstance(data, int) and not isinstance(data, bool) and str(data) in self._names:
            return self.text(str(data))
        return data

    def _known(self) -> tuple[tuple[str, str], ...]:
        if self._spellings is None:
            with self._lock:
                secret = {
                    value: name
                    for value, names in self._names.items()
                    if (name := next((name for name in names if name not in self._public), None)) is not None
                }
                found = {spelling: name for value, name in secret.items() for spelling in spellings(value)}
                # A value as it is goes before another one's encoding.
                self._spellings = tuple({**found, **secret}.items())
        return self._spellings

    def _shown_already(self, text: str) -> list[tuple[int, int]]:
        """Where ``${NAME}`` stands: a value may be part of a variable's name."""
        names = {name for _, name in self._known()}
        return [(start, start + len(name) + 3) for name in names for start in _places(f"${{{name}}}", text)]


redactor = Redactor()
"""That of this process."""


def _places(part: str, text: str) -> Iterator[int]:
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + 1)


def _replaced(text: str, spans: list[tuple[int, int, str]]) -> str:
    """The text with spans replaced by their names; those that overlap are one."""
    merged: list[tuple[int, int, str, int]] = []
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        if merged and start < merged[-1][1]:
            first, last, longest, length = merged[-1]
            name, length = (name, end - start) if end - start > length else (longest, length)
            merged[-1] = (first, max(last, end), name, length)
        else:
            merged.append((start, end, name, end - start))
    kept, done = [], 0
    for start, end, name, _ in merged:
        kept += [text[done:start], f"${{{name}}}"]
        done = end
    return "".join((*kept, text[done:]))


@cache
def spellings(value: str) -> frozenset[str]:
    """How a value may stand in a text: as it is, quoted, escaped, percent-encoded or in base64."""
    found = {value}
    for _ in range(_DEEPEST_QUOTES):
        found |= {quoted for one in found for quoted in _quoted(one)}
    encoded = {*_percent_encoded(value), *_in_base64(value), *_escaped(value)}
    found |= encoded | {quoted for one in encoded for quoted in _quoted(one)}
    return frozenset(one for one in found if len(one) >= SHORTEST)


def _quoted(text: str) -> Iterator[str]:
    """Inside JSON and inside the `repr` of a text."""
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield json.dumps(text)[1:-1].replace("/", "\\/")
    # What stands around a text decides whether Python escapes an apostrophe in it.
    yield repr(text)[1:-1]
    yield repr('"' + text)[2:-1]


def _escaped(text: str) -> Iterator[str]:
    """In HTML, in XML and on a command line."""
    for quotes in (True, False):
        html = escape(text, quote=quotes)
        yield from (
            html,
            html.replace('"', "&quot;"),
            html.replace("&#x27;", "&#39;"),
            html.replace("&#x27;", "&apos;"),
        )
    yield shlex.quote(text)[1:-1]
    yield text.replace("'", "'\\''")
    yield "".join(one if one.isalnum() or one in "_-./,:@%+=" else f"\\{one}" for one in text)


def _percent_encoded(text: str) -> Iterator[str]:
    """As Python, browsers and HTTP clients encode parts of addresses, and in forms."""
    for safe in ("", "/", "!'()*", ";,/?:@&=+$!'()*#", "/:"):
        for encoded in (
            quote(text, safe=safe, errors="replace"),
            quote_plus(text, safe=safe, errors="replace"),
        ):
            yield encoded
            yield _with_small_digits(encoded)


def _with_small_digits(encoded: str) -> str:
    first, *others = encoded.split("%")
    return "%".join((first, *(part[:2].lower() + part[2:] for part in others)))


def _in_base64(text: str) -> Iterator[str]:
    """Alone, and what stays the same wherever it stands in an encoded text, such as ``user:value``."""
    data = text.encode("utf-8", "surrogatepass")
    whole = base64.b64encode(data).decode("ascii")
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode("ascii")
        # A character is 6 bits: those that hold bits of a neighbour differ from text to text.
        part = encoded[(8 * before + 5) // 6 : (8 * (before + len(data))) // 6]
        for one in (part, *([whole, whole.rstrip("=")] if before == 0 else ())):
            url_safe = one.replace("+", "-").replace("/", "_")
            yield from (one, url_safe, quote(one, safe=""), _with_small_digits(quote(one, safe="")))
