"""The shape of a scenario file, and of its settings. camelCase and snake_case spellings are both read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

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

Difficulty = Literal["basic", "intermediate", "advanced"]
Rule = dict[str, Any]
"""A check as written; the check registry parses it, since users may register types of their own."""


class SkipIfEnvModel(FileModel):
    """Skip when an environment variable is set, or with ``when: unset`` when it is not."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    reason: Text
    when: Literal["set", "unset"] = "set"


class XfailModel(FileModel):
    """Expect the case to fail; ``strict`` (the default) fails it when it passes."""

    reason: Text
    strict: bool = True


class MarksModel(FileModel):
    """``marks:`` of a case or suite."""

    skip: Text | None = None
    xfail: XfailModel | Text | None = None
    skipif_env: SkipIfEnvModel | list[SkipIfEnvModel] | None = None


FOREIGN_KEYS: Mapping[str, str] = {
    "ground_truth": "say what the answer must hold under `expected`, as `expectedKeywords` or `validations`, "
    "such as {type: contains_all, values: […]}",
    "code_requirements": "say what its code must be as `validations`, such as "
    "{type: has_code_block, language: typescript} and {type: valid_syntax}, or as `expectedImports`",
}
"""Keys of other evaluators that are read over, and what to write instead of them."""


class ExpectedModel(FileModel):
    """``expected:``: what must hold of an answer. At least one requirement."""

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


def step_problem(given: Mapping[str, Any], *, says_what_lacks: bool = True) -> str | None:
    """What is wrong with the keys of a step taken together; None stands for a key that is not there."""
    targets = [name for name in ("tool", "resource", "prompt") if given.get(name) is not None]
    if len(targets) > 1 or (says_what_lacks and not targets):
        found = " and ".join(f"`{name}`" for name in targets) or "none of them"
        return f"needs exactly one of `tool`, `resource` or `prompt`, and has {found}"
    if given.get("resource") is not None and given.get("input"):
        return "a resource takes no `input`; put its parameters into the URI"
    return _contradiction(given)


def _contradiction(given: Mapping[str, Any]) -> str | None:
    if given.get("expect_rejection") and given.get("expect_empty"):
        return "has both `expect_rejection` and `expect_empty`: a rejection says something; remove one"
    return None


def _expects_something(given: Mapping[str, Any]) -> bool:
    """Whether a case or a step can fail by what its answer is."""
    return any(given.get(name) for name in ("expected", "expect_rejection", "expect_empty"))


def case_problem(given: Mapping[str, Any], *, says_what_lacks: bool = True) -> str | None:
    """What is wrong with the keys of a case taken together; None stands for a key that is not there."""
    single = ("tool", "input", "expected")
    if given.get("steps") is not None:
        of_a_call = (*single, "expect_rejection", "expect_empty")
        both = next((name for name in of_a_call if given.get(name) is not None), None)
        return both and f"has both `steps` and `{both}`; move `{both}` into a step"
    needed = single[:2] if _expects_something(given) else single
    missing = " and ".join(f"`{name}`" for name in needed if given.get(name) is None)
    if says_what_lacks and missing:
        return f"lacks {missing} (or give `steps` instead of `tool`, `input` and `expected`)"
    return _contradiction(given)


class StepModel(FileModel):
    """One call of a case of several: a tool, a resource or a prompt."""

    tool: Text | None = None
    resource: Text | None = None
    prompt: Text | None = None
    input: dict[str, Any] = Field(default={})
    expected: ExpectedModel | None = None
    capture: dict[Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], Text] = Field(
        default={}
    )
    timeout: Seconds | None = None
    expect_rejection: bool | None = None
    expect_empty: bool | None = None

    @model_validator(mode="after")
    def _has_one_target(self) -> StepModel:
        if problem := step_problem(vars(self)):
            raise ValueError(problem)
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
    marks: MarksModel = MarksModel()

    @model_validator(mode="after")
    def _is_one_call_or_steps(self) -> CaseModel:
        if problem := case_problem(vars(self)):
            raise ValueError(problem)
        if self.steps is not None and not any(_expects_something(vars(step)) for step in self.steps):
            raise ValueError("none of its `steps` says what is expected, so the case could never fail")
        return self


class GatesModel(FileModel):
    """``gates:`` of a suite."""

    pass_rate: Floor | None = None
    average_confidence: PercentFloor | None = None
    p95_latency_ms: Annotated[float, Field(gt=0, le=86_400_000)] | None = None
    no_new_failures: bool = False


class ScenarioSettings(FileModel):
    """What a scenario suite is run against and held to; an entry of ``scenario:`` in ``mcpeval.yaml``."""

    server: Text | None = Field(None, description="name of the server; not needed when there is only one")
    tool_prefix: str = Field("", description="put in front of every tool alias")
    tools: dict[Text, Text] = Field({}, description="tool alias → name on the server; wins over tool_prefix")
    send_project: bool = Field(True, description="pass the case's project to the tool as argument `project`")
    concurrency: Concurrency = Field(1, description="calls in flight at once")
    timeout: Seconds = Field(60.0, description="seconds a call may take")
    fresh: bool = Field(False, description="a private connection for every case")
    stateful: bool = Field(False, description="cases build on each other: one connection, one process")
    gates: GatesModel = Field(GatesModel(), description="rules over the whole suite that can fail the run")
    baseline: BaselinePath = Field(None, description="file of committed case outcomes, for no_new_failures")


class SuiteModel(ScenarioSettings):
    """A whole scenario file. Settings given here win over ``mcpeval.yaml``."""

    kind: Literal["scenario"] = "scenario"
    name: Text | None = None
    description: str = ""
    project: Text | None = None
    version: str = ""
    tests: Annotated[list[CaseModel], Field(min_length=1)]
    marks: MarksModel = MarksModel()
