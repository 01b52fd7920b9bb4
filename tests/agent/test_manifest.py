"""Manifests of agents: what is read, and what is wrong with them, all at once and at its line."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_mcpeval import DataFileError, Document, Place
from pytest_mcpeval.browser.directive import BasicAuth, BearerAuth, PageAction, ResponseReady
from pytest_mcpeval.kinds.agent.load import load_manifest, load_suite, manifest_of
from pytest_mcpeval.kinds.agent.schema import (
    Assertions,
    CallSpec,
    CatalogueEntry,
    Extract,
    LangfuseSource,
    Manifest,
    OtelSource,
    PhoenixSource,
    ToolCallPlaces,
    UiField,
)
from pytest_mcpeval.kinds.agent.urls import is_loopback
from pytest_mcpeval.loading import load
from tests.agent.captured_runs import case, manifest

WHOLE = """\
apiVersion: agentevaluator/v1
name: flight-booking
description: |
  Books flights.
  And hotels.
access:
  url: https://agent.example.com/chat?session={case_id}
  auth:
    type: basic
    username_env: AGENT_USER
    password_env: AGENT_PASSWORD
observability:
  langfuse:
    host: http://localhost:3010
    public_key_env: LANGFUSE_PUBLIC
    secret_key_env: LANGFUSE_SECRET
    host_policy: insecure_loopback_only
  ui_introspection:
    description: the reasoning panel
    reveal_actions:
      - {action: click, selector: "#reasoning"}
    exposes: [tool_calls, step_count]
    extract:
      tool_calls:
        entry: .call
        tool_name: .name
        arguments: {selector: .args, attribute: data-json}
interaction:
  preconditions:
    - {action: select, selector: "#agent", value: flights}
    - {action: fill, selector: "#name", value: ""}
  input_selector: "#chat"
  response_wait_ms: 120000
  response_ready: {dom_quiet_ms: 500}
  max_dom_bytes: 2048
tools_catalog: [search_flights, {name: book_flight, description: books}]
agents_catalog: [booking]
cases:
  - id: books_a-flight.1
    input: Book me a flight
    assertions:
      final_response_contains: booked
      must_call: [search_flights]
      must_not_call: []
      must_call_exactly: {book_flight: 1}
      must_call_with_args:
        - {tool_name: book_flight, args: {to: {city: Rome}}}
        - {tool_name: search_flights, args: {}, min_count: 2}
      must_call_in_order: [search_flights, book_flight]
      must_route_to: booking
      max_steps: 4
      max_total_tokens: 1000
      max_total_cost_usd: 1
      max_latency_ms: 5000
"""


def read(tmp_path: Path, content: Any) -> Manifest:
    path = tmp_path / "agent.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False))
    return load_manifest(path)


def problems(tmp_path: Path, content: Any) -> list[str]:
    """Each problem as ``line: message``."""
    with pytest.raises(DataFileError) as caught:
        read(tmp_path, content)
    return [f"{problem.line}: {problem.message}" for problem in caught.value.problems]


def only_problem(tmp_path: Path, content: Any) -> str:
    (found,) = problems(tmp_path, content)
    return found.partition(": ")[2]


def test_every_field_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, WHOLE)
    assert (found.name, found.description) == ("flight-booking", "Books flights.\nAnd hotels.\n")
    assert found.access.auth == BasicAuth(
        type="basic", username_env="AGENT_USER", password_env="AGENT_PASSWORD"
    )
    assert found.observability.backend == LangfuseSource(
        host="http://localhost:3010",
        public_key_env="LANGFUSE_PUBLIC",
        secret_key_env="LANGFUSE_SECRET",
        host_policy="insecure_loopback_only",
    )
    ui = found.observability.ui_introspection
    assert ui is not None
    assert ui.exposes == ["tool_calls", "step_count"]
    assert ui.reveal_actions == [PageAction(action="click", selector="#reasoning")]
    arguments = UiField(selector=".args", attribute="data-json")
    assert ui.extract == Extract(
        tool_calls=ToolCallPlaces(entry=".call", tool_name=".name", arguments=arguments)
    )
    assert found.interaction.preconditions[1] == PageAction(action="fill", selector="#name", value="")
    assert found.interaction.response_ready == ResponseReady(dom_quiet_ms=500)
    assert (found.interaction.response_wait_ms, found.interaction.max_dom_bytes) == (120_000, 2_048)
    assert found.tools_catalog == [
        "search_flights",
        CatalogueEntry(name="book_flight", description="books"),
    ]
    (only,) = found.cases
    assert only.assertions.must_call_with_args == [
        CallSpec(tool_name="book_flight", args={"to": {"city": "Rome"}}, min_count=1),
        CallSpec(tool_name="search_flights", args={}, min_count=2),
    ]
    assert only.assertions.must_call_exactly == {"book_flight": 1}
    assert only.assertions.max_total_cost_usd == 1


def replaced(data: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """The data with another value at a path."""
    if not path:
        return value
    copy: Any = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = replaced(data[path[0]], path[1:], value)
    return copy


def places(data: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every value in nested data."""
    yield path
    inner: Any = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


@pytest.mark.parametrize(
    "junk", [None, 7, -1.5, True, "", "\x00", "x y", [], [[1], {"a": {}}], {}, {"a": [1]}]
)
def test_junk_in_any_place_is_reported_or_read_but_never_a_crash(tmp_path: Path, junk: Any) -> None:
    whole = yaml.safe_load(WHOLE)
    told = 0
    for path in places(whole):
        try:
            manifest_of(Document(tmp_path / "agent.yaml", replaced(whole, path, junk), ""))
        except DataFileError:
            told += 1
    assert told > 40


ORIGINAL = """\
apiVersion: agentevaluator/v1
name: a--b_-c
description: null
access: {url: "https://agent.example.com"}
observability:
  langfuse: {host: "https://langfuse.example.com"}
tools_catalog: []
agents_catalog: []
cases:
  - id: a
    input: hi
    assertions:
      must_call: [find, rank, find]
      must_not_call: [drop, drop]
"""


def test_manifests_of_the_original_load_and_differences_are_reported_once(tmp_path: Path) -> None:
    found = read(tmp_path, ORIGINAL)
    assert (found.name, found.description, found.tools_catalog) == ("a--b_-c", "", [])
    assert found.observability.backend == LangfuseSource(
        host="https://langfuse.example.com",
        public_key_env="LANGFUSE_PUBLIC_KEY",
        secret_key_env="LANGFUSE_SECRET_KEY",
    )
    assert found.cases[0].assertions.must_call == ["find", "rank", "find"]
    assert found.cases[0].assertions.must_not_call == ["drop", "drop"]
    (told,) = load_suite(load(tmp_path / "agent.yaml"), Place("agent.yaml", {}, {})).warnings
    assert told.split("; ") == [
        "tools_catalog is empty, so names in assertions are not compared with it: list them, or remove it",
        "agents_catalog is empty, so names in assertions are not compared with it: list them, or remove it",
        'cases[0].assertions.must_call (line 13) lists "find" more than once, which counts once: remove the '
        "others, or use must_call_exactly for a number of calls",
        'cases[0].assertions.must_not_call (line 14) lists "drop" more than once, which counts once: remove '
        "the others",
    ]
    (tmp_path / "agent.yaml").write_text(WHOLE)
    assert load_suite(load(tmp_path / "agent.yaml"), Place("agent.yaml", {}, {})).warnings == ()


def test_defaults(tmp_path: Path) -> None:
    found = read(tmp_path, manifest(case("a", must_call=["x"])))
    assert found.interaction.response_wait_ms == 2_000
    assert found.interaction.max_dom_bytes == 25 * 1024 * 1024
    assert found.interaction.input_selector is None
    assert found.observability.backend is None
    assert found.access.auth is None


@pytest.mark.parametrize(
    ("section", "wanted"),
    [
        ({"otel": {"endpoint": "https://t.example"}}, OtelSource(endpoint="https://t.example")),
        (
            {"phoenix": {"endpoint": "https://p.example", "project": "mine", "session_id": "{run_id}"}},
            PhoenixSource(endpoint="https://p.example", project="mine", session_id="{run_id}"),
        ),
    ],
)
def test_other_trace_backends(tmp_path: Path, section: dict[str, Any], wanted: object) -> None:
    found = read(tmp_path, manifest(case("a", max_steps=1), observability=section))
    assert found.observability.backend == wanted


def test_bearer(tmp_path: Path) -> None:
    access = {"url": "https://x.example", "auth": {"type": "bearer", "token_env": "AGENT_TOKEN"}}
    assert read(tmp_path, manifest(case("a", max_steps=1), access=access)).access.auth == BearerAuth(
        type="bearer", token_env="AGENT_TOKEN"
    )


@pytest.mark.parametrize(
    ("access", "backend", "policy"),
    [
        ({}, {}, "any"),
        ({"host_policy": "same_host"}, {}, "same_host"),
        ({}, {"host_policy": "https_only"}, "same_host"),
        ({"host_policy": "any"}, {"host_policy": "https_only"}, "any"),
    ],
)
def test_a_host_policy_holds_for_the_page(
    tmp_path: Path, access: dict[str, str], backend: dict[str, str], policy: str
) -> None:
    otel = {"otel": {"endpoint": "https://t.example", **backend}}
    content = fields(access={"url": "https://x.example", **access}, observability=otel)
    assert read(tmp_path, content).page_host_policy == policy


def test_missing_and_unsupported_versions_are_told_apart(tmp_path: Path) -> None:
    content = manifest(case("a", max_steps=1))
    missing = only_problem(tmp_path, {key: value for key, value in content.items() if key != "apiVersion"})
    unsupported = only_problem(tmp_path, {**content, "apiVersion": "agentevaluator/v9"})
    assert missing.startswith("apiVersion is missing: put `apiVersion: agentevaluator/v1` at the top")
    assert 'apiVersion: "agentevaluator/v9" is not supported' in unsupported
    assert 'expected "agentevaluator/v1"' in unsupported


def test_all_problems_of_values_are_reported_at_once_then_what_does_not_agree(tmp_path: Path) -> None:
    content = """\
apiVersion: agentevaluator/v2
name: Flight Booking
access: {url: "javascript:alert(1)"}
tools_catalog: [search, search]
cases:
  - id: a
    input: hi
    assertions: {must_call: [serch]}
  - id: A
    input: hi
    assertions: {}
"""
    assert [found.split(": ")[:2] for found in problems(tmp_path, content)] == [
        ["1", "apiVersion"],
        ["2", "name"],
        ["3", "access.url"],
        ["4", "tools_catalog[1]"],
        ["11", "cases[1].assertions"],
    ]
    content = content.replace("[search, search]", "[search]").replace(
        "{}", "\n      must_call: [x, x, serch]"
    )
    content += "      must_not_call: [x]\n      must_route_to: hr\n"
    assert [found.split(": ")[:2] for found in problems(tmp_path, content)][3:] == [
        ["12", "cases[1].assertions.must_call[0]"],
        ["12", "cases[1].assertions.must_call[1]"],
    ]
    content = content.replace("must_not_call: [x]", "must_call_exactly: {search: 1}")
    content = content.replace("cases:", "agents_catalog: [sales]\ncases:")
    assert [found.split(": ")[:2] for found in problems(tmp_path, content)][3:] == [
        ["9", "cases[0].assertions.must_call[0]"],
        ["10", "cases[1].id"],
        ["13", "cases[1].assertions.must_call[0]"],
        ["13", "cases[1].assertions.must_call[1]"],
        ["13", "cases[1].assertions.must_call[2]"],
        ["15", "cases[1].assertions.must_route_to"],
    ]


def test_assertions_are_counted_as_they_are_judged() -> None:
    every = Assertions.model_validate(yaml.safe_load(WHOLE)["cases"][0]["assertions"])
    assert every.count == 11
    twice = Assertions(must_call=["a", "a"], must_not_call=["b", "b"], must_call_in_order=["a", "c"])
    assert (twice.count, Assertions().count) == (3, 0)
    calls = [CallSpec(tool_name="a", args={"n": n}) for n in (1, 2)]
    assert Assertions(must_call_with_args=calls, must_call_exactly={"a": 2}).count == 3


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///etc/passwd", "http:// or https://"),
        ("chrome://settings", "http:// or https://"),
        ("data:text/html,x", "http:// or https://"),
        ("http://", "with a host"),
        ("https://user:secret@x.example", "use access.auth"),
        ("https://x.example/a b", "which a URL cannot have"),
        ("https://x.example:port/", "not a URL"),
    ],
)
def test_urls_that_are_refused(tmp_path: Path, url: str, words: str) -> None:
    found = only_problem(tmp_path, manifest(case("a", max_steps=1), access={"url": url}))
    assert found.startswith("access.url: ")
    assert words in found


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "USER",
        "SHELL",
        "PWD",
        "LD_PRELOAD",
        "DYLD_LIBRARY_PATH",
        "MY_PRIVATE_KEY",
        "token",
        "A-B",
    ],
)
def test_variables_that_must_not_be_read(tmp_path: Path, name: str) -> None:
    access = {"url": "https://x.example", "auth": {"type": "bearer", "token_env": name}}
    found = only_problem(tmp_path, manifest(case("a", max_steps=1), access=access))
    assert found.startswith("access.auth.token_env: ")
    assert "AGENT_BEARER_TOKEN" in found or "[A-Z][A-Z0-9_]*" in found


@pytest.mark.parametrize(
    ("url", "policy", "words"),
    [
        ("http://x.example", None, "is not https"),
        ("http://localhost:3010", None, "insecure_loopback_only"),
        ("http://192.0.2.1", "insecure_loopback_only", "not a loopback address"),
        ("http://no-such-host.invalid", "insecure_loopback_only", "not a loopback address"),
    ],
)
def test_hosts_that_a_policy_refuses(tmp_path: Path, url: str, policy: str | None, words: str) -> None:
    section = {"otel": {"endpoint": url, **({"host_policy": policy} if policy else {})}}
    found = only_problem(tmp_path, manifest(case("a", max_steps=1), observability=section))
    assert found.startswith("observability.otel.endpoint: ")
    assert words in found


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "[::1]", "[::ffff:127.0.0.1]"])
def test_loopback_addresses_are_allowed_over_http(tmp_path: Path, host: str) -> None:
    section = {"otel": {"endpoint": f"http://{host}:3200", "host_policy": "insecure_loopback_only"}}
    assert read(tmp_path, manifest(case("a", max_steps=1), observability=section)).observability.backend


def test_a_host_with_one_address_elsewhere_is_not_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {
        "inside": ["127.0.0.1", "::1"],
        "mixed": ["127.0.0.1", "192.0.2.1"],
        "scoped": ["fe80::1%eth0"],
    }

    def resolve(host: str, port: object) -> list[Any]:
        return [(0, 0, 0, "", (address, 0)) for address in answers[host]]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert {host: is_loopback(host) for host in answers} == {"inside": True, "mixed": False, "scoped": False}


@pytest.mark.parametrize(
    "selector",
    ["text=Send", "xpath=//a", "//a", "a >> b", "a:has-text('x')", "#a:open", "a::part(b)"],
)
def test_selectors_of_browsers_are_taken_as_they_are(tmp_path: Path, selector: str) -> None:
    found = read(tmp_path, fields(interaction={"input_selector": selector}))
    assert found.interaction.input_selector == selector


def test_other_braces_and_quoted_words_are_taken_as_they_are(tmp_path: Path) -> None:
    url, ready = 'https://a.example/?q={"a":1}&{}', {"selector": "[title=':visible']"}
    found = read(tmp_path, fields(access={"url": url}, interaction={"response_ready": ready}))
    assert found.access.url == url
    assert found.interaction.response_ready == ResponseReady(selector="[title=':visible']")


def fields(**changed: Any) -> dict[str, Any]:
    return manifest(case("a", max_steps=1), **changed)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (fields(name="../up"), "name: expected a text that matches"),
        (fields(name="Upper"), "name: expected a text that matches"),
        (fields(extra=1), 'unknown key "extra"'),
        (fields(cases=[]), "cases: expected at least 1 entry"),
        (fields(description="a\x07b"), "description: has the control character \\x07"),
        (
            fields(interaction={"response_wait_ms": 99}),
            "interaction.response_wait_ms: expected a number of at least",
        ),
        (fields(interaction={"response_wait_ms": 120_001}), "at most 120000"),
        (
            fields(interaction={"max_dom_bytes": 1_024}),
            "interaction.max_dom_bytes: expected a number above 1024",
        ),
        (fields(interaction={"response_ready": {}}), "exactly one of `selector` and `dom_quiet_ms`"),
        (
            fields(interaction={"preconditions": [{"action": "fill", "selector": "a"}]}),
            "fill needs a `value`",
        ),
        (
            fields(interaction={"preconditions": [{"action": "click", "selector": "a", "value": "b"}]}),
            "click takes no `value`",
        ),
        (
            fields(interaction={"preconditions": [{"action": "hover", "selector": "a"}]}),
            '"click", "select" or "fill"',
        ),
        (fields(tools_catalog=["a", "a"]), 'tools_catalog[1]: "a" is listed twice'),
        (fields(tools_catalog=["a tool"]), "tools_catalog[0]: expected a text that matches"),
        (
            fields(
                observability={
                    "otel": {"endpoint": "https://a.example"},
                    "langfuse": {"host": "https://b.example", "public_key_env": "A", "secret_key_env": "B"},
                }
            ),
            "observability.otel: langfuse and otel are both declared",
        ),
        (
            fields(observability={"ui_introspection": {"description": "x", "exposes": ["costs"]}}),
            'observability.ui_introspection.exposes[0]: expected "tool_calls"',
        ),
        (
            fields(
                observability={
                    "ui_introspection": {
                        "description": "x",
                        "exposes": ["tool_calls"],
                        "extract": {"step_count": {"entry": "li"}},
                    }
                }
            ),
            "extract.step_count: is not among what the page `exposes`",
        ),
        (
            fields(interaction={"response_ready": {"selector": "text=Answer"}}),
            'interaction.response_ready.selector: "text=Answer" is not a CSS selector',
        ),
        (
            fields(interaction={"response_ready": {"selector": ".a:has-text('x')"}}),
            "is not a CSS selector: :has-text is one of Playwright's own",
        ),
        (
            fields(access={"url": "https://a.example/?s={runid}-{case_id}"}),
            'access.url: "{runid}" is not a placeholder (did you mean "run_id"?): there are {case_id}',
        ),
        (
            fields(observability={"otel": {"endpoint": "https://a.example", "session_id": "{case-id}"}}),
            'observability.otel.session_id: "{case-id}" is not a placeholder (did you mean "case_id"?)',
        ),
        (fields(interaction={"input_selector": "#chat["}), 'input_selector: "#chat[" is not a CSS selector'),
        (
            fields(
                observability={
                    "ui_introspection": {
                        "description": "x",
                        "exposes": ["step_count"],
                        "extract": {"step_count": {"entry": "text=Step"}},
                    }
                }
            ),
            'extract.step_count.entry: "text=Step" is not a CSS selector',
        ),
        (manifest(case("narratives", max_steps=1)), "cases[0].id: "),
        (manifest(case("..", max_steps=1)), "cases[0].id: expected a text that matches"),
        (manifest(case("a", max_steps=1), case("a", max_steps=1)), 'cases[1].id: duplicate id "a"'),
        (manifest(case("a", text=" ", max_steps=1)), "cases[0].input: is blank"),
        (
            manifest(case("a", final_response_contains="\u200b")),
            "final_response_contains: has no visible character",
        ),
        (manifest(case("a", must_call=[])), "cases[0].assertions: nothing is asserted"),
        (
            fields(observability={"ui_introspection": {"description": "x", "exposes": []}}),
            "observability.ui_introspection.exposes: expected at least 1 entry",
        ),
        (manifest(case("a", must_call=["x"], must_not_call=["x"])), '"x" is also in must_not_call'),
        (manifest(case("a", must_call_in_order=["x"], must_not_call=["x"])), '"x" is also in must_not_call'),
        (
            manifest(case("a", must_call_exactly={"x": 0})),
            "must_call_exactly.x: expected a number of at least 1",
        ),
        (
            manifest(case("a", must_call_with_args=[{"tool_name": "x", "args": {}, "min_count": 0}])),
            "min_count: expected a number of at least 1",
        ),
        (manifest(case("a", max_steps=0)), "max_steps: expected a number of at least 1"),
        (manifest(case("a", max_steps=True)), "max_steps: expected a whole number"),
        (manifest(case("a", max_total_cost_usd=0)), "max_total_cost_usd: expected a number above 0"),
        (
            manifest(case("a", max_steps=10**12)),
            "max_steps: expected a number of at most 100000000",
        ),
        (
            manifest(case("a", max_total_tokens=10**12)),
            "max_total_tokens: expected a number of at most 100000000",
        ),
        (
            manifest(case("a", max_total_cost_usd=10**12)),
            "max_total_cost_usd: expected a number of at most 100000000",
        ),
        (
            manifest(case("a", max_latency_ms=10**12)),
            "max_latency_ms: expected a number of at most 100000000",
        ),
        (
            manifest(case("a", must_call_exactly={"serch": 1}), tools_catalog=["search"]),
            'assertions.must_call_exactly.serch: "serch" is not in tools_catalog (did you mean "search"?)',
        ),
        (
            manifest(case("a", must_route_to="b"), agents_catalog=["hr"]),
            'assertions.must_route_to: "b" is not in agents_catalog',
        ),
    ],
)
def test_what_is_wrong_is_reported_with_its_path(tmp_path: Path, content: dict[str, Any], words: str) -> None:
    assert words in only_problem(tmp_path, content)


def test_urls_and_cases_take_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_HOST", "agent.example.org")
    monkeypatch.setenv("AGENT_WORD", "open sesame")
    text = WHOLE.replace("https://agent.example.com/", "https://${AGENT_HOST}/").replace(
        "input: Book me a flight", "input: Say ${env.AGENT_WORD}, not $${x}"
    )
    path = tmp_path / "agent.yaml"
    path.write_text(text, encoding="utf-8")
    read = load_manifest(path)
    assert read.access.url == "https://agent.example.org/chat?session={case_id}"
    assert read.cases[0].input == "Say open sesame, not ${x}"
    monkeypatch.delenv("AGENT_WORD")
    path.write_text(text.replace("$${x}", "${x}"), encoding="utf-8")
    with pytest.raises(DataFileError) as raised:
        load_manifest(path)
    (problem,) = raised.value.problems
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "AGENT_WORD" in one)
    assert problem.line == line
    assert "needs the environment variable AGENT_WORD, which is not set" in problem.message
