"""``observability.langfuse``: observations through the official SDK's API client."""

from __future__ import annotations

import http
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.browser.login import learn_password
from pytest_mcpeval.kinds.agent.observability.backends import Found, Window, credential, within
from pytest_mcpeval.kinds.agent.observability.observations import span_of_observation
from pytest_mcpeval.kinds.agent.observability.query_client import (
    TIMEOUT_SECONDS,
    QueryClient,
    UnavailableError,
    base_of,
    json_of,
    refusal,
    retried,
    segment,
)
from pytest_mcpeval.kinds.agent.observability.spans import MalformedSpanError, ObservabilityError, Span
from pytest_mcpeval.kinds.agent.schema import LangfuseSource
from pytest_mcpeval.servers.causes import cause_in_words
from pytest_mcpeval.text.redact import redactor

if TYPE_CHECKING:
    import httpx
    from langfuse.api import LangfuseAPI

PAGE = 1_000
OLD_PAGE = 100
FIELDS = "core,basic,io,model,usage"

Row = Mapping[str, Any]


class Langfuse:
    """Asks a LangFuse server for the observations of a session.

    Servers before version 4 lack the observations API that the SDK uses. They are asked by their traces API.
    """

    def __init__(self, source: LangfuseSource) -> None:
        public, secret = credential(source.public_key_env), credential(source.secret_key_env)
        redactor.learn(source.public_key_env, public)
        learn_password(source.secret_key_env, public)
        self._host = base_of(source.host).rstrip("/")
        self._body = b""
        self._http, self._api = self._opened(public, secret)
        self._old = QueryClient(self._host, auth=(public, secret))
        self._is_old = False

    def _opened(self, public: str, secret: str) -> tuple[httpx.Client, LangfuseAPI]:
        try:
            import httpx
            from langfuse.api import LangfuseAPI
        except ImportError:
            raise ObservabilityError(
                "observability.langfuse needs the package langfuse: pip install 'pytest-mcpeval[langfuse]'"
            ) from None
        client = httpx.Client(timeout=TIMEOUT_SECONDS, event_hooks={"response": [self._remember]})
        api = LangfuseAPI(
            base_url=self._host,
            username=public,
            password=secret,
            x_langfuse_public_key=public,
            httpx_client=client,
        )
        return client, api

    def _remember(self, response: httpx.Response) -> None:
        # The SDK refuses a whole page for one malformed observation: pages are read from what arrived.
        self._body = response.read()

    def find(self, window: Window) -> Found:
        """The observations of the traces of a session.

        Raises:
            ObservabilityError: The server cannot be asked, or its answer cannot be read.
        """
        spans: list[Span] = []
        skipped = 0
        for row in self._rows(window):
            try:
                spans.append(span_of_observation(row))
            except MalformedSpanError:
                skipped += 1
        return Found(within(spans, window), skipped)

    def _rows(self, window: Window) -> Iterator[Row]:
        if not self._is_old:
            of_session = self._pages(session_id=window.session_id, from_start_time=window.earliest)
            if of_session is not None:
                traces = {row["traceId"] for row in of_session if isinstance(row.get("traceId"), str)}
                # Of no trace: malformed, and counted as such.
                yield from (row for row in of_session if not isinstance(row.get("traceId"), str))
                for trace_id in sorted(traces):
                    yield from self._pages(trace_id=trace_id) or ()
                return
            self._is_old = True
        yield from self._old_rows(window)

    def _pages(self, **query: Any) -> list[Row] | None:
        """All observations that fit; None when the server does not know the request."""
        found: list[Row] = []
        cursor: str | None = None
        while True:
            data = retried(lambda after=cursor: self._page(after, query))  # type: ignore[misc]
            if data is None:
                return None
            found += _entries(data, self._host)
            meta = data.get("meta")
            cursor = meta.get("cursor") if isinstance(meta, Mapping) else None
            if not cursor:
                return found

    def _page(self, cursor: str | None, query: Mapping[str, Any]) -> Any:
        import httpx
        import pydantic
        from langfuse.api.core.api_error import ApiError

        place = f"{self._host}/api/public/v2/observations"
        try:
            self._api.observations.get_many(
                fields=FIELDS, limit=PAGE, cursor=cursor, request_options={"max_retries": 0}, **query
            )
        except pydantic.ValidationError:
            pass
        except httpx.TransportError as error:
            raise UnavailableError(f"{redactor.text(cause_in_words(error))}: {place}") from None
        except ApiError as error:
            status = error.status_code or 0
            if status == http.HTTPStatus.NOT_FOUND:
                return None
            said = redactor.text(refusal(status, self._body, place))
            if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
                raise UnavailableError(said) from None
            if status != http.HTTPStatus.OK:
                raise ObservabilityError(said) from None
        return json_of(self._body, place)

    def _old_rows(self, window: Window) -> Iterator[Row]:
        number, last = 1, 1
        while number <= last:
            query: dict[str, str | int] = {"sessionId": window.session_id, "page": number, "limit": OLD_PAGE}
            if window.earliest is not None:
                query["fromTimestamp"] = window.earliest.isoformat()
            data = self._old.get("/api/public/traces", query).json()
            for trace in _entries(data, self._host):
                path = f"/api/public/traces/{segment(str(trace.get('id')))}"
                whole = self._old.get(path, {}).json()
                yield from _entries(whole, self._host, "observations")
            meta = data.get("meta")
            pages = meta.get("totalPages") if isinstance(meta, Mapping) else None
            last, number = pages if isinstance(pages, int) else last, number + 1

    def close(self) -> None:
        """Close the connections."""
        self._http.close()
        self._old.close()


def _entries(data: Any, host: str, name: str = "data") -> list[Row]:
    found = data.get(name) if isinstance(data, Mapping) else None
    if not isinstance(found, list):
        raise ObservabilityError(f"{host}: expected a list in `{name}`")
    # What is no mapping is counted as a malformed span later on.
    return [entry if isinstance(entry, Mapping) else {} for entry in found]
