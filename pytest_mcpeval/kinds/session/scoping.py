"""Phases 1 to 3 of an evaluation whose file has all answers: discovering, interviewing, scoping."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.kinds.session.command_line import MOST_CALLS
from pytest_mcpeval.kinds.session.discovery import FoundServer
from pytest_mcpeval.kinds.session.options import SessionOptions
from pytest_mcpeval.kinds.session.redaction import redacted
from pytest_mcpeval.kinds.session.safety_rules import classify
from pytest_mcpeval.kinds.session.spec import SessionSuite
from pytest_mcpeval.kinds.session.state import (
    AttachedServer,
    Config,
    FilteredServer,
    State,
    StateFile,
    now,
)
from pytest_mcpeval.servers.errors import CallError, ServerConfigError, ServerStartError

if TYPE_CHECKING:
    from pytest_mcpeval.servers.connection import Connection
    from pytest_mcpeval.servers.definitions import ServerDefinition
    from pytest_mcpeval.servers.tools import Tool

Connect = Callable[["ServerDefinition"], "Connection"]


def initial_state(suite: SessionSuite, name: str, options: SessionOptions) -> State:
    """The state with which an evaluation begins."""
    config = Config(
        call_budget_per_scenario=min(suite.settings.call_budget, MOST_CALLS),
        wallclock_budget_minutes=suite.settings.wallclock_budget,
        scenarios_file=suite.key,
        scenarios_digest=suite.digest,
    )
    started = now()
    return State(
        eval_name=name,
        started=started,
        last_updated=started,
        config=config,
        run_id=options.run_id,
        run_name=options.name,
    )


def limited(config: Config, budgets: Mapping[str, Any]) -> Config:
    """The limits with those of the command line in their place."""
    calls = min(budgets.get("call_budget", config.call_budget_per_scenario), MOST_CALLS)
    minutes = budgets.get("wallclock_budget", config.wallclock_budget_minutes)
    return config.model_copy(update={"call_budget_per_scenario": calls, "wallclock_budget_minutes": minutes})


def scoped(file: StateFile, suite: SessionSuite, connect: Connect) -> StateFile:
    """Write down what is attached, what may be done to it and what will be, each with its transition."""
    filtered = tuple(FilteredServer(name=name, reason=why) for name, why in suite.filtered.items())
    not_started = "not started, since its disposition is `skip`"
    attached = tuple(
        attached_server(found, [], not_started)
        if suite.scopes[name].disposition == "skip"
        else listed_server(found, connect)
        for name, found in suite.attached.items()
    )
    if not attached:
        # Complete only once there is a report, which says that there was nothing to do.
        file.update(status="reporting", filtered_mcps=filtered)
        return file
    file.update(status="interviewing", attached_mcps=attached, filtered_mcps=filtered)
    file.update(status="scoping", safety_dispositions=tuple(suite.scopes.values()))
    file.update(status="scoped", scenarios=suite.scenarios)
    return file


def listed_server(found: FoundServer, connect: Connect) -> AttachedServer:
    """The record of a server with its tools, or with the reason why they could not be listed."""
    try:
        tools = connect(found.definition).list_tools()
    except (ServerStartError, ServerConfigError, CallError) as error:
        return attached_server(found, [], " ".join(str(error).split()))
    return attached_server(found, tools, "" if tools else "it has no tools")


def attached_server(found: FoundServer, tools: list[Tool], problem: str) -> AttachedServer:
    """The record of a server, without its credentials."""
    from pytest_mcpeval.core.sample import to_json

    definition = found.definition

    described = sum(len(to_json({"d": tool.description, "s": tool.input_schema}).encode()) for tool in tools)
    return AttachedServer(
        name=found.name,
        source=str(found.source),
        command=redacted(definition.display()) if definition.transport == "stdio" else None,
        tools=tuple(tool.name for tool in tools),
        reading_tools=tuple(tool.name for tool in tools if classify(tool.name, tool).effect == "read"),
        description_bytes=described,
        listing_problem=redacted(problem),
    )
