"""Evidence that the agent's own page shows, read by declared selectors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.kinds.agent import evidence
from pytest_mcpeval.kinds.agent.evidence import RoutingDecision, ToolCall
from pytest_mcpeval.kinds.agent.observability.introspection import extract
from pytest_mcpeval.kinds.agent.schema import (
    EvidenceKind,
    Extract,
    RoutingPlaces,
    ToolCallPlaces,
    UiField,
    UiIntrospection,
    UiSelectors,
)

PAGE = """
<html><head><script>"<li class='call'><b>scripted</b></li>"</script></head><body>
<template><li class="call"><b>pattern</b></li></template>
<!-- <li class="call"><b>comment</b></li> -->
<my-panel><template shadowrootmode="open">
  <li class="call" id="a"><b> search </b><pre>{"query": "Ada  L", "limit": 2}</pre>
  <i>1 found</i><time>08:00</time></li>
</template></my-panel>
<mcpeval-frame src="inner"><li class="call" id="b"><b>get&amp;go</b><pre>{"id": </pre></li></mcpeval-frame>
<p class="route" data-to="org chart" data-from="concierge">it is about managers</p>
<p class="route" data-to="directory"></p>
</body></html>
"""

CALLS = ToolCallPlaces(
    entry=".call",
    tool_name="b",
    arguments=UiField(selector="pre"),
    result="i",
    timestamp="time",
)
ROUTES = RoutingPlaces(
    entry=".route",
    target_agent=UiField(attribute="data-to"),
    from_agent=UiField(attribute="data-from"),
).model_copy(update={"reason": UiField.model_construct()})
STEPS = UiSelectors(entry=".call, .route")
ALL: tuple[EvidenceKind, ...] = ("tool_calls", "routing_decisions", "step_count")


@pytest.fixture
def folder(tmp_path: Path) -> CaseFolder:
    made = CaseFolder(tmp_path / "agent" / "run" / "case")
    made.create()
    made.after_submit_dom.write_text(PAGE, encoding="utf-8")
    return made


def ui(extracted: Mapping[EvidenceKind, UiSelectors], exposes: tuple[EvidenceKind, ...] = ALL) -> Any:
    return UiIntrospection(
        description="the panel", exposes=list(exposes), extract=Extract.model_validate(extracted)
    )


def written(folder: CaseFolder) -> set[str]:
    return {path.name for path in folder.observability.iterdir()}


def test_entries_become_logs(folder: CaseFolder) -> None:
    notes = extract(ui({"tool_calls": CALLS, "routing_decisions": ROUTES, "step_count": STEPS}), folder)
    assert evidence.read_tool_calls(folder) == [
        ToolCall(
            tool_name="search",
            span_id="a",
            arguments={"query": "Ada  L", "limit": 2},
            result="1 found",
            timestamp="08:00",
        ),
        ToolCall(tool_name="get&go", span_id="b"),
    ]
    assert evidence.read_routing_decisions(folder) == [
        RoutingDecision(
            target_agent="org chart",
            from_agent="concierge",
            reason="it is about managers",
            span_id="ui-step-001",
        ),
        RoutingDecision(target_agent="directory", span_id="ui-step-002"),
    ]
    steps = evidence.read_step_count(folder)
    assert steps is not None
    assert steps.total_steps == 4
    assert evidence.read_generations(folder) is None
    assert notes == (
        "observability.ui_introspection.extract.tool_calls.arguments: 1 of 2 entries contain no JSON object: "
        "left out",
    )


def test_declared_ids_are_taken_if_they_tell_entries_apart(folder: CaseFolder) -> None:
    target = UiField(attribute="data-to")
    apart = RoutingPlaces(entry=".route", target_agent=target, span_id=target)
    extract(ui({"routing_decisions": apart}, ("routing_decisions",)), folder)
    found = evidence.read_routing_decisions(folder) or ()
    assert [route.span_id for route in found] == ["org chart", "directory"]
    alike = RoutingPlaces(entry=".route", target_agent=target, span_id=UiField(attribute="class"))
    extract(ui({"routing_decisions": alike}, ("routing_decisions",)), folder)
    found = evidence.read_routing_decisions(folder) or ()
    assert [route.span_id for route in found] == ["ui-step-001", "ui-step-002"]


def test_arguments_with_a_number_too_large_are_left_out(folder: CaseFolder) -> None:
    listed = "".join(
        f"<li class=call id={name}><b>search</b><pre>{{{json.dumps('limit')}: {number}}}</pre></li>"
        for name, number in (("a", "1e999"), ("b", "NaN"), ("c", "1e9"))
    )
    folder.after_submit_dom.write_text(listed, encoding="utf-8")
    (note,) = extract(ui({"tool_calls": CALLS}, ("tool_calls",)), folder)
    assert note.endswith("arguments: 2 of 3 entries contain no JSON object: left out")
    found = evidence.read_tool_calls(folder) or ()
    assert [call.arguments for call in found] == [None, None, {"limit": 1e9}]


def test_only_what_is_exposed_is_read(folder: CaseFolder) -> None:
    assert extract(ui({"step_count": STEPS}, ("step_count",)), folder) == ()
    assert written(folder) == {"step_count.json"}
    with pytest.raises(ValidationError, match='add "tool_calls" there'):
        ui({"tool_calls": CALLS, "step_count": STEPS}, ("step_count",))


@pytest.mark.parametrize(
    ("selectors", "words"),
    [
        (None, "the manifest has no selectors for it, and a description alone is not read"),
        (CALLS.model_copy(update={"entry": ".nothing"}), 'no element matches the selector ".nothing"'),
        (CALLS.model_copy(update={"entry": "li["}), '"li[" is not a CSS selector'),
        (CALLS.model_copy(update={"tool_name": "b["}), '"b[" is not a CSS selector'),
        (ToolCallPlaces(entry=".call", tool_name="i"), "tool_name is missing in 1 of 2 entries"),
    ],
)
def test_what_is_not_found_is_told_and_leaves_no_log(
    folder: CaseFolder, selectors: UiSelectors | None, words: str
) -> None:
    extracted = {} if selectors is None else {"tool_calls": selectors}
    notes = extract(ui(extracted, ("tool_calls",)), folder)  # type: ignore[arg-type]
    where = "observability.ui_introspection.extract.tool_calls"
    assert notes == (f"{where}: {words}: no tool_calls are taken from the page",)
    assert written(folder) == set()


@pytest.mark.parametrize(
    ("before", "after", "new"),
    [
        ("a b", "a b c", "c"),
        ("a b", "c a b", "c"),
        ("a", "a a", "a"),
        ("a", "b a c", "b c"),
        ("a b", "b", ""),
        ("a", "b", "b"),
        ("a b", "a b", ""),
    ],
)
def test_entries_that_stood_on_the_page_before_the_input_are_left_out(
    folder: CaseFolder, before: str, after: str, new: str
) -> None:
    def page(names: str) -> str:
        return "".join(f"<li class=call><b>{name}</b></li>" for name in names.split())

    folder.landing_dom.write_text(page(before), encoding="utf-8")
    folder.after_submit_dom.write_text(page(after), encoding="utf-8")
    notes = extract(ui({"tool_calls": CALLS, "step_count": STEPS}, ("tool_calls", "step_count")), folder)
    found = evidence.read_tool_calls(folder)
    old = len(after.split()) - len(new.split())
    if not new:
        assert found is None
        assert f"all {old} entries were on the page before the input: no tool_calls are taken" in notes[0]
        return
    assert [call.tool_name for call in found or ()] == new.split()
    steps = evidence.read_step_count(folder)
    # Steps have nothing to tell them apart.
    assert (0 if steps is None else steps.total_steps) == len(after.split()) - len(before.split())
    told = [note for note in notes if "tool_calls" in note and "the input: left out" in note]
    assert len(told) == (old > 0)


def test_a_page_that_was_not_captured(folder: CaseFolder) -> None:
    folder.after_submit_dom.unlink()
    (note,) = extract(ui({"tool_calls": CALLS}), folder)
    assert "the captured page cannot be read: No such file" in note
