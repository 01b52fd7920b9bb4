"""HTTP: the page, and ``POST /chat``, which streams what happens as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from examples.web_agent.assistant import ASSISTANTS, Assistant
from examples.web_agent.directory import Directory, load_people
from examples.web_agent.telemetry import Recorder
from examples.web_agent.understanding import Agent

PAGE = Path(__file__).with_name("page")
LONGEST_QUESTION = 1_000


def build_app(provider: TracerProvider, pace: float = 0.0) -> Starlette:
    """The application. ``pace`` is how many seconds a word of an answer takes; the provider ends with it."""
    directory = Directory(load_people())
    tracer = provider.get_tracer("examples.web_agent")

    async def chat(request: Request) -> Response:
        try:
            question, session, first = _turn(await request.body())
        except ValueError as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        assistant = Assistant(directory, Recorder(tracer, session), pace)
        lines = (event.line() for event in assistant.answer(question, first))
        return StreamingResponse(lines, media_type="application/x-ndjson")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        # What is still queued is sent before the process ends, also by a signal.
        provider.shutdown()

    return Starlette(
        lifespan=lifespan,
        routes=[
            Route("/chat", chat, methods=["POST"]),
            Mount("/", StaticFiles(directory=PAGE, html=True)),
        ],
    )


def _turn(body: bytes) -> tuple[str, str, Agent]:
    """Question, session and assistant of a request.

    Raises:
        ValueError: It is no such request.
    """
    data = json.loads(body)
    if not isinstance(data, dict):
        raise ValueError("expected a JSON object")
    question, session, first = (data.get(name) for name in ("question", "session", "assistant"))
    if not isinstance(question, str) or not question.strip() or len(question) > LONGEST_QUESTION:
        raise ValueError(f"question: expected a text of at most {LONGEST_QUESTION} characters")
    if not isinstance(session, str) or not session:
        raise ValueError("session: expected a text")
    if first not in ASSISTANTS:
        raise ValueError(f"assistant: expected one of {', '.join(ASSISTANTS)}")
    return question, session, first
