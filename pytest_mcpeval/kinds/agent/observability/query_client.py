"""Questions to a trace backend over HTTP: retried where that may help, and refused in words for people."""

from __future__ import annotations

import http
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote, urlsplit

from pytest_mcpeval.kinds.agent.observability.spans import ObservabilityError
from pytest_mcpeval.loading.messages import shortened
from pytest_mcpeval.servers.causes import cause_in_words
from pytest_mcpeval.servers.json_paths import parse_json
from pytest_mcpeval.text.redact import redactor

if TYPE_CHECKING:
    import httpx2

ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.2
TIMEOUT_SECONDS = 30.0
_MOST_BYTES = 64 * 1024 * 1024

JSON = "application/json"
AnswerT = TypeVar("AnswerT")
Parameters = Mapping[str, str | int | Sequence[str]]


class UnavailableError(Exception):
    """No answer, or one that may be another the next time. The text is for people."""


def retried(ask: Callable[[], AnswerT]) -> AnswerT:
    """Return the answer; after connection errors and 5xx, retry with doubling pauses.

    Raises:
        ObservabilityError: Several attempts failed.
    """
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
        try:
            return ask()
        except UnavailableError as error:
            last = error
    raise ObservabilityError(f"{last} (tried {ATTEMPTS} times)") from None


@dataclass(frozen=True)
class Answer:
    """What a backend answered; ``place`` is the URL, for messages."""

    content_type: str
    body: bytes
    place: str

    @property
    def is_protobuf(self) -> bool:
        """Whether the answer says that it is protobuf."""
        return "protobuf" in self.content_type

    def json(self) -> Any:
        """The answer as JSON.

        Raises:
            ObservabilityError: It is none; HTML is named as such.
        """
        return json_of(self.body, self.place)


def json_of(body: bytes, place: str) -> Any:
    """The JSON in an answer.

    Raises:
        ObservabilityError: It is none; HTML is named as such.
    """
    if body.lstrip()[:1] == b"<":
        raise ObservabilityError(
            f"{place} answered with an HTML page, where JSON was expected: check that the manifest names the "
            "address of the query API, and that there is no login page before it"
        )
    try:
        return parse_json(body.decode("utf-8"))
    except ValueError as error:
        raise ObservabilityError(f"{place} answered with something that is not JSON: {error}") from None


class QueryClient:
    """Asks one backend.

    Connection errors and 5xx are tried again, 4xx are refused at once. Redirects are not followed, since
    headers may hold secrets. ``auth`` is user and password.
    """

    def __init__(
        self,
        base: str,
        *,
        headers: Mapping[str, str] | None = None,
        auth: tuple[str, str] | None = None,
    ) -> None:
        self._base = base.rstrip("/")
        self._headers = dict(headers or {})
        self._auth = auth
        self._client: httpx2.Client | None = None

    def get(self, path: str, parameters: Parameters, *, accept: str = JSON) -> Answer:
        """The answer to a GET request.

        Raises:
            ObservabilityError: The backend cannot be reached, or refuses.
        """
        found = self.find(path, parameters, accept=accept)
        if found is None:
            raise ObservabilityError(self._refusal(http.HTTPStatus.NOT_FOUND, b"", f"{self._base}{path}"))
        return found

    def find(self, path: str, parameters: Parameters, *, accept: str = JSON) -> Answer | None:
        """The answer to a GET request; None for a 404.

        Raises:
            ObservabilityError: The backend cannot be reached, or refuses.
        """
        return retried(lambda: self._attempt(path, parameters, accept))

    def _attempt(self, path: str, parameters: Parameters, accept: str) -> Answer | None:
        import httpx2

        if self._client is None:
            self._client = httpx2.Client(headers=self._headers, auth=self._auth, timeout=TIMEOUT_SECONDS)
        place = f"{self._base}{path}"
        try:
            with self._client.stream(
                "GET", place, params=dict(parameters), headers={"Accept": accept}
            ) as found:
                status, body = found.status_code, _body(found, place)
                answer = Answer(found.headers.get("content-type", ""), body, place)
        except httpx2.TimeoutException:
            raise UnavailableError(f"no answer within {TIMEOUT_SECONDS:g} s from {place}") from None
        except httpx2.TransportError as error:
            raise UnavailableError(f"{redactor.text(cause_in_words(error))}: {place}") from None
        except (httpx2.DecodingError, httpx2.InvalidURL, UnicodeError) as error:
            raise ObservabilityError(f"{redactor.text(cause_in_words(error))}: {place}") from None
        if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            raise UnavailableError(self._refusal(status, body, place))
        if status not in (http.HTTPStatus.OK, http.HTTPStatus.NOT_FOUND):
            raise ObservabilityError(self._refusal(status, body, place))
        return answer if status == http.HTTPStatus.OK else None

    def _refusal(self, status: int, body: bytes, place: str) -> str:
        return redactor.text(refusal(status, body, place))

    def close(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


def _body(response: httpx2.Response, place: str) -> bytes:
    body = bytearray()
    for part in response.iter_bytes():
        body += part
        if len(body) > _MOST_BYTES:
            raise ObservabilityError(f"the answer of {place} exceeds {_MOST_BYTES >> 20} MiB")
    return bytes(body)


def refusal(status: int, body: bytes, place: str) -> str:
    """In words, that a backend answered with an error status, and what to do about it."""
    excerpt = shortened(" ".join(body[:2000].decode("utf-8", "replace").split()), 100)
    said = f": {excerpt}" if excerpt else ""
    hint = ""
    if status in (http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN):
        hint = "; check the credentials that the manifest takes from the environment"
    elif status == http.HTTPStatus.NOT_FOUND:
        hint = "; check that the manifest names the address of the query API"
    elif 300 <= status < 400:
        hint = "; redirects are not followed: use the address that it redirects to in the manifest"
    return f"HTTP {status}{_phrase(status)} from {place}{said}{hint}"


def _phrase(status: int) -> str:
    try:
        return f" {http.HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def segment(text: str) -> str:
    """A text as one segment of a path."""
    return quote(text, safe="")


def header_pairs(text: str, variable: str) -> dict[str, str]:
    """Headers written as in ``OTEL_EXPORTER_OTLP_HEADERS``: ``key=value,key=value``, values percent-encoded.

    Raises:
        ObservabilityError: A part has no ``=``; the text itself is not shown, since it holds secrets.
    """
    found: dict[str, str] = {}
    for number, part in enumerate(text.split(","), start=1):
        if not part.strip():
            continue
        name, separator, value = part.partition("=")
        if not separator or not name.strip():
            raise ObservabilityError(
                f"{variable}: part {number} has no `key=`: expected headers such as "
                "`Authorization=Basic%20abc,X-Scope-OrgID=1`"
            )
        found[name.strip()] = unquote(value.strip())
    return found


def base_of(url: str) -> str:
    """The URL without query and fragment."""
    return urlsplit(url)._replace(query="", fragment="").geturl()
