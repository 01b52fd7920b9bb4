"""The check ``matches_schema``: JSON held to a JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from pytest_mcpeval.servers.response import Response

from .json_values import Source, json_of
from .parameters import Parameters
from .registry import check_type
from .schema_patterns import bad_pattern, errors_by
from .vacuous import schema_problem
from .verdict import JudgementError, Verdict, failed, inconclusive, on_one_line, passed

SHOWN_ERRORS = 10


def problem_of_schema(schema: Mapping[str, Any]) -> str | None:
    """Why something is no JSON Schema, or None."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError, ValidationError, best_match
    from jsonschema.validators import validator_for

    kind = validator_for(schema, default=Draft202012Validator)
    error: SchemaError | None = best_match(kind(kind.META_SCHEMA).iter_errors(schema))
    if error is not None:
        return f"{error.json_path}: {on_one_line(error.message)}"
    found = bad_pattern(schema)
    return f"{ValidationError('', path=found[0]).json_path}: {found[1]}" if found is not None else None


def _valid_schema(schema: dict[str, Any]) -> dict[str, Any]:
    problem = problem_of_schema(schema)
    if problem is not None:
        raise ValueError(f"not a JSON Schema: {problem}")
    if (problem := schema_problem(schema)) is not None:
        raise ValueError(problem)
    return schema


class MatchesSchema(Parameters):
    schema_: Annotated[dict[str, Any], AfterValidator(_valid_schema)] | None = Field(None, alias="schema")
    output_schema: bool = False
    source: Source | None = None

    @model_validator(mode="after")
    def _one_schema(self) -> Self:
        if (self.schema_ is None) == (not self.output_schema):
            raise ValueError("matches_schema needs either schema: {…} or output_schema: true")
        if self.output_schema and self.source == "text":
            raise ValueError("output_schema is about structured content; remove source: text")
        return self


@check_type("matches_schema", MatchesSchema)
def matches_schema(parameters: MatchesSchema, response: Response) -> Verdict:
    """The JSON of the response is valid against `schema`, or against the tool's own (`output_schema: true`).

    `schema` is a JSON Schema, 2020-12 unless its `$schema` says otherwise; references to other documents are
    not fetched, and `format` is not enforced. Patterns have JavaScript's meaning, and a search that takes
    longer than two seconds fails the check. Inconclusive when the server declares no output schema.
    """
    if parameters.schema_ is not None:
        return _judge(json_of(response, parameters.source), parameters.schema_)
    if response.output_schema is None:
        recovery = "declare an outputSchema in the server, or give schema: {…} here"
        return inconclusive("the server declares no output schema for this tool", recovery)
    problem = problem_of_schema(response.output_schema)
    if problem is not None:
        return failed(f"the output schema of the server is not a JSON Schema: {problem}")
    if schema_problem(response.output_schema) is not None:
        recovery = "say more in the server's outputSchema, or give schema: {…} here"
        return inconclusive("the output schema of the server decides nothing", recovery)
    return _judge(json_of(response, "structured"), response.output_schema)


def _judge(value: Any, schema: Mapping[str, Any]) -> Verdict:
    errors = _errors(value, schema)
    if not errors:
        return passed("valid against the schema")
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return failed(f"{errors[0]}{more}", {"errors": errors[:SHOWN_ERRORS]})


def _errors(value: Any, schema: Mapping[str, Any]) -> list[str]:
    from referencing.exceptions import Unresolvable

    try:
        errors = list(errors_by(schema)(value))
    except Unresolvable as error:
        raise JudgementError(
            f"the schema refers to {error.ref}, which is not in it (nothing is fetched)"
        ) from None
    return sorted(f"{error.json_path}: {on_one_line(error.message)}" for error in errors)
