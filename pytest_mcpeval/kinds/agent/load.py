"""Document → manifest: every problem of the file, or the agent and its cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.fields import vacuous
from pytest_mcpeval.core.suite import Place, Suite
from pytest_mcpeval.kinds.agent.options import RunOptions
from pytest_mcpeval.kinds.agent.schema import API_VERSION, API_VERSIONS, AgentCase, Manifest
from pytest_mcpeval.kinds.agent.settings import AgentSettings
from pytest_mcpeval.kinds.loader import SuiteLoader
from pytest_mcpeval.loading import DataFileError, Document, Problem, load
from pytest_mcpeval.loading.messages import choice, shown, suggestion
from pytest_mcpeval.loading.schema import dotted, validate


@dataclass(frozen=True)
class AgentSuite(Suite[AgentCase]):
    """A manifest as a suite, with what the command line says."""

    manifest: Manifest = field(kw_only=True)
    options: RunOptions = field(kw_only=True)


def load_suite(document: Document, place: Place) -> AgentSuite:
    """The manifest in a document as a suite.

    Raises:
        DataFileError: With every problem of the file.
    """
    return _Loader(document, place, manifest_of(document), AgentSettings, "cases").suite()


class _Loader(SuiteLoader[Manifest, AgentSettings]):
    """Turns a manifest into a suite, gathering what it and its settings do not agree on."""

    def suite(self) -> AgentSuite:
        options = self.place.options or RunOptions()
        # What was captured can be scored where the agent does not run.
        fixtures = () if options.mode == "score_only" else tuple(fixtures_of(self.settings))
        self._check_gates()
        with self.all_problems():
            return AgentSuite(
                key=self.place.key,
                kind="agent",
                document=self.document,
                cases=tuple(
                    Case(
                        id=case.id,
                        line=self.document.line("cases", index),
                        keys=("cases", index),
                        make_spec=lambda case=case: case,  # type: ignore[misc]
                        traits={"agent": self.model.name},
                        fixtures=fixtures,
                    )
                    for index, case in enumerate(self.model.cases)
                ),
                settings=self.settings,
                servers=self.place.servers,
                warnings=tuple(self._warnings()),
                manifest=self.model,
                options=options,
            )

    def _check_gates(self) -> None:
        """Note limits that so many assertions cannot break."""
        count = sum(case.assertions.count for case in self.model.cases)
        for name in ("max_inconclusive", "newly_failing"):
            limit = getattr(self.settings.gates, name)
            if limit is not None and limit >= count:
                message = (
                    f"gates.{name}: {vacuous(limit)}: expected less than {count}, the number of assertions, "
                    f"or null for no such gate{self.origin('gates')}"
                )
                self.problem(message=message)

    def _warnings(self) -> Iterator[str]:
        """One sentence on what is read otherwise than it may be meant, and what to do; none if nothing is."""
        found = [
            f"{catalogue} is empty, so names in assertions are not compared with it: list them, or remove it"
            for catalogue in ("tools_catalog", "agents_catalog")
            if catalogue in self.model.model_fields_set and not getattr(self.model, catalogue)
        ]
        for index, case in enumerate(self.model.cases):
            for kind in ("must_call", "must_not_call"):
                names = getattr(case.assertions, kind)
                at = ("cases", index, "assertions", kind)
                number = ", or use must_call_exactly for a number of calls" if kind == "must_call" else ""
                found += [
                    f"{dotted(at)} (line {self.document.line(*at)}) lists {shown(name)} more than once, "
                    f"which counts once: remove the others{number}"
                    for name in dict.fromkeys(names)
                    if names.count(name) > 1
                ]
        if found:
            yield "; ".join(found)


def fixtures_of(settings: AgentSettings) -> Iterator[str]:
    """The fixtures that a case of these settings needs."""
    yield from settings.fixtures
    for name in (settings.url_fixture, settings.login_fixture):
        if name is not None:
            yield name


def taken_name(document: Document, name: str, first: Path) -> Problem:
    """That the agent of a manifest is named like that of another one."""
    message = (
        f"name: {shown(name)} is the name of the agent in {first} as well, and folders of runs are named "
        "after agents: give one another name"
    )
    return Problem(document.path, document.line("name"), message)


def load_manifest(path: Path) -> Manifest:
    """The manifest in a file.

    Raises:
        DataFileError: With every problem of the file.
    """
    return manifest_of(load(path))


def manifest_of(document: Document) -> Manifest:
    """The manifest in a document.

    Raises:
        DataFileError: With every problem of the file.
    """
    data = document.data
    if not isinstance(data, Mapping):
        message = f"expected a manifest, a mapping with apiVersion, name and cases, found {shown(data)}"
        raise DataFileError([Problem(document.path, 1, message)])
    version = data.get("apiVersion")
    if version in API_VERSIONS:
        return validate(Manifest, document)
    if version is None:
        message = (
            f"apiVersion is missing: put `apiVersion: {API_VERSION}` at the top of the file "
            f"(supported: {choice(API_VERSIONS)})"
        )
    else:
        hint = suggestion(version, API_VERSIONS) if isinstance(version, str) else ""
        message = (
            f"apiVersion: {shown(version)} is not supported{hint}: expected {choice(API_VERSIONS)}; "
            "change it, or install a version of pytest-mcpeval that reads it"
        )
    problems = [document.problem("apiVersion", message=message)]
    try:
        # What else is wrong is found as well, whatever the version says.
        validate(Manifest, document, {**data, "apiVersion": API_VERSION})
    except DataFileError as error:
        problems += error.problems
    raise DataFileError(problems)
