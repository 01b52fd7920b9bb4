"""A manifest, loaded: the agent, how it is reached, where evidence comes from, and the cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_mcpeval.browser.directive import Auth, PageAction, ResponseReady
from pytest_mcpeval.core.kind import Suite
from pytest_mcpeval.kinds.agent.options import RunOptions

HostPolicy = Literal["https_only", "insecure_loopback_only"]
PageHostPolicy = Literal["any", "same_host"]
EvidenceKind = Literal["tool_calls", "routing_decisions", "step_count"]

AssertionKind = Literal[
    "final_response_contains",
    "must_call",
    "must_not_call",
    "must_call_exactly",
    "must_call_with_args",
    "must_call_in_order",
    "must_route_to",
    "max_steps",
    "max_total_tokens",
    "max_total_cost_usd",
    "max_latency_ms",
]
ASSERTION_KINDS: tuple[AssertionKind, ...] = (
    "final_response_contains",
    "must_call",
    "must_not_call",
    "must_call_exactly",
    "must_call_with_args",
    "must_call_in_order",
    "must_route_to",
    "max_steps",
    "max_total_tokens",
    "max_total_cost_usd",
    "max_latency_ms",
)
"""In the order in which outcomes are listed."""


@dataclass(frozen=True)
class Access:
    """The page of the agent, and who is logged in there.

    ``url`` and the ``session_id`` of a trace backend may hold ``{case_id}`` and ``{run_id}``. ``host_policy``
    says on which hosts a page may be captured.
    """

    url: str
    auth: Auth | None = None
    host_policy: PageHostPolicy = "any"


@dataclass(frozen=True)
class LangfuseSource:
    """A LangFuse host; the keys are in the environment."""

    host: str
    public_key_env: str
    secret_key_env: str
    host_policy: HostPolicy = "https_only"
    session_id: str = "{case_id}"
    trace_wait_ms: int = 10_000


@dataclass(frozen=True)
class OtelSource:
    """A query endpoint in Tempo's style; ``headers_env`` names a variable with ``key=value,…`` headers."""

    endpoint: str
    headers_env: str | None = None
    host_policy: HostPolicy = "https_only"
    session_id: str = "{case_id}"
    trace_wait_ms: int = 10_000


@dataclass(frozen=True)
class PhoenixSource:
    """An Arize Phoenix server and a project of it; ``headers_env`` as for otel."""

    endpoint: str
    project: str = "default"
    headers_env: str | None = None
    host_policy: HostPolicy = "https_only"
    session_id: str = "{case_id}"
    trace_wait_ms: int = 10_000


TraceBackend = LangfuseSource | OtelSource | PhoenixSource


@dataclass(frozen=True)
class UiField:
    """Where in an entry a value stands: below a selector (None: the entry itself), as attribute or text.

    Written in a manifest as a selector, or as ``{selector, attribute}``.
    """

    selector: str | None = None
    attribute: str | None = None


@dataclass(frozen=True)
class UiSelectors:
    """How one kind of evidence is read from a page: one ``entry`` for each call, decision or step.

    ``fields`` maps field names of the canonical log (``tool_name``, ``arguments``, ``result``,
    ``timestamp``, ``target_agent``, ``from_agent``, ``reason``, ``span_id``) to their places in an entry.
    """

    entry: str
    fields: Mapping[str, UiField] = field(default_factory=dict)


@dataclass(frozen=True)
class UiIntrospection:
    """Evidence that the agent's own page shows. ``extract`` holds selectors for what it ``exposes``."""

    description: str
    exposes: tuple[EvidenceKind, ...]
    reveal_actions: tuple[PageAction, ...] = ()
    extract: Mapping[EvidenceKind, UiSelectors] = field(default_factory=dict)


@dataclass(frozen=True)
class Observability:
    """Where evidence on tools, routing and steps comes from; at most one trace backend."""

    backend: TraceBackend | None = None
    ui: UiIntrospection | None = None


@dataclass(frozen=True)
class Interaction:
    """How the page is used."""

    preconditions: tuple[PageAction, ...] = ()
    input_selector: str | None = None
    response_wait_ms: int = 2000
    response_ready: ResponseReady | None = None
    max_dom_bytes: int = 25 * 1024 * 1024


@dataclass(frozen=True)
class CallSpec:
    """A tool called with these arguments (a deep subset of the captured ones), so often or more."""

    tool_name: str
    args: Mapping[str, Any]
    min_count: int = 1


@dataclass(frozen=True)
class Assertions:
    """What must hold of a case; None and empty stand for nothing asserted."""

    final_response_contains: str | None = None
    must_call: tuple[str, ...] = ()
    must_not_call: tuple[str, ...] = ()
    must_call_exactly: Mapping[str, int] = field(default_factory=dict)
    must_call_with_args: tuple[CallSpec, ...] = ()
    must_call_in_order: tuple[str, ...] = ()
    must_route_to: str | None = None
    max_steps: int | None = None
    max_total_tokens: int | None = None
    max_total_cost_usd: float | None = None
    max_latency_ms: int | None = None


@dataclass(frozen=True)
class AgentCase:
    """One scenario: what is typed, and what must hold then."""

    id: str
    input: str
    assertions: Assertions


@dataclass(frozen=True)
class Manifest:
    """One agent. ``name`` is a slug and part of artifact paths."""

    name: str
    description: str
    access: Access
    observability: Observability
    interaction: Interaction
    tools_catalog: tuple[str, ...]
    agents_catalog: tuple[str, ...]
    cases: tuple[AgentCase, ...]


@dataclass(frozen=True)
class AgentSuite(Suite[AgentCase]):
    """A manifest as a suite, with what the command line says."""

    manifest: Manifest = field(kw_only=True)
    options: RunOptions = field(kw_only=True)
