"""Checks of values in JSON: ``equals`` and ``json_path``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import inf
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from pytest_mcpeval.servers.response import Response

from .claims import MOST, Claim, Combined, Fact, fact, opposite, text_has
from .json_values import (
    CASE_SENSITIVE,
    OPERATORS,
    PathText,
    Source,
    compile_path,
    is_number,
    json_at,
    json_equal,
    json_excerpt,
    json_of,
    nodes,
)
from .metadata import trimmed
from .parameters import Parameters, above, at_most
from .registry import check_type
from .text import Pattern
from .verdict import Verdict, failed, judged, on_one_line, passed, quoted

Size = Annotated[int, Field(ge=0), at_most(MOST, "nothing is that long; lower it")]
JsonType = Literal["string", "number", "integer", "boolean", "array", "object", "null"]
Node = tuple[str, Any]
LENGTHS = (("min_length", "max_length"), ("min_length", "length"), ("length", "max_length"))


def _orderable(limit: Any) -> Any:
    if is_number(limit) or isinstance(limit, str):
        return limit
    raise ValueError(f"expected a number or a text to compare with, found {json_excerpt(limit)}")


Limit = Annotated[Any, AfterValidator(_orderable)]


class Equals(Parameters):
    value: Any
    path: PathText | None = None
    source: Source | None = None


class JsonPathCheck(Parameters):
    path: PathText
    source: Source | None = None
    match: Literal["all", "any", "first"] = "all"
    exists: bool = True
    count: Size | None = None
    equals: Any = None
    not_equals: Any = None
    contains: Any = None
    matches: Pattern | None = None
    case_sensitive: bool = False
    gt: Limit = None
    gte: Limit = None
    lt: Limit = None
    lte: Limit = None
    in_: list[Any] | None = Field(None, alias="in", min_length=1)
    value_type: JsonType | None = None
    length: Size | None = None
    min_length: Annotated[Size, above(0, "everything with a length would pass; say 1 or more")] | None = None
    max_length: Size | None = None

    @model_validator(mode="after")
    def _no_key_is_idle(self) -> Self:
        if not self.exists and (self.count is not None or self.operators()):
            raise ValueError("exists: false leaves nothing to compare; remove it or the other operators")
        if self.case_sensitive and not {"contains", "matches"} & self.operators().keys():
            raise ValueError("caseSensitive is for contains and matches only; remove it or add one of them")
        return self

    @model_validator(mode="after")
    def _decides_something(self) -> Self:
        if problem := next(self._undecided(), None):
            raise ValueError(problem)
        return self

    def _undecided(self) -> Iterator[str]:
        """Yield why the check would pass for every answer, or for none."""
        if self.contains == "":
            yield 'contains: "" is in every text; say what the text has to contain'
        if self.gte == "" or self.lt == "":
            yield 'every text is at least "", and none is less; say another limit'
        most = 1 if compile_path(self.path).singular_query() else inf
        if self.path == "$" and (not self.exists or self.count == 0):
            yield "path: $ is the JSON itself, which is always there; say another path"
        if self.count == 0 and self.operators():
            yield "count: 0 leaves nothing to compare; remove it or the other operators"
        if self.count is not None and self.count > most:
            yield f"count: {self.count} is more than the one value that {self.path} can select"
        for lower, upper in (("gt", "lt"), ("gt", "lte"), ("gte", "lt"), ("gte", "lte"), *LENGTHS):
            least, limit = getattr(self, lower), getattr(self, upper)
            if least is None or limit is None or isinstance(least, str) != isinstance(limit, str):
                continue
            if least > limit or (least == limit and (lower == "gt" or upper == "lt")):
                yield f"no value has both {lower}: {json_excerpt(least)} and {upper}: {json_excerpt(limit)}"

        wanted = {name: value for name, value in self.operators().items() if name != "matches"}
        listed = [wanted["equals"]] if "equals" in wanted else self.in_ or []
        # The value of a placeholder is not known yet.
        is_final = "${" not in json.dumps(wanted, default=repr)
        if listed and is_final and all(_problem(("", one), wanted, self.case_sensitive) for one in listed):
            yield f"no value is {_wanted(wanted)}"

    def operators(self) -> dict[str, Any]:
        """The operators that were given, with their values; ``equals: null`` is one too."""
        return {name: getattr(self, name) for name in OPERATORS if name in self.model_fields_set}


def _equal(given: Equals) -> Claim:
    if isinstance(given.value, str) and given.path is None and given.source != "structured":
        text = trimmed(given.value)
        return Combined("all_of", (Fact("whole text", "is", text), text_has(text, case_sensitive=True)))
    if isinstance(given.value, (list, dict)):
        return fact(repr(given))
    # 1 and 1.0 are the same number, and true is not a number.
    value = given.value if is_number(given.value) else json.dumps(given.value, default=repr)
    return Fact(f"all values at {given.path} in {given.source}", "is", value)


def _selected(given: JsonPathCheck) -> Claim:
    def at_least(count: int) -> Claim:
        return Fact(f"values at {given.path} in {given.source}", "at least", count)

    if not given.exists or given.count == 0:
        return opposite(at_least(1))
    claims = [at_least(given.count or 1)]
    if given.count is not None:
        claims.append(opposite(at_least(given.count + 1)))
    if given.operators():
        claims.append(fact(repr(given)))
    return Combined("all_of", tuple(claims))


@check_type("equals", Equals, claim=_equal)
def equals(parameters: Equals, response: Response) -> Verdict:
    """The response is exactly `value`.

    A text is compared with the text of the response, both without surrounding white space; any other value
    with the JSON of the response. With `path` (JSONPath), every selected value must be equal, and
    there must be at least one.
    """
    expected = parameters.value
    if parameters.path is not None:
        value = json_at(parameters.path, response, parameters.source)
        return _judge_nodes(nodes(parameters.path, value), parameters.path, expected)
    if isinstance(expected, str) and parameters.source != "structured":
        return _judge_text(trimmed(response.text), trimmed(expected))
    found = json_of(response, parameters.source)
    same = json_equal(found, expected)
    return judged(
        same,
        f"equals {json_excerpt(found)}" if same else f"{json_excerpt(found)} is not {json_excerpt(expected)}",
    )


@check_type("json_path", JsonPathCheck, claim=_selected)
def json_path(parameters: JsonPathCheck, response: Response) -> Verdict:
    """The values that `path` (JSONPath, RFC 9535) selects in the JSON of the response satisfy all operators.

    The JSON is the structured content, or the text if there is none. Python servers wrap the result of
    `-> str`, `-> int` or `-> list` in structured content: `{"result": "5"}` or `{"result": 5}`. If the text
    says the same, the wrapped value is used, here 5. `$.result` finds that value too, unless the value is an
    object that has a `result` itself. All JSON checks see the same value; `source` selects the text or the
    structured content unchanged.

    Without operators at least one value must exist. `match` says which values must satisfy the operators:
    `all` (default; at least one must exist), `any`, or the `first`. Operators: `exists`, `count` (of
    selected values), `equals`, `not_equals`, `contains` (part of a text, member of an array, key of an
    object), `matches` (regular expression, as in `matches_regex`), `gt`, `gte`, `lt`, `lte` (numbers with
    numbers, texts with texts), `in`, `value_type`, `length`, `min_length`, `max_length` (of texts, arrays
    and objects). For `matches`, and for `contains` in a text, upper and lower case are the same unless
    `caseSensitive` is true; all other operators tell them apart.
    """
    found = nodes(parameters.path, json_at(parameters.path, response, parameters.source))
    amount = (
        f"{parameters.path} selects {len(found)} value{'' if len(found) == 1 else 's'}"
        if found
        else f"nothing at {parameters.path}"
    )
    details = {"count": len(found)}
    if parameters.count is not None and parameters.count != len(found):
        return failed(f"{amount}, expected {parameters.count}", details)
    operators = parameters.operators()
    if operators:
        return _judge_operators(parameters, operators, found)
    if parameters.count is not None:
        return passed(amount, details)
    return judged(bool(found) == parameters.exists, amount, details)


def _judge_operators(parameters: JsonPathCheck, operators: dict[str, Any], selected: list[Node]) -> Verdict:
    if not selected:
        return failed(f"nothing at {parameters.path}", {"count": 0})
    considered = selected[:1] if parameters.match == "first" else selected
    problems = [_problem(node, operators, parameters.case_sensitive) for node in considered]
    wrong = [problem for problem in problems if problem is not None]
    holds = len(wrong) < len(considered) if parameters.match == "any" else not wrong
    details = {"count": len(selected), "failing": len(wrong)}
    if not holds:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        return failed(f"{wrong[0]}{more}", details)
    return passed(f"{parameters.path} is {_wanted(operators)}", details)


def _problem(node: Node, operators: dict[str, Any], case_sensitive: bool) -> str | None:
    location, found = node
    known = CASE_SENSITIVE if case_sensitive else OPERATORS
    broken = {name: wanted for name, wanted in operators.items() if not known[name][1](found, wanted)}
    return f"{on_one_line(location)} is {json_excerpt(found)}, not {_wanted(broken)}" if broken else None


def _wanted(operators: dict[str, Any]) -> str:
    return " and ".join(f"{OPERATORS[name][0]} {json_excerpt(wanted)}" for name, wanted in operators.items())


def _judge_nodes(selected: list[Node], path: str, expected: Any) -> Verdict:
    if not selected:
        return failed(f"nothing at {path}")
    wrong = next((node for node in selected if not json_equal(node[1], expected)), None)
    if wrong is None:
        return passed(f"{path} is {json_excerpt(expected)}")
    return failed(f"{on_one_line(wrong[0])} is {json_excerpt(wrong[1])}, not {json_excerpt(expected)}")


def _judge_text(found: str, expected: str) -> Verdict:
    if found == expected:
        return passed(f"equals {quoted(expected)}")
    pairs = zip(found, expected, strict=False)
    start = next(
        (i for i, (left, right) in enumerate(pairs) if left != right), min(len(found), len(expected))
    )
    if start < 40:
        return failed(f"the text is {quoted(found)}, not {quoted(expected)}")
    return failed(
        f"the text differs from character {start + 1} on:"
        f" {quoted(found[start:])}, not {quoted(expected[start:])}"
    )
