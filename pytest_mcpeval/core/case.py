"""Cases (the rows of data files), their ids, and batches of cases."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import StringConstraints

from pytest_mcpeval.core.fields import CASE_ID_PATTERN, LONGEST_ID, FileModel, Text
from pytest_mcpeval.loading import Document, Problem
from pytest_mcpeval.loading.messages import shown

SpecT = TypeVar("SpecT")


class SkipIfEnv(FileModel):
    """Skip when an environment variable is set, or with ``when: unset`` when it is not."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    reason: Text
    when: Literal["set", "unset"] = "set"


class Xfail(FileModel):
    """Expect the case to fail; ``strict`` (the default) fails it when it passes."""

    reason: Text
    strict: bool = True


class CaseMarks(FileModel):
    """``marks:`` of a case or suite; every reason is a sentence for people."""

    skip: Text | None = None
    xfail: Xfail | Text | None = None
    skipif_env: SkipIfEnv | list[SkipIfEnv] | None = None

    @property
    def conditions(self) -> list[SkipIfEnv]:
        """``skipif_env`` as a list."""
        found = self.skipif_env or []
        return found if isinstance(found, list) else [found]

    def within(self, suite: CaseMarks) -> CaseMarks:
        """Return the marks of a case combined with those of its suite; the case's reasons override."""
        if not suite.model_fields_set:
            return self
        return CaseMarks(
            skip=self.skip or suite.skip,
            xfail=self.xfail or suite.xfail,
            skipif_env=[*suite.conditions, *self.conditions] or None,
        )


@dataclass(frozen=True)
class Case(Generic[SpecT]):
    """One row of a data file: one pytest item, or with ``batch: N`` a part of one.

    ``keys`` is the path of the row in the document, ``traits`` the groups it belongs to in tables and ``-m``
    expressions. ``make_spec`` makes what its kind needs to run it, when it is first needed: a process that
    collects many cases may run few of them.
    """

    id: str
    line: int
    keys: tuple[str | int, ...]
    make_spec: Callable[[], SpecT]
    traits: Mapping[str, Any] = field(default_factory=dict)
    marks: CaseMarks = field(default_factory=CaseMarks)
    fixtures: tuple[str, ...] = ()
    may_prefetch: bool = False

    @classmethod
    def of_row(
        cls, document: Document, keys: tuple[str | int, ...], name: str, spec: SpecT, **fields: Any
    ) -> Case[SpecT]:
        """The case in the row at a path of keys; ``fields`` are further ones, such as ``traits``."""
        return cls(name, document.line(*keys), keys, lambda: spec, **fields)

    @cached_property
    def spec(self) -> SpecT:
        """What its kind needs to run the case."""
        return self.make_spec()


def id_problems(document: Document, rows: Iterable[tuple[str, tuple[str | int, ...]]]) -> Iterator[Problem]:
    """Yield problems of the ids of rows, which are given with their paths in the document.

    An id is part of node ids, options and names of files, and answers are kept under it: it has no other
    characters than `CASE_ID_PATTERN` allows, and no other case has it.
    """
    first: dict[str, tuple[str | int, ...]] = {}
    for name, keys in rows:
        if not isinstance(name, str) or not re.fullmatch(CASE_ID_PATTERN, name):
            message = f"the id {shown(name)} is not allowed: expected a text that matches {CASE_ID_PATTERN}"
            yield document.problem(*keys, "id", message=message)
        elif name in first:
            line = document.line(*first[name])
            message = f"duplicate id {name!r}: first used on line {line}; rename one"
            yield document.problem(*keys, "id", message=message)
        else:
            first[name] = keys


@dataclass(frozen=True)
class Batch(Generic[SpecT]):
    """The cases that one item holds. ``name`` is that of the item."""

    name: str
    cases: tuple[Case[SpecT], ...]

    @property
    def ids(self) -> list[str]:
        """The ids of the cases."""
        return [case.id for case in self.cases]


def batches(cases: Sequence[Case[SpecT]], size: int) -> Iterator[Batch[SpecT]]:
    """Yield batches of up to ``size`` neighbouring cases; a case with its own marks is a batch of one.

    A batch of one has the id of its case for a name, a larger one ``<first>-to-<last>``: unlike any other
    name, and no longer than an id may be. (Dots between them pytest would show as colons.)
    """
    taken = {case.id for case in cases}
    for group in _groups(cases, size):
        name = group[0].id
        if len(group) > 1:
            name = _batch_name(name, group[-1].id, taken)
            taken.add(name)
        yield Batch(name, tuple(group))


def _groups(cases: Sequence[Case[SpecT]], size: int) -> Iterator[list[Case[SpecT]]]:
    group: list[Case[SpecT]] = []
    for case in cases:
        alone = group and not (
            group[-1].marks == case.marks == CaseMarks() and group[-1].fixtures == case.fixtures
        )
        if alone or len(group) == size:
            yield group
            group = []
        group.append(case)
    if group:
        yield group


def _batch_name(first: str, last: str, taken: Collection[str]) -> str:
    name = f"{first}-to-{last}"
    if len(name) > LONGEST_ID:
        name = f"{first[:33]}-to-{last[-33:]}"
    number = 2
    chosen = name
    while chosen in taken:
        chosen, number = f"{name[:70]}-{number}", number + 1
    return chosen
