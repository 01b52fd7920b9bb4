"""``observability.ui_introspection``: read logs from the agent's own page by declared selectors.
Only what the manifest says the page exposes is read. If something is not found, or only in part,
there is no log of it, and the assertions on it are inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.browser.artifacts import CaseFolder
from pytest_mcpeval.kinds.agent.evidence import RoutingDecision, ToolCall, write_rows, write_step_count
from pytest_mcpeval.kinds.agent.observability.genai import object_of
from pytest_mcpeval.kinds.agent.schema import EvidenceKind, UiField, UiIntrospection, UiSelectors
from pytest_mcpeval.kinds.agent.visible_text import SKIPPED
from pytest_mcpeval.loading.messages import counted, shown

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

SETTING = "observability.ui_introspection"
STOOD_BEFORE = "were on the page before the input"

Entry = dict[str, str | None]


class NotFoundError(Exception):
    """A page does not show what the manifest says it exposes; the text says what is missing."""


def extract(ui: UiIntrospection, folder: CaseFolder) -> tuple[str, ...]:
    """Write the canonical logs from the page with the answer; return remarks about missing ones.

    Entries that were on the page before the input are of earlier conversations, or examples: left out.

    Raises:
        OSError: A log cannot be written.
    """
    try:
        page = _page(folder.captured_dom("after_submit"))
        path = folder.captured_dom("landing")
        landing = _page(path) if path.is_file() else None
    except NotFoundError as error:
        return (str(error),)
    notes = []
    for kind in ui.exposes:
        try:
            entries, old = _entries(kind, ui, page, landing)
            notes += _WRITERS[kind](entries, folder)
            if old:
                left_out = counted(old, "entry", "entries")
                notes.append(f"{SETTING}.extract.{kind}: {left_out} {STOOD_BEFORE}: left out")
        except NotFoundError as error:
            notes.append(f"{SETTING}.extract.{kind}: {error}: no {kind} are taken from the page")
    return tuple(notes)


def _page(path: Path) -> BeautifulSoup:
    try:
        from bs4 import BeautifulSoup
    except ImportError:
        raise NotFoundError(
            f"{SETTING} needs the package beautifulsoup4: pip install 'pytest-mcpeval[browser]'"
        ) from None
    try:
        html = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise NotFoundError(f"{SETTING}: the captured page cannot be read: {error.strerror}") from None
    # Text in templates is text as any other: those that stay are open shadow roots.
    page = BeautifulSoup(html, "html.parser", string_containers={})
    for element in page.find_all(sorted(SKIPPED)):
        if element.decomposed:
            continue
        if element.name == "template" and element.has_attr("shadowrootmode"):
            # Selectors do not look into templates.
            element.unwrap()
        else:
            element.decompose()
    return page


def _entries(
    kind: EvidenceKind, ui: UiIntrospection, page: BeautifulSoup, landing: BeautifulSoup | None
) -> tuple[list[Entry], int]:
    """The new entries of a kind, in the order of the page, each with a ``span_id``; and how many are old."""
    places: UiSelectors | None = getattr(ui.extract, kind)
    if places is None:
        raise NotFoundError("the manifest has no selectors for it, and a description alone is not read")
    found = _read(page, places)
    if not found:
        raise NotFoundError(f"no element matches the selector {shown(places.entry)}")
    before = [] if landing is None else _read(landing, places)
    new = _since(before, found)
    if not new:
        raise NotFoundError(f"all {len(found)} entries {STOOD_BEFORE}")
    ids = [entry["span_id"] for entry in new]
    if len(set(ids)) < len(ids) or None in ids:
        new = [{**entry, "span_id": f"ui-step-{number:03}"} for number, entry in enumerate(new, start=1)]
    return new, len(found) - len(new)


def _read(page: BeautifulSoup, places: UiSelectors) -> list[Entry]:
    found = [(element, _fields(element, places)) for element in _selected(page, places.entry)]
    return [{**entry, "span_id": _span_id(element, entry)} for element, entry in found]


def _since(before: list[Entry], now: list[Entry]) -> list[Entry]:
    """The entries that were added to those before: below or above them, else anywhere."""
    count = len(before)
    if now[:count] == before:
        return now[count:]
    if now[-count:] == before:
        return now[:-count]
    left, new = list(before), list[Entry]()
    for entry in now:
        if entry in left:
            left.remove(entry)
        else:
            new.append(entry)
    return new


def _selected(element: Tag, selector: str) -> Sequence[Tag]:
    from soupsieve import SelectorSyntaxError

    try:
        return element.select(selector)
    except (SelectorSyntaxError, NotImplementedError):
        raise NotFoundError(f"{shown(selector)} is not a CSS selector") from None


def _fields(entry: Tag, places: UiSelectors) -> Entry:
    named = {name: place for name, place in places if name != "entry" and place is not None}
    return {name: _value(entry, place) for name, place in named.items()}


def _value(entry: Tag, place: str | UiField) -> str | None:
    selector, attribute = (place, None) if isinstance(place, str) else (place.selector, place.attribute)
    found = [entry] if selector is None else _selected(entry, selector)
    if not found:
        return None
    value: Any = found[0].get_text() if attribute is None else found[0].get(attribute)
    # Attributes such as class are lists.
    text = " ".join(value) if isinstance(value, list) else value
    return text.strip() or None if isinstance(text, str) else None


def _span_id(element: Tag, entry: Entry) -> str | None:
    own = element.get("id")
    return entry.get("span_id") or (own if isinstance(own, str) and own else None)


def _required(entries: Sequence[Entry], field: str) -> None:
    lacking = sum(not entry.get(field) for entry in entries)
    if lacking:
        raise NotFoundError(f"{field} is missing in {lacking} of {counted(len(entries), 'entry', 'entries')}")


def _write_tool_calls(entries: list[Entry], folder: CaseFolder) -> list[str]:
    _required(entries, "tool_name")
    rows = [
        ToolCall.model_validate({**entry, "arguments": object_of(entry.get("arguments"))})
        for entry in entries
    ]
    write_rows(folder.tool_calls, rows)
    unread = sum(
        bool(entry.get("arguments")) and row.arguments is None
        for entry, row in zip(entries, rows, strict=True)
    )
    if not unread:
        return []
    where = f"{SETTING}.extract.tool_calls.arguments"
    return [f"{where}: {unread} of {counted(len(rows), 'entry', 'entries')} contain no JSON object: left out"]


def _write_routing_decisions(entries: list[Entry], folder: CaseFolder) -> list[str]:
    _required(entries, "target_agent")
    write_rows(folder.routing_decisions, [RoutingDecision.model_validate(entry) for entry in entries])
    return []


def _write_step_count(entries: list[Entry], folder: CaseFolder) -> list[str]:
    write_step_count(folder, [str(entry["span_id"]) for entry in entries])
    return []


_WRITERS: dict[EvidenceKind, Callable[[list[Entry], CaseFolder], list[str]]] = {
    "tool_calls": _write_tool_calls,
    "routing_decisions": _write_routing_decisions,
    "step_count": _write_step_count,
}
