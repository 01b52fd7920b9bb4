"""The shape of a manifest, ``apiVersion: agentevaluator/v1``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from pytest_mcpeval.browser.directive import ActionName
from pytest_mcpeval.core.fields import FileModel
from pytest_mcpeval.kinds.agent.fields import (
    CaseText,
    Count,
    CssSelector,
    FilledText,
    FilledUrl,
    FreeText,
    Identifier,
    ManifestCaseId,
    OfCase,
    PageText,
    PageUrl,
    ResponseWait,
    Selector,
    Slug,
    TraceWait,
    Value,
    Variable,
)
from pytest_mcpeval.kinds.agent.spec import EvidenceKind, HostPolicy, PageHostPolicy
from pytest_mcpeval.loading.schema import Expected

API_VERSION = "agentevaluator/v1"
API_VERSIONS = (API_VERSION,)

MEBIBYTE = 1024 * 1024
DEFAULT_MAX_DOM_BYTES = 25 * MEBIBYTE


class _Model(FileModel):
    # The format is that of another project, which has one spelling for each key.
    model_config = ConfigDict(alias_generator=None)


class BearerModel(_Model):
    """``access.auth`` with a token."""

    type: Literal["bearer"]
    token_env: Variable


class BasicModel(_Model):
    """``access.auth`` with user and password."""

    type: Literal["basic"]
    username_env: Variable
    password_env: Variable


class AccessModel(_Model):
    """``access:``."""

    url: FilledUrl
    auth: Annotated[BearerModel | BasicModel, Field(discriminator="type")] | None = None
    host_policy: PageHostPolicy | None = None


class ActionModel(_Model):
    """An entry of ``preconditions`` and ``reveal_actions``."""

    action: ActionName
    selector: Selector
    value: Value | None = None

    @model_validator(mode="after")
    def _has_its_value(self) -> ActionModel:
        if self.action == "click" and self.value is not None:
            raise ValueError("click takes no `value`: remove it, or use select or fill")
        if self.action != "click" and self.value is None:
            raise ValueError(f"{self.action} needs a `value`")
        return self


class ReadyModel(_Model):
    """``interaction.response_ready``: what ends the wait early."""

    selector: CssSelector | None = None
    dom_quiet_ms: Annotated[int, Field(ge=50, le=60_000)] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> ReadyModel:
        if (self.selector is None) == (self.dom_quiet_ms is None):
            raise ValueError("needs exactly one of `selector` and `dom_quiet_ms`")
        return self


class InteractionModel(_Model):
    """``interaction:``."""

    preconditions: list[ActionModel] = Field(default=[])
    input_selector: Selector | None = None
    response_wait_ms: ResponseWait = 2_000
    response_ready: ReadyModel | None = None
    max_dom_bytes: Annotated[int, Field(gt=1_024, le=1_024 * MEBIBYTE)] = DEFAULT_MAX_DOM_BYTES


class VisitModel(_Model):
    """A visit of an agent's page that a test written in Python makes."""

    url: PageUrl
    input: FreeText
    preconditions: list[ActionModel] = Field(default=[])
    reveal_actions: list[ActionModel] = Field(default=[])
    input_selector: Selector | None = None
    response_wait_ms: ResponseWait = 2_000
    response_ready: ReadyModel | None = None


class _BackendModel(_Model):
    host_policy: HostPolicy = "https_only"
    session_id: FilledText = "{case_id}"
    trace_wait_ms: TraceWait = 10_000


class LangfuseModel(_BackendModel):
    """``observability.langfuse:``."""

    host: PageUrl
    public_key_env: Variable = "LANGFUSE_PUBLIC_KEY"
    secret_key_env: Variable = "LANGFUSE_SECRET_KEY"


class OtelModel(_BackendModel):
    """``observability.otel:``."""

    endpoint: PageUrl
    headers_env: Variable | None = None


class PhoenixModel(_BackendModel):
    """``observability.phoenix:``."""

    endpoint: PageUrl
    project: FreeText = "default"
    headers_env: Variable | None = None


class UiFieldModel(_Model):
    """Where in an entry a value stands."""

    selector: CssSelector | None = None
    attribute: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.:-]*$")] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> UiFieldModel:
        if self.selector is None and self.attribute is None:
            raise ValueError("needs `selector`, `attribute` or both")
        return self


UiPlace = Annotated[CssSelector | UiFieldModel, Expected("a CSS selector, or {selector, attribute}")]


class ToolCallPlaces(_Model):
    """``extract.tool_calls:``."""

    entry: CssSelector
    tool_name: UiPlace
    arguments: UiPlace | None = None
    result: UiPlace | None = None
    timestamp: UiPlace | None = None
    span_id: UiPlace | None = None


class RoutingPlaces(_Model):
    """``extract.routing_decisions:``."""

    entry: CssSelector
    target_agent: UiPlace
    from_agent: UiPlace | None = None
    reason: UiPlace | None = None
    timestamp: UiPlace | None = None
    span_id: UiPlace | None = None


class StepPlaces(_Model):
    """``extract.step_count:``."""

    entry: CssSelector
    span_id: UiPlace | None = None


class ExtractModel(_Model):
    """``ui_introspection.extract:``."""

    tool_calls: ToolCallPlaces | None = None
    routing_decisions: RoutingPlaces | None = None
    step_count: StepPlaces | None = None


class UiModel(_Model):
    """``observability.ui_introspection:``."""

    description: FreeText
    reveal_actions: list[ActionModel] = Field(default=[])
    exposes: Annotated[list[EvidenceKind], Field(min_length=1)]
    extract: ExtractModel | None = None


class ObservabilityModel(_Model):
    """``observability:``."""

    langfuse: LangfuseModel | None = None
    otel: OtelModel | None = None
    phoenix: PhoenixModel | None = None
    ui_introspection: UiModel | None = None


class CatalogueEntry(_Model):
    """An entry of a catalogue that is more than a name."""

    name: Identifier
    description: FreeText | None = None


CatalogueItem = Annotated[Identifier | CatalogueEntry, Expected("a name, or {name, description}")]


class CallModel(_Model):
    """An entry of ``must_call_with_args``."""

    tool_name: Identifier
    args: Annotated[dict[str, Any], OfCase]
    min_count: Count = 1


class AssertionsModel(_Model):
    """``assertions:`` of a case."""

    final_response_contains: PageText | None = None
    must_call: list[Identifier] = Field(default=[])
    must_not_call: list[Identifier] = Field(default=[])
    must_call_exactly: dict[Identifier, Count] = Field(default={})
    must_call_with_args: list[CallModel] = Field(default=[])
    must_call_in_order: list[Identifier] = Field(default=[])
    must_route_to: Identifier | None = None
    max_steps: Count | None = None
    max_total_tokens: Count | None = None
    max_total_cost_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    max_latency_ms: Count | None = None


class CaseModel(_Model):
    """An entry of ``cases:``."""

    id: ManifestCaseId
    input: CaseText
    assertions: AssertionsModel


class ManifestModel(_Model):
    """A whole manifest."""

    apiVersion: Literal["agentevaluator/v1"]  # noqa: N815 - the key of the format
    kind: Literal["agent"] = "agent"
    name: Slug
    description: Value | None = None
    access: AccessModel
    observability: ObservabilityModel | None = None
    interaction: InteractionModel = InteractionModel()
    tools_catalog: list[CatalogueItem] | None = None
    agents_catalog: list[CatalogueItem] | None = None
    cases: Annotated[list[CaseModel], Field(min_length=1)]
