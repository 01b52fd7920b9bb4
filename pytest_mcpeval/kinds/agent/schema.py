"""A manifest, ``apiVersion: agentevaluator/v1``: an agent, how it is reached, where evidence is, its cases.

The same models serve the file and the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, Self

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
from pytest_mcpeval.loading.messages import shown, suggestion
from pytest_mcpeval.loading.parsed import Key
from pytest_mcpeval.loading.schema import Expected, refuse
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
        raise ValueError("has no visible character, so every page would contain it")
    return text


def _free_case_id(name: str) -> str:
    if name.lower() in RESERVED_CASE_IDS:
        raise ValueError(f"{shown(name)} is a reserved name in the folder of a run: choose another")
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

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        refuse(
            (("exposes", index), f"{shown(name)} is listed twice: remove one")
            for index, name in enumerate(self.exposes)
            if name in self.exposes[:index]
        )
        refuse(
            (("extract", name), f"is not among what the page `exposes`: add {shown(name)} there")
            for name in sorted(self.extract.model_fields_set - {*self.exposes})
        )
        return self


class Observability(ManifestModel):
    """``observability:``, where evidence on tools, routing and steps is; at most one trace backend."""

    langfuse: LangfuseSource | None = None
    otel: OtelSource | None = None
    phoenix: PhoenixSource | None = None
    ui_introspection: UiIntrospection | None = None

    @model_validator(mode="after")
    def _has_one_backend(self) -> Self:
        declared = [one.key for one in (self.langfuse, self.otel, self.phoenix) if one is not None]
        if len(declared) > 1:
            words = f"{' and '.join(declared)} are both declared, and both would write the same logs"
            refuse([((declared[1],), f"{words}: remove one")])
        return self

    @property
    def backend(self) -> TraceBackend | None:
        """The trace backend that is declared."""
        return self.langfuse or self.otel or self.phoenix


class CatalogueEntry(ManifestModel):
    """An entry of a catalogue that is more than a name."""

    name: Identifier
    description: FreeText | None = None


CatalogueItem = Annotated[Identifier | CatalogueEntry, Expected("a name, or {name, description}")]


def _names(catalogue: list[str | CatalogueEntry]) -> list[str]:
    return [entry if isinstance(entry, str) else entry.name for entry in catalogue]


def _distinct(catalogue: list[str | CatalogueEntry]) -> list[str | CatalogueEntry]:
    names = _names(catalogue)
    refuse(
        ((index,), f"{shown(name)} is listed twice: remove one")
        for index, name in enumerate(names)
        if name in names[:index]
    )
    return catalogue


Catalogue = Annotated[list[CatalogueItem], AfterValidator(_distinct)]


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
    must_call: list[Identifier] = Field(default=[])
    must_not_call: list[Identifier] = Field(default=[])
    must_call_exactly: dict[Identifier, Count] = Field(default={})
    must_call_with_args: list[CallSpec] = Field(default=[])
    must_call_in_order: list[Identifier] = Field(default=[])
    must_route_to: Identifier | None = None
    max_steps: Limit | None = None
    max_total_tokens: Limit | None = None
    max_total_cost_usd: Annotated[float, Field(gt=0, le=MOST, allow_inf_nan=False)] | None = None
    max_latency_ms: Limit | None = None

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        refuse(
            (at, f"{shown(tool)} is also in must_not_call, so one of them must fail: remove one")
            for at, tool in self.tools()
            if tool in self.must_not_call and at[0] != "must_not_call"
        )
        return self

    def tools(self) -> Iterator[tuple[tuple[Key, ...], str]]:
        """Every tool that is named, each with the place of its name."""
        for kind in ("must_call", "must_not_call", "must_call_in_order"):
            for index, name in enumerate(getattr(self, kind)):
                yield (kind, index), name
        for name in self.must_call_exactly:
            yield ("must_call_exactly", name), name
        for index, call in enumerate(self.must_call_with_args):
            yield ("must_call_with_args", index, "tool_name"), call.tool_name

    @property
    def count(self) -> int:
        """How many outcomes they have: one for each tool, but one for all that are called in order."""
        tools = {(at[0], at[1] if at[0] == "must_call_with_args" else name) for at, name in self.tools()}
        each = sum(kind != "must_call_in_order" for kind, _ in tools)
        whole = (self.final_response_contains, self.must_call_in_order, self.must_route_to)
        limits = (self.max_steps, self.max_total_tokens, self.max_total_cost_usd, self.max_latency_ms)
        return each + sum(bool(one) for one in (*whole, *limits))


ASSERTION_KINDS = tuple(Assertions.model_fields)


class AgentCase(ManifestModel):
    """An entry of ``cases:``, what is typed, and what must hold then."""

    id: Annotated[CaseId, AfterValidator(_free_case_id)]
    input: Annotated[FreeText, OfCase]
    assertions: Assertions

    @model_validator(mode="after")
    def _can_fail(self) -> Self:
        if not self.assertions.count:
            kinds = ", ".join(ASSERTION_KINDS)
            text = f"nothing is asserted, so the case could never fail: give at least one of {kinds}"
            refuse([(("assertions",), text)])
        return self


class Manifest(ManifestModel):
    """A whole manifest: one agent. ``name`` is a slug and part of artifact paths."""

    apiVersion: Literal["agentevaluator/v1"]  # noqa: N815 - the key of the format
    kind: Literal["agent"] = "agent"
    name: Annotated[str, StringConstraints(pattern=SLUG, max_length=80)]
    description: Value = ""
    access: Access
    observability: Observability = Observability()
    interaction: Interaction = Interaction()
    tools_catalog: Catalogue = Field(default=[])
    agents_catalog: Catalogue = Field(default=[])
    cases: Annotated[list[AgentCase], Field(min_length=1)]

    @field_validator("cases")
    @classmethod
    def _agree(cls, cases: list[AgentCase], info: ValidationInfo) -> list[AgentCase]:
        """Folders are named after cases, and names are those of a catalogue, unless it is empty."""
        problems: list[tuple[tuple[Key, ...], str]] = []
        first: dict[str, int] = {}
        tools, agents = (_names(info.data.get(f"{name}_catalog", [])) for name in ("tools", "agents"))
        for index, case in enumerate(cases):
            # Some file systems do not tell upper from lower case.
            if (other := first.setdefault(case.id.lower(), index)) != index:
                text = (
                    f"duplicate id {shown(case.id)}: cases[{other}] has it; ids name folders, ignoring case"
                )
                problems.append(((index, "id"), text))
            route = case.assertions.must_route_to
            named = [(at, name, tools, "tools_catalog") for at, name in case.assertions.tools()]
            named += [] if route is None else [(("must_route_to",), route, agents, "agents_catalog")]
            for at, name, known, catalogue in named:
                if known and name not in known:
                    text = f"{shown(name)} is not in {catalogue}{suggestion(name, known)}"
                    problems.append(((index, "assertions", *at), text))
        refuse(problems)
        return cases

    @property
    def page_host_policy(self) -> PageHostPolicy:
        """That of the page; one that is set for the trace backend alone holds for the page as well."""
        if self.access.host_policy is not None:
            return self.access.host_policy
        backend = self.observability.backend
        is_set = backend is not None and "host_policy" in backend.model_fields_set
        return "same_host" if is_set else "any"
