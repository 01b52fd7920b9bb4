"""The registry of check types by name; it parses a rule of a data file into a check."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from inspect import cleandoc
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from pytest_mcpeval.core.sample import Check
from pytest_mcpeval.loading.messages import suggestion
from pytest_mcpeval.loading.schema import dotted
from pytest_mcpeval.servers.response import Response

from .claims import Claim, Combined, decides_nothing, fact
from .javascript_regex import SearchTimeoutError
from .parameters import Later, SpecProblem, canonical_keys, never, problems_of
from .verdict import JudgementError, Verdict, broken, on_one_line, unjudged

P = TypeVar("P", bound=BaseModel)
Judge = Callable[[Response], Verdict]
Path = tuple[str | int, ...]


_INSTEAD = {
    "has_search_guidance": "{type: contains_any, values: […]} with words the guidance has",
    "search_guidance_has_project": "{type: contains, value: …} with the project",
    "search_guidance_has_searches": "{type: min_results, count: 1, path: …} with the path of the searches",
    "has_web_search_suggestion": "{type: matches_regex, pattern: …} with the words of the suggestion",
}
FOREIGN_CHECKS: Mapping[str, str] = {
    name: f"{name} is a check of another evaluator and not defined here; write what you expect of the "
    f"answer, such as {instead}"
    for name, instead in _INSTEAD.items()
}
"""Check types of another evaluator that are refused, and what to write instead of each."""


class CheckSpecError(ValueError):
    """A rule is invalid; ``problems`` lists all mistakes as ``(path within the rule, message)``."""

    __module__ = "pytest_mcpeval"  # Shown in tracebacks: where people import it from.

    def __init__(self, problems: Sequence[SpecProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            "\n".join(f"{dotted(path)}: {message}" if path else message for path, message in problems)
        )


@dataclass(frozen=True)
class CheckType:
    """One kind of requirement: its name in data files, its keys, and the function that judges a response.

    The first line of ``description`` says what the check requires. ``timed``: it measures time, so
    its message differs from run to run. ``claim`` turns the parameters into facts that the check
    claims about an answer, to compare it with other checks; None: it is not compared.
    """

    name: str
    parameters: type[BaseModel]
    judge: Callable[[Any, Response], Verdict]
    description: str
    timed: bool = False
    claim: Callable[[Any], Claim] | None = None


@dataclass(frozen=True)
class CheckGroup:
    """A check that combines other checks, written ``{name: …}`` or ``{type: name, key: …}``.

    ``key`` is ``check`` for exactly one nested check and ``checks`` for a list of them.
    """

    name: str
    key: Literal["check", "checks"]
    combine: Callable[[Sequence[Verdict]], Verdict]
    description: str


@dataclass(frozen=True)
class ParsedCheck:
    """A valid rule.  ``rule`` is plain data with the keys in their canonical spelling. ``parse``
    makes the check again from such a rule with other values; None: the registry does it. ``timed``:
    the check, or one inside it, measures time. ``claims`` returns what the check claims about an
    answer, unless it is a group.
    """

    rule: Mapping[str, Any]
    judge: Judge
    children: tuple[ParsedCheck, ...] = ()
    parse: Callable[[Mapping[str, Any]], ParsedCheck] | None = None
    timed: bool = False
    claims: Callable[[], Claim] | None = None

    @property
    def name(self) -> str:
        """The type of the rule, such as ``contains``."""
        return str(self.rule["type"])

    @property
    def claim(self) -> Claim:
        """What the check claims about an answer."""
        if self.claims is not None:
            return self.claims()
        if self.name in ("not", "any_of", "all_of"):
            return Combined(self.name, tuple(child.claim for child in self.children))
        return fact(repr(self.rule))

    def verdict(self, response: Response) -> Verdict:
        """Return the judge's verdict.

        If the judge raises an exception, the check is broken, and nothing is raised.
        """
        try:
            found = self.judge(response)
            if found.details is not None:
                json.dumps(found.details, allow_nan=False)
        except (JudgementError, SearchTimeoutError) as error:
            return unjudged(str(error))
        except CheckSpecError as error:
            return broken(str(error))
        except Exception as error:
            return broken(
                f"the check {self.name} broke: {on_one_line(f'{type(error).__name__}: {error}', 200)}"
            )
        return found

    def evaluate(self, response: Response) -> Check:
        """Return the result of the check on one response."""
        found = self.verdict(response)
        return Check(
            self.rule, found.status, found.message, found.details, timed=self.timed, broke=found.broke
        )


def check_type(
    name: str, parameters: type[P], *, timed: bool = False, claim: Callable[[P], Claim] | None = None
) -> Callable[[Callable[[P, Response], Verdict]], CheckType]:
    """Make a check type from a judge ``(parameters, response) -> Verdict``; its docstring is the description.

    ``timed``: it measures time, so reports show its messages separately. ``claim``: see `CheckType`.

    Raises:
        ValueError: The judge has no docstring.
    """

    def make(judge: Callable[[P, Response], Verdict]) -> CheckType:
        if not judge.__doc__ and sys.flags.optimize < 2:  # PYTHONOPTIMIZE=2 takes docstrings away.
            raise ValueError(f"the judge of check {name} needs a docstring that says what it requires")
        return CheckType(name, parameters, judge, cleandoc(judge.__doc__ or ""), timed, claim)

    return make


class CheckRegistry:
    """Check types by name; immutable."""

    def __init__(self, types: Iterable[CheckType | CheckGroup] = ()) -> None:
        self._types: dict[str, CheckType | CheckGroup] = {}
        for added in types:
            if (known := self._types.get(added.name)) is not None:
                both = f"{_origin(known)} and {_origin(added)}"
                raise ValueError(f'two check types are named "{added.name}": {both}; rename one')
            self._types[added.name] = added

    def __iter__(self) -> Iterator[CheckType | CheckGroup]:
        return iter(self._types.values())

    def get(self, name: str) -> CheckType | CheckGroup | None:
        """Return the type of this name, or None."""
        return self._types.get(name)

    def with_types(self, types: Iterable[CheckType | CheckGroup]) -> CheckRegistry:
        """Return a registry with these types added.

        Raises:
            ValueError: Two types have the same name.
        """
        return CheckRegistry([*self._types.values(), *types])

    def parse(self, rule: object, later: Later = never) -> ParsedCheck:
        """Return the rule as a check that can be evaluated any number of times.  If ``later`` says
        that values are filled in later, the rule may not be complete yet; evaluating it before that
        fails.

        Raises:
            CheckSpecError: The rule is not valid; all mistakes are listed, also those of nested checks.
        """
        problems: list[SpecProblem] = []
        parsed = self._parse(rule, (), problems, later)
        if parsed is None or problems:
            raise CheckSpecError(problems)
        return parsed

    def accepts(self, rules: Iterable[object]) -> bool:
        """Return whether `parse` accepts every rule; this is much faster."""
        simple: dict[type[BaseModel], list[dict[str, Any]]] = {}
        try:
            for rule in rules:
                name = rule.get("type") if isinstance(rule, dict) else None
                found = self._types.get(name) if isinstance(name, str) else None
                if isinstance(rule, dict) and isinstance(found, CheckType):
                    simple.setdefault(found.parameters, []).append(_without_type(rule))
                else:
                    self.parse(rule)
            for parameters, written in simple.items():
                _list_of(parameters).validate_python(written)
        except (CheckSpecError, ValidationError):
            return False
        return True

    def json_schema(self) -> dict[str, Any]:
        """A JSON Schema of one check, for editors."""
        from .editor_schema import schema_of_checks

        return schema_of_checks(self)

    def _parse(self, rule: object, at: Path, problems: list[SpecProblem], later: Later) -> ParsedCheck | None:
        if not isinstance(rule, Mapping):
            found = on_one_line(repr(rule), 40)
            problems.append(
                SpecProblem(at, f"expected a check such as {{type: has_citation}}, found {found}")
            )
            return None
        shorthand = [key for key in rule if isinstance(self._types.get(key), CheckGroup)]
        name = shorthand[0] if shorthand and "type" not in rule else rule.get("type")
        found_type = self._types.get(name) if isinstance(name, str) else None
        if isinstance(found_type, CheckGroup):
            return self._parse_group(found_type, rule, at, problems, later)
        if found_type is not None:
            return _parse_single(found_type, rule, at, problems, later)
        problems.append(self._unknown(rule, at))
        return None

    def _parse_group(
        self,
        group: CheckGroup,
        rule: Mapping[str, Any],
        at: Path,
        problems: list[SpecProblem],
        later: Later,
    ) -> ParsedCheck | None:
        key = group.key if "type" in rule else group.name
        problems += [
            SpecProblem((*at, extra), f'unknown key "{extra}" next to {group.name}{suggestion(extra, [key])}')
            for extra in rule
            if extra not in ("type", key)
        ]
        nested: Any = rule.get(key)
        if group.key == "checks" and not (isinstance(nested, list) and nested):
            problems.append(SpecProblem((*at, key), f"{group.name} needs a list of at least one check"))
            return None
        if key not in rule:
            problems.append(SpecProblem((*at, key), f'the key "{key}" is missing'))
            return None
        places = (
            [((*at, key), nested)]
            if group.key == "check"
            else [((*at, key, i), one) for i, one in enumerate(nested)]
        )
        children = [self._parse(one, place, problems, later) for place, one in places]
        valid = [child for child in children if child is not None]
        if len(valid) < len(children):
            return None
        grouped = _grouped(group, valid)
        if group.key == "checks" and (problem := decides_nothing(grouped.claim)) is not None:
            problems.append(SpecProblem((*at, key), f"{problem}; remove one"))
        return grouped

    def _unknown(self, rule: Mapping[str, Any], at: Path) -> SpecProblem:
        name = rule.get("type")
        if isinstance(name, str) and name in FOREIGN_CHECKS:
            return SpecProblem((*at, "type"), FOREIGN_CHECKS[name])
        if "type" in rule:
            listed = f"{suggestion(str(name), self._types)} (known: {', '.join(sorted(self._types))})"
            return SpecProblem((*at, "type"), f"unknown check type {on_one_line(repr(name), 40)}{listed}")
        for key in rule:
            close = suggestion(key, ["type", *self._types])
            if close and key not in self._types:
                return SpecProblem((*at, key), f"unknown key {on_one_line(repr(key), 40)}{close}")
        named = next((key for key in rule if key in self._types), None)
        hint = f"; write {{type: {named}, …}}" if named else " such as {type: has_citation}"
        return SpecProblem(at, f'the key "type" is missing: expected a check{hint}')


def _without_type(rule: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in rule.items() if key != "type"}


@cache
def _list_of(model: type[BaseModel]) -> TypeAdapter[list[BaseModel]]:
    return TypeAdapter(list[model])  # type: ignore[valid-type]


def _parse_single(
    found: CheckType, rule: Mapping[str, Any], at: Path, problems: list[SpecProblem], later: Later
) -> ParsedCheck | None:
    written = _without_type(rule)
    canonical = {"type": found.name, **canonical_keys(found.parameters, written)}
    try:
        parameters = found.parameters.model_validate(written)
    except ValidationError as error:
        wrong = problems_of(error, found.parameters, written, later)
        if not wrong:
            (_, message), *_ = problems_of(error, found.parameters, written)
            return ParsedCheck(canonical, lambda _: unjudged(f"no check without captured values: {message}"))
        problems += [SpecProblem((*at, *path), message) for path, message in wrong]
        return None
    # A model also has the keys that were not given.
    claims = (
        partial(found.claim, parameters) if found.claim else partial(fact, f"{found.name} {parameters!r}")
    )
    return ParsedCheck(canonical, partial(found.judge, parameters), timed=found.timed, claims=claims)


def _grouped(group: CheckGroup, children: list[ParsedCheck]) -> ParsedCheck:
    rules = [dict(child.rule) for child in children]
    nested: Any = rules if group.key == "checks" else rules[0]
    return ParsedCheck(
        {"type": group.name, group.key: nested},
        lambda response: group.combine([child.verdict(response) for child in children]),
        tuple(children),
        timed=any(child.timed for child in children),
    )


def _origin(found: CheckType | CheckGroup) -> str:
    function = found.judge if isinstance(found, CheckType) else found.combine
    return f"{function.__module__}.{function.__qualname__}"
