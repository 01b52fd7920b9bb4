"""The assertion on the captured page."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_mcpeval.kinds.agent.assertions.verdicts import Judged, failed, inconclusive, passed
from pytest_mcpeval.kinds.agent.captured import Captured
from pytest_mcpeval.kinds.agent.outcomes import AssertionOutcome, Evidence, Reason
from pytest_mcpeval.kinds.agent.spec import AgentCase
from pytest_mcpeval.kinds.agent.visible_text import normalized
from pytest_mcpeval.loading.wording import shown

SURROUNDING = 40
SHOWN_TEXT = 600


def final_response_contains(case: AgentCase, captured: Captured) -> Iterator[AssertionOutcome]:
    """The visible text of the page with the answer holds the text, blanks aside."""
    wanted = case.assertions.final_response_contains
    if wanted is None:
        return
    judged = Judged("final_response_contains", None, wanted)
    text = captured.response_text
    if isinstance(text, Reason):
        yield inconclusive(judged, text)
        return
    path = captured.folder.relative(captured.folder.after_submit_dom)
    place = text.find(normalized(wanted))
    if place < 0:
        message = f"the page does not show {shown(wanted)}"
        evidence = Evidence(path, f"visible text, all {len(text):,} characters")
        yield failed(judged, message, _end_of(text), evidence)
        return
    end = place + len(normalized(wanted))
    around = text[max(0, place - SURROUNDING) : end + SURROUNDING]
    detail = f"visible text, characters {place + 1}–{end}: {around}"
    yield passed(judged, f"the page shows {shown(wanted)}{_echo(wanted, case)}", Evidence(path, detail))


def _echo(wanted: str, case: AgentCase) -> str:
    """A page repeats what was typed: a text that stands in the input says little."""
    is_echo = normalized(wanted) in normalized(case.input)
    return "; beware, it is also part of the input, which chat pages repeat" if is_echo else ""


def _end_of(text: str) -> str:
    return text if len(text) <= SHOWN_TEXT else f"…{text[-SHOWN_TEXT:]}"
