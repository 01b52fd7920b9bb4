"""The example agent: what it understands, says and calls, and the spans it sends."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.testclient import TestClient

from examples.web_agent.directory import Directory, ToolError, load_people
from examples.web_agent.server import build_app

DIRECTORY = Directory(load_people())


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def client(exporter: InMemorySpanExporter) -> Iterator[TestClient]:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with TestClient(build_app(provider)) as made:
        yield made


def turn(client: TestClient, question: str, assistant: str = "concierge") -> list[dict[str, Any]]:
    """The events of a turn."""
    answer = client.post("/chat", json={"question": question, "session": "s", "assistant": assistant})
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def said(events: list[dict[str, Any]]) -> str:
    return "".join(event["text"] for event in events if event["kind"] == "answer").strip()


def done(events: list[dict[str, Any]]) -> list[str]:
    return [event["name"] for event in events if event["kind"] in ("agent", "tool")]


ORG, DIR = ["concierge", "org_chart", "search_people"], ["concierge", "directory"]


@pytest.mark.parametrize(
    ("question", "answer", "calls"),
    [
        (
            "Who is the manager of Goran Petrov?",
            "Emil Haas (Engineering Manager) is the manager of Goran Petrov.",
            [*ORG, "get_manager"],
        ),
        (
            "who is the boss of the manager of rosa lindahl",
            "Chidi Okafor (Head of Sales) is the manager of the manager of Rosa Lindahl.",
            [*ORG, "get_manager", "get_manager"],
        ),
        ("Who manages Ada Quist?", "Ada Quist has no manager.", [*ORG, "get_manager"]),
        (
            "Who reports to Dora Weiss?",
            "Dora Weiss has 3 direct reports: Olga Dahl, Pere Soler, Quinn Adair.",
            [*ORG, "list_reports"],
        ),
        ("Who reports to Hana Mori?", "Hana Mori has 0 direct reports: nobody.", [*ORG, "list_reports"]),
        (
            "What is Hana Mori's e-mail?",
            "Hana Mori, email: hana.mori@example.com.",
            [*DIR, "search_people", "get_person"],
        ),
        ("Who is June Park?", "June Park, title: Frontend Engineer.", [*DIR, "search_people", "get_person"]),
        (
            "Who is Lindahl?",
            "Which one do you mean: Bo Lindahl, Rosa Lindahl?",
            [*DIR, "search_people"],
        ),
        ("Who is Zed?", "I know nobody called Zed.", [*DIR, "search_people"]),
        ("Who works in Lisbon?", "In Lisbon: Ivo Santos, Marco Rossi, Pere Soler.", [*DIR, "search_people"]),
        (
            "How many people work in sales in Oslo?",
            "1 people work in Sales in Oslo.",
            [*DIR, "count_people"],
        ),
        ("How many people are there?", "18 people work in the company.", [*DIR, "count_people"]),
        (
            "Export everyone",
            "I cannot export the directory: ask the administration for that.",
            ["concierge"],
        ),
    ],
)
def test_questions(client: TestClient, question: str, answer: str, calls: list[str]) -> None:
    events = turn(client, question)
    assert said(events) == answer
    assert done(events) == calls
    assert [event["kind"] for event in events][-1] == "done"


def test_small_talk_says_what_can_be_asked(client: TestClient) -> None:
    assert said(turn(client, "Hello there")).startswith("I know the people of this company: ask me")


def test_the_directory_answers_without_the_concierge(client: TestClient) -> None:
    assert done(turn(client, "Who is June Park?", "directory")) == [
        "directory",
        "search_people",
        "get_person",
    ]


def by_name(spans: tuple[ReadableSpan, ...]) -> dict[str, ReadableSpan]:
    return {span.name: span for span in spans}


def test_spans_follow_the_genai_conventions(client: TestClient, exporter: InMemorySpanExporter) -> None:
    events = turn(client, "Who reports to Dora Weiss?")
    spans = exporter.get_finished_spans()
    assert all(span.attributes and span.attributes["session.id"] == "s" for span in spans)
    assert len({span.context.trace_id for span in spans}) == 1
    named = by_name(spans)
    parents = {span.context.span_id: span.name for span in spans}
    above = {name: parents.get(span.parent.span_id) if span.parent else None for name, span in named.items()}
    assert above == {
        "POST /chat": None,
        "invoke_agent concierge": "POST /chat",
        "invoke_agent org_chart": "invoke_agent concierge",
        "execute_tool search_people": "invoke_agent org_chart",
        "execute_tool list_reports": "invoke_agent org_chart",
        "chat people-rules-1": "invoke_agent org_chart",
    }
    tool = dict(named["execute_tool list_reports"].attributes or {})
    assert tool["gen_ai.tool.call.arguments"] == '{"person_id": "dora-weiss"}'
    assert json.loads(str(tool["gen_ai.tool.call.result"]))[0]["name"] == "Olga Dahl"
    # The page names the same spans.
    shown = {event["id"] for event in events if event["kind"] == "tool"}
    assert f"{named['execute_tool list_reports'].context.span_id:016x}" in shown
    # The last call of the model: 5 words of question and 12 of facts enter, 12 leave.
    model = dict([span for span in spans if span.name == "chat people-rules-1"][-1].attributes or {})
    assert (model["gen_ai.usage.input_tokens"], model["gen_ai.usage.output_tokens"]) == (17, 12)
    assert model["gen_ai.usage.cost"] == pytest.approx(17 * 0.15e-6 + 12 * 0.6e-6)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"question": "", "session": "s", "assistant": "concierge"}, "question"),
        ({"question": "x" * 1001, "session": "s", "assistant": "concierge"}, "1000 characters"),
        ({"question": "Hi", "assistant": "concierge"}, "session"),
        ({"question": "Hi", "session": "s", "assistant": "root"}, "one of concierge, directory"),
        ([], "a JSON object"),
    ],
)
def test_wrong_requests(client: TestClient, body: Any, words: str) -> None:
    answer = client.post("/chat", json=body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_the_page_is_served(client: TestClient) -> None:
    page = client.get("/")
    assert page.status_code == 200
    assert 'id="question"' in page.text
    assert client.get("/chat.js").status_code == 200


def test_people_have_managers_who_exist() -> None:
    people = {person.id: person for person in DIRECTORY.people}
    assert len(people) == len(DIRECTORY.people) == 18
    for person in people.values():
        above, seen = person, {person.id}
        while above.manager is not None:
            above = people[above.manager]
            assert above.id not in seen
            seen.add(above.id)
        assert above.id == "ada-quist"


def test_tools_refuse_unknown_people() -> None:
    assert len(DIRECTORY.export_directory()) == 18
    with pytest.raises(ToolError, match="no person with the id 'zed'"):
        DIRECTORY.get_person("zed")
