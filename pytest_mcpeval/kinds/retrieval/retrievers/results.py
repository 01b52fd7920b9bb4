"""What a search returned → hits: lists of Python functions, lines of commands, and JSON answers. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Real
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from pytest_mcpeval.core.fields import FileModel, Text
from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.servers.json_paths import PathText, nodes
from pytest_mcpeval.targets.base import MISSING, AnswerError, field_of, outline

MOST_HITS = 10_000
"""A search that returns more is broken; the limit stops endless generators."""

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_FIELD_PATH = re.compile(r"(?:\w[\w-]*(?:\.\w[\w-]*)*)?")
_EXPECTED = "expected a list of tool ids, or of (id, score) pairs"


@dataclass(frozen=True)
class Hit:
    """One tool found. ``score`` is shown to people; the order of hits is the ranking."""

    tool_id: str
    score: float | None = None


def hits_of(returned: Any) -> list[Hit]:
    """The hits in a list of ids, of ``(id, score)`` pairs, or of mappings with ``tool_id`` and ``score``.

    A score that is not a number becomes NaN, which the caller reports.

    Raises:
        AnswerError: It is not a list, an entry has no id that is a text, or there are more than `MOST_HITS`.
    """
    if isinstance(returned, (set, frozenset)):
        raise AnswerError("answer", f"returned a {_described(returned)}, which has no order: {_EXPECTED}")
    if isinstance(returned, (str, bytes, Mapping)) or not isinstance(returned, Iterable):
        raise AnswerError("answer", f"returned {_described(returned)}: {_EXPECTED}")
    entries = list(islice(returned, MOST_HITS + 1))
    if len(entries) > MOST_HITS:
        raise AnswerError("answer", f"returned more than {MOST_HITS:,} tools")
    return [_hit(rank, entry) for rank, entry in enumerate(entries, 1)]


def hits_of_line(answer: Any) -> list[Hit]:
    """The hits in a line that a program wrote: ``{"results": […]}`` or the bare list.

    Raises:
        AnswerError: There is no list in it, or it is not a ranked list.
    """
    if isinstance(answer, Mapping):
        if "results" not in answer:
            keys = ", ".join(map(shown, list(answer)[:8])) or "no keys"
            raise AnswerError("answer", f'expected a line with "results", found one with {keys}')
        answer = answer["results"]
    return hits_of(answer)


def _hit(rank: int, entry: Any) -> Hit:
    tool_id, score = entry, None
    if isinstance(entry, Hit):
        tool_id, score = entry.tool_id, entry.score
    elif isinstance(entry, Mapping):
        tool_id, score = entry.get("tool_id", MISSING), entry.get("score")
    elif isinstance(entry, Sequence) and not isinstance(entry, (str, bytes)) and len(entry) == 2:
        tool_id, score = entry
    if not isinstance(tool_id, str) or not tool_id:
        found = "a mapping without tool_id" if tool_id is MISSING else _described(tool_id)
        raise AnswerError("answer", f"entry {rank} of the list is {found}: {_EXPECTED}")
    return Hit(str(tool_id), number_of(score))


def number_of(score: Any) -> float | None:
    """Return a score as a float: None if there is none, NaN if it is not a number."""
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, Real):
        return math.nan
    try:
        return float(score)
    except OverflowError:
        return math.inf


def _described(value: Any) -> str:
    return (
        shown(value) if value is None or isinstance(value, (str, bool, int, float)) else type(value).__name__
    )


def template_problem(template: str) -> str | None:
    """Return the mistake in a template of a tool id, or None."""
    paths = _PLACEHOLDER.findall(template)
    rest = _PLACEHOLDER.sub("", template)
    if "{" in rest or "}" in rest:
        return f"{shown(template)} has a brace without its partner"
    if not paths:
        return f"{shown(template)} names no field, so every tool would have the same id: use {{name}}"
    wrong = next((path for path in paths if not _FIELD_PATH.fullmatch(path)), None)
    return None if wrong is None else f"{shown(template)}: {shown(wrong)} is not the name of a field"


def _valid_template(template: str) -> str:
    if problem := template_problem(template):
        raise ValueError(problem)
    return template


class AnswerModel(FileModel):
    """Where the tools are in a JSON answer."""

    result: PathText = Field(description="JSONPath of the list of tools found, such as $.tools")
    tool_id: Annotated[Text, AfterValidator(_valid_template)] | None = Field(
        default=None,
        description="template of a tool's id from the fields of its entry, such as {server}:{tool.name}; "
        "{} is for entries that are texts",
    )
    score: Text | None = Field(default=None, description="field of an entry that holds its score")
    separator: Text | None = Field(
        default=None,
        description="separator of server and tool in ids instead of the colon, such as __",
    )

    def hits(self, answer: Any, names: Mapping[str, str]) -> list[Hit]:
        """The hits in an answer, in its order. A list that is null is empty, as Go writes it.

        A path that ends in ``[*]`` means the same list. Without ``tool_id``, an entry is a text, or a mapping
        with that field. ``names`` maps ids as the target writes them (``git__log``) to those of the corpus;
        others stay.

        Raises:
            AnswerError: There is no list at the path, or an entry lacks what makes its id.
        """
        hits = []
        for place, entry in self._entries(answer):
            tool_id = self._id(place, entry)
            score = MISSING if self.score is None else field_of(entry, self.score)
            hits.append(Hit(names.get(tool_id, tool_id), None if score is MISSING else number_of(score)))
        return hits

    def _entries(self, answer: Any) -> Iterator[tuple[str, Any]]:
        path = self.result.removesuffix("[*]")
        found = nodes(path, answer)
        if not found:
            raise AnswerError("answer", f"the answer has nothing at {path}; it is {outline(answer)}")
        for place, entries in found:
            if not isinstance(entries, list) and entries is not None:
                raise AnswerError("answer", f"{place} in the answer is {outline(entries)}, expected a list")
            yield from ((f"{place}[{index}]", entry) for index, entry in enumerate(entries or ()))

    def _id(self, place: str, entry: Any) -> str:
        template = self.tool_id
        if template is None:
            template = "{tool_id}" if isinstance(entry, Mapping) else "{}"

        def value(match: re.Match[str]) -> str:
            found = field_of(entry, match[1])
            if isinstance(found, str) and found:
                return found
            what = match[1] or "the entry itself"
            problem = "is missing" if found is MISSING else f"is {outline(found)}"
            raise AnswerError("answer", f"{place} in the answer: {what} {problem}, expected a text")

        return _PLACEHOLDER.sub(value, template)
