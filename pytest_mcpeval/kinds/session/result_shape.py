"""The shape of an answer: ``array[47] of {id,state,title}``, ``object{ok:true}``, ``error:403``."""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_mcpeval.kinds.session.redaction import is_private_name, redacted_text
from pytest_mcpeval.servers.errors import CallError
from pytest_mcpeval.servers.json_paths import json_answer, unwrapped
from pytest_mcpeval.servers.response import Response
from pytest_mcpeval.text.visible import clipped

MOST_KEYS = 12
LONGEST_KEY = 40

_STATUS = re.compile(r"\b(?:HTTP(?:/[\d.]+)?|status(?:[ _-]?code)?|error)\W{1,3}([45]\d\d)\b", re.IGNORECASE)
_STATUS_WITH_PHRASE = re.compile(
    r"\b([45]\d\d)\W{1,3}(?:Bad Request|Unauthorized|Payment Required|Forbidden|Not Found|Method Not Allowed"
    r"|Conflict|Gone|Unprocessable|Too Many|Internal|Bad Gateway|Service Unavailable|Gateway Timeout)",
    re.IGNORECASE,
)
_CLASS = re.compile(r"\b([A-Z][A-Za-z0-9]*(?:Error|Exception|Timeout))\b")
_ERRNO = re.compile(r"\b(E[A-Z]{3,15})\b")
_RPC_CODE = re.compile(r"(?<!\w)(-32\d{3})\b")
_STATUS_KEYS = ("status", "statusCode", "status_code", "code")


def result_shape(response: Response) -> str:
    """The shape of an answer."""
    if response.is_error:
        return f"error:{error_class(response)}"
    try:
        answer = json_answer(response)
    except ValueError:
        others = [f"{block.type}[{block.size}]" for block in response.blocks if block.type != "text"]
        texts = [f"text[{len(response.text)}]"] if response.text or not others else []
        return " + ".join([*texts, *others])
    return shape_of(answer if answer is not response.structured else unwrapped(response))


def failure_shape(error: BaseException) -> str:
    """Return the shape of a call without an answer: HTTP status, reason, or class of the error."""
    if isinstance(error, CallError):
        return f"error:{error.http_status or error.reason}"
    if isinstance(error, (asyncio.CancelledError, concurrent.futures.CancelledError)):
        return "error:cancelled"
    return f"error:{type(error).__name__}"


def shape_of(value: Any) -> str:
    """The shape of JSON data: kinds, names and sizes; of values, only what is true, false or a number,
    unless its name is private."""
    if isinstance(value, Mapping):
        inner = [f"{_key(key)}:{_under(str(key), item)}" for key, item in list(value.items())[:MOST_KEYS]]
        return f"object{{{','.join([*inner, *_rest(len(value))])}}}"
    if not isinstance(value, Sequence) or isinstance(value, str):
        return _scalar(value)
    kinds = sorted(set(map(_kind, value)))
    of = f" of {_fields(value) if kinds == ['object'] else '|'.join(kinds)}" if kinds else ""
    return f"array[{len(value)}]{of}"


def _under(key: str, value: Any) -> str:
    """A value under its name, without what is further down; of a private one, such as ``otp``, its kind."""
    if is_private_name(key) and isinstance(value, (bool, int, float)):
        return _kind(value)
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"array[{len(value)}]"
    return "text" if isinstance(value, str) else _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return f"text[{len(value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = json.dumps(value, default=str)
    # A long number may be a telephone or a card.
    return text if len(text) <= 9 else "number"


def _fields(objects: Sequence[Mapping[str, Any]]) -> str:
    """The names that objects have, in alphabetical order; ``?`` marks those that not all of them have."""
    counts: dict[str, int] = {}
    for found in objects:
        for key in found:
            counts[key] = counts.get(key, 0) + 1
    names = [f"{_key(key)}{'' if counts[key] == len(objects) else '?'}" for key in sorted(counts)[:MOST_KEYS]]
    return f"{{{','.join([*names, *_rest(len(counts))])}}}"


def _rest(count: int) -> list[str]:
    return [f"…+{count - MOST_KEYS}"] if count > MOST_KEYS else []


def _key(key: str) -> str:
    # Keys are often data: a mapping from addresses to people.
    return clipped(redacted_text(" ".join(str(key).split())), LONGEST_KEY)


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return "object"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Sequence):
        return "array"
    if isinstance(value, bool):
        return "boolean"
    return "null" if value is None else "number"


def values_of(response: Response) -> Any:
    """What an answer holds: its JSON data, or the words of its text."""
    try:
        return json_answer(response)
    except ValueError:
        return response.text.split()


def size_of(response: Response) -> int:
    """The bytes of an answer: its text in UTF-8, or else its structured content, and everything else."""
    others = sum(block.size for block in response.blocks if block.type not in ("text", "resource_link"))
    text = response.text
    if not text and response.structured is not None:
        text = json.dumps(response.structured, ensure_ascii=False, default=str)
    return len(text.encode("utf-8", "surrogatepass")) + others


def error_class(response: Response) -> str:
    """The status or class of an error a tool reported, as far as its answer tells; else ``tool``."""
    structured = response.structured if isinstance(response.structured, Mapping) else {}
    for key in _STATUS_KEYS:
        if re.fullmatch(r"-?\d{3,5}|[A-Z][A-Z_]{2,30}", str(structured.get(key, ""))):
            return str(structured[key])
    for pattern in (_STATUS, _STATUS_WITH_PHRASE, _ERRNO, _CLASS, _RPC_CODE):
        if found := pattern.search(response.text[:2000]):
            return found[1]
    return "tool"
