"""A manifest, ``apiVersion: agentevaluator/v1``: an agent, how it is reached, where evidence is, its cases.

The same models serve the file and the run.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from pytest_mcpeval.browser.directive import Auth, Interaction, PageAction
from pytest_mcpeval.browser.fields import CssSelector, FreeText, ManifestModel, Value, Variable
from pytest_mcpeval.core.fields import CaseId
from pytest_mcpeval.kinds.agent.urls import HostPolicy, known_placeholders, page_url, policy_problem
from pytest_mcpeval.kinds.agent.visible_text import normalized
from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.loading.schema import Expected
from pytest_mcpeval.text.placeholders import filled_in

API_VERSION = "agentevaluator/v1"
API_VERSIONS = (API_VERSION,)

SLUG = r"^[a-z0-9][a-z0-9_-]*$"
IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_.:/-]{0,199}$"

RESERVED_CASE_IDS = frozenset({"narratives", "plan.json", "score.json", "report.md"})
"""Names of other things in the folder of a run."""

LONGEST_TRACE_WAIT_MS = 600_000

MOST = 100_000_000
"""The largest limit of an assertion: nothing exceeds a larger one, so that it asserts nothing."""

PageHostPolicy = Literal["any", "same_host"]
EvidenceKind = Literal["tool_calls", "routing_decisions", "step_count"]


def _visible(text: str) -> str:
    if not normalized(text):
        raise ValueError("has no visible character, so every page would hold it")
    return text


def _free_case_id(name: str) -> str:
    if name.lower() in RESERVED_CASE_IDS:
        raise ValueError(
            f"{shown(name)} is the name of something else in the folder of a run: choose another"
        )
    return name


OfCase = AfterValidator(lambda data: filled_in(data, "case"))
"""Takes environment variables as texts of cases do."""
PageUrl = Annotated[
    str,
    StringConstraints(max_length=2_048),
    AfterValidator(lambda url: filled_in(url, "definition")),
    AfterValidator(page_url),
]
Count = Annotated[int, Field(ge=1)]
Limit = Annotated[int, Field(ge=1, le=MOST)]
Identifier = Annotated[str, StringConstraints(pattern=IDENTIFIER)]
DistinctNames = Annotated[list[Identifier], AfterValidator(lambda names: list(dict.fromkeys(names)))]


class Access(ManifestModel):
    """``access:``, the page of the agent, and who is logged in there.

    ``url`` and the ``session_id`` of a trace backend may hold ``{case_id}`` and ``{run_id}``. ``host_policy``
    says on which hosts a page may be captured.
    """

    url: Annotated[PageUrl, AfterValidator(known_placeholders)]
    auth: Auth | None = None
    host_policy: PageHostPolicy | None = None


class VisitModel(Interaction):
    """A visit of an agent's page that a test written in Python makes."""

    url: PageUrl
    input: FreeText
    reveal_actions: list[PageAction] = Field(default=[])


class BackendModel(ManifestModel):
    """What all trace backends have. ``key`` is that of ``observability:``, ``url_key`` that of their URL."""

    key: ClassVar[str]
    url_key: ClassVar[str]

    host_policy: HostPolicy = "https_only"
    session_id: Annotated[FreeText, AfterValidator(known_placeholders)] = "{case_id}"
    trace_wait_ms: Annotated[int, Field(ge=0, le=LONGEST_TRACE_WAIT_MS)] = 10_000

    @field_validator("host", "endpoint", check_fields=False)
    @classmethod
    def _is_allowed(cls, url: str, info: ValidationInfo) -> str:
        if "host_policy" in info.data and (problem := policy_problem(url, info.data["host_policy"])):
            raise ValueError(problem)
        return url

    @property
    def url(self) -> str:
        """Where it is asked."""
        return str(getattr(self, self.url_key))


class LangfuseSource(BackendModel):
    """``observability.langfuse:``, a LangFuse host; the keys are in the environment."""

    key = "langfuse"
    url_key = "host"

    host: PageUrl
    public_key_env: Variable = "LANGFUSE_PUBLIC_KEY"
    secret_key_env: Variable = "LANGFUSE_SECRET_KEY"


class OtelSource(BackendModel):
    """``observability.otel:``, a query endpoint in Tempo's style.

    ``headers_env`` names a variable with ``key=value,…`` headers.
    """

    key = "otel"
    url_key = "endpoint"

    endpoint: PageUrl
    headers_env: Variable | None = None


class PhoenixSource(BackendModel):
    """``observability.phoenix:``, a project on an Arize Phoenix server; ``headers_env`` as for otel."""

    key = "phoenix"
    url_key = "endpoint"

    endpoint: PageUrl
    project: FreeText = "default"
    headers_env: Variable | None = None


TraceBackend = LangfuseSource | OtelSource | PhoenixSource


class UiField(ManifestModel):
    """Where in an entry a value stands: below a selector (None: the entry itself), as attribute or text."""

    selector: CssSelector | None = None
    attribute: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.:-]*$")] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> UiField:
        if self.selector is None and self.attribute is None:
            raise ValueError("needs `selector`, `attribute` or both")
        return self


UiPlace = Annotated[CssSelector | UiField, Expected("a CSS selector, or {selector, attribute}")]


class UiSelectors(ManifestModel):
    """How one kind of evidence is read from a page: one ``entry`` for each call, decision or step.

    The other keys are fields of the canonical log, each with its place in an entry.
    """

    entry: CssSelector
    span_id: UiPlace | None = None


class ToolCallPlaces(UiSelectors):
    """``extract.tool_calls:``."""

    tool_name: UiPlace
    arguments: UiPlace | None = None
    result: UiPlace | None = None
    timestamp: UiPlace | None = None


class RoutingPlaces(UiSelectors):
    """``extract.routing_decisions:``."""

    target_agent: UiPlace
    from_agent: UiPlace | None = None
    reason: UiPlace | None = None
    timestamp: UiPlace | None = None


class Extract(ManifestModel):
    """``ui_introspection.extract:``, selectors for what a page exposes."""

    tool_calls: ToolCallPlaces | None = None
    routing_decisions: RoutingPlaces | None = None
    step_count: UiSelectors | None = None


class UiIntrospection(ManifestModel):
    """``observability.ui_introspection:``, evidence that the agent's own page shows."""

    description: FreeText
    reveal_actions: list[PageAction] = Field(default=[])
    exposes: Annotated[list[EvidenceKind], Field(min_length=1)]
    extract: Extract = Extract()


class Observability(ManifestModel):
    """``observability:``, where evidence on tools, routing and steps is; at most one trace backend."""

    langfuse: LangfuseSource | None = None
    otel: OtelSource | None = None
    phoenix: PhoenixSource | None = None
    ui_introspection: UiIntrospection | None = None

    @property
    def backend(self) -> TraceBackend | None:
        """The trace backend that is declared."""
        return self.langfuse or self.otel or self.phoenix


class CatalogueEntry(ManifestModel):
    """An entry of a catalogue that is more than a name."""

    name: Identifier
    description: FreeText | None = None


CatalogueItem = Annotated[Identifier | CatalogueEntry, Expected("a name, or {name, description}")]


class CallSpec(ManifestModel):
    """A tool called with these arguments (a deep subset of the captured ones), so often or more."""

    tool_name: Identifier
    args: Annotated[dict[str, Any], OfCase]
    min_count: Count = 1


class Assertions(ManifestModel):
    """``assertions:`` of a case, in the order in which outcomes are listed.

    None and empty stand for nothing asserted.
    """

    final_response_contains: Annotated[FreeText, OfCase, AfterValidator(_visible)] | None = None
    must_call: DistinctNames = Field(default=[])
    must_not_call: DistinctNames = Field(default=[])
    must_call_exactly: dict[Identifier, Count] = Field(default={})
    must_call_with_args: list[CallSpec] = Field(default=[])
    must_call_in_order: list[Identifier] = Field(default=[])
    must_route_to: Identifier | None = None
    max_steps: Limit | None = None
    max_total_tokens: Limit | None = None
    max_total_cost_usd: Annotated[float, Field(gt=0, le=MOST, allow_inf_nan=False)] | None = None
    max_latency_ms: Limit | None = None


ASSERTION_KINDS = tuple(Assertions.model_fields)


class AgentCase(ManifestModel):
    """An entry of ``cases:``, what is typed, and what must hold then."""

    id: Annotated[CaseId, AfterValidator(_free_case_id)]
    input: Annotated[FreeText, OfCase]
    assertions: Assertions


class Manifest(ManifestModel):
    """A whole manifest: one agent. ``name`` is a slug and part of artifact paths."""

    apiVersion: Literal["agentevaluator/v1"]  # noqa: N815 - the key of the format
    kind: Literal["agent"] = "agent"
    name: Annotated[str, StringConstraints(pattern=SLUG, max_length=80)]
    description: Value = ""
    access: Access
    observability: Observability = Observability()
    interaction: Interaction = Interaction()
    tools_catalog: list[CatalogueItem] = Field(default=[])
    agents_catalog: list[CatalogueItem] = Field(default=[])
    cases: Annotated[list[AgentCase], Field(min_length=1)]

    @property
    def page_host_policy(self) -> PageHostPolicy:
        """That of the page; one that is set for the trace backend alone holds for the page as well."""
        if self.access.host_policy is not None:
            return self.access.host_policy
        backend = self.observability.backend
        is_set = backend is not None and "host_policy" in backend.model_fields_set
        return "same_host" if is_set else "any"
