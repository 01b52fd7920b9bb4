"""``http:``, a target that is asked with one GET or POST request."""

from __future__ import annotations

import http
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.loading.messages import shortened
from pytest_mcpeval.servers.causes import cause_in_words
from pytest_mcpeval.servers.definitions import ServerDefinition, public_url
from pytest_mcpeval.servers.errors import ServerConfigError
from pytest_mcpeval.servers.json_paths import parse_json
from pytest_mcpeval.servers.variables import expand, expanded
from pytest_mcpeval.targets.base import AnswerError, Codec, DefinedTarget, Request, TargetStartError
from pytest_mcpeval.targets.filling import filled, filled_url
from pytest_mcpeval.targets.threads import EventLoop, Late
from pytest_mcpeval.text.redact import redactor

if TYPE_CHECKING:
    import httpx2

_CLOSE_SECONDS = 5.0
_MOST_BYTES = 64 * 1024 * 1024


class HttpTarget(DefinedTarget):
    """Asks a URL for every request. Redirects are not followed: headers may hold secrets.

    ``definition`` has the URL with placeholders, and the headers; ``${VAR}`` in both is taken from
    ``environ``. With a ``body``, JSON data with placeholders, it is a POST. ``timeout`` is in seconds and
    covers the whole exchange.
    """

    way = "http"

    def __init__(
        self,
        codec: Codec,
        definition: ServerDefinition,
        environ: Mapping[str, str],
        timeout: float,
        body: Any = None,
    ) -> None:
        super().__init__(codec, definition, environ, timeout)
        self._body = body
        self._loop = EventLoop(f"mcpeval-{codec.role}-http")
        self._expanded: ServerDefinition | None = None
        self._client: httpx2.AsyncClient | None = None

    def open(self) -> None:
        """Fill in variables. No request is made.

        Raises:
            TargetStartError: A variable is not set, or the URL is none.
        """
        if self._expanded is not None:
            return
        try:
            filled_in = expand(self._definition, self._environ)
            self._body = expanded(self._body, self._environ, self._role, "body")
        except ServerConfigError as error:
            raise TargetStartError(self._role, self.name, str(error)) from None
        if not filled_in.url.startswith(("http://", "https://")):
            raise TargetStartError(
                self._role, self.name, "its `url` is not an HTTP URL after its variables are filled in"
            )
        self._expanded = filled_in

    def ask(self, request: Request) -> Any:
        """What is read from the JSON value of the answer.

        Raises:
            AnswerError: No answer in time, an error status, or no JSON.
        """
        self.open()
        assert self._expanded is not None
        url = filled_url(self._expanded.url, request)
        body = None if self._body is None else json.dumps(filled(self._body, request)).encode()
        try:
            status, answer = self._loop.run(self._exchange(url, body), self._timeout)
        except Late:
            raise AnswerError("timeout", f"no answer within {self._timeout:g} s from {self._place}") from None
        if status != http.HTTPStatus.OK:
            phrase = next((f" {one.phrase}" for one in http.HTTPStatus if one == status), "")
            message = f"HTTP {status}{phrase} from {self._place}: {self._excerpt(answer)}"
            raise AnswerError("refused" if status in (401, 403) else "http", message)
        try:
            found = parse_json(answer.decode("utf-8"), with_nan=True)
        except ValueError as error:
            message = f"the answer of {self._place} is not JSON ({error}): {self._excerpt(answer)}"
            raise AnswerError("answer", message) from None
        return self._codec.read(found)

    async def _exchange(self, url: str, body: bytes | None) -> tuple[int, bytes]:
        import httpx2

        assert self._expanded is not None
        if self._client is None:
            kind = {} if self._body is None else {"Content-Type": "application/json"}
            headers = {**kind, **self._expanded.headers}
            self._client = httpx2.AsyncClient(headers=headers, timeout=None)
        method = "GET" if body is None else "POST"
        try:
            async with self._client.stream(method, url, content=body) as response:
                return response.status_code, await self._received(response)
        except (httpx2.ConnectError, httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
            raise AnswerError("unreachable", f"{self._words(error)} ({self._place})") from None
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            raise AnswerError("connection", f"{self._words(error)} ({self._place})") from None

    async def _received(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        async for part in response.aiter_bytes():
            body += part
            if len(body) > _MOST_BYTES:
                raise AnswerError("answer", f"the answer of {self._place} exceeds {_MOST_BYTES >> 20} MiB")
        return bytes(body)

    @property
    def _place(self) -> str:
        return public_url(self._definition.url)

    def _words(self, error: Exception) -> str:
        return redactor.text(cause_in_words(error))

    def _excerpt(self, body: bytes) -> str:
        text = redactor.text(body.decode("utf-8", "replace"))[:2000]
        return shortened(" ".join(text.split()), 100) or "an empty answer"

    def close(self) -> None:
        """Close connections."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(Late):
                self._loop.run(client.aclose(), _CLOSE_SECONDS)
        self._loop.close()
