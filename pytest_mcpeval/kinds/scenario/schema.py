"""The keys of a scenario file and of its settings, in camelCase or snake_case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from pytest_mcpeval.core.case import CaseMarks
from pytest_mcpeval.core.fields import (
    BaselinePath,
    CaseId,
    Concurrency,
    FileModel,
    FixtureName,
    Floor,
    PercentFloor,
    Seconds,
    Text,
)
from pytest_mcpeval.servers.json_paths import PathText

Difficulty = Literal["basic", "intermediate", "advanced"]
Rule = dict[str, Any]
"""A check as written; the check registry parses it, since users may register more types."""


FOREIGN_KEYS: Mapping[str, str] = {
    "ground_truth": "write what the answer must satisfy under `expected`, as `expectedKeywords` or "
    "`validations`, such as {type: contains_all, values: […]}",
    "code_requirements": "write what the code must satisfy as `validations`, such as "
    "{type: has_code_block, language: typescript} and {type: valid_syntax}, or as `expectedImports`",
}
"""Keys of other evaluators that are ignored, and what to write instead."""


class ExpectedModel(FileModel):
    """``expected:``: what an answer must satisfy. At least one requirement."""

    validations: list[Rule] = Field(default_factory=list)
    expected_keywords: list[Text] = Field(default_factory=list)
    forbidden_keywords: list[Text] = Field(default_factory=list)
    expected_imports: list[Text] = Field(default_factory=list)
    ground_truth: Any = None
    code_requirements: Any = None

    @model_validator(mode="after")
    def _is_not_empty(self) -> ExpectedModel:
        if not (
            self.validations or self.expected_keywords or self.forbidden_keywords or self.expected_imports
        ):
            raise ValueError(
                "is empty, so the case could never fail; add at least one check under `validations`"
            )
        return self


CapturedName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class StepModel(FileModel):
    """One call of a case of several: a tool, a resource or a prompt."""

    tool: Text | None = None
    resource: Text | None = None
    prompt: Text | None = None
    input: dict[str, Any] = Field(default={})
    expected: ExpectedModel | None = None
    capture: dict[CapturedName, PathText] = Field(default={})
    timeout: Seconds | None = None
    expect_rejection: bool | None = None
    expect_empty: bool | None = None

    @property
    def expects_something(self) -> bool:
        """Whether an answer can make the step fail."""
        return bool(self.expected or self.expect_rejection or self.expect_empty)

    @model_validator(mode="after")
    def _is_one_call(self) -> StepModel:
        targets = [name for name in ("tool", "resource", "prompt") if getattr(self, name) is not None]
        if len(targets) != 1:
            found = " and ".join(f"`{name}`" for name in targets) or "none of them"
            raise ValueError(f"needs exactly one of `tool`, `resource` or `prompt`, and has {found}")
        if self.resource is not None and self.input:
            raise ValueError("a resource takes no `input`; put its parameters into the URI")
        _require_one_expectation(self)
        return self


class CaseModel(FileModel):
    """One entry of ``tests:``."""

    id: CaseId
    name: Text | None = None
    description: str = ""
    tool: Text | None = None
    project: Text | None = None
    difficulty: Difficulty | None = None
    input: dict[str, Any] | None = None
    expected: ExpectedModel | None = None
    steps: Annotated[list[StepModel], Field(min_length=1)] | None = None
    tags: list[Text] = Field(default_factory=list)
    server: Text | None = None
    fresh: bool | None = None
    stateful: bool | None = None
    timeout: Seconds | None = None
    send_project: bool | None = None
    fixtures: list[FixtureName] = Field(default_factory=list)
    expect_rejection: bool | None = None
    expect_empty: bool | None = None
    ground_truth: Any = None
    code_requirements: Any = None
    marks: CaseMarks = CaseMarks()

    @cached_property
    def calls(self) -> Sequence[StepModel]:
        """The steps; a case of one call is one step."""
        if self.steps is not None:
            return self.steps
        return [
            StepModel.model_construct(
                tool=self.tool,
                input=self.input or {},
                expected=self.expected,
                expect_rejection=self.expect_rejection,
                expect_empty=self.expect_empty,
            )
        ]

    @model_validator(mode="after")
    def _is_one_call_or_steps(self) -> CaseModel:
        if self.steps is not None:
            of_a_call = ("tool", "input", "expected", "expect_rejection", "expect_empty")
            if both := next((name for name in of_a_call if getattr(self, name) is not None), None):
                raise ValueError(f"has both `steps` and `{both}`; move `{both}` into a step")
            if not any(step.expects_something for step in self.steps):
                raise ValueError("none of its `steps` says what is expected, so the case could never fail")
            return self
        expects_by_itself = self.expect_rejection or self.expect_empty
        needed = ("tool", "input") if expects_by_itself else ("tool", "input", "expected")
        if missing := " and ".join(f"`{name}`" for name in needed if getattr(self, name) is None):
            raise ValueError(f"lacks {missing} (or give `steps` instead of `tool`, `input` and `expected`)")
        _require_one_expectation(self)
        return self


def _require_one_expectation(call: CaseModel | StepModel) -> None:
    if call.expect_rejection and call.expect_empty:
        raise ValueError(
            "has both `expect_rejection` and `expect_empty`: a rejection is not empty; remove one"
        )


class GatesModel(FileModel):
    """``gates:`` of a suite."""

    pass_rate: Floor | None = None
    average_confidence: PercentFloor | None = None
    p95_latency_ms: Annotated[float, Field(gt=0, le=86_400_000)] | None = None
    no_new_failures: bool = False


class ScenarioSettings(FileModel):
    """The settings of a scenario suite; an entry of ``scenario:`` in ``mcpeval.yaml``."""

    server: Text | None = Field(None, description="name of the server; not needed when there is only one")
    tool_prefix: str = Field("", description="prefix added to every tool alias")
    tools: dict[Text, Text] = Field({}, description="tool alias → name on the server; overrides tool_prefix")
    send_project: bool = Field(True, description="pass the case's project to the tool as argument `project`")
    concurrency: Concurrency = Field(1, description="calls in flight at once")
    timeout: Seconds = Field(60.0, description="seconds a call may take")
    fresh: bool = Field(False, description="a private connection for every case")
    stateful: bool = Field(False, description="cases build on each other: one connection, one process")
    gates: GatesModel = Field(GatesModel(), description="rules over the whole suite that can fail the run")
    baseline: BaselinePath = Field(None, description="file of committed case outcomes, for no_new_failures")


class SuiteModel(ScenarioSettings):
    """A whole scenario file. Its settings override ``mcpeval.yaml``."""

    kind: Literal["scenario"] = "scenario"
    name: Text | None = None
    description: str = ""
    project: Text | None = None
    version: str = ""
    tests: Annotated[list[CaseModel], Field(min_length=1)]
    marks: CaseMarks = CaseMarks()
