"""Redaction: removes values from the environment from everything that leaves the process.  Code that
fills in a variable registers its value here; code that shows, writes or sends text redacts it here.
There is one registry per process, so that no output can use the wrong one.
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
"""Characters; shorter values look like ordinary text and are not redacted."""

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
"""Words of reports and run files, which are never redacted: without them, the files could not be read."""


@dataclass(frozen=True)
class _Known:
    """The current secret values, each with its variable, and every spelling of them.

    ``parts`` maps each part of `SHORTEST` characters to the spellings it occurs in, with its positions.
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
        # A literal value has precedence over the encoding of another value.
        spelled |= secret
        parts: dict[str, list[tuple[str, int]]] = {}
        for spelling in spelled:
            for place in range(len(spelling) - SHORTEST + 1):
                parts.setdefault(spelling[place : place + SHORTEST], []).append((spelling, place))
        return cls(secret, spelled, parts)


class Redactor:
    """The secret values, and the names of the variables that replace them."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, None]] = {}
        self._public: set[str] = set()
        self._found: _Known | None = None
        self._lock = threading.Lock()

    def learn(self, name: str, value: str) -> None:
        """Redact the value of a variable, and each line of it, as ``${NAME}`` from now on.

        A value that is a word of the reports themselves, such as ``passed``, is not redacted.
        """
        if len(value) < SHORTEST or name in self._names.get(value, ()):
            return
        with self._lock:
            for part in {value, value.strip(), *(line.strip() for line in value.splitlines())}:
                if len(part) >= SHORTEST and not _WORDS_OF_REPORTS.fullmatch(part):
                    self._names.setdefault(part, {})[name] = None
            self._found = None

    def publish(self, names: Iterable[str]) -> None:
        """Do not redact the values of these variables."""
        added = {*names} - self._public
        if added:
            with self._lock:
                self._public |= added
                self._found = None

    def forget(self) -> None:
        """Forget all values and names."""
        with self._lock:
            self._names, self._public, self._found = {}, set(), None

    @property
    def is_empty(self) -> bool:
        """Whether there are no secret values."""
        return not self._known().values

    def text(self, text: str) -> str:
        """Return the text without the values, in any quoting or encoding.  If values overlap, the
        whole overlap is replaced by the name of the longest. At the cut ends of a text, a part of a
        value is replaced too.
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
            # Names that are already in the text stay: a value may be part of a variable's name.
            shown = [
                (start, start + len(name) + 3)
                for name in set(known.values.values())
                for start in _places(f"${{{name}}}", text)
            ]
            spans = [span for span in spans if not any(a <= span[0] and span[1] <= b for a, b in shown)]
        return _replaced(text, spans) if spans else text

    def json(self, text: str) -> str:
        """Return JSON, or JSON lines, with texts and keys redacted and everything else unchanged."""
        if not any(spelling in text for spelling in self._known().spellings):
            return text
        return _JSON_TEXT.sub(self._json_text, text)

    def file(self, path: Path, text: str) -> str:
        """Return the redacted content of a file; JSON stays valid JSON."""
        return self.json(text) if path.suffix in _JSON_SUFFIXES else self.text(text)

    def _json_text(self, match: re.Match[str]) -> str:
        text: str = json.loads(match[0], strict=False)
        redacted = self.text(text)
        return match[0] if redacted == text else json.dumps(redacted, ensure_ascii=True)

    def data(self, data: Any, *, is_free: bool = False) -> Any:
        """Return JSON data with texts and keys redacted.

        If ``is_free`` (the data comes from outside, such as below the key ``arguments``), whole numbers are
        redacted too.
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
"""The redactor of this process."""


def _cut_spans(known: _Known, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the spans at which a text, or an excerpt in it, begins or ends within a value.  At the
    ends of the whole text, a part of a value that consists of whole words is kept: the text
    ``search`` is not a cut part of ``http://localhost:8000/search``.
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
    """Return the text with spans replaced by their names; overlapping spans are merged."""
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
    """Return the forms in which a text may contain a value: literal, quoted, escaped, encoded."""
    found = {value}
    for _ in range(_DEEPEST_QUOTES):
        found |= {quoted for one in found for quoted in _quoted(one)}
    encoded = {*_percent_encoded(value), *_in_base64(value), *_escaped(value)}
    found |= encoded | {quoted for one in encoded for quoted in _quoted(one)}
    return frozenset(one for one in found if len(one) >= SHORTEST)


def _quoted(text: str) -> Iterator[str]:
    """Yield the value as it is inside JSON and inside the `repr` of a text."""
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield json.dumps(text)[1:-1].replace("/", "\\/")
    # Whether Python escapes an apostrophe depends on the other quotes in the text.
    yield repr(text)[1:-1]
    yield repr('"' + text)[2:-1]


def _escaped(text: str) -> Iterator[str]:
    """Yield the value as escaped in HTML, XML, Markdown, regular expressions and on a command line."""
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
    """Yield the value as Python, browsers and HTTP clients encode it in URLs and forms, or decode it."""
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
    """Yield the value in base64: alone, and as the stable part of a longer encoded text such as
    ``user:value``.  From UTF-8, and from Latin-1, which a browser's ``btoa`` and old basic
    authentication use.
    """
    yield from _bytes_in_base64(text.encode("utf-8", "surrogatepass"))
    if not text.isascii() and all(ord(one) < 256 for one in text):
        yield from _bytes_in_base64(text.encode("latin-1"))


def _bytes_in_base64(data: bytes) -> Iterator[str]:
    whole = base64.b64encode(data).decode("ascii")
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data).decode("ascii")
        # A base64 character is 6 bits: characters that share bits with a neighbour vary.
        part = encoded[(8 * before + 5) // 6 : (8 * (before + len(data))) // 6]
        for one in (part, *([whole, whole.rstrip("=")] if before == 0 else ())):
            url_safe = one.replace("+", "-").replace("/", "_")
            yield from (one, url_safe, quote(one, safe=""), _with_small_digits(quote(one, safe="")))
