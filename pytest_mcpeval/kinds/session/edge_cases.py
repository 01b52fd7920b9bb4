"""Scenarios derived from the tools of the attached servers: further pages, empty results, handoffs. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Literal

PAGE_PARAMETERS = frozenset({"limit", "cursor", "offset", "page", "per_page"})
SEARCH_WORDS = frozenset({"search", "list", "query"})

_GENERIC_NOUNS = (
    "all any args body by content count cursor data date description detail details entry field filter "
    "for format from id ids info input item items key kind limit link list metadata name names number "
    "object offset of option options order output page param params path per query result results size "
    "sort source state status string target text time title to tool type types uri url urls uuid value "
    "values version with"
)
GENERIC_NOUNS = frozenset(_GENERIC_NOUNS.split())
"""Words that do not identify a kind of thing: `id` and `url` are in every manifest."""

_VERBS = (
    "add apply archive cancel close copy count create delete describe diff edit execute exists export "
    "fetch find get head import insert inspect list lookup merge move open patch peek post publish push "
    "put query read remove rename replace reset resolve restore run save search send set show start "
    "status stop sync update upload write"
)
VERBS = frozenset(_VERBS.split())

_BORDER = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")


@dataclass(frozen=True)
class Manifest:
    """A tool, as its server lists it: its name, the names of its parameters, whether it changes nothing."""

    name: str
    parameters: tuple[str, ...] = ()
    reads: bool = True


@dataclass(frozen=True)
class Proposal:
    """A scenario for approval; ``note`` says from which signal it was derived."""

    description: str
    targets_mcps: tuple[str, ...] = ()
    note: str = ""
    source: Literal["user", "derived"] = "user"


def derive(
    tools: Mapping[str, Sequence[Manifest]],
    user_scenarios: Iterable[str],
    room: int,
    read_only: Collection[str] = (),
) -> list[Proposal]:
    """At most ``room`` scenarios that the tools can exercise.

    ``tools`` maps each server to its tools, without servers that are to be skipped. Of those that are
    ``read_only``, only tools that change nothing are proposed.
    """
    tools = {
        server: [tool for tool in manifests if tool.reads or server not in read_only]
        for server, manifests in tools.items()
    }
    descriptions = list(user_scenarios)
    found = [
        *(scenario for server, manifests in tools.items() for scenario in _paging(server, manifests)),
        *(scenario for server, manifests in tools.items() for scenario in _empty(server, manifests)),
        *_handoffs(tools, descriptions),
    ]
    return found[: max(0, room)]


def _paging(server: str, manifests: Iterable[Manifest]) -> Iterator[Proposal]:
    """One for each server: of its tools with pages, the first that changes nothing."""
    for tool in manifests:
        parameters = sorted(PAGE_PARAMETERS.intersection(tool.parameters))
        if parameters and tool.reads:
            description = f"Walk past the first page of `{tool.name}` on {server}, using {parameters[0]}."
            yield Proposal(description, (server,), source="derived")
            return


def _empty(server: str, manifests: Iterable[Manifest]) -> Iterator[Proposal]:
    """Yield searches for something that does not exist.

    Tools without parameters, or only with those of pages, are left out.
    """
    for tool in manifests:
        words = _words(tool.name)
        asks = bool(set(tool.parameters) - PAGE_PARAMETERS)
        if asks and len(words) > 1 and words[0] in SEARCH_WORDS and tool.reads:
            description = f"Ask `{tool.name}` on {server} for something that does not exist: zero results."
            yield Proposal(description, (server,), source="derived")
            return


def _handoffs(tools: Mapping[str, Sequence[Manifest]], descriptions: Sequence[str]) -> Iterator[Proposal]:
    for first, second in combinations(tools, 2):
        # Servers with nothing in common have nothing to hand over, even if a scenario names both.
        shared = sorted(_nouns_of_names(tools[first]) & _nouns_of_names(tools[second]))
        if not shared:
            continue
        named = _named_parameter(tools, first, second, shared)
        if named is not None:
            yield named
        elif any(_mentions(text, first) and _mentions(text, second) for text in descriptions):
            yield from _mentioned(tools, first, second, shared)


def _mentioned(
    tools: Mapping[str, Sequence[Manifest]], first: str, second: str, shared: Sequence[str]
) -> Iterator[Proposal]:
    """One server hands over to another that has a tool to take it: one on the thing, with a parameter."""
    for giver, taker in ((first, second), (second, first)):
        for noun in shared:
            if any(tool.parameters and noun in _nouns(tool.name) for tool in tools[taker]):
                note = "weak signal: your own scenarios name both servers"
                description = f"Hand the {noun} found on {giver} over to {taker}."
                yield Proposal(description, (giver, taker), note, "derived")
                return


def _named_parameter(
    tools: Mapping[str, Sequence[Manifest]], first: str, second: str, shared: Sequence[str]
) -> Proposal | None:
    """A tool of one server takes what the other's tool is named after, and says so in a parameter."""
    for giver, taker in permutations((first, second)):
        for noun in shared:
            source = next((tool for tool in tools[giver] if noun in _nouns(tool.name)), None)
            for tool in tools[taker]:
                parameter = next((name for name in tool.parameters if noun in _nouns(name)), None)
                if source is not None and parameter is not None:
                    description = (
                        f"Hand the {noun} from `{source.name}` on {giver} over to `{tool.name}` on {taker}."
                    )
                    note = f"weak signal: the parameter {parameter!r} of `{tool.name}` names a {noun}"
                    return Proposal(description, (giver, taker), note, "derived")
    return None


def _nouns_of_names(manifests: Iterable[Manifest]) -> set[str]:
    return {noun for tool in manifests for noun in _nouns(tool.name)}


def _nouns(name: str) -> set[str]:
    """The words of a name that mean a kind of thing, in the singular."""
    words = _words(name)
    return {
        singular
        for word in words
        if len(singular := _singular(word)) > 2 and not {word, singular} & GENERIC_NOUNS and word not in VERBS
    }


def _words(name: str) -> list[str]:
    return [word.lower() for word in _BORDER.split(name) if word]


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _mentions(text: str, server: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(server)}(?![\w-])", text, re.IGNORECASE) is not None
