"""The shape of a manifest, ``apiVersion: agentevaluator/v1``, and the settings of agents."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from pytest_mcpeval.browser.directive import ActionName
from pytest_mcpeval.kinds.agent.selectors import css_selector, page_selector
from pytest_mcpeval.kinds.agent.spec import EvidenceKind, HostPolicy
from pytest_mcpeval.kinds.agent.urls import page_url
from pytest_mcpeval.kinds.fields import FILE_MODEL, CaseId, FixtureName, OptionalPath, Seconds, Share
from pytest_mcpeval.loading.schema import Expected
from pytest_mcpeval.loading.wording import shown

API_VERSION = "agentevaluator/v1"
API_VERSIONS = (API_VERSION,)

SLUG = r"^[a-z0-9]+(?:[-_][a-z0-9]+)*$"
IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_.:/-]{0,199}$"
VARIABLE = r"^[A-Z][A-Z0-9_]*$"

FORBIDDEN_VARIABLES = frozenset({"PATH", "HOME", "USER", "SHELL", "PWD"})
FORBIDDEN_PREFIXES = ("LD_", "DYLD_")
FORBIDDEN_SUFFIX = "_PRIVATE_KEY"

RESERVED_CASE_IDS = frozenset({"narratives", "plan.json", "score.json", "report.md"})
"""Names of other things in the folder of a run."""

MEBIBYTE = 1024 * 1024
DEFAULT_MAX_DOM_BYTES = 25 * MEBIBYTE
LONGEST_TRACE_WAIT_MS = 600_000

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def _printable(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return _without_control_bytes(text)


def _without_control_bytes(text: str) -> str:
    if found := _CONTROL.search(text):
        raise ValueError(
            f"has the control character \\x{ord(found[0]):02x} at position {found.start()}: remove it"
        )
    return text


def _allowed_variable(name: str) -> str:
    if name in FORBIDDEN_VARIABLES or name.startswith(FORBIDDEN_PREFIXES) or name.endswith(FORBIDDEN_SUFFIX):
        raise ValueError(
            f"{shown(name)} must not be read for this: give the credential a variable of its own, such as "
            "AGENT_BEARER_TOKEN"
        )
    return name


def _free_case_id(name: str) -> str:
    if name.lower() in RESERVED_CASE_IDS:
        raise ValueError(
            f"{shown(name)} is the name of something else in the folder of a run: choose another"
        )
    return name


FreeText = Annotated[str, AfterValidator(_printable)]
Value = Annotated[str, AfterValidator(_without_control_bytes)]
Selector = Annotated[
    str, StringConstraints(max_length=2_000), AfterValidator(_printable), AfterValidator(page_selector)
]
CssSelector = Annotated[
    str, StringConstraints(max_length=2_000), AfterValidator(_printable), AfterValidator(css_selector)
]
Variable = Annotated[
    str,
    StringConstraints(pattern=VARIABLE, max_length=200),
    AfterValidator(_allowed_variable),
    Expected("the name of an environment variable such as AGENT_BEARER_TOKEN"),
]
Slug = Annotated[str, StringConstraints(pattern=SLUG, max_length=80)]
Identifier = Annotated[str, StringConstraints(pattern=IDENTIFIER)]
PageUrl = Annotated[str, StringConstraints(max_length=2_048), AfterValidator(page_url)]
Count = Annotated[int, Field(ge=1)]
ManifestCaseId = Annotated[CaseId, AfterValidator(_free_case_id)]
ResponseWait = Annotated[int, Field(ge=100, le=120_000)]
TraceWait = Annotated[int, Field(ge=0, le=LONGEST_TRACE_WAIT_MS)]


class _Model(BaseModel):
    # The format is that of another project, which has one spelling for each key.
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, strict=True)


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

    url: PageUrl
    auth: Annotated[BearerModel | BasicModel, Field(discriminator="type")] | None = None


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

    selector: Selector | None = None
    dom_quiet_ms: Annotated[int, Field(ge=50, le=60_000)] | None = None

    @model_validator(mode="after")
    def _is_one(self) -> ReadyModel:
        if (self.selector is None) == (self.dom_quiet_ms is None):
            raise ValueError("needs exactly one of `selector` and `dom_quiet_ms`")
        return self


class InteractionModel(_Model):
    """``interaction:``."""

    preconditions: list[ActionModel] = []
    input_selector: Selector | None = None
    response_wait_ms: ResponseWait = 2_000
    response_ready: ReadyModel | None = None
    max_dom_bytes: Annotated[int, Field(ge=1_024, le=1_024 * MEBIBYTE)] = DEFAULT_MAX_DOM_BYTES


class VisitModel(_Model):
    """A visit of an agent's page that a test written in Python makes."""

    url: PageUrl
    input: FreeText
    preconditions: list[ActionModel] = []
    reveal_actions: list[ActionModel] = []
    input_selector: Selector | None = None
    response_wait_ms: ResponseWait = 2_000
    response_ready: ReadyModel | None = None


class _BackendModel(_Model):
    host_policy: HostPolicy = "https_only"
    session_id: FreeText = "{case_id}"
    trace_wait_ms: TraceWait = 10_000


class LangfuseModel(_BackendModel):
    """``observability.langfuse:``."""

    host: PageUrl
    public_key_env: Variable
    secret_key_env: Variable


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
    reveal_actions: list[ActionModel] = []
    exposes: list[EvidenceKind]
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
    args: dict[str, Any]
    min_count: Count = 1


class AssertionsModel(_Model):
    """``assertions:`` of a case."""

    final_response_contains: FreeText | None = None
    must_call: list[Identifier] = []
    must_not_call: list[Identifier] = []
    must_call_exactly: dict[Identifier, Count] = {}
    must_call_with_args: list[CallModel] = []
    must_call_in_order: list[Identifier] = []
    must_route_to: Identifier | None = None
    max_steps: Count | None = None
    max_total_tokens: Count | None = None
    max_total_cost_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    max_latency_ms: Count | None = None


class CaseModel(_Model):
    """An entry of ``cases:``."""

    id: ManifestCaseId
    input: FreeText
    assertions: AssertionsModel


class ManifestModel(_Model):
    """A whole manifest."""

    apiVersion: Literal["agentevaluator/v1"]  # noqa: N815 - the key of the format
    kind: Literal["agent"] = "agent"
    name: Slug
    description: Value = ""
    access: AccessModel
    observability: ObservabilityModel | None = None
    interaction: InteractionModel = InteractionModel()
    tools_catalog: list[CatalogueItem] | None = None
    agents_catalog: list[CatalogueItem] | None = None
    cases: Annotated[list[CaseModel], Field(min_length=1)]


class GatesModel(BaseModel):
    """``gates:`` of agents."""

    model_config = FILE_MODEL

    pass_rate: Share | None = Field(default=None, description="lowest share of cases that pass")
    max_inconclusive: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="how many assertions may lack their evidence"
    )
    newly_failing: Annotated[int, Field(ge=0)] = Field(
        default=0, description="how many assertions that passed in the baseline run may fail"
    )


class AgentSettings(BaseModel):
    """How agents are driven and held to; an entry of ``agent:`` in ``mcpeval.yaml``."""

    model_config = FILE_MODEL

    runs: OptionalPath = Field(
        default=None, description="directory of captured runs; default: runs/ in the root directory"
    )
    driver: Literal["playwright", "playwright-mcp"] = Field(
        default="playwright", description="what drives the browser"
    )
    navigation_timeout: Seconds = Field(default=30.0, description="seconds a page may take to load")
    fixtures: list[FixtureName] = Field(default=[], description="fixtures set up before every case")
    url_fixture: FixtureName | None = Field(
        default=None,
        description="fixture with the URL at which the agent runs: its origin takes the place of that in "
        "`access.url`; or a mapping of url, langfuse, otel and phoenix to URLs",
    )
    storage_state: OptionalPath = Field(
        default=None, description="file with the cookies of a user who is logged in"
    )
    login_fixture: FixtureName | None = Field(
        default=None, description="fixture with a storage state: its file, or its data"
    )
    baseline_run: OptionalPath = Field(
        default=None, description="folder of an earlier run, with which every assertion is compared"
    )
    gates: GatesModel = Field(
        default=GatesModel(), description="rules over the whole manifest that can fail the run"
    )
