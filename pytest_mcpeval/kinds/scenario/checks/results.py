"""Checks of how many results a response lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from pytest_mcpeval.servers.response import Response

from .claims import MOST, Fact, opposite
from .json_values import PathText, Source, compile_path, json_at, nodes
from .parameters import Parameters, above, at_most
from .registry import check_type
from .verdict import JudgementError, Verdict, inconclusive, judged

RESULT_KEYS = ("results", "result", "items", "hits", "matches", "data", "tools", "documents", "entries")
RECOVERY = "name the list with path, such as path: $.results"


class MinResults(Parameters):
    count: Annotated[
        int,
        above(0, "every list would pass; say 1 or more"),
        at_most(MOST, "no list is that long, so none would pass; lower it"),
    ]
    path: PathText | None = None
    source: Source | None = None


class MaxResults(Parameters):
    count: Annotated[
        int, Field(ge=0), at_most(MOST, "no list is that long, so every one would pass; lower it")
    ]
    path: PathText | None = None
    source: Source | None = None


def _at_least(given: MinResults | MaxResults, count: int) -> Fact:
    return Fact(f"results at {given.path} in {given.source}", "at least", count)


@check_type("min_results", MinResults, claim=lambda given: _at_least(given, given.count))
def min_results(parameters: MinResults, response: Response) -> Verdict:
    """The response lists `count` results or more.

    Results are the members of the array at `path`, or the values it selects when it has wildcards. Without
    `path`: the JSON array itself, or the first array among `results`, `result`, `items`, `hits`, `matches`,
    `data`, `tools`, `documents` and `entries` of a JSON object. Inconclusive when there is no such array.
    """
    found = _count(parameters, response)
    if isinstance(found, Verdict):
        return found
    enough = found >= parameters.count
    return judged(enough, f"{found} results {'≥' if enough else '<'} {parameters.count}", {"results": found})


@check_type("max_results", MaxResults, claim=lambda given: opposite(_at_least(given, given.count + 1)))
def max_results(parameters: MaxResults, response: Response) -> Verdict:
    """The response lists `count` results or fewer; results are found as by `min_results`."""
    found = _count(parameters, response)
    if isinstance(found, Verdict):
        return found
    few = found <= parameters.count
    return judged(few, f"{found} results {'≤' if few else '>'} {parameters.count}", {"results": found})


def _count(parameters: MinResults | MaxResults, response: Response) -> int | Verdict:
    try:
        value = json_at(parameters.path or "$", response, parameters.source)
    except JudgementError as reason:
        return inconclusive(f"no results to count: {reason}", RECOVERY)
    members = _members(parameters.path, value)
    if members is None:
        place = f"no array at {parameters.path}" if parameters.path else "no known list in the JSON"
        return inconclusive(f"no results to count: {place}", RECOVERY)
    return len(members)


def _members(path: str | None, value: Any) -> list[Any] | None:
    if path is not None:
        selected = [found for _, found in nodes(path, value)]
        if not compile_path(path).singular_query():
            return selected
        return selected[0] if selected and isinstance(selected[0], list) else None
    if isinstance(value, list):
        return value
    if not isinstance(value, Mapping):
        return None
    return next((value[key] for key in RESULT_KEYS if isinstance(value.get(key), list)), None)
