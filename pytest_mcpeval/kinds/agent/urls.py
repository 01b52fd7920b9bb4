"""URLs of agents and trace backends: which are allowed, what is filled in, and whose origin they have."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Mapping
from typing import Literal
from urllib.parse import SplitResult, urlsplit, urlunsplit

from pytest_mcpeval.loading.messages import shown, suggestion

HostPolicy = Literal["https_only", "insecure_loopback_only"]

SCHEMES = ("http", "https")
PLACEHOLDERS = ("case_id", "run_id")

_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f\\]")
_NAME_IN_BRACES = re.compile(r"\{([A-Za-z_][\w-]*)\}")
_PLACEHOLDER = re.compile(r"\{(case_id|run_id)\}")


def page_url(url: str) -> str:
    """The URL, if it is one of http or https with a host.

    Raises:
        ValueError: It is not; the text says why.
    """
    if _UNFIT.search(url):
        raise ValueError(
            f"{shown(url)} has a blank, a backslash or a control character, which a URL cannot have"
        )
    parts = _split(url)
    if parts.scheme not in SCHEMES:
        raise ValueError(f"expected a URL that begins with http:// or https://, found {shown(url)}")
    if not parts.hostname:
        raise ValueError(f"expected a URL with a host, found {shown(url)}")
    if parts.username is not None or parts.password is not None:
        raise ValueError("has a user or password in it, which every report would show: use access.auth")
    return url


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"{shown(url)} is not a URL: {error}") from None
    return parts


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with ``{case_id}`` and ``{run_id}`` filled in; other braces stay as they are."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


def known_placeholders(text: str) -> str:
    """The text, if `filled` knows every name in braces.

    Raises:
        ValueError: It does not know one, which would be sent as it is.
    """
    unknown = [name for name in _NAME_IN_BRACES.findall(text) if name not in PLACEHOLDERS]
    if unknown:
        raise ValueError(
            f"{shown('{' + unknown[0] + '}')} is not a placeholder{suggestion(unknown[0], PLACEHOLDERS)}: "
            "there are {case_id} and {run_id}"
        )
    return text


def with_origin(url: str, base: str) -> str:
    """The URL at the scheme, host and port of another one."""
    other = urlsplit(base)
    return urlunsplit(urlsplit(url)._replace(scheme=other.scheme, netloc=other.netloc))


def policy_problem(url: str, policy: HostPolicy) -> str | None:
    """What speaks against sending credentials to a URL, or None.

    ``https_only`` wants https. ``insecure_loopback_only`` also allows http, to addresses of this machine.
    """
    parts = _split(url)
    if parts.scheme == "https":
        return None
    if policy == "https_only":
        return (
            f"{shown(url)} is not https, but host_policy is https_only: use https, or for a host on this "
            "machine say `host_policy: insecure_loopback_only`"
        )
    host = parts.hostname or ""
    if is_loopback(host):
        return None
    return (
        f"host_policy insecure_loopback_only allows http:// on this machine only, but {shown(host)} is not "
        "a loopback address: use https, or a host such as localhost"
    )


def is_loopback(host: str) -> bool:
    """Whether every address of a host is one of this machine; a host that has none is not."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(_is_loopback_address(str(address)) for address in found)


def _is_loopback_address(address: str) -> bool:
    parsed = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(parsed, "ipv4_mapped", None)
    return parsed.is_loopback if mapped is None else bool(mapped.is_loopback)
