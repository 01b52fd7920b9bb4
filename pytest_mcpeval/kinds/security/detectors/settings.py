"""The settings of a detector: an entry of ``detectors:``, in short (``heuristics``) or with options."""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from pytest_mcpeval.core.fields import FileModel, FilePath, RelativePath, Text, Whole
from pytest_mcpeval.kinds.security.verdicts import VerdictFields
from pytest_mcpeval.loading.schema import Expected
from pytest_mcpeval.targets.settings import WAYS, Arguments, TargetModel, ToolModel, UrlModel, in_full, sound

_EMBEDDED = ("heuristics",)

VerdictFiles = Annotated[
    FilePath | Annotated[list[FilePath], Field(min_length=1)],
    Expected("a file of recorded verdicts, or a list of them, one for each run"),
]
ENTRY_FIELDS = ("description", "server", "tool", "peers", "previous")
PLACEHOLDERS = ("entry", *ENTRY_FIELDS)
"""Placeholders of arguments and bodies; ``{entry}`` stands for all the others together."""


class HeuristicsModel(FileModel):
    """``heuristics:``, the embedded reference detector."""

    without: list[Text] = Field([], description="rules to leave out")

    @model_validator(mode="after")
    def _knows_its_rules(self) -> HeuristicsModel:
        if not self.without:
            return self
        from pytest_mcpeval.kinds.security.detectors.heuristics import RULES
        from pytest_mcpeval.loading.messages import choice, shown, suggestion

        for name in self.without:
            if name not in RULES:
                hint = suggestion(name, RULES)
                raise ValueError(f"{shown(name)} is not a rule{hint}: expected {choice(RULES)}")
        return self


def _speaks_of_the_entry(template: Any, setting: str) -> None:
    text = json.dumps(template)
    if not any(f"{{{name}}}" in text for name in PLACEHOLDERS):
        raise ValueError(
            f"`{setting}` contains no {{entry}} or {{description}}, so every request is the same"
        )


class McpModel(VerdictFields, ToolModel):
    """``mcp:``, a tool of a named server."""

    arguments: Arguments = Field(
        {"entry": "{entry}"},
        description="arguments of the call; {entry}, {description}, {tool}, … are filled in",
    )

    @model_validator(mode="after")
    def _sends_the_entry(self) -> McpModel:
        _speaks_of_the_entry(self.arguments, "arguments")
        return self


class HttpModel(VerdictFields, UrlModel):
    """``http:``, a POST request with a JSON body."""

    body: Annotated[Any, AfterValidator(sound)] = Field(
        "{entry}", description="JSON body; {entry}, {description}, {tool}, … are filled in"
    )

    @model_validator(mode="after")
    def _sends_the_entry(self) -> HttpModel:
        _speaks_of_the_entry(self.body, "body")
        return self

    def content(self) -> Any:
        """The body, with its placeholders."""
        return self.body


class DetectorModel(TargetModel):
    """Exactly one way to detect, with its options."""

    role: ClassVar[str] = "detector"
    ways: ClassVar[tuple[str, ...]] = (*_EMBEDDED, "verdicts", *WAYS)

    heuristics: HeuristicsModel | None = None
    verdicts: Annotated[VerdictFiles | None, RelativePath()] = None
    mcp: McpModel | None = None
    http: HttpModel | None = None
    recorded_as: Text | None = Field(
        None, description="the detector's name in its `verdicts`; default: the name it has here"
    )
    takes_lists: bool = Field(
        False, description="a function that takes a list of entries and returns a list of verdicts"
    )

    @model_validator(mode="after")
    def _options_fit(self) -> DetectorModel:
        if self.takes_lists and self.way not in ("python", "fixture"):
            raise ValueError(f"`takes_lists` is for functions, and this detector is {self.way}")
        if self.recorded_as is not None and self.way != "verdicts":
            raise ValueError(f"`recorded_as` is for `verdicts`, and this detector is {self.way}")
        return self

    @property
    def verdict_files(self) -> list[str]:
        """The files of recorded verdicts, one for each run; none for a detector that is asked."""
        return [self.verdicts] if isinstance(self.verdicts, str) else list(self.verdicts or ())


def _in_full(value: Any) -> Any:
    way, colon, rest = value.partition(":") if isinstance(value, str) else ("", "", "")
    if way == "verdicts" and colon and rest.strip():
        return {"verdicts": rest.strip()}
    return in_full(value, DetectorModel.role, DetectorModel.ways, _EMBEDDED)


DetectorSetting = Annotated[
    DetectorModel,
    BeforeValidator(_in_full, json_schema_input_type=str | DetectorModel),
    Whole(),
]
