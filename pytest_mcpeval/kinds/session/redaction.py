"""Arguments of calls in short, without what is private: credentials, tokens, e-mail addresses."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_mcpeval.servers.definitions import is_secret_name
from pytest_mcpeval.text.redact import redactor
from pytest_mcpeval.text.visible import clipped, visible

MOST_FIELDS = 8
LONGEST_VALUE = 60
LONGEST_SUMMARY = 400
HIDDEN = "<redacted>"

_PERSONAL_NAME = re.compile(
    r"e[-_]?mail|phone|mobile|passport|iban|\bssn\b|social[-_]?security|birth|card[-_]?(?:no|number)|\bcvc\b"
    r"|pwd|session[-_]?id|\bjwt\b|bearer|signature|passcode|passphrase",
    re.IGNORECASE,
)
# Words that occur inside many others: a capital or a sign must separate them.
_SHORT_NAME = re.compile(
    r"(?:^|[^A-Za-z])(?i:otp|pin|pass|cvv|pw|pat|sid)(?:$|[^a-z])"
    r"|[a-z](?:[Oo]tp|OTP|Pin|PIN|Pass|Cvv|CVV|Pw|PW|Pat|PAT|Sid|SID)(?:$|[^a-z])"
    r"|^(?i:private)$"
)
# Not \b: a token may follow an underscore.
_ISSUED = r"""(?<![A-Za-z0-9])(?:
    (?:sk|pk|rk|whsec|ghp|gho|ghu|ghs|ghr|github_pat|glpat|hf|npm|pypi|xox[abeprs]|xapp|gsk|xai|r8|sntrys|figd
      |lin_(?:api|oauth)|dckr_(?:pat|oat)|shp(?:at|ca|pa|ss)|dop_v1|doo_v1|sq0[a-z]{3}|EAA[A-Za-z]|GOCSPX|ntn
      |rubygems|tskey|nvapi|pplx)[-_][\w-]{8,}
  | SG\.[\w-]+\.[\w-]+ | AGE-SECRET-KEY-1[A-Z0-9]+
  | \d{8,10}:AA[\w-]{30,}
  | (?:AKIA|ASIA)[A-Z0-9]{12,} | AIza[\w-]{20,} | ya29\.[\w-]+
  | eyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)?
  | [Bb]earer\s+[\w.~+/=-]{6,} | (?:[Bb]asic|[Dd]igest|[Tt]oken)\s+(?=\S*[\d=])[\w.~+/=-]{6,}
)"""
_NAME = (
    r"(?:token|secret|passw(?:or)?d|passwd|passphrase|passcode|pwd|api[-_]?key|credential|cookie"
    r"|authorization)"
)
_NAMED = rf"""(?P<name>["']?\b[\w.-]*{_NAME}[\w.-]*["']?\s*[:=]\s*
      |["']?(?<![\w.-])(?:pass|pin|otp|cvv|pw|pat|sid)["']?\s*[:=]\s*
      |[?&](?:sig|key|code|auth|private)=)["']?[^\s"',;&}}]+["']?"""
# A value has a digit, or follows "is": "password rules" are words.
_SPOKEN = r"""(?P<name>\b(?:passw(?:or)?d|passwd|passphrase|passcode)\s+(?:(?:is|was|be)\s+)?["']?
      |\b(?:token|secret|api[-_ ]?key)\s+(?:(?:is|was|be)\s+)?["']?(?=\S*[A-Za-z]))(?=[^\s"']*\d)[^\s"',;&}]+
  |(?P<short>\b(?:pin|otp|cvv|passcode)\s+(?:(?:code|is|was|be)\s+)?["']?)(?=\d{3,8}\b)\d+
  |(?P<said>\b(?:passw(?:or)?d|passwd|passphrase|passcode)\s+is\s+["']?)[^\s"',;&}]+"""
_OPTION = r"""(?P<name>(?:\b(?:curl|wget|https?)\b[^\n|;&]*?\s-u|(?<!\S)--(?:proxy-)?user)
      [\s=]*["']?[^\s:"']+:)[^\s"']+
  |(?P<said>\b(?:mysql|mysqldump|mysqladmin|mariadb|sshpass|7z|zip)\b[^\n|;&]*?\s-p\s?)[^\s-][^\s"']*"""
# Keys of 40 characters of base64; letters and digits, too long to be a word; or base64 with its padding.
_RANDOM = r"""
    (?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]{0,39}\d)(?=[A-Za-z0-9+/]{0,39}[A-Z])(?=[A-Za-z0-9+/]{0,39}[a-z])
      [A-Za-z0-9+/]{40}(?![A-Za-z0-9+/])
  | (?<![\w+])(?=\w*\d)(?=\w*[A-Za-z])\w{32,}(?![\w+])
  | (?<![A-Za-z0-9+/])[A-Za-z0-9+/]{24,}={1,2}
"""
# Credentials of a host, without a scheme before them; "npm:lodash@4.17.21" and "12:30@noon" have none.
_AT_HOST = r"""(?<![\w@:/.-])[\w.-]+:(?!\d+@)[^\s/@:]+(?=@(?:
    (?:\d+\.){3}\d+\b | [A-Za-z]))"""
_ANY_NAME = rf"\g<name>\g<said>{HIDDEN}"
_SPOKEN_NAME = rf"\g<name>\g<short>\g<said>{HIDDEN}"
_VALUES = (
    # To the last @ before the host: a password may have one in it.
    (re.compile(r"(?<=://)[^\s/@:]*:[^\s/]+(?=@)"), HIDDEN),
    (re.compile(r"(?<=://)[^\s/@:]*:(?!\d+/)[^\s@]+(?=@)"), HIDDEN),
    (re.compile(_AT_HOST, re.VERBOSE), HIDDEN),
    (re.compile(r"[\w.%+-]+(?:@|%40)[\w-]+(?:\.[\w-]+)*\.[a-z][\w-]+", re.IGNORECASE), "<e-mail>"),
    (re.compile(r"-----BEGIN [A-Z ]+-----.*?(?:-----END [A-Z ]+-----|\Z)", re.DOTALL), "<key>"),
    (re.compile(_ISSUED, re.VERBOSE), "<token>"),
    (re.compile(_NAMED, re.VERBOSE | re.IGNORECASE), rf"\g<name>{HIDDEN}"),
    (re.compile(_SPOKEN, re.VERBOSE | re.IGNORECASE), _SPOKEN_NAME),
    (re.compile(_OPTION, re.VERBOSE), _ANY_NAME),
    (re.compile(r"(?<![\d.])(?:\d[ -]?){12,18}\d(?![\d.])"), "<number>"),
    (re.compile(_RANDOM, re.VERBOSE), "<token>"),
)


def redacted_text(text: str) -> str:
    """The text with what looks like a credential or an address replaced, control characters spelled out."""
    for pattern, replacement in _VALUES:
        text = pattern.sub(replacement, text)
    return visible(text)


def redacted(text: str) -> str:
    """The text as it may be written down: without the secrets of this run, and what looks like one."""
    return redacted_text(redactor.text(text))


def redacted_data(data: Any) -> Any:
    """JSON data with every text in it `redacted`."""
    if isinstance(data, str):
        return redacted(data)
    if isinstance(data, Mapping):
        return {key: redacted_data(value) for key, value in data.items()}
    return [redacted_data(value) for value in data] if isinstance(data, (list, tuple)) else data


def is_private_name(name: str) -> bool:
    """Return whether values with this name are redacted whatever they look like."""
    patterns = (_PERSONAL_NAME, _SHORT_NAME)
    return is_secret_name(name) or any(pattern.search(name) is not None for pattern in patterns)


def args_summary(arguments: Mapping[str, Any]) -> str:
    """Return arguments in short: ``{path: "notes.md", head: 2, edits: array[3], token: <redacted>}``.

    Short values are shown when nothing about them or their names looks private; of everything else, only the
    kind and size.
    """
    fields = [_field(str(name), value) for name, value in list(arguments.items())[:MOST_FIELDS]]
    if len(arguments) > MOST_FIELDS:
        fields.append(f"… {len(arguments) - MOST_FIELDS} more")
    return clipped(f"{{{', '.join(fields)}}}", LONGEST_SUMMARY)


def _field(name: str, value: Any) -> str:
    text = HIDDEN if is_private_name(name) and value is not None else _value(value)
    return f"{_name(name)}: {text}"


def _name(name: str) -> str:
    return clipped(redacted_text(" ".join(name.split())), LONGEST_VALUE)


def _value(value: Any) -> str:
    if isinstance(value, str):
        # Cut only after redaction: half a token is still a secret.
        text = redacted_text(value)
        return f"text[{len(value)}]" if len(text) > LONGEST_VALUE else json.dumps(text, ensure_ascii=False)
    if isinstance(value, Mapping):
        names = [_name(str(name)) for name in list(value)[:MOST_FIELDS]]
        more = ["…"] if len(value) > MOST_FIELDS else []
        return f"object{{{', '.join([*names, *more])}}}"
    if isinstance(value, (list, tuple)):
        return f"array[{len(value)}]"
    if isinstance(value, (bool, float)) or value is None:
        return json.dumps(value)
    return redacted_text(str(value))[:LONGEST_VALUE]


def digest(arguments: Mapping[str, Any], tool: str, key: bytes) -> str:
    """Return equal digests for equal arguments of the same tool under the same key.

    Nothing else can be derived from them.
    """
    text = json.dumps([tool, arguments], sort_keys=True, ensure_ascii=True, default=str)
    return hmac.new(key, text.encode(), "sha256").hexdigest()[:16]
