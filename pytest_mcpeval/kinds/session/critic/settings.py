"""The settings of the critic: ``critic:`` of a suite."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from pytest_mcpeval.core.fields import FileModel, FilePath, FixtureName, RelativePath, Seconds, Text, Whole
from pytest_mcpeval.kinds.session.execution.settings import StartTimeout
from pytest_mcpeval.loading.messages import shown, suggestion
from pytest_mcpeval.targets.settings import Command, FunctionPath

EMBEDDED = "embedded"
WAYS = ("python", "fixture", "command", "model", "file")


class CriticModel(FileModel):
    """Exactly one way to ask a critic, or none of them for the embedded one."""

    python: FunctionPath | None = Field(
        default=None, description="function that takes a prompt and returns Markdown"
    )
    fixture: FixtureName | None = Field(default=None, description="fixture whose value is such a function")
    command: Command | None = Field(
        default=None,
        description="program that reads the prompt on standard input and writes Markdown; or {prompt}",
    )
    model: Text | None = Field(
        default=None, description="a language model, such as openai:gpt-5 (extra `model`)"
    )
    file: Annotated[FilePath | None, RelativePath()] = Field(default=None, description="an existing file")
    timeout: Seconds = Field(default=600.0, description="seconds the critic may take")
    directory: Annotated[FilePath, RelativePath()] = Field(
        default=".",
        description="where `python:` imports from and `command:` starts; default: that of this file",
    )
    start_timeout: StartTimeout = 60.0
    public: list[Text] = Field(
        default=[], description="variables whose values may be shown; all others are secrets"
    )

    @model_validator(mode="after")
    def _is_at_most_one_way(self) -> CriticModel:
        ways = [way for way in WAYS if getattr(self, way) is not None]
        if len(ways) > 1:
            raise ValueError(f"needs one of {', '.join(WAYS)}, and has {' and '.join(ways)}")
        if "start_timeout" in self.model_fields_set and not (
            self.python or (self.model or "").startswith("python:")
        ):
            raise ValueError(f"`start_timeout` is for what is imported, and this critic is {self.way}")
        return self

    @property
    def way(self) -> str:
        """Which of the ways it is; ``embedded`` without any."""
        return next((way for way in WAYS if getattr(self, way) is not None), EMBEDDED)


def _in_full(value: Any) -> Any:
    """``embedded``, ``python:pkg.mod:critic``, ``file:critic-output.md`` in full."""
    if not isinstance(value, str):
        return value
    way, colon, rest = value.partition(":")
    if value == EMBEDDED:
        return {}
    if colon and way in WAYS and rest.strip():
        return {way: rest.strip()}
    known = f"{EMBEDDED}, python:pkg.mod:critic, command:…, or a mapping"
    raise ValueError(f"expected {known}, found {shown(value)}{suggestion(way, (EMBEDDED, *WAYS))}")


CriticSetting = Annotated[
    CriticModel, BeforeValidator(_in_full, json_schema_input_type=str | CriticModel), Whole()
]
