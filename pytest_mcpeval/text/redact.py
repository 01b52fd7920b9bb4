"""Values from the environment, taken out of everything that leaves the process.

Whoever fills in a variable tells its value here, and whatever shows, writes or sends text asks for that text
without it. One registry for the whole process: an output cannot be made with the wrong one.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

SHORTEST = 6
"""Characters; shorter values cannot be told from ordinary text, and stay."""

_DEEPEST_QUOTES = 3
_JSON_SUFFIXES = frozenset({".json", ".jsonl", ".sarif"})
_FREE_KEYS = frozenset({"arguments", "structured", "rule", "details"})
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_MARKDOWN_SYNTAX = re.compile(r"[\\`*_{}\[\]<>()#+\-!|~&@:]")
_REGEX_SYNTAX = re.compile(r"[\\^$.*+?()\[\]{}|/-]")
_CUT = re.compile(r"…|\.\.\.")
_WORDS_OF_REPORTS = re.compile(
    "passed|failed|skipped|inconclusive|xfailed|tolerated|not_evaluated|not_set"
    "|scenario|retrieval|security|session|malicious|benign|baseline"
    "|approve|read_only|sandboxed|derived|verbatim|reshaped|answered|contains"
    "|discovering|interviewing|scoping|scoped|executing|critiquing|critic_failed|reporting|complete"
    "|running|aborted|call_budget|wallclock|safety_abort|Critical|Suggestion"
    "|arguments|checks|details|measured|message|outcome|status|suites|totals|verdict|version"
)
"""What reports and the files of runs are written in: without these words, they could not be read."""


@dataclass(frozen=True)
class _Known:
    """The values that are secret now, each with its variable, and every spelling of them.

    ``parts`` are the shortest parts of spellings that tell them from ordinary text, each with its places.
    """

    values: Mapping[str, str]
    spellings: Mapping[str, str]
    parts: Mapping[str, Sequence[tuple[str, int]]]

    @classmethod
    def of(cls, names: Mapping[str, Mapping[str, None]], public: Collection[str]) -> _Known:
        secret = {
            value: name
            for value, found in names.items()
            if (name := next((name for name in found if name not in public), None)) is not None
        }
        spelled = {spelling: name for value, name in secret.items() for spelling in spellings(value)}
        # A value as it is goes before another one's encoding.
        spelled |= secret
        parts: dict[str, list[tuple[str, int]]] = {}
        for spelling in spelled:
            for place in range(len(spelling) - SHORTEST + 1):
                parts.setdefault(spelling[place : place + SHORTEST], []).append((spelling, place))
        return cls(secret, spelled, parts)


class Redactor:
    """The values that must not be shown, and the names of the variables that are written in their place."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, None]] = {}
        self._public: set[str] = set()
        self._found: _Known | None = None
        self._lock = threading.Lock()

    def learn(self, name: str, value: str) -> None:
        """The value of a variable, from now on written as ``${NAME}``; and each line of it.

        A value that is a word of the reports themselves, such as ``passed``, is no secret.
        """
        if len(value) < SHORTEST or name in self._names.get(value, ()):
            return
        with self._lock:
            for part in {value, value.strip(), *(line.strip() for line in value.splitlines())}:
                if len(part) >= SHORTEST and not _WORDS_OF_REPORTS.fullmatch(part):
                    self._names.setdefault(part, {})[name] = None
            self._found = None

    def publish(self, names: Iterable[str]) -> None:
        """The values of these variables are no secrets, whoever uses them."""
        added = {*names} - self._public
        if added:
            with self._lock:
                self._public |= added
                self._found = None

    def forget(self) -> None:
        """Begin anew."""
        with self._lock:
            self._names, self._public, self._found = {}, set(), None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to take out."""
        return not self._known().values

    def text(self, text: str) -> str:
        """The text without the values, however they are quoted or encoded.

        Where values overlap, all of it goes, and the longest one gives its name. Half a value goes as well
        where a text was cut.
        """
        known = self._known()
        if not known.values:
            return text
        spans = [
            (start, start + len(spelling), name)
            for spelling, name in known.spellings.items()
            if spelling in text
            for start in _places(spelling, text)
        ]
        spans += _cut_spans(known, text)
        if spans:
            # What stands there already: a value may be part of a variable's name.
            shown = [
                (start, start + len(name) + 3)
                for name in set(known.values.values())
                for start in _places(f"${{{name}}}", text)
            ]
            spans = [span for span in spans if not any(a <= span[0] and span[1] <= b for a, b in shown)]
        return _replaced(text, spans) if spans else text

    def json(self, text: str) -> str:
        """JSON, or lines of it, without the values in its texts and keys: what it is otherwise, it stays."""
        if not any(spelling in text for spelling in self._known().spellings):
            return text
        return _JSON_TEXT.sub(self._json_text, text)

    def file(self, path: Path, text: str) -> str:
        """The content of a file without the values; JSON stays JSON."""
        return self.json(text) if path.suffix in _JSON_SUFFIXES else self.text(text)

    def _json_text(self, match: re.Match[str]) -> str:
        text: str = json.loads(match[0], strict=False)
        redacted = self.text(text)
        return match[0] if redacted == text else json.dumps(redacted, ensure_ascii=True)

    def data(self, data: Any, *, is_free: bool = False) -> Any:
        """JSON data without the values in texts and keys.

        In what others wrote, ``is_free``, a whole number may be a value as well; that holds below keys such
        as ``arguments``.
        """
        if not self._known().values:
            return data
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, Mapping):
            return {
                self.data(key): self.data(value, is_free=is_free or key in _FREE_KEYS)
                for key, value in data.items()
            }
        if isinstance(data, (list, tuple)):
            return [self.data(value, is_free=is_free) for value in data]
        is_number = isinstance(data, int) and not isinstance(data, bool)
        return self.text(str(data)) if is_free and is_number and str(data) in self._known().values else data

    def _known(self) -> _Known:
        found = self._found
        if found is None:
            with self._lock:
                found = self._found = _Known.of(self._names, self._public)
        return found


redactor = Redactor()
"""That of this process."""


def _cut_spans(known: _Known, text: str) -> Iterator[tuple[int, int, str]]:
    """Where a text or an excerpt in it ends or begins within a value.

    At the ends of the whole text, a part of a value that is made of whole words is taken for these words: a
    tool ``search`` is not cut from ``http://localhost:8000/search``.
    """
    for end in (len(text), *(match.start() for match in _CUT.finditer(text))):
        for spelling, place in known.parts.get(text[max(0, end - SHORTEST) : end], ()):
            part = spelling[: place + SHORTEST]
            if text.endswith(part, 0, end) and (end < len(text) or not _is_whole_words(part, known)):
                yield end - len(part), end, known.spellings[spelling]
    for start in (0, *(match.end() for match in _CUT.finditer(text))):
        for spelling, place in known.parts.get(text[start : start + SHORTEST], ()):
            part = spelling[place:]
            if text.startswith(part, start) and (start > 0 or not _is_whole_words(part, known)):
                yield start, start + len(part), known.spellings[spelling]


def _is_whole_words(part: str, known: _Known) -> bool:
    words = re.compile(rf"(?<!\w){re.escape(part)}(?!\w)")
    return any(part != value and words.search(value) for value in known.values)


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
    """In HTML, in XML, in Markdown, in a regular expression and on a command line."""
    for quotes in (True, False):
        html = escape(text, quote=quotes)
        yield from (
            html,
            html.replace('"', "&quot;"),
            html.replace("&#x27;", "&#39;"),
            html.replace("&#x27;", "&apos;"),
        )
    yield re.escape(text)
    for syntax in (_MARKDOWN_SYNTAX, _REGEX_SYNTAX):
        yield syntax.sub(r"\\\g<0>", text)
    if (quoted := shlex.quote(text)) != text:
        yield quoted[1:-1]
    yield text.replace("'", "'\\''")
    yield "".join(one if one.isalnum() or one in "_-./,:@%+=" else f"\\{one}" for one in text)


def _percent_encoded(text: str) -> Iterator[str]:
    """As Python, browsers and HTTP clients encode parts of addresses, and in forms; or as a form is read."""
    yield text.replace("+", " ")
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
    """Alone, and what stays the same wherever it stands in an encoded text, such as ``user:value``.

    Of UTF-8, and of Latin-1, which is what a browser's ``btoa`` and old basic authentication encode.
    """
    yield from _bytes_in_base64(text.encode("utf-8", "surrogatepass"))
    if not text.isascii() and all(ord(one) < 256 for one in text):
        yield from _bytes_in_base64(text.encode("latin-1"))


def _bytes_in_base64(data: bytes) -> Iterator[str]:
    whole = base64.b64encode(data).decode("ascii")
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode("ascii")
        # A character is 6 bits: those that hold bits of a neighbour differ from text to text.
        part = encoded[(8 * before + 5) // 6 : (8 * (before + len(data))) // 6]
        for one in (part, *([whole, whole.rstrip("=")] if before == 0 else ())):
            url_safe = one.replace("+", "-").replace("/", "_")
            yield from (one, url_safe, quote(one, safe=""), _with_small_digits(quote(one, safe="")))
