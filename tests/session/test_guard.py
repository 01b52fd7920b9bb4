"""The guard: what passes, what is written down, and where it stops."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pytest_mcpeval import CallError, CallRefused, Toolbox
from pytest_mcpeval.kinds.session.guard import Guard
from pytest_mcpeval.kinds.session.records import SYNTHETIC_TOOLS, Budget, ServerScope
from pytest_mcpeval.kinds.session.safety_resources import texts_in
from pytest_mcpeval.kinds.session.safety_rules import CHANGING, READING
from pytest_mcpeval.kinds.session.transcript import Transcript, call_count
from pytest_mcpeval.servers import ServerDefinition
from tests.session.guarding import Clock, Guarded, guarded, reading, sandboxed
from tests.session.notes_server import TOOLS
from tests.session.safety_table import ARGUMENTS as SHAPES

SKIPPED = ServerScope("secret", "skip")


def refusal(toolbox: Toolbox, tool: str, **arguments: Any) -> CallRefused:
    with pytest.raises(CallRefused) as caught:
        toolbox.call_now(tool, arguments)
    return caught.value


def test_a_permitted_call_is_answered_and_leaves_one_complete_line(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        response = found.toolbox("S1").call_now("mcp__notes__list_notes", {"limit": 2})
    assert response.structured["next_cursor"] == "2"
    (line,) = found.lines
    assert (line.id, line.scenario_id, line.tool, line.is_mcp) == (
        "S1-001",
        "S1",
        "mcp__notes__list_notes",
        True,
    )
    assert line.args_summary == "{limit: 2}"
    assert line.result_shape == "object{notes:array[2],next_cursor:text}"
    assert (line.justification, line.blocked_tool, line.abort_reason) == (None, None, None)
    assert line.result_bytes == len("done")
    assert line.latency_ms is not None
    assert found.counts == [("S1", 1)]


def test_the_line_is_there_before_the_call_and_completed_after_it(tmp_path: Path) -> None:
    with guarded(tmp_path, ServerScope("notes", "sandboxed", ("gate",))) as found:
        server = found.servers["notes"]
        server.gate.clear()
        with ThreadPoolExecutor() as threads:
            call = threads.submit(found.toolbox("S1").call_now, "mcp__notes__hold", {"name": "gate"})
            while not server.received:
                assert not call.done()
            assert found.brief == [("S1-001", "mcp__notes__hold", None)]
            assert found.counts == [("S1", 1)]
            server.gate.set()
            call.result()
    assert [shape is not None for _, _, shape in found.brief] == [True]


def test_calls_of_a_skipped_server_are_blocked_and_the_scenario_goes_on(tmp_path: Path) -> None:
    with guarded(tmp_path, {"notes": reading(), "secret": SKIPPED}) as found:
        toolbox = found.toolbox("S1")
        refused = refusal(toolbox, "mcp__secret__get_note", id="n1")
        assert (refused.reason, refused.ended) == ("blocked: MCP disposition is 'skip'", None)
        toolbox.call_now("mcp__notes__get_note", {"id": "n1"})
        assert found.received("secret") == []
        with pytest.raises(PermissionError):
            found.guard.connection("secret")
        assert not [tool for tool in toolbox.tools if tool.server == "secret"]
        assert toolbox.call_count == 1
    blocked, _ = found.lines
    assert (blocked.id, blocked.tool, blocked.is_mcp) == ("S1-001", "__blocked__", False)
    assert blocked.blocked_tool == "mcp__secret__get_note"
    assert blocked.justification == "MCP disposition is 'skip'"
    assert blocked.abort_reason is None
    assert found.counts == [("S1", 1)]


def test_a_skipped_server_is_not_even_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    definition = ServerDefinition("secret", "stdio", "touch", (str(started),))
    scopes = {"secret": SKIPPED}
    with guarded(tmp_path, scopes, definitions={"secret": definition}) as found:
        assert found.guard.tools() == []
        refusal(found.toolbox("S1"), "mcp__secret__get_note")
    assert not started.exists()


def test_a_read_only_server_refuses_changes_and_the_scenario_goes_on(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        toolbox = found.toolbox("S1")
        for tool in ("create_note", "delete_note", "get_or_create_note"):
            assert refusal(toolbox, f"mcp__notes__{tool}").ended is None
        toolbox.call_now("mcp__notes__get_note")
        assert found.received() == ["get_note"]
        assert (toolbox.call_count, toolbox.abort_reason) == (1, None)
    assert [line.tool for line in found.lines] == ["__blocked__"] * 3 + ["mcp__notes__get_note"]


def test_what_cannot_be_told_apart_ends_the_scenario_and_no_other(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        toolbox = found.toolbox("S1")
        assert refusal(toolbox, "mcp__notes__frobnicate").ended == "safety_abort"
        assert refusal(toolbox, "mcp__notes__get_note").ended == "safety_abort"
        assert toolbox.abort_reason == "safety_abort"
        found.toolbox("S2").call_now("mcp__notes__get_note")
        assert found.received() == ["get_note"]
    assert [(line.id, line.tool, line.abort_reason) for line in found.lines] == [
        ("S1-001", "__blocked__", "safety_abort"),
        ("S2-001", "mcp__notes__get_note", None),
    ]


def test_a_change_outside_the_sandbox_ends_the_scenario(tmp_path: Path) -> None:
    with guarded(tmp_path, sandboxed("notebook: eval-playground")) as found:
        toolbox = found.toolbox("S1")
        toolbox.call_now("mcp__notes__create_note", {"notebook": "eval-playground", "text": "x"})
        outside = refusal(toolbox, "mcp__notes__create_note", notebook="eval-playground-production")
        assert outside.ended == "safety_abort"
        assert found.received() == ["create_note"]
    assert found.lines[-1].justification == (
        "MCP disposition is 'sandboxed', and the call is outside the test resources: "
        "`notebook` is not the test resource of `notebook`"
    )


def test_what_is_judged_is_what_is_sent(tmp_path: Path) -> None:
    class Sly(dict[str, Any]):
        """Changes itself once it was looked at."""

    arguments = Sly(notebook="eval-playground")
    with guarded(tmp_path, sandboxed("eval-playground")) as found:
        begun = found.toolbox("S1")._begin("mcp__notes__create_note", arguments, 5)
        arguments["notebook"] = "production"
        assert begun.arguments == {"notebook": "eval-playground"}


@pytest.mark.parametrize(
    ("tool", "reason"),
    [("mcp__nobody__get_note", "error:unknown_server"), ("mcp__notes__get_nothing", "error:unknown_tool")],
)
def test_calls_of_what_does_not_exist_leave_a_line(tmp_path: Path, tool: str, reason: str) -> None:
    scope = ServerScope("tiny", "read_only")
    definition = ServerDefinition("notes", "module", module="tests.session.tiny:server")
    with guarded(
        tmp_path, {"notes": replace(scope, mcp_name="notes")}, definitions={"notes": definition}
    ) as found:
        with pytest.raises(CallError) as caught:
            found.toolbox("S1").call_now(tool)
        assert caught.value.reason == "unknown_tool"
    assert found.brief == [("S1-001", tool, reason)]
    assert found.counts == [("S1", 1)]


def test_errors_of_tools_are_answers_and_shapes(tmp_path: Path) -> None:
    with guarded(tmp_path, sandboxed("it broke: HTTP 403")) as found:
        response = found.toolbox("S1").call_now("mcp__notes__fail", {"message": "it broke: HTTP 403"})
        assert response.is_error
    assert found.brief == [("S1-001", "mcp__notes__fail", "error:403")]


def test_names_with_the_separator_go_to_the_longest_server_that_fits(tmp_path: Path) -> None:
    with guarded(tmp_path, {"notes": SKIPPED_NOTES, "notes__old": reading("notes__old")}) as found:
        found.toolbox("S1").call_now("mcp__notes__old__get_note")
        assert found.received("notes__old") == ["get_note"]
        assert found.received("notes") == []


SKIPPED_NOTES = ServerScope("notes", "skip")


def test_every_server_needs_a_disposition(tmp_path: Path) -> None:
    definition = ServerDefinition("notes", "module", module="tests.session.tiny:server")
    transcript, budget = Transcript(tmp_path / "t.jsonl"), Budget(Clock()())
    with pytest.raises(
        ValueError, match="no disposition for server 'notes': give it read_only, sandboxed or skip"
    ):
        Guard({"notes": definition}, [], transcript, budget, lambda _: pytest.fail("connected"))
    with pytest.raises(ValueError, match="two dispositions"):
        Guard({}, [reading(), reading()], transcript, budget, lambda _: pytest.fail("connected"))


# Budgets


def test_the_call_after_the_last_one_is_not_made(tmp_path: Path) -> None:
    with guarded(tmp_path, reading(), calls=3) as found:
        toolbox = found.toolbox("S1")
        for _ in range(3):
            toolbox.call_now("mcp__notes__get_note")
        assert (toolbox.calls_left, toolbox.abort_reason) == (0, None)
        assert refusal(toolbox, "mcp__notes__get_note").ended == "call_budget"
        assert refusal(toolbox, "mcp__notes__get_note").ended == "call_budget"
        assert len(found.received()) == 3
        found.toolbox("S2").call_now("mcp__notes__get_note")
    assert [line.id for line in found.lines] == ["S1-001", "S1-002", "S1-003", "S1-004", "S2-001"]
    last = found.lines[3]
    assert (last.tool, last.is_mcp, last.justification) == ("__budget_abort__", False, "call budget exceeded")
    assert last.abort_reason == "call_budget"
    assert found.counts == [("S1", 1), ("S1", 2), ("S1", 3), ("S2", 1)]


def test_blocked_calls_count_for_nothing(tmp_path: Path) -> None:
    with guarded(tmp_path, reading(), calls=1) as found:
        toolbox = found.toolbox("S1")
        for _ in range(5):
            refusal(toolbox, "mcp__notes__delete_note")
        toolbox.call_now("mcp__notes__get_note")
        assert refusal(toolbox, "mcp__notes__delete_note").ended is None
        assert refusal(toolbox, "mcp__notes__get_note").ended == "call_budget"


def test_parallel_calls_share_the_budget_and_one_abort(tmp_path: Path) -> None:
    with guarded(tmp_path, reading(), calls=7) as found:
        toolbox = found.toolbox("S1")

        async def work() -> list[Any]:
            calls = (toolbox.call("mcp__notes__get_note", {"id": f"n{n}"}) for n in range(25))
            return await asyncio.gather(*calls, return_exceptions=True)

        results = asyncio.run(work())
        assert sum(not isinstance(result, BaseException) for result in results) == 7
        assert {result.ended for result in results if isinstance(result, CallRefused)} == {"call_budget"}
        assert len(found.received()) == 7
    assert [line.id for line in found.lines] == [f"S1-{n:03d}" for n in range(1, 9)]
    assert sum(line.tool == "__budget_abort__" for line in found.lines) == 1
    assert all(line.result_shape for line in found.lines)
    assert [count for _, count in found.counts] == list(range(1, 8))


def test_the_largest_budget_has_three_digits() -> None:
    assert Budget(Clock()(), calls_per_scenario=5_000).calls_per_scenario == 999


def test_the_time_of_the_session_ends_all_scenarios_with_one_line(tmp_path: Path) -> None:
    clock = Clock()
    with guarded(tmp_path, reading(), minutes=1, clock=clock) as found:
        toolbox = found.toolbox("S1")
        clock.advance(59)
        toolbox.call_now("mcp__notes__get_note")
        assert not found.guard.wallclock_exceeded()
        clock.advance(1)
        for scenario in ("S1", "S2"):
            assert refusal(found.toolbox(scenario), "mcp__notes__get_note").ended == "wallclock"
        assert found.guard.wallclock_exceeded()
        assert len(found.received()) == 1
    assert [line.tool for line in found.lines] == ["mcp__notes__get_note", "__wallclock_abort__"]
    last = found.lines[-1]
    assert (last.id, last.is_mcp, last.justification) == ("S1-002", False, "session wallclock exceeded")
    assert found.guard.tripped_at == last.ts


def test_the_end_of_the_session_is_written_down_once_however_many_find_out(tmp_path: Path) -> None:
    clock = Clock()
    with guarded(tmp_path, reading(), minutes=1, clock=clock) as found:
        clock.advance(60)
        with ThreadPoolExecutor() as threads:
            list(threads.map(found.guard.trip_wallclock, ["S1", "S2", "S3"] * 3))
        assert [line.tool for line in found.lines] == ["__wallclock_abort__"]


def test_a_call_that_outlasts_the_session_is_cut_short(tmp_path: Path) -> None:
    with guarded(tmp_path, sandboxed("x"), minutes=0.02) as found:
        toolbox = found.toolbox("S1")
        with pytest.raises(CallError) as caught:
            toolbox.call_now("mcp__notes__wait", {"seconds": 60, "name": "x"})
        assert caught.value.reason == "timeout"
        assert toolbox.abort_reason == "wallclock"
    assert found.brief == [
        ("S1-001", "mcp__notes__wait", "error:timeout"),
        ("S1-002", "__wallclock_abort__", "not dispatched"),
    ]


def test_a_cancelled_call_is_completed_as_such(tmp_path: Path) -> None:
    with guarded(tmp_path, sandboxed("x")) as found:
        toolbox = found.toolbox("S1")

        async def work() -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(toolbox.call("mcp__notes__wait", {"seconds": 60, "name": "x"}), 0.5)

        asyncio.run(work())
        toolbox.close()
    assert found.brief == [("S1-001", "mcp__notes__wait", "error:cancelled")]


# Everything else an agent uses


def test_other_tools_are_recorded_with_their_justification(tmp_path: Path) -> None:
    why = "no attached MCP covers this step: the ids are joined with a table on disk"
    with guarded(tmp_path, reading(), calls=2) as found:
        toolbox = found.toolbox("S1")
        with toolbox.recorded("Bash", {"command": "sort ids"}, justification=why) as use:
            assert found.brief == [("S1-001", "Bash", None)]
            use.result = ["a", "b"]
        with (
            pytest.raises(ZeroDivisionError),
            toolbox.recorded("Python", {"code": "1/0"}, justification=why),
        ):
            _ = 1 / 0
        with (
            pytest.raises(CallRefused, match="call_budget"),
            toolbox.recorded("Bash", {}, justification=why),
        ):
            pytest.fail("the block must not be entered")
    assert found.brief == [
        ("S1-001", "Bash", "array[2] of text"),
        ("S1-002", "Python", "error:ZeroDivisionError"),
        ("S1-003", "__budget_abort__", "not dispatched"),
    ]
    assert [line.is_mcp for line in found.lines] == [False] * 3
    assert found.lines[0].justification == why


def test_uses_without_justification_and_mcp_tools_are_not_recorded(tmp_path: Path) -> None:
    with guarded(tmp_path, reading()) as found:
        toolbox = found.toolbox("S1")
        with (
            pytest.raises(ValueError, match="needs a justification"),
            toolbox.recorded("Bash", justification=" "),
        ):
            pytest.fail("entered")
        with (
            pytest.raises(ValueError, match="is an MCP tool: call it"),
            toolbox.recorded("mcp__notes__get_note", justification="x"),
        ):
            pytest.fail("entered")
        with pytest.raises(ValueError, match="expected a tool such as mcp__server__tool"):
            toolbox.call_now("Bash")
    assert found.lines == ()


def test_the_evaluations_own_files_are_housekeeping(tmp_path: Path) -> None:
    folder = tmp_path / "mcp-evals" / "mcp-eval-x"
    (tmp_path / "elsewhere").mkdir()
    folder.mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    with guarded(folder, reading()) as found:
        toolbox = found.toolbox("S1")
        for tool, path in [
            ("Read", folder / "state.json"),
            ("Write", folder / "deep" / "notes.md"),
            ("Edit", Path(os.path.relpath(folder / "state.json"))),
        ]:
            with toolbox.recorded(tool, {"file_path": str(path)}, justification="own files"):
                pass
        assert found.lines == ()
        for tool, path in [
            ("Read", tmp_path / "elsewhere" / "x"),
            ("Read", folder / ".." / "other" / "x"),
            ("Write", folder / "link" / "x"),
            ("Bash", folder / "state.json"),
        ]:
            with toolbox.recorded(tool, {"file_path": str(path)}, justification="work"):
                pass
        assert len(found.lines) == 4
        assert found.counts[-1] == ("S1", 4)


def test_where_arguments_came_from_is_noted(tmp_path: Path) -> None:
    with guarded(tmp_path, {"notes": reading(), "other": reading("other")}) as found:
        toolbox = found.toolbox("S1")
        toolbox.call_now("mcp__notes__list_notes", {"limit": 2})
        toolbox.call_now("mcp__notes__get_note", {"id": "acme/notes#101"})
        toolbox.call_now("mcp__other__get_note", {"id": "101", "limit": 10, "title": "Note"})
    listed, same, cut = found.lines
    assert listed.argument_sources == ()
    assert [vars(source) for source in same.argument_sources] == [
        {"argument": "id", "entry_id": "S1-001", "how": "verbatim"}
    ]
    assert [(source.argument, source.how) for source in cut.argument_sources] == [("id", "reshaped")]


# Whatever an agent tries

WORDS = [*sorted(READING), *sorted(CHANGING), "note", "frob", "or"]
NAMES = [*sorted(TOOLS), *WORDS, *map("_".join, product(WORDS, repeat=2))]
VALUES = [
    "eval-playground",
    "playground",
    "eval",
    "eval-playground-production",
    "prod",
    "",
    "/etc",
    "-",
    "evil.txt",
    "sub/evil",
    " /etc/x",
    "../up",
]
KEYS = ["notebook", "text", "id", "items", "path", "destination"]
SCENARIOS = [f"S{number}" for number in range(1, 26)]
RESOURCE = "notebook: eval-playground"
EXAMPLES = 260
CALLS_OF_AN_EXAMPLE = 40
MOST_CALLS = 2


def made_up(random: Random) -> Any:
    """A value of an argument."""
    text = "".join(chr(random.randrange(32, 0x2FFF)) for _ in range(random.randrange(7)))
    return random.choice([*VALUES, text, random.randrange(6), None])


def made_up_arguments(random: Random) -> dict[str, Any]:
    """Arguments with values, lists of them, and mappings."""
    found: dict[str, Any] = {}
    for key in random.sample(KEYS, random.randrange(4)):
        values = [made_up(random) for _ in range(random.randrange(3))]
        found[key] = random.choice([values, dict(zip("ab", values, strict=False)), made_up(random)])
    return found


def calls_at_random(random: Random) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """What an agent may try: scenario, server, tool and arguments."""
    shapes = [arguments for _, arguments, _ in SHAPES]
    for _ in range(CALLS_OF_AN_EXAMPLE):
        arguments = random.choice(shapes) if random.random() < 0.5 else made_up_arguments(random)
        server = random.choice(["reader", "sandbox", "secret"])
        yield random.choice(SCENARIOS), server, random.choice(NAMES), arguments


@pytest.fixture(scope="module")
def three_servers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    scopes = {
        "reader": reading("reader"),
        "sandbox": sandboxed(RESOURCE, server="sandbox"),
        "secret": ServerScope("secret", "skip"),
    }
    with guarded(tmp_path_factory.mktemp("guard"), scopes) as found:
        yield found


IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where replacing a file costs nothing: thousands of them are."""


def test_no_call_reaches_what_it_must_not(three_servers: Guarded) -> None:
    tried: Counter[str] = Counter()
    random = Random(20261122)
    for _ in range(EXAMPLES):
        calls = list(calls_at_random(random))
        with tempfile.TemporaryDirectory(dir=IN_MEMORY) as name:
            found = _again(three_servers, Path(name))
            toolboxes = {scenario: found.toolbox(scenario) for scenario in SCENARIOS}
            for scenario, server, tool, arguments in calls:
                with suppress(CallRefused, CallError):
                    toolboxes[scenario].call_now(f"mcp__{server}__{tool}", arguments)
            lines = found.lines
        tried.update(calls=len(calls), blocked=sum(line.tool == "__blocked__" for line in lines))
        assert found.received("secret") == []
        for tool, _ in found.servers["reader"].received:
            words = tool.split("_")
            assert words[0] in READING
            assert not set(words) & CHANGING
        for tool, arguments in found.servers["sandbox"].received:
            words = tool.split("_")
            if words[0] not in READING or set(words) & CHANGING:
                tried["changed"] += 1
                texts = [text for _, text in texts_in(arguments)]
                assert any(text.strip() and text in RESOURCE for text in texts)
                # Told without the rule: what is written to is the resource, or below the notebook that is.
                places = [
                    arguments[key] for key in ("path", "destination") if isinstance(arguments.get(key), str)
                ]
                for place in places:
                    assert "notebook" in arguments or place in (RESOURCE, "eval-playground")
                    assert not place.strip().startswith(("/", ".."))
        tried["read"] += len(found.received("reader"))
        dispatched = [line for line in lines if line.tool not in SYNTHETIC_TOOLS]
        assert len(dispatched) == sum(len(server.received) for server in found.servers.values())
        assert len({line.id for line in lines}) == len(lines)
        assert max(call_count(lines, scenario) for scenario in SCENARIOS) <= MOST_CALLS

    assert tried["calls"] >= 10_000
    assert min(tried["blocked"], tried["read"], tried["changed"]) >= 50


def _again(found: Guarded, folder: Path) -> Guarded:
    """The same open servers behind a new guard."""
    for server in found.servers.values():
        server.received.clear()
    guard = Guard(
        found.guard._servers,
        found.guard._scopes.values(),
        Transcript(folder / "transcript.jsonl"),
        Budget(Clock()(), calls_per_scenario=MOST_CALLS),
        found.connections.get,
    )
    return Guarded(guard, found.servers, found.connections)


def test_threads_and_processes_take_turns_at_the_transcript(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    writers = [Transcript(path) for _ in range(4)]

    def write(transcript: Transcript) -> None:
        for _ in range(10):
            entry = transcript.append("S1", ts="t", tool="mcp__a__get", is_mcp=True)
            transcript.complete(entry.id, result_shape="text[1]")

    threads = [threading.Thread(target=write, args=(writer,)) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["id"] for line in lines] == [f"S1-{n:03d}" for n in range(1, 41)]
    assert all(line["result_shape"] == "text[1]" for line in lines)
