"""Questions to a trace backend over HTTP: retried where that may help, and refused in words for people."""

from __future__ import annotations

import http
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from pytest_mcpeval.kinds.agent.observability.errors import ObservabilityError
from pytest_mcpeval.loading.wording import shortened
from pytest_mcpeval.servers.causes import plain_words
from pytest_mcpeval.servers.json_paths import parse_json
from pytest_mcpeval.servers.variables import redact

if TYPE_CHECKING:
    import httpx2

TIMEOUT_SECONDS = 30.0
ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.2
_MOST_BYTES = 64 * 1024 * 1024

Parameters = Mapping[str, str | int]


@dataclass(frozen=True)
class Answer:
    """What a backend answered; ``place`` is the URL, for messages."""

    status: int
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
        if self.body.lstrip()[:1] == b"<":
            raise ObservabilityError(
                f"{self.place} answered with an HTML page, where JSON was expected: check that the manifest "
                "names the address of the query API, and that no login page stands before it"
            )
        try:
            return parse_json(self.body.decode("utf-8"))
        except ValueError as error:
            raise ObservabilityError(
                f"{self.place} answered with something that is no JSON: {error}"
            ) from None


class QueryClient:
    """Asks one backend.

    Connection errors and 5xx are tried again, with pauses that double; 4xx are refused at once. Redirects
    are not followed, since headers may hold secrets; ``hidden`` maps secrets to what is shown instead.
    """

    def __init__(
        self,
        base: str,
        *,
        headers: Mapping[str, str] | None = None,
        hidden: Mapping[str, str] | None = None,
        auth: tuple[str, str] | None = None,
    ) -> None:
        self._base = base.rstrip("/")
        self._headers = dict(headers or {})
        self._hidden = dict(hidden or {})
        self._auth = auth
        self._client: httpx2.Client | None = None

    def get(self, path: str, parameters: Parameters, *, accept: str, absent: bool = False) -> Answer | None:
        """The answer to a GET request; None for a 404 where ``absent`` allows it.

        Raises:
            ObservabilityError: The backend cannot be reached, or refuses.
        """
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
            answer = self._attempt(path, parameters, accept)
            if isinstance(answer, Answer) and answer.status < http.HTTPStatus.INTERNAL_SERVER_ERROR:
                break
        if isinstance(answer, str):
            raise ObservabilityError(f"{answer} ({self._place(path)}; tried {ATTEMPTS} times)")
        if answer.status == http.HTTPStatus.NOT_FOUND and absent:
            return None
        if answer.status != http.HTTPStatus.OK:
            raise ObservabilityError(self._refusal(answer))
        return answer

    def _attempt(self, path: str, parameters: Parameters, accept: str) -> Answer | str:
        """The answer, or in words why there is none."""
        import httpx2

        if self._client is None:
            self._client = httpx2.Client(headers=self._headers, auth=self._auth, timeout=TIMEOUT_SECONDS)
        url = f"{self._base}{path}"
        try:
            with self._client.stream(
                "GET", url, params=dict(parameters), headers={"Accept": accept}
            ) as found:
                body = _body(found, self._place(path))
                return Answer(
                    found.status_code, found.headers.get("content-type", ""), body, self._place(path)
                )
        except httpx2.TimeoutException:
            return f"no answer within {TIMEOUT_SECONDS:g} s"
        except httpx2.TransportError as error:
            return redact(plain_words(error), self._hidden)
        except (httpx2.DecodingError, httpx2.InvalidURL, UnicodeError) as error:
            raise ObservabilityError(f"{redact(plain_words(error), self._hidden)} ({url})") from None

    def _place(self, path: str) -> str:
        return f"{self._base}{path}"

    def _refusal(self, answer: Answer) -> str:
        excerpt = shortened(" ".join(answer.body[:2000].decode("utf-8", "replace").split()), 100)
        said = f": {redact(excerpt, self._hidden)}" if excerpt else ""
        hint = ""
        if answer.status in (http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN):
            hint = "; check the credentials that the manifest takes from the environment"
        elif 300 <= answer.status < 400:
            hint = "; redirects are not followed: name the address that it leads to in the manifest"
        return f"HTTP {answer.status}{_phrase(answer.status)} from {answer.place}{said}{hint}"

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


def origin_of(url: str) -> str:
    """The URL without query and fragment."""
    return urlsplit(url)._replace(query="", fragment="").geturl()
