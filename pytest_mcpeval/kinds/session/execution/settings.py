"""How a scenario is carried out: ``steps:``, or an ``agent:``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints, model_validator

from pytest_mcpeval.core.fields import FileModel, FilePath, FixtureName, RelativePath, Seconds, Text
from pytest_mcpeval.kinds.session.command_line import MOST_CALLS
from pytest_mcpeval.kinds.session.records import MCP_PREFIX, is_reserved
from pytest_mcpeval.loading.messages import shown, suggestion
from pytest_mcpeval.servers.json_paths import PathText
from pytest_mcpeval.targets.settings import Command, Environment, FunctionPath

WAYS = ("python", "fixture", "command", "model")

CaptureName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
McpToolName = Annotated[
    str,
    StringConstraints(pattern=rf"^{MCP_PREFIX}.+?__.+$"),
    Field(description="mcp__<server>__<tool>"),
]
StartTimeout = Annotated[
    Seconds, Field(description="seconds that the import of a `python:` module may take", exclude=True)
]
"""Not part of digests: it does not change what a scenario does."""
Rule = dict[str, Any]
"""A check as written; the check registry parses it."""


class PagesModel(FileModel):
    """The same call again for page after page: by a cursor in each answer, or by counting."""

    argument: Text = Field(description="the argument that selects the page: a cursor, an offset, a number")
    next: PathText | None = Field(None, description="JSONPath of the next cursor; the last page has none")
    items: PathText | None = Field(
        None, description="JSONPath of the items; the first page without items is the last"
    )
    start: int = Field(1, description="with `items`: the first page")
    step: Annotated[int, Field(ge=1)] = Field(1, description="with `items`: the step between page numbers")
    at_least: Annotated[int, Field(ge=1)] = Field(1, description="pages there must be")
    at_most: Annotated[int, Field(ge=1, le=MOST_CALLS)] = Field(10, description="pages that are asked for")

    @model_validator(mode="after")
    def _ends_somehow(self) -> PagesModel:
        if (self.next is None) == (self.items is None):
            found = "has both" if self.next else "has none of them"
            raise ValueError(f"needs exactly one of `next` (a cursor) and `items` (counting), and {found}")
        if self.next is not None and {"start", "step"} & self.model_fields_set:
            raise ValueError("`start` and `step` count pages, and `next` takes a cursor: remove them")
        if self.at_least > self.at_most:
            raise ValueError(f"asks for at most {self.at_most} pages, and needs at least {self.at_least}")
        return self


class StepModel(FileModel):
    """One scripted call of an MCP tool (``call``), or one use of something else (``use``)."""

    call: McpToolName | None = None
    use: Text | None = Field(None, description="the name of what is used instead of an MCP tool")
    python: FunctionPath | None = Field(None, description="with `use`: the function that does it")
    justification: Text | None = Field(None, description="with `use`: why no MCP tool was used")
    arguments: dict[str, Any] = Field(default={})
    capture: dict[CaptureName, PathText] = Field(
        {}, description="name → JSONPath, for ${name} in later steps"
    )
    expect: list[Rule] = Field([], description="checks of the answer, as in scenario files")
    refused: bool = Field(False, description="the guard must refuse this call")
    pages: PagesModel | None = None
    timeout: Seconds = 60.0

    @model_validator(mode="after")
    def _is_one_thing(self) -> StepModel:
        if (self.call is None) == (self.use is None):
            found = "has both" if self.call else "has none of them"
            raise ValueError(
                f"needs exactly one of `call` (an MCP tool) and `use` (anything else), and {found}"
            )
        if self.use is not None:
            self._require_use(self.use)
        elif self.python or self.justification:
            raise ValueError("`python` and `justification` belong to `use`, and this is a `call`")
        if self.refused and (self.expect or self.capture or self.pages):
            raise ValueError("a call that must be refused has no answer: remove `expect` and `capture`")
        return self

    def _require_use(self, use: str) -> None:
        if use.startswith(MCP_PREFIX):
            raise ValueError(f"{shown(use)} is an MCP tool: write `call`")
        if is_reserved(use):
            raise ValueError(f"{shown(use)} is reserved: such names stand for lines that are not calls")
        missing = [name for name in ("python", "justification") if getattr(self, name) is None]
        if missing:
            raise ValueError(f"`use` lacks `{missing[0]}`")
        if self.refused or self.pages:
            raise ValueError("`refused` and `pages` belong to `call`, and this is a `use`")


class AgentModel(FileModel):
    """Exactly one agent. In short: ``python:pkg.mod:agent``, ``fixture:name``, ``command:…``, ``model:…``."""

    python: FunctionPath | None = Field(None, description="async function of the task and a toolbox")
    fixture: FixtureName | None = Field(None, description="fixture whose value is such a function")
    command: Command | None = Field(
        None,
        description="agent program; {task} and {mcp_config} are filled in; without {task}, it "
        "reads the task from standard input",
    )
    model: Text | None = Field(None, description="a language model, such as openai:gpt-5 (extra `model`)")
    instructions: str = Field("", description="with `model`: instructions for the model before the task")
    env: Environment = Field({}, description="environment of a `command`; ${VAR} is filled in")
    directory: Annotated[FilePath, RelativePath()] = Field(
        ".", description="where `python:` imports from and `command:` starts; default: that of this file"
    )
    start_timeout: StartTimeout = 60.0
    public: list[Text] = Field([], description="variables whose values may be shown; all others are secrets")

    @model_validator(mode="before")
    @classmethod
    def _in_full(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        way, colon, rest = value.partition(":")
        if colon and way in WAYS and rest.strip():
            return {way: rest.strip()}
        known = "python:pkg.mod:agent, fixture:name, command:…, model:… or a mapping"
        raise ValueError(f"expected {known}, found {shown(value)}{suggestion(way, WAYS)}")

    @model_validator(mode="after")
    def _is_one_way(self) -> AgentModel:
        ways = [way for way in WAYS if getattr(self, way) is not None]
        if len(ways) != 1:
            found = f"has {' and '.join(ways)}" if ways else "has none of them"
            raise ValueError(f"needs exactly one of {', '.join(WAYS)}, and {found}")
        if self.env and self.command is None:
            raise ValueError(f"`env` is the environment of a `command`, and this agent is {ways[0]}")
        if self.instructions and self.model is None:
            raise ValueError(f"`instructions` are for a `model`, and this agent is {ways[0]}")
        if "start_timeout" in self.model_fields_set and not (
            self.python or (self.model or "").startswith("python:")
        ):
            raise ValueError(f"`start_timeout` is for what is imported, and this agent is {ways[0]}")
        return self
