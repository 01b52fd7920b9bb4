"""Arguments of calls, told without what is nobody's business: credentials, tokens, e-mail addresses."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_mcpeval.servers.definitions import is_secret_name
from pytest_mcpeval.text import shortened, visible

MOST_FIELDS = 8
LONGEST_VALUE = 60
LONGEST_SUMMARY = 400
HIDDEN = "<redacted>"

_PERSONAL_NAME = re.compile(
    r"e[-_]?mail|phone|mobile|passport|iban|\bssn\b|social[-_]?security|birth|card[-_]?(?:no|number)|\bcvc\b"
    r"|pwd|session[-_]?id|\bjwt\b|bearer|signature|\botp\b|\bpin\b|passcode",
    re.IGNORECASE,
)
# Not \b: a token may stand behind an underscore.
_ISSUED = r"""(?<![A-Za-z0-9])(?:
    (?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|hf|npm|pypi|xox[abeprs])[-_][\w-]{8,}
  | (?:AKIA|ASIA)[A-Z0-9]{12,} | AIza[\w-]{20,} | ya29\.[\w-]+
  | eyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)?
  | [Bb]earer\s+[\w.~+/=-]{6,} | (?:[Bb]asic|[Dd]igest|[Tt]oken)\s+(?=\S*[\d=])[\w.~+/=-]{6,}
)"""
_NAMED = r"""(?P<name>["']?\b[\w.-]*
    (?:token|secret|passw(?:or)?d|passwd|pwd|api[-_]?key|credential|cookie|authorization)
    [\w.-]*["']?\s*[:=]\s*)["']?[^\s"',;&}]+["']?"""
# Letters and digits, too long to be a word; or base64 with its padding.
_RANDOM = r"""
    (?<![\w+/-])(?=\w*\d)(?=\w*[A-Za-z])\w{32,}(?![\w+/-])
  | (?<![A-Za-z0-9+/])[A-Za-z0-9+/]{24,}={1,2}
"""
_VALUES = (
    (re.compile(r"[\w.%+-]+@[\w-]+(?:\.[\w-]+)+"), "<e-mail>"),
    (re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL), "<key>"),
    (re.compile(r"(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"), HIDDEN),
    (re.compile(_ISSUED, re.VERBOSE), "<token>"),
    (re.compile(_NAMED, re.VERBOSE | re.IGNORECASE), rf"\g<name>{HIDDEN}"),
    (re.compile(r"(?<![\d.])(?:\d[ -]?){12,18}\d(?![\d.])"), "<number>"),
    (re.compile(_RANDOM, re.VERBOSE), "<token>"),
)


def redacted_text(text: str) -> str:
    """The text with what looks like a credential or an address replaced, control characters spelled out."""
    for pattern, replacement in _VALUES:
        text = pattern.sub(replacement, text)
    return visible(text)


def is_private_name(name: str) -> bool:
    """Whether a value under this name is kept back, whatever it looks like."""
    return is_secret_name(name) or _PERSONAL_NAME.search(name) is not None


def args_summary(arguments: Mapping[str, Any]) -> str:
    """Arguments in a few words: ``{path: "notes.md", head: 2, edits: array[3], token: <redacted>}``.

    Short values are told when nothing about them or their names looks private; of everything else, only the
    kind and size.
    """
    shown = [_field(str(name), value) for name, value in list(arguments.items())[:MOST_FIELDS]]
    if len(arguments) > MOST_FIELDS:
        shown.append(f"… {len(arguments) - MOST_FIELDS} more")
    return shortened(f"{{{', '.join(shown)}}}", LONGEST_SUMMARY)


def _field(name: str, value: Any) -> str:
    shown = HIDDEN if is_private_name(name) and value is not None else _value(value)
    return f"{_name(name)}: {shown}"


def _name(name: str) -> str:
    return shortened(redacted_text(" ".join(name.split())), LONGEST_VALUE)


def _value(value: Any) -> str:
    if isinstance(value, str):
        # Cut only after redaction: half a token is still one.
        return _text(redacted_text(value), len(value))
    if isinstance(value, Mapping):
        names = [_name(str(name)) for name in list(value)[:MOST_FIELDS]]
        more = ["…"] if len(value) > MOST_FIELDS else []
        return f"object{{{', '.join([*names, *more])}}}"
    if isinstance(value, (list, tuple)):
        return f"array[{len(value)}]"
    if isinstance(value, (bool, float)) or value is None:
        return json.dumps(value)
    return redacted_text(str(value))[:LONGEST_VALUE]


def _text(text: str, length: int) -> str:
    return f"text[{length}]" if len(text) > LONGEST_VALUE else json.dumps(text, ensure_ascii=False)


def digest(arguments: Mapping[str, Any], tool: str, key: bytes) -> str:
    """The same for the same arguments of the same tool under the same key, telling nothing else of them."""
    text = json.dumps([tool, arguments], sort_keys=True, ensure_ascii=True, default=str)
    return hmac.new(key, text.encode(), "sha256").hexdigest()[:16]
