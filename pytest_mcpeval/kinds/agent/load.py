"""Document → manifest: every problem of the file, or the agent and its cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.fields import vacuous
from pytest_mcpeval.core.suite import Place, Suite
from pytest_mcpeval.kinds.agent.cross_validation import cross_validation_problems, differences
from pytest_mcpeval.kinds.agent.options import RunOptions
from pytest_mcpeval.kinds.agent.schema import API_VERSION, API_VERSIONS, AgentCase, Manifest
from pytest_mcpeval.kinds.agent.settings import AgentSettings
from pytest_mcpeval.loading import DataFileError, Document, Problem, load
from pytest_mcpeval.loading.messages import choice, shown, suggestion
from pytest_mcpeval.loading.schema import validate


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
    manifest = manifest_of(document)
    settings = AgentSettings(**place.settings)
    if problems := list(_vacuous_gates(document, place, settings, manifest)):
        raise DataFileError(problems)
    options = place.overrides.get("options") or RunOptions()
    # What was captured can be scored where the agent does not run.
    fixtures = () if options.mode == "score_only" else tuple(fixtures_of(settings))
    return AgentSuite(
        key=place.key,
        kind="agent",
        document=document,
        cases=tuple(
            Case(
                id=case.id,
                line=document.line("cases", index),
                keys=("cases", index),
                make_spec=lambda case=case: case,  # type: ignore[misc]
                traits={"agent": manifest.name},
                fixtures=fixtures,
            )
            for index, case in enumerate(manifest.cases)
        ),
        settings=settings,
        servers=place.servers,
        warnings=tuple(differences(document)),
        manifest=manifest,
        options=options,
    )


def _vacuous_gates(
    document: Document, place: Place, settings: AgentSettings, manifest: Manifest
) -> Iterator[Problem]:
    """Limits that so many assertions cannot break."""
    stated = [value for case in manifest.cases for value in vars(case.assertions).values()]
    count = sum(len(one) if isinstance(one, (list, Mapping)) else one is not None for one in stated)
    for name in ("max_inconclusive", "newly_failing"):
        limit = getattr(settings.gates, name)
        if limit is not None and limit >= max(count, 1):
            message = (
                f"gates.{name}: {vacuous(limit)}: expected less than {count}, the number of assertions, or "
                f"null for no such gate; `gates` comes from {place.origins.get('gates', 'mcpeval.yaml')}"
            )
            yield document.problem(message=message)


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
    if not isinstance(document.data, Mapping):
        message = (
            f"expected a manifest, a mapping with apiVersion, name and cases, found {shown(document.data)}"
        )
        raise DataFileError([Problem(document.path, 1, message)])
    problems = [*_version_problems(document)]
    # What else is wrong is found as well, whatever the version says.
    data = {**document.data, "apiVersion": API_VERSION}
    manifest = None
    try:
        manifest = validate(Manifest, document, data)
    except DataFileError as error:
        problems += error.problems
    problems += cross_validation_problems(document)
    if problems or manifest is None:
        raise DataFileError(problems)
    return manifest


def _version_problems(document: Document) -> list[Problem]:
    data = document.data
    if data.get("apiVersion") is None:
        message = (
            f"apiVersion is missing: put `apiVersion: {API_VERSION}` at the top of the file "
            f"(supported: {choice(API_VERSIONS)})"
        )
        return [document.problem("apiVersion", message=message)]
    found = data["apiVersion"]
    if found in API_VERSIONS:
        return []
    hint = suggestion(found, API_VERSIONS) if isinstance(found, str) else ""
    message = (
        f"apiVersion: {shown(found)} is not supported{hint}: expected {choice(API_VERSIONS)}; "
        "change it, or install a version of pytest-mcpeval that reads it"
    )
    return [document.problem("apiVersion", message=message)]
