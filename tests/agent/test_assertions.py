"""The eleven assertions: when each passes, fails and is inconclusive, and what it says then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.browser.directive import DEFAULT_MAX_DOM_BYTES
from pytest_mcpeval.kinds.agent.assertions import ASSERTIONS
from pytest_mcpeval.kinds.agent.assertions.calls import is_subset
from pytest_mcpeval.kinds.agent.assertions.generations import latency_ms
from pytest_mcpeval.kinds.agent.captured import Captured
from pytest_mcpeval.kinds.agent.evidence import Generation
from pytest_mcpeval.kinds.agent.observability.logs import LOGS
from pytest_mcpeval.kinds.agent.outcomes import AssertionOutcome
from pytest_mcpeval.kinds.agent.schema import (
    ASSERTION_KINDS,
    AgentCase,
    Assertions,
    Extract,
    Observability,
    OtelSource,
    ToolCallPlaces,
    UiIntrospection,
)
from pytest_mcpeval.kinds.agent.scoring import CaseScore, score_case
from pytest_mcpeval.kinds.agent.timeline import timeline
from tests.agent.captured_runs import Evidence, call

INPUT = "who leads Engineering?"
CALLS = [call("find", team="Engineering", page=1), call("rank"), call("find", team="Sales")]
NO_SOURCE = Observability()


def scored(
    tmp_path: Path,
    found: Evidence,
    observability: Observability = NO_SOURCE,
    max_dom_bytes: int = DEFAULT_MAX_DOM_BYTES,
    typed: str = INPUT,
    **assertions: Any,
) -> CaseScore:
    """The score of a case with these assertions and this evidence."""
    folder = CaseFolder(tmp_path / "runs" / "people" / "r" / "a")
    found.write(folder, typed)
    model = TypeAdapter(Assertions).validate_python(assertions)
    case = AgentCase.model_construct(id="a", input=typed, assertions=model)
    return score_case("people", case, Captured(folder, max_dom_bytes), observability)


def one(tmp_path: Path, found: Evidence, **assertions: Any) -> AssertionOutcome:
    """The only outcome of a case with one assertion."""
    (outcome,) = scored(tmp_path, found, **assertions).outcomes
    return outcome


def generation(tokens: int | None = None, cost: float | None = None, **times: str) -> dict[str, Any]:
    return {"model": "m", "total_tokens": tokens, "total_cost_usd": cost, **times}


ROUTES = [{"target_agent": "router"}, {"target_agent": "hr", "from_agent": "router"}]
TIMES = [
    generation(started_at="2026-01-31T12:00:00Z", ended_at="2026-01-31T12:00:02Z"),
    generation(started_at="2026-01-31T13:00:01+01:00", ended_at="2026-01-31T13:00:02.500+01:00"),
]

VERDICTS: list[tuple[str, Any, Evidence, str]] = [
    ("final_response_contains", "Ada Lovelace does.", Evidence(), "passed"),
    ("final_response_contains", "ada lovelace", Evidence(), "failed"),
    ("final_response_contains", "Ada", Evidence(page=None), "inconclusive"),
    ("must_call", ["find"], Evidence(calls=CALLS), "passed"),
    ("must_call", ["fin"], Evidence(calls=CALLS), "failed"),
    ("must_call", ["find"], Evidence(calls=[]), "failed"),
    ("must_call", ["find"], Evidence(), "inconclusive"),
    ("must_not_call", ["drop"], Evidence(calls=CALLS), "passed"),
    ("must_not_call", ["drop"], Evidence(calls=[]), "passed"),
    ("must_not_call", ["find"], Evidence(calls=CALLS), "failed"),
    ("must_not_call", ["find"], Evidence(), "inconclusive"),
    ("must_call_exactly", {"find": 2}, Evidence(calls=CALLS), "passed"),
    ("must_call_exactly", {"find": 1}, Evidence(calls=CALLS), "failed"),
    ("must_call_exactly", {"find": 3}, Evidence(calls=CALLS), "failed"),
    ("must_call_exactly", {"find": 1}, Evidence(), "inconclusive"),
    (
        "must_call_with_args",
        [{"tool_name": "find", "args": {"team": "Engineering"}}],
        Evidence(calls=CALLS),
        "passed",
    ),
    (
        "must_call_with_args",
        [{"tool_name": "find", "args": {}, "min_count": 2}],
        Evidence(calls=CALLS),
        "passed",
    ),
    (
        "must_call_with_args",
        [{"tool_name": "find", "args": {}, "min_count": 3}],
        Evidence(calls=CALLS),
        "failed",
    ),
    ("must_call_with_args", [{"tool_name": "find", "args": {"team": "HR"}}], Evidence(calls=CALLS), "failed"),
    (
        "must_call_with_args",
        [{"tool_name": "rank", "args": {"team": "Sales"}}],
        Evidence(calls=CALLS),
        "failed",
    ),
    ("must_call_with_args", [{"tool_name": "find", "args": {"x": 1}}], Evidence(), "inconclusive"),
    (
        "must_call_with_args",
        [{"tool_name": "find", "args": {"x": 1}}],
        Evidence(calls=[{"tool_name": "find"}]),
        "inconclusive",
    ),
    ("must_call_in_order", ["find", "find"], Evidence(calls=CALLS), "passed"),
    ("must_call_in_order", ["find", "rank", "find"], Evidence(calls=CALLS), "passed"),
    ("must_call_in_order", ["rank", "find", "rank"], Evidence(calls=CALLS), "failed"),
    ("must_call_in_order", ["find"], Evidence(), "inconclusive"),
    ("must_route_to", "hr", Evidence(routes=ROUTES), "passed"),
    ("must_route_to", "it", Evidence(routes=ROUTES), "failed"),
    ("must_route_to", "hr", Evidence(calls=CALLS), "inconclusive"),
    ("max_steps", 3, Evidence(steps=3), "passed"),
    ("max_steps", 2, Evidence(steps=3), "failed"),
    ("max_steps", 2, Evidence(), "inconclusive"),
    ("max_total_tokens", 30, Evidence(generations=[generation(10), generation(20)]), "passed"),
    ("max_total_tokens", 29, Evidence(generations=[generation(10), generation(20)]), "failed"),
    ("max_total_tokens", 30, Evidence(generations=[generation(None, 0.1)]), "inconclusive"),
    ("max_total_tokens", 30, Evidence(generations=[]), "inconclusive"),
    ("max_total_tokens", 30, Evidence(), "inconclusive"),
    ("max_total_cost_usd", 0.3, Evidence(generations=[generation(1, 0.1), generation(1, 0.2)]), "passed"),
    ("max_total_cost_usd", 0.29, Evidence(generations=[generation(1, 0.1), generation(1, 0.2)]), "failed"),
    ("max_total_cost_usd", 1, Evidence(generations=[generation(10)]), "inconclusive"),
    ("max_latency_ms", 2500, Evidence(generations=TIMES), "passed"),
    ("max_latency_ms", 2499, Evidence(generations=TIMES), "failed"),
    ("max_latency_ms", 2500, Evidence(generations=[generation(10)]), "inconclusive"),
    ("max_latency_ms", 1, Evidence(generations=[generation(started_at="x", ended_at="y")]), "inconclusive"),
]


@pytest.mark.parametrize(("kind", "value", "found", "verdict"), VERDICTS)
def test_each_assertion_is_decided(
    tmp_path: Path, kind: str, value: Any, found: Evidence, verdict: str
) -> None:
    outcome = one(tmp_path, found, **{kind: value})
    assert (outcome.assertion_kind, outcome.status) == (kind, verdict)
    data = outcome.as_data()
    if verdict == "inconclusive":
        assert "evidence" not in data
        assert data["reason"]["expected_artifact_path"].startswith("trace/")
        assert [step.partition(" ")[0] for step in data["recovery"]] == [
            f"{number}." for number in range(1, len(data["recovery"]) + 1)
        ]
    else:
        assert (tmp_path / "runs/people/r/a" / data["evidence"]["artifact_path"]).is_file()
        assert ("observed" in data) == (verdict == "failed")


AT_MOST = (
    "must_not_call",
    "must_call_exactly",
    "max_steps",
    "max_total_tokens",
    "max_total_cost_usd",
    "max_latency_ms",
)


@pytest.mark.parametrize(("kind", "value", "found", "verdict"), VERDICTS)
def test_what_may_be_incomplete_does_not_show_that_something_did_not_happen(
    tmp_path: Path, kind: str, value: Any, found: Evidence, verdict: str
) -> None:
    doubted = replace(found, doubts=dict.fromkeys(LOGS, "1 malformed span skipped"))
    outcome = one(tmp_path, doubted, **{kind: value})
    if verdict != "passed" or kind not in AT_MOST:
        assert outcome.status == verdict
        return
    assert outcome.status == "inconclusive"
    assert outcome.message.endswith(", but the evidence may be incomplete: 1 malformed span skipped")
    assert "fetch them: pytest-mcpeval fetch-observability" in outcome.recovery[-2]


def test_doubts_that_cannot_be_read_are_doubts(tmp_path: Path) -> None:
    assert one(tmp_path, Evidence(steps=1), max_steps=1).status == "passed"
    folder = CaseFolder(tmp_path / "runs/people/r/a")
    folder.doubts.write_text("[]", encoding="utf-8")
    case = AgentCase(id="a", input=INPUT, assertions=Assertions(max_steps=1))
    (outcome,) = score_case("people", case, Captured(folder, DEFAULT_MAX_DOM_BYTES), NO_SOURCE).outcomes
    assert outcome.status == "inconclusive"
    assert "the record of missing evidence cannot be read: incomplete.json" in outcome.message


def test_every_kind_has_each_of_the_three_verdicts() -> None:
    for kind in ASSERTION_KINDS:
        assert {row[3] for row in VERDICTS if row[0] == kind} == {"passed", "failed", "inconclusive"}


def test_outcomes_are_listed_in_the_order_of_the_kinds(tmp_path: Path) -> None:
    assert tuple(ASSERTIONS) == ASSERTION_KINDS
    score = scored(
        tmp_path,
        Evidence(calls=CALLS, steps=1),
        max_steps=1,
        must_call=["rank", "find"],
        must_not_call=["x"],
        final_response_contains="Ada",
    )
    assert [(found.assertion_kind, found.target) for found in score.outcomes] == [
        ("final_response_contains", None),
        ("must_call", "rank"),
        ("must_call", "find"),
        ("must_not_call", "x"),
        ("max_steps", None),
    ]


def test_a_case_fails_by_one_and_is_open_by_one(tmp_path: Path) -> None:
    calls = Evidence(calls=CALLS)
    assert scored(tmp_path, calls, must_call=["find"], final_response_contains="Ada").outcome == "passed"
    assert scored(tmp_path, calls, must_call=["find"], max_steps=1).outcome == "inconclusive"
    assert scored(tmp_path, calls, must_call=["x"], max_steps=1).outcome == "failed"


def test_evidence_names_the_spans_and_what_was_observed(tmp_path: Path) -> None:
    found = one(tmp_path, Evidence(calls=CALLS), must_not_call=["find"]).as_data()
    assert found["evidence"]["detail"] == "2 calls: span call-0, call-2"
    assert found["observed"] == ["find", "rank", "find"]
    assert found["message"] == "find was called 2 times"
    order = one(tmp_path, Evidence(calls=CALLS), must_call_in_order=["find", "rank", "drop"]).as_data()
    assert order["message"] == '"drop" was not called after find → rank'


def test_a_failed_page_shows_the_end_of_its_text(tmp_path: Path) -> None:
    page = f"<p>{'old ' * 1_000}</p><p>I do not know.</p>"
    found = one(tmp_path, Evidence(page=page), final_response_contains="Ada")
    assert found.observed.endswith("old I do not know.")
    assert len(found.observed) < 700


def test_a_text_of_the_input_is_marked_as_an_echo(tmp_path: Path) -> None:
    found = one(tmp_path, Evidence(), final_response_contains="Engineering")
    assert found.status == "passed"
    assert "also part of the input" in found.message


LANDING = "<title>Ada chat</title><h1>Ada chat</h1><p>Hello, I am Ada.</p><p>Try: who leads Engineering?</p>"
ECHO = "<p>who leads Engineering?</p>"
LONG = "who leads Engineering now, and who did before?"

NEW_TEXTS: list[tuple[str, str, str, str, str]] = [
    # what is wanted, landing page, page with the answer, input, verdict
    ("Ada Lovelace does.", LANDING, f"{LANDING}{ECHO}<p>Ada <b>Love</b>lace does.</p>", INPUT, "passed"),
    # An agent that never answers: its title, its greeting, what was typed, and how chats show that.
    ("Ada", LANDING, LANDING + ECHO, INPUT, "landing title"),
    ("Ada chat", LANDING, f"<title>(1) Ada chat</title>{LANDING}{ECHO}", INPUT, "landing title"),
    ("leads Engineering", "", f"<title>{INPUT}</title>{ECHO}", INPUT, "typed title"),
    ("Engineering", LANDING, LANDING + ECHO, INPUT, "landing typed"),
    ("Engineering?", "", ECHO, INPUT, "typed"),
    (
        "Engineering",
        "",
        f"<div><b>You</b> <time>10:42</time>{ECHO}<button>Edit</button></div>",
        INPUT,
        "typed",
    ),
    (
        "Engineering",
        "",
        "<p>You: WHO leads <b>Engineering</b> 10:42</p>",
        "**who** leads Engineering",
        "typed",
    ),
    ("Engineering", "", f"<nav><a>{INPUT}</a></nav>{ECHO}<p>Looking for “{INPUT}”</p>", INPUT, "typed"),
    ("who leads", "", f"<nav>Who leads Engin…</nav>{ECHO}<i>…</i>", INPUT, "typed"),
    ("second", "", "<p>first</p><p>second</p>", "first\nsecond", "typed"),
    ("hi", "", "<p>You: hi</p>", "hi", "typed"),
    ("Engineering?", "", "<p>You: Engineering?!</p>", "Engineering", "typed"),
    ("Engineering", "", f"<nav>who leads Engineering now, and w</nav><p>{LONG}</p>", LONG, "typed"),
    ("Engineering", "", "<p>10:42 You: who leads Engineering… <a>more</a></p>", LONG, "typed"),
    (
        "Ada",
        "",
        "<ol><li>Who is Ada?</li><li>Does Ada lead?</li></ol>",
        "1. Who is Ada?\n2. Does Ada lead?",
        "typed",
    ),
    ("Ada", "", "<p>tell me about <a>Ada</a></p>", "/ask tell me about [Ada](http://a/b)", "typed"),
    ("print", "", "<p>run</p><pre>print(1)</pre>", "run\n```python\nprint(1)\n```", "typed"),
    ("李白", "", "<p>谁是李白和杜甫</p><p>你：谁是李白和杜甫</p>", "谁是李白和杜甫", "typed"),
    # Drawn anew, in another order, or with another number.
    ("I am Ada", LANDING, f"<main>{ECHO}<div>Hello, I am Ada.</div></main>", INPUT, "landing"),
    ("Ada chat", "<h1>Ada chat (0 messages)</h1>", f"<h1>Ada chat (1 message)</h1>{ECHO}", INPUT, "landing"),
    ("Ada Lovelace", "<h1>Ada Lovelace</h1>", f"<h2>Ada Lovelace, online</h2>{ECHO}", INPUT, "landing"),
    ("Ada", "<pre>I am Ada.</pre>", f"<pre>I am Ada.\n> {INPUT}\n</pre>", INPUT, "landing"),
    (
        "in the shadow",
        SHADOW := "<x-y><template shadowrootmode='open'><p>in the shadow</p></template></x-y>",
        SHADOW + ECHO,
        INPUT,
        "landing",
    ),
    # An agent that answers, in words of the question, of the greeting or of the title.
    ("Engineering", LANDING, f"{LANDING}{ECHO}<p>Ada leads Engineering.</p>", INPUT, "passed"),
    ("Engineering", "", "<p>Engineering</p><p>Ada leads Engineering.</p>", "Engineering", "passed"),
    ("Engineering", "", "<p>You: Engineering</p><p>Ada leads Engineering.</p>", "Engineering", "passed"),
    ("Bo", "", "<p>Is it Ada or Bo?</p><p>Bo</p>", "Is it Ada or Bo?", "passed"),
    ("Ada", "", "<p>Ada or Bo, who leads?</p><p>Ada</p>", "Ada or Bo, who leads?", "passed"),
    ("Ada", "", "<p>Ada or Bo, who leads?</p><p>Ada… or so I think</p>", "Ada or Bo, who leads?", "passed"),
    ("Ada", "", "<p>/who Ada</p><p>Ada</p>", "/who Ada", "passed"),
    ("Ada L. King", "", "<p>Ada L. King, or Bo?</p><p>Ada L. King</p>", "Ada L. King, or Bo?", "passed"),
    ("hi", "", "<p>hi</p><p>This is Ada.</p>", "hi", "passed"),
    ("hello", "", "<p>Repeat after me: hello</p><p>hello</p>", "Repeat after me: hello", "passed"),
    ("I am Ada", LANDING, f"{LANDING}{ECHO}<p>As I said, I am Ada.</p>", INPUT, "passed"),
    ("Hello, I am Ada.", LANDING, f"{LANDING}{ECHO}<p>Hello, I am Ada.</p>", INPUT, "passed"),
    ("You asked: who leads", "", f"{ECHO}<p>You asked: who leads Engineering?</p>", INPUT, "passed"),
    # A page that is replaced, one place for all answers, and a log that grows.
    (
        "Ada Lovelace",
        "<p>Ask me about Ada Lovelace!</p>",
        "<p>Ada Lovelace leads Engineering.</p>",
        INPUT,
        "passed",
    ),
    ("Ada", "<p>Answer: none yet</p>", "<p>Answer: Ada</p>", INPUT, "passed"),
    ("Ada", "<pre>I am Ada.</pre>", f"<pre>I am Ada.\n> {INPUT}\nAda does.</pre>", INPUT, "passed"),
    ("👍", "<p>👍 0</p>", "<p>👍 0</p><p>Yes 👍</p>", INPUT, "passed"),
    ("👍", "<p>👍 0</p>", "<p>👍 1</p><p>Yes</p>", INPUT, "landing"),
]


@pytest.mark.parametrize(("wanted", "before", "after", "typed", "verdict"), NEW_TEXTS)
def test_only_what_is_new_and_was_not_typed_is_an_answer(
    tmp_path: Path, wanted: str, before: str, after: str, typed: str, verdict: str
) -> None:
    found = Evidence(page=after, landing=f"<body>{before}</body>")
    outcome = one(tmp_path, found, typed=typed, final_response_contains=wanted)
    assert outcome.status == ("passed" if verdict == "passed" else "failed"), outcome.message
    if verdict == "passed":
        assert outcome.message == f'the page shows "{wanted}"'
        return
    words = {
        "landing": "before the input",
        "typed": "repeats the input",
        "title": "in the title",
    }
    assert [name for name, said in words.items() if said in outcome.message] == verdict.split()
    assert outcome.message.endswith(": that is not an answer")


def test_without_a_landing_page_the_whole_page_is_judged(tmp_path: Path) -> None:
    found = one(tmp_path, Evidence(), final_response_contains="Ada")
    assert found.status == "passed"
    assert "was not captured before the input" in found.message


def test_a_landing_page_that_is_not_read_leaves_it_open(tmp_path: Path) -> None:
    large = Evidence(landing="x" * 2_000)
    (found,) = scored(tmp_path, large, max_dom_bytes=1_024, final_response_contains="Ada").outcomes
    assert found.status == "inconclusive"
    assert "trace/dom/step-001-landing.html has 2,000 bytes" in found.message
    (wrong,) = scored(tmp_path, large, max_dom_bytes=1_024, final_response_contains="Bo").outcomes
    assert wrong.status == "failed"


def test_pages_of_other_captures_are_found_by_their_step(tmp_path: Path) -> None:
    folder = CaseFolder(tmp_path / "runs" / "people" / "r" / "a")
    Evidence(page=None).write(folder, INPUT)
    for name, text in {
        "step-003-landing": "Ada",
        "step-007-after_submit": "Ada asks back",
        "step-012-after_submit": "Ada and Bo",
        "step-x-after_submit": "Cleo",
    }.items():
        (folder.dom / f"{name}.html").write_text(f"<p>{text}</p>", encoding="utf-8")
    verdicts = {
        wanted: one(tmp_path, Evidence(page=None), final_response_contains=wanted)
        for wanted in ("Bo", "Ada", "asks", "Cleo")
    }
    assert [found.status for found in verdicts.values()] == ["passed", "failed", "failed", "failed"]
    assert verdicts["Bo"].evidence is not None
    assert verdicts["Bo"].evidence.artifact_path == "trace/dom/step-012-after_submit.html"


def test_a_page_above_the_limit_is_not_read(tmp_path: Path) -> None:
    page = Evidence(page="Ada" + " " * 2_000)
    (found,) = scored(tmp_path, page, max_dom_bytes=2_000, final_response_contains="Ada").outcomes
    assert found.reason is not None
    assert found.reason.kind == "DOMSnapshotTooLarge"
    assert "interaction.max_dom_bytes" in found.recovery[1]
    (just,) = scored(tmp_path, page, max_dom_bytes=2_003, final_response_contains="Ada").outcomes
    assert just.status == "passed"


def test_small_costs_are_written_out(tmp_path: Path) -> None:
    found = one(tmp_path, Evidence(generations=[generation(1, 7.35e-06)]), max_total_cost_usd=0.0001)
    assert found.message == "0.00000735 US dollars, at most 0.0001 US dollars allowed"


@pytest.mark.parametrize(
    ("kind", "rows", "limit", "verdict"),
    [
        ("max_total_tokens", [generation(10), generation(None), generation(5)], 15, "inconclusive"),
        ("max_total_tokens", [generation(10), generation(None), generation(5)], 14, "failed"),
        ("max_total_cost_usd", [generation(1, 0.5), generation(1)], 0.5, "inconclusive"),
        ("max_total_cost_usd", [generation(1, 0.5), generation(1)], 0.4, "failed"),
        ("max_latency_ms", [*TIMES, generation()], 2_500, "inconclusive"),
        ("max_latency_ms", [*TIMES, generation()], 2_499, "failed"),
        # A call that has not ended, and one of which the end alone is known.
        ("max_latency_ms", [TIMES[0], generation(started_at="2026-01-31T12:00:09Z")], 9_000, "inconclusive"),
        ("max_latency_ms", [TIMES[0], generation(started_at="2026-01-31T12:00:09Z")], 8_999, "failed"),
        ("max_latency_ms", [TIMES[0], generation(ended_at="2026-01-31T12:00:03Z")], 2_999, "failed"),
    ],
)
def test_limits_over_calls_of_which_some_did_not_report(
    tmp_path: Path, kind: str, rows: list[dict[str, Any]], limit: float, verdict: str
) -> None:
    found = one(tmp_path, Evidence(generations=rows), **{kind: limit})
    assert found.status == verdict
    assert f"1 of {len(rows)} model calls did not report" in found.message
    if verdict == "inconclusive":
        assert found.reason is not None
        assert found.reason.kind == "GenerationFieldMissing"


@pytest.mark.parametrize(
    ("start", "end", "limit", "verdict"),
    [
        # As floating-point seconds, each of these is a little more or less.
        ("2026-01-31T12:00:00.100000Z", "2026-01-31T12:00:00.300000Z", 200, "passed"),
        ("2026-11-22T15:44:27.123456Z", "2026-11-22T15:44:27.323456Z", 200, "passed"),
        ("2026-11-22T15:44:27.123456Z", "2026-11-22T15:44:27.323457Z", 200, "failed"),
        ("2026-01-31T12:00:00.1Z", "2026-01-31T14:00:00.3+02:00", 200, "passed"),
    ],
)
def test_times_are_compared_to_the_microsecond(
    tmp_path: Path, start: str, end: str, limit: int, verdict: str
) -> None:
    rows = [generation(started_at=start, ended_at=end)]
    assert one(tmp_path, Evidence(generations=rows), max_latency_ms=limit).status == verdict
    for milliseconds in range(1, 1_000, 37):
        ended = f"2026-11-22T15:44:{milliseconds * 7919 % 59:02}.{milliseconds:03}123Z"
        began = f"{ended[:19]}.000123Z"
        assert latency_of(began, ended) == milliseconds


def latency_of(started: str, ended: str) -> float:
    found = latency_ms(
        [Generation.model_validate({"span_id": "s", "started_at": started, "ended_at": ended})]
    )
    assert found is not None
    return found.value


def test_a_call_that_ended_before_it_started_leaves_the_time_open(tmp_path: Path) -> None:
    reversed_ = generation(started_at="2026-01-31T12:00:01Z", ended_at="2026-01-31T12:00:00.500Z")
    for limit in (1, 60_000):
        found = one(tmp_path, Evidence(generations=[*TIMES, reversed_]), max_latency_ms=limit)
        assert found.status == "inconclusive"
        assert "the call of span generation-2 ended before it started" in found.message


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"tool_name": "find"}', 'tool_calls.jsonl:2: missing required key "span_id"'),
        ('{"tool": "find", "tool_name": "find", "span_id": "s"}', 'tool_calls.jsonl:2: unknown key "tool"'),
        ("{", "tool_calls.jsonl:2: expected JSON"),
        ("[1]", "tool_calls.jsonl:2: "),
    ],
)
def test_a_malformed_log_is_inconclusive_and_names_the_line(tmp_path: Path, line: str, words: str) -> None:
    folder = CaseFolder(tmp_path / "runs/people/r/a")
    Evidence(calls=CALLS[:1]).write(folder, INPUT)
    folder.tool_calls.write_text(f"{folder.tool_calls.read_text()}{line}\n")
    case = AgentCase(id="a", input=INPUT, assertions=Assertions(must_not_call=["x"]))
    (found,) = score_case("people", case, Captured(folder, 1_000_000), NO_SOURCE).outcomes
    assert found.reason is not None
    assert found.reason.kind == "ObservabilityLogMalformed"
    assert words in found.message


def test_a_step_count_must_agree_with_its_spans(tmp_path: Path) -> None:
    folder = CaseFolder(tmp_path / "runs/people/r/a")
    Evidence().write(folder, INPUT)
    folder.step_count.write_text('{"total_steps": 2, "step_span_ids": ["a"]}')
    case = AgentCase(id="a", input=INPUT, assertions=Assertions(max_steps=9))
    (found,) = score_case("people", case, Captured(folder, 1_000_000), NO_SOURCE).outcomes
    assert found.status == "inconclusive"
    assert "total_steps is 2, and step_span_ids lists 1" in found.message


def test_what_the_agent_did_is_listed_by_time(tmp_path: Path) -> None:
    calls = [
        {"tool_name": name, "timestamp": time}
        for name, time in (
            ("third", "2026-01-31T12:00:01.5Z"),
            ("second", "2026-01-31T12:00:01Z"),
            ("fourth", "2026-01-31T13:00:02+01:00"),
        )
    ]
    routes = [{"target_agent": "first", "timestamp": "2026-01-31T12:00:00.999999Z"}]
    folder = CaseFolder(tmp_path / "runs/people/r/a")
    Evidence(calls=calls, routes=routes).write(folder, INPUT)
    rows = timeline(Captured(folder, DEFAULT_MAX_DOM_BYTES))
    assert [row[1].split()[1] for row in rows] == ["first", "second", "third", "fourth"]


UI = UiIntrospection(description="the panel", exposes=["tool_calls"])
UI_WITH_SELECTORS = UI.model_copy(
    update={"extract": Extract(tool_calls=ToolCallPlaces(entry="li", tool_name="b"))}
)


@pytest.mark.parametrize(
    ("observability", "first"),
    [
        (NO_SOURCE, "1. declare a source of tool_calls: observability.langfuse"),
        (
            Observability(ui_introspection=UI),
            "1. add selectors to the manifest, observability.ui_introspection.extract.tool_calls: entry and",
        ),
        (
            Observability(ui_introspection=UI_WITH_SELECTORS),
            "1. check the selectors in observability.ui_introspection.extract",
        ),
        (
            Observability(otel=OtelSource(endpoint="https://t")),
            "1. check that the agent's traces reach the backend",
        ),
    ],
)
def test_the_recovery_fits_the_declared_sources(
    tmp_path: Path, observability: Observability, first: str
) -> None:
    (found,) = scored(tmp_path, Evidence(), observability, must_call=["find"]).outcomes
    assert found.as_data()["recovery"][0].startswith(first)


def test_pages_never_tell_tokens(tmp_path: Path) -> None:
    (found,) = scored(tmp_path, Evidence(), Observability(ui_introspection=UI), max_total_tokens=1).outcomes
    assert "pages do not show tokens" in found.recovery[0]


@pytest.mark.parametrize(
    ("wanted", "found", "holds"),
    [
        ({}, {"a": 1}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}, True),
        ({"a": {"b": 2}}, {"a": {"b": 1}}, False),
        ({"a": 1}, {}, False),
        ({"a": None}, {}, False),
        ({"a": None}, {"a": None}, True),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": False}, {"a": 0}, False),
        ({"a": "1"}, {"a": 1}, False),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}, True),
        ({"a": [1]}, {"a": [1, 2]}, False),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}, False),
        ({"a": {}}, {"a": []}, False),
        ({"a": 1}, None, False),
    ],
)
def test_arguments_are_a_deep_subset(wanted: Any, found: Any, holds: bool) -> None:
    assert is_subset(wanted, found) is holds
