"""Find the useful cause in nested exceptions, and describe it."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator

_WORDS = {
    errno.ECONNREFUSED: "connection refused: nothing listens there",
    errno.ECONNRESET: "the server reset the connection",
    errno.EPIPE: "the server closed the connection",
    errno.EHOSTUNREACH: "host unreachable",
    errno.ENETUNREACH: "network unreachable",
    errno.ETIMEDOUT: "the connection attempt timed out",
}


def root_cause(error: BaseException) -> BaseException:
    """The first exception in nested groups that is not itself a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def cause_in_words(error: BaseException) -> str:
    """Return what happened, from the most informative of the error, its causes and its groups."""
    chain = list(_chain(error))
    for found in chain:
        if isinstance(found, socket.gaierror):
            return "host name not found"
        if isinstance(found, ssl.SSLError):
            return f"TLS failed: {found.reason or found}"
        if isinstance(found, OSError) and found.errno in _WORDS:
            return _WORDS[found.errno]
    leaf = root_cause(error)
    name = type(leaf).__name__
    if name in ("ConnectTimeout", "PoolTimeout"):
        return "the connection attempt timed out"
    if name in ("ReadError", "RemoteProtocolError", "BrokenResourceError", "EndOfStream"):
        return "the server closed the connection in the middle of its answer"
    text = str(leaf).strip()
    return f"{name}: {text}" if text else name


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    pending, seen = [error], set[int]()
    while pending:
        found = pending.pop(0)
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        if isinstance(found, BaseExceptionGroup):
            pending.extend(found.exceptions)
        pending += [found.__cause__, found.__context__]
