"""Document → manifest: every problem of the file, or the agent and its cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_mcpeval.browser.directive import Auth, BasicAuth, BearerAuth, PageAction, ResponseReady
from pytest_mcpeval.core.fields import vacuous
from pytest_mcpeval.core.kind import Case, Place
from pytest_mcpeval.kinds.agent import schema
from pytest_mcpeval.kinds.agent.cross_validation import agreement_problems, differences
from pytest_mcpeval.kinds.agent.options import RunOptions
from pytest_mcpeval.kinds.agent.settings import AgentSettings
from pytest_mcpeval.kinds.agent.spec import (
    Access,
    AgentCase,
    AgentSuite,
    Assertions,
    CallSpec,
    Interaction,
    LangfuseSource,
    Manifest,
    Observability,
    OtelSource,
    PageHostPolicy,
    PhoenixSource,
    TraceBackend,
    UiField,
    UiIntrospection,
    UiSelectors,
)
from pytest_mcpeval.loading import DataFileError, Document, Problem, load
from pytest_mcpeval.loading.messages import choice, shown, suggestion
from pytest_mcpeval.loading.schema import validate


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
            _case(document, index, case, manifest.name, fixtures) for index, case in enumerate(manifest.cases)
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
    count = sum(len(one) if isinstance(one, (tuple, Mapping)) else one is not None for one in stated)
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


def _case(
    document: Document, index: int, case: AgentCase, agent: str, fixtures: tuple[str, ...]
) -> Case[AgentCase]:
    return Case(
        id=case.id,
        line=document.line("cases", index),
        keys=("cases", index),
        make_spec=lambda: case,
        traits={"agent": agent},
        fixtures=fixtures,
    )


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
    data = {**document.data, "apiVersion": schema.API_VERSION}
    model = None
    try:
        model = validate(schema.ManifestModel, document, data)
    except DataFileError as error:
        problems += error.problems
    problems += agreement_problems(document)
    if problems or model is None:
        raise DataFileError(problems)
    return _manifest(model)


def _version_problems(document: Document) -> list[Problem]:
    data = document.data
    if data.get("apiVersion") is None:
        message = (
            f"apiVersion is missing: put `apiVersion: {schema.API_VERSION}` at the top of the file "
            f"(supported: {choice(schema.API_VERSIONS)})"
        )
        return [document.problem("apiVersion", message=message)]
    found = data["apiVersion"]
    if found in schema.API_VERSIONS:
        return []
    hint = suggestion(found, schema.API_VERSIONS) if isinstance(found, str) else ""
    message = (
        f"apiVersion: {shown(found)} is not supported{hint}: expected {choice(schema.API_VERSIONS)}; "
        "change it, or install a version of pytest-mcpeval that reads it"
    )
    return [document.problem("apiVersion", message=message)]


def _manifest(model: schema.ManifestModel) -> Manifest:
    return Manifest(
        name=model.name,
        description=model.description or "",
        access=Access(model.access.url, _auth(model.access), _host_policy(model)),
        observability=_observability(model.observability),
        interaction=_interaction(model.interaction),
        tools_catalog=_catalogue(model.tools_catalog),
        agents_catalog=_catalogue(model.agents_catalog),
        cases=tuple(AgentCase(case.id, case.input, assertions_of(case.assertions)) for case in model.cases),
    )


def _auth(access: schema.AccessModel) -> Auth | None:
    if isinstance(access.auth, schema.BearerModel):
        return BearerAuth(access.auth.token_env)
    if isinstance(access.auth, schema.BasicModel):
        return BasicAuth(access.auth.username_env, access.auth.password_env)
    return None


def _host_policy(model: schema.ManifestModel) -> PageHostPolicy:
    """That of the page; one that a manifest sets for its trace backend alone holds for the page as well."""
    if model.access.host_policy is not None:
        return model.access.host_policy
    declared = model.observability
    backends = [] if declared is None else [declared.langfuse, declared.otel, declared.phoenix]
    is_set = any("host_policy" in backend.model_fields_set for backend in backends if backend is not None)
    return "same_host" if is_set else "any"


def _actions(models: list[schema.ActionModel]) -> tuple[PageAction, ...]:
    return tuple(PageAction(model.action, model.selector, model.value) for model in models)


def _interaction(model: schema.InteractionModel) -> Interaction:
    ready = model.response_ready
    return Interaction(
        preconditions=_actions(model.preconditions),
        input_selector=model.input_selector,
        response_wait_ms=model.response_wait_ms,
        response_ready=None if ready is None else ResponseReady(ready.selector, ready.dom_quiet_ms),
        max_dom_bytes=model.max_dom_bytes,
    )


def _observability(model: schema.ObservabilityModel | None) -> Observability:
    if model is None:
        return Observability()
    return Observability(
        _backend(model), None if model.ui_introspection is None else _ui(model.ui_introspection)
    )


def _backend(model: schema.ObservabilityModel) -> TraceBackend | None:
    if model.langfuse is not None:
        return LangfuseSource(**model.langfuse.model_dump())
    if model.otel is not None:
        return OtelSource(**model.otel.model_dump())
    if model.phoenix is not None:
        return PhoenixSource(**model.phoenix.model_dump())
    return None


def _ui(model: schema.UiModel) -> UiIntrospection:
    extract = model.extract
    places = {} if extract is None else {name: getattr(extract, name) for name in type(extract).model_fields}
    return UiIntrospection(
        description=model.description,
        exposes=tuple(model.exposes),
        reveal_actions=_actions(model.reveal_actions),
        extract={name: _selectors(place) for name, place in places.items() if place is not None},  # type: ignore[misc]
    )


def _selectors(model: Any) -> UiSelectors:
    given = {name: getattr(model, name) for name in type(model).model_fields if name != "entry"}
    return UiSelectors(
        model.entry, {name: _field(place) for name, place in given.items() if place is not None}
    )


def _field(place: str | schema.UiFieldModel) -> UiField:
    return UiField(place) if isinstance(place, str) else UiField(place.selector, place.attribute)


def _catalogue(entries: list[str | schema.CatalogueEntry] | None) -> tuple[str, ...]:
    return tuple(entry if isinstance(entry, str) else entry.name for entry in entries or ())


def assertions_of(model: schema.AssertionsModel) -> Assertions:
    """The assertions of a validated case."""
    return Assertions(
        final_response_contains=model.final_response_contains,
        must_call=tuple(dict.fromkeys(model.must_call)),
        must_not_call=tuple(dict.fromkeys(model.must_not_call)),
        must_call_exactly=dict(model.must_call_exactly),
        must_call_with_args=tuple(
            CallSpec(call.tool_name, call.args, call.min_count) for call in model.must_call_with_args
        ),
        must_call_in_order=tuple(model.must_call_in_order),
        must_route_to=model.must_route_to,
        max_steps=model.max_steps,
        max_total_tokens=model.max_total_tokens,
        max_total_cost_usd=model.max_total_cost_usd,
        max_latency_ms=model.max_latency_ms,
    )
