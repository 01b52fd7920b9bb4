"""One pytest item for a case of a data file, or for a batch of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval.core.case import Batch, Case, CaseMarks, Xfail
from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.core.repeating import combined
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.core.suite import Suite
from pytest_mcpeval.loading import DataFileError
from pytest_mcpeval.plugin.runtime import Runtime
from pytest_mcpeval.reports.outcomes import batch_message, lines_on_runs, not_passed, word_of
from pytest_mcpeval.servers.errors import ServerConfigError, ServerStartError

ACTING_MARKERS = frozenset(
    {
        "anyio",
        "asyncio",
        "benchmark",
        "dependency",
        "django_db",
        "filterwarnings",
        "flaky",
        "mcpeval_assert",
        "mcpeval_case",
        "mcpeval_checks",
        "mcpeval_server",
        "order",
        "parametrize",
        "repeat",
        "run",
        "skip",
        "skipif",
        "timeout",
        "tryfirst",
        "trylast",
        "usefixtures",
        "xdist_group",
        "xfail",
    }
)
"""Markers that make pytest or a plugin act: a trait of that name is not turned into a marker."""

WORDS_OF_EXPRESSIONS = frozenset({"and", "or", "not", "None", "True", "False"})
"""Words that ``-m`` does not read as markers."""

NO_TRAIT_MARKERS = ACTING_MARKERS | WORDS_OF_EXPRESSIONS

NOT_IN_MARKERS = re.compile(r"[^\w+.\[\]\\/-]+")
"""What neither ``-m`` nor the registration of a marker can express; a hyphen stands for it."""

samples_key = pytest.StashKey[list[Sample]]()


class CaseFailed(Exception):  # noqa: N818 (a verdict, not an incident)
    """A case, or one of a batch, whose target answered wrongly; the text is shown to users."""


NOT_READY = (ServerStartError, ServerConfigError, TargetError)
"""What is evaluated could not be made ready, or is not there any more: shown in words, without traceback."""


class SetAsideByTargetError(Exception):
    """The target raised an outcome of pytest, such as a skip, which only a mark may cause."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"raised {name} while it was asked: {reason}")


CURRENT_TEST = "PYTEST_CURRENT_TEST"
HIDDEN_TEST = "hidden from what is evaluated"


class CaseItem(pytest.Function):
    """One case of a data file, or several: ``batch: N``."""

    suite: Suite[Any]
    cases: tuple[Case[Any], ...]
    runtime: Runtime

    @classmethod
    def of(cls, parent: pytest.Module, runtime: Runtime, suite: Suite[Any], batch: Batch[Any]) -> CaseItem:
        """The item of a batch, with the markers of its cases."""
        first = batch.cases[0]
        marks = [_trait_mark(parent.config, name) for name in _marker_names(batch.cases)]
        item: CaseItem = cls.from_parent(
            parent,
            name=batch.name,
            callobj=_function_taking(first.fixtures),
            keywords={mark.name: mark for mark in marks},
        )
        item.own_markers.extend(marks)
        if len(batch.cases) > 1:
            # For `-k`, which then runs the whole batch.
            item.extra_keyword_matches.update(batch.ids)
        item.suite, item.cases, item.runtime = suite, batch.cases, runtime
        for marker in markers_of(first.marks, os.environ):
            item.add_marker(marker)
        return item

    def _hide(self) -> None:
        """Hide from targets in this process which case is running."""
        # Overwritten, not removed: pytest sets it again in each phase, and fails if it is missing.
        if self.runtime.kinds[self.suite.kind].hides_items and CURRENT_TEST in os.environ:
            os.environ[CURRENT_TEST] = HIDDEN_TEST

    def prepare(self) -> None:
        """Make the target ready, after the fixtures: one that cannot be reached is an error, not a failure.

        Not in `setup`: a fixture that fails would then be shown with the inside of pytest around it.
        """
        self._hide()
        kind = self.runtime.kinds[self.suite.kind]
        self.runtime.fixtures = {name: self.funcargs[name] for name in self.cases[0].fixtures}
        for case in self.cases:
            kind.prepare(self.suite, case, self.runtime)

    def run_case(self) -> None:
        """Ask, judge, and raise when a case failed."""
        self._hide()
        kind = self.runtime.kinds[self.suite.kind]
        # Kept case by case: what ends the item early leaves the samples of those before.
        samples: list[Sample] = []
        self.stash[samples_key] = samples
        for case in self.cases:
            try:
                answers = self.runtime.prefetch.answers(self.suite, case)
                samples.append(combined([kind.judge(self.suite, case, one, self.runtime) for one in answers]))
            except (pytest.skip.Exception, pytest.xfail.Exception) as error:
                # A target must not skip its own evaluation.
                raise SetAsideByTargetError(type(error).__name__, str(error)) from error
        wrong = not_passed(samples)
        if wrong:
            # A tolerated case raises too, so that an xfail mark applies first.
            raise CaseFailed(self._explained(wrong))
        if all(sample.outcome == "skipped" for sample in samples):
            pytest.skip("; ".join(dict.fromkeys(sample.message for sample in samples)))

    def _explained(self, wrong: Sequence[Sample]) -> str:
        """Return the report text; for a batch, the cases that did not pass, then each of them."""
        kind = self.runtime.kinds[self.suite.kind]
        cases = {case.id: case for case in self.cases}
        texts = [
            (sample, "\n".join([kind.explain(self.suite, cases[sample.id], sample), *lines_on_runs(sample)]))
            for sample in wrong
        ]
        if len(cases) == 1:
            return texts[0][1]
        parts = [f"── {sample.id} ({word_of(sample)})\n{text}" for sample, text in texts]
        samples = self.stash[samples_key]
        return "\n\n".join([batch_message(samples), *parts])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What a person sees: words and data for our own failures, a traceback for everything else."""
        if isinstance(excinfo.value, DataFileError):
            return self.runtime.described(excinfo.value)
        if isinstance(excinfo.value, (CaseFailed, *NOT_READY)):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """File, zero-based line and name, for headings."""
        return self.path, self.cases[0].line - 1, self.name


@cache
def _function_taking(fixtures: tuple[str, ...]) -> Callable[..., None]:
    """A function with these fixtures as parameters, for pytest; items that need the same ones share it."""

    def case(**_fixture_values: object) -> None:
        raise AssertionError("an item runs its case itself: see CaseItem.run_case")

    parameters = [Parameter(name, Parameter.KEYWORD_ONLY) for name in dict.fromkeys(fixtures)]
    case.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return case


def _marker_names(cases: Iterable[Case[Any]]) -> list[str]:
    names: dict[str, None] = {}
    for value in (value for case in cases for value in case.traits.values()):
        for trait in value if isinstance(value, (tuple, list)) else (value,):
            names[_marker_name(trait)] = None
    return [name for name in names if name]


@cache
def _marker_name(trait: str) -> str:
    """The marker that a trait becomes; empty for none. Of many cases, few traits differ."""
    name = NOT_IN_MARKERS.sub("-", trait).strip("-").lstrip("_")
    return "" if name in NO_TRAIT_MARKERS else name


@cache
def _trait_mark(config: pytest.Config, name: str) -> pytest.Mark:
    config.addinivalue_line("markers", f"{name}: cases with this tag, tool, project or difficulty")
    decorator: pytest.MarkDecorator = getattr(pytest.mark, name)
    return decorator.mark


def markers_of(marks: CaseMarks, environ: Mapping[str, str]) -> list[pytest.MarkDecorator]:
    """The pytest markers that ``marks:`` of a case stand for."""
    found = []
    if marks.skip is not None:
        found.append(pytest.mark.skip(reason=marks.skip))
    for condition in marks.conditions:
        holds = bool(environ.get(condition.name)) == (condition.when == "set")
        found.append(pytest.mark.skipif(holds, reason=condition.reason))
    if marks.xfail is not None:
        xfail = Xfail(reason=marks.xfail) if isinstance(marks.xfail, str) else marks.xfail
        found.append(pytest.mark.xfail(reason=xfail.reason, strict=xfail.strict))
    return found
