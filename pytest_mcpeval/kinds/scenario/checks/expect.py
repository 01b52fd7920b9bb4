"""Checks for tests written in Python: one method per built-in check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypedDict, Unpack

from pytest_mcpeval.core.errors import InvalidTest
from pytest_mcpeval.core.sample import MARKS, Check
from pytest_mcpeval.servers.response import Response
from pytest_mcpeval.text.visible import visible

from .builtin import BUILTIN
from .implied import implied
from .json_values import Source
from .registry import CheckRegistry, ParsedCheck
from .verdict import on_one_line


class CheckFailed(AssertionError):  # noqa: N818 - reads as what happened in a test report
    """Checks of a response did not pass; ``checks`` are the failed ones, ``response`` is what was judged."""

    __module__ = "pytest_mcpeval"  # Shown in tracebacks: where people import it from.

    def __init__(self, checks: Sequence[Check], response: Response) -> None:
        self.checks = tuple(checks)
        self.response = response
        lines = [f"{MARKS[check.status]} {check.name}: {check.message}" for check in self.checks]
        lines.append(f"response: {on_one_line(response.text, 200) or '(no text)'}")
        super().__init__(visible("\n".join(lines)))


class JsonPathOperators(TypedDict, total=False):
    """The operators of `Expect.json_path`; ``in_`` stands for ``in``."""

    source: Source
    match: Literal["all", "any", "first"]
    exists: bool
    count: int
    equals: Any
    not_equals: Any
    contains: Any
    matches: str
    case_sensitive: bool
    gt: float | str
    gte: float | str
    lt: float | str
    lte: float | str
    in_: list[Any]
    value_type: Literal["string", "number", "integer", "boolean", "array", "object", "null"]
    length: int
    min_length: int
    max_length: int


class Expect:
    """Judges one response, check by check; every check is recorded in ``checks``.  A check that does
    not pass raises `CheckFailed` at once, or, inside ``with expect.all():``, after all checks of the
    block were evaluated. An invalid check raises `CheckSpecError`. As in data files, if the tool
    reports an error, every check fails unless ``is_error()`` comes first; if the answer has no
    content, every negative check fails unless ``equals("")`` comes first.
    """

    def __init__(self, response: Response, registry: CheckRegistry = BUILTIN) -> None:
        __tracebackhide__ = True
        if not isinstance(response, Response):
            raise TypeError(
                f"only a Response can be judged, or a text: found {on_one_line(repr(response), 80)}"
            )
        self.response = response
        self.checks: list[Check] = []
        self._judged: list[tuple[ParsedCheck, Check]] = []
        self._registry = registry
        self._collecting = False

    @property
    def not_(self) -> Expect:
        """Negate the next check: ``expect.not_.contains("x").contains("y")``."""
        return Negated(self)

    @contextmanager
    def all(self) -> Iterator[Expect]:
        """Evaluate every check of the block, then raise `CheckFailed` with all that did not pass.

        Raises:
            InvalidTest: There is no check in the block.
        """
        start, judged, outer = len(self.checks), len(self._judged), self._collecting
        self._collecting = True
        try:
            yield self
        finally:
            self._collecting = outer
        if len(self._judged) == judged:
            raise InvalidTest("`with ….all():` evaluates no check: call one in its block")
        self._raise_for(start)

    def check(self, type_: str, **parameters: Any) -> Expect:
        """Evaluate a check by its name, including those registered by a hook."""
        return self.rule({"type": type_, **parameters})

    def rule(self, rule: Mapping[str, Any]) -> Expect:
        """Evaluate a check in the form of data files."""
        __tracebackhide__ = True
        parsed = self._registry.parse(rule)
        check = parsed.evaluate(self.response)
        self.checks.append(check)
        self._judged.append((parsed, check))
        self._raise_for(len(self.checks) - 1)
        return self

    def contains(self, value: str, *, case_sensitive: bool = False) -> Expect:
        """The text contains ``value``."""
        return self.check("contains", value=value, **_given(case_sensitive=case_sensitive or None))

    def contains_any(self, *values: str) -> Expect:
        """The text contains at least one of the values."""
        return self.check("contains_any", values=list(values))

    def contains_all(self, *values: str) -> Expect:
        """The text contains every value."""
        return self.check("contains_all", values=list(values))

    def matches_regex(self, pattern: str, *, case_sensitive: bool = False) -> Expect:
        """The regular expression matches somewhere in the text."""
        given = _given(case_sensitive=case_sensitive or None)
        return self.check("matches_regex", pattern=pattern, **given)

    def has_code_block(self, language: str | None = None) -> Expect:
        """The text has a fenced code block, of ``language`` when given."""
        return self.check("has_code_block", **_given(language=language))

    def has_import(self, module: str) -> Expect:
        """The text imports ``module``."""
        return self.check("has_import", module=module)

    def valid_syntax(self, language: str | None = None) -> Expect:
        """Every code block (of ``language`` when given) parses, and there is one."""
        return self.check("valid_syntax", **_given(language=language))

    def min_length(self, chars: int) -> Expect:
        """The answer has at least ``chars`` characters, without its metadata block."""
        return self.check("min_length", chars=chars)

    def has_citation(self) -> Expect:
        """The text cites a source: ``[Source 1]`` or ``[1]``."""
        return self.check("has_citation")

    def confidence_above(self, threshold: float) -> Expect:
        """The reported confidence is ``threshold`` or higher."""
        return self.check("confidence_above", threshold=threshold)

    def confidence_below(self, threshold: float) -> Expect:
        """The reported confidence is lower than ``threshold``."""
        return self.check("confidence_below", threshold=threshold)

    def sources_count(self, min: int) -> Expect:
        """The answer reports ``min`` sources or more."""
        return self.check("sources_count", min=min)

    def equals(self, value: Any, *, path: str | None = None, source: Source | None = None) -> Expect:
        """The text (for a text) or the JSON of the response is exactly ``value``."""
        return self.check("equals", value=value, **_given(path=path, source=source))

    def is_error(self, contains: str | None = None) -> Expect:
        """The tool reports an error, with ``contains`` in its text when given."""
        return self.check("is_error", **_given(contains=contains))

    def not_error(self) -> Expect:
        """The tool reports no error."""
        return self.check("not_error")

    def json_path(self, path: str, **operators: Unpack[JsonPathOperators]) -> Expect:
        """The values that a JSONPath selects satisfy all operators."""
        return self.check("json_path", path=path, **operators)

    def matches_schema(
        self,
        schema: Mapping[str, Any] | None = None,
        *,
        output_schema: bool = False,
        source: Source | None = None,
    ) -> Expect:
        """The JSON of the response is valid against ``schema``, or the tool's own output schema."""
        given = _given(
            schema=None if schema is None else dict(schema),
            output_schema=output_schema or None,
            source=source,
        )
        return self.check("matches_schema", **given)

    def min_results(self, count: int, *, path: str | None = None, source: Source | None = None) -> Expect:
        """The response lists ``count`` results or more."""
        return self.check("min_results", count=count, **_given(path=path, source=source))

    def max_results(self, count: int, *, path: str | None = None, source: Source | None = None) -> Expect:
        """The response lists ``count`` results or fewer."""
        return self.check("max_results", count=count, **_given(path=path, source=source))

    def max_latency_ms(self, ms: float) -> Expect:
        """The answer came within ``ms`` milliseconds."""
        return self.check("max_latency_ms", ms=ms)

    def any_of(self, *rules: Mapping[str, Any]) -> Expect:
        """At least one of these rules, written as in data files, holds."""
        return self.rule({"type": "any_of", "checks": list(rules)})

    def all_of(self, *rules: Mapping[str, Any]) -> Expect:
        """All of these rules, written as in data files, hold."""
        return self.rule({"type": "all_of", "checks": list(rules)})

    def _raise_for(self, start: int) -> None:
        __tracebackhide__ = True
        if self._collecting:
            return
        wrong = [check for check in self.checks[start:] if not check.passed]
        if not wrong:
            wrong = list(implied(self._judged, self.response))
            self.checks += wrong
        if wrong:
            raise CheckFailed(wrong, self.response)


class Negated(Expect):
    """Negates one check; that check and all later ones are evaluated by the original `Expect`."""

    def __init__(self, positive: Expect) -> None:
        super().__init__(positive.response)
        self.checks, self._judged = positive.checks, positive._judged
        self._positive = positive

    def rule(self, rule: Mapping[str, Any]) -> Expect:
        __tracebackhide__ = True
        return self._positive.rule({"type": "not", "check": rule})


def _given(**parameters: Any) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}
