"""The settings of agents: how they are driven, and what they are held to."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pytest_mcpeval.core.fields import FileModel, FixtureName, Floor, OptionalPath, Seconds


class GatesModel(FileModel):
    """``gates:`` of agents."""

    pass_rate: Floor | None = Field(default=None, description="lowest share of cases that pass")
    max_inconclusive: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="how many assertions may lack their evidence"
    )
    newly_failing: Annotated[int, Field(ge=0)] | None = Field(
        default=0, description="how many assertions that passed in the baseline run may fail now"
    )


class AgentSettings(FileModel):
    """How agents are driven and held to; an entry of ``agent:`` in ``mcpeval.yaml``."""

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
        default=None, description="folder of an earlier run; every assertion is compared with it"
    )
    gates: GatesModel = Field(
        default=GatesModel(), description="rules over the whole manifest that can fail the run"
    )
