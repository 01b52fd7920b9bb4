"""What a manifest must agree on with itself, beyond the shape of its parts.

Works on data that may not have the right shape: all problems of a file are reported at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_mcpeval.kinds.agent.schema import ASSERTION_KINDS
from pytest_mcpeval.loading import Document, Problem
from pytest_mcpeval.loading.messages import shown, suggestion
from pytest_mcpeval.loading.schema import dotted

Key = str | int
Reference = tuple[tuple[Key, ...], str]
"""Where in a case a name stands, and the name."""

BACKENDS = ("langfuse", "otel", "phoenix")


def cross_validation_problems(document: Document) -> list[Problem]:
    """Every contradiction inside a manifest."""
    data = document.data
    found: list[tuple[tuple[Key, ...], str]] = [
        *_catalogue_problems(data),
        *_observability_problems(_mapping(data.get("observability"))),
        *_duplicate_ids(_list(data.get("cases"))),
    ]
    for index, case in enumerate(_list(data.get("cases"))):
        for at, message in _case_problems(_mapping(_mapping(case).get("assertions")), case, data):
            found.append((("cases", index, "assertions", *at), message))
    return [document.problem(*at, message=f"{dotted(at)}: {message}") for at, message in found]


def differences(document: Document) -> Iterator[str]:
    """One sentence on what is read otherwise than it may be meant, and what to do; none where nothing is."""
    data = document.data
    found = [
        f"{catalogue} is empty, so names in assertions are not compared with it: list them, or remove it"
        for catalogue in ("tools_catalog", "agents_catalog")
        if _entries(data, catalogue) == []
    ]
    for index, case in enumerate(_list(data.get("cases"))):
        for kind in ("must_call", "must_not_call"):
            names = _list(_mapping(_mapping(case).get("assertions")).get(kind))
            for name in dict.fromkeys(names):
                if names.count(name) > 1:
                    number = ", or use must_call_exactly for a number of calls" if kind == "must_call" else ""
                    place = dotted(("cases", index, "assertions", kind))
                    line = document.line("cases", index, "assertions", kind)
                    found.append(
                        f"{place} (line {line}) lists {shown(name)} more than once, which counts once: "
                        f"remove the others{number}"
                    )
    if found:
        yield "; ".join(found)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _catalogue_problems(data: Mapping[str, Any]) -> Iterator[Reference]:
    for catalogue in ("tools_catalog", "agents_catalog"):
        seen: set[str] = set()
        for index, name in enumerate(_entries(data, catalogue) or ()):
            if not isinstance(name, str):
                continue
            if name in seen:
                yield (catalogue, index), f"{shown(name)} is listed twice: remove one"
            seen.add(name)


def _names(data: Mapping[str, Any], catalogue: str) -> list[str] | None:
    """The names in a catalogue; None where none is declared, which an empty one says as well."""
    entries = _entries(data, catalogue)
    return None if not entries else [entry for entry in entries if isinstance(entry, str)]


def _entries(data: Mapping[str, Any], catalogue: str) -> list[Any] | None:
    """The entries of a catalogue, each as its name; what has none may be anything."""
    if not isinstance(data.get(catalogue), list):
        return None
    return [entry.get("name") if isinstance(entry, Mapping) else entry for entry in data[catalogue]]


def _observability_problems(section: Mapping[str, Any]) -> Iterator[Reference]:
    declared = [name for name in BACKENDS if section.get(name) is not None]
    if len(declared) > 1:
        words = " and ".join(declared)
        message = f"{words} are both declared, and both would write the same logs: remove one"
        yield ("observability", declared[1]), message
    yield from _introspection_problems(_mapping(section.get("ui_introspection")))


def _introspection_problems(section: Mapping[str, Any]) -> Iterator[Reference]:
    at = ("observability", "ui_introspection")
    exposes = _list(section.get("exposes"))
    for index, name in enumerate(exposes):
        if name in exposes[:index]:
            yield (*at, "exposes", index), f"{shown(name)} is listed twice: remove one"
    for name in _mapping(section.get("extract")):
        if name not in exposes:
            yield (*at, "extract", name), f"is not among what the page `exposes`: add {shown(name)} there"


def _duplicate_ids(cases: Sequence[Any]) -> Iterator[Reference]:
    seen: dict[str, int] = {}
    for index, case in enumerate(cases):
        name = _mapping(case).get("id")
        if not isinstance(name, str):
            continue
        # Folders are named after cases, and some file systems do not tell upper from lower case.
        first = seen.setdefault(name.lower(), index)
        if first != index:
            message = f"duplicate id {shown(name)}: cases[{first}] has it; ids name folders, in any case"
            yield ("cases", index, "id"), message


def _case_problems(assertions: Mapping[str, Any], case: Any, data: Mapping[str, Any]) -> Iterator[Reference]:
    if "assertions" not in _mapping(case) or not isinstance(case["assertions"], Mapping):
        return
    if not any(assertions.get(kind) not in (None, [], {}) for kind in ASSERTION_KINDS):
        # Another key than the known ones is told of by the schema.
        if all(kind in ASSERTION_KINDS for kind in assertions):
            kinds = ", ".join(ASSERTION_KINDS)
            yield (), f"nothing is asserted, so the case could never fail: give at least one of {kinds}"
        return
    yield from assertion_problems(assertions)
    yield from _unknown(_tools(assertions), _names(data, "tools_catalog"), "tools_catalog")
    yield from _unknown(_agents(assertions), _names(data, "agents_catalog"), "agents_catalog")


def assertion_problems(assertions: Mapping[str, Any]) -> Iterator[Reference]:
    """What assertions on one case contradict each other in."""
    forbidden = [name for name in _list(assertions.get("must_not_call")) if isinstance(name, str)]
    for at, tool in _tools(assertions):
        if tool in forbidden and at[0] != "must_not_call":
            yield at, f"{shown(tool)} is also in must_not_call, and both cannot hold: remove one"


def _tools(assertions: Mapping[str, Any]) -> Iterator[Reference]:
    """Every tool an assertion names."""
    for kind in ("must_call", "must_not_call", "must_call_in_order"):
        for index, name in enumerate(_list(assertions.get(kind))):
            if isinstance(name, str):
                yield (kind, index), name
    for name in _mapping(assertions.get("must_call_exactly")):
        yield ("must_call_exactly", name), name
    for index, call in enumerate(_list(assertions.get("must_call_with_args"))):
        name = _mapping(call).get("tool_name")
        if isinstance(name, str):
            yield ("must_call_with_args", index, "tool_name"), name


def _agents(assertions: Mapping[str, Any]) -> Iterator[Reference]:
    name = assertions.get("must_route_to")
    if isinstance(name, str):
        yield ("must_route_to",), name


def _unknown(references: Iterator[Reference], known: list[str] | None, catalogue: str) -> Iterator[Reference]:
    if known is None:
        return
    for at, name in references:
        if name not in known:
            yield at, f"{shown(name)} is not in {catalogue}{suggestion(name, known)}"
