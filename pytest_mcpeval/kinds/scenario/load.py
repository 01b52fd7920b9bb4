"""Document → suite: returns the cases of a scenario file, or raises all its problems."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

from pydantic.alias_generators import to_camel

from pytest_mcpeval.core.case import Case
from pytest_mcpeval.core.suite import Place, Suite
from pytest_mcpeval.kinds.loader import SuiteLoader, suite_or_rows
from pytest_mcpeval.kinds.scenario.build import SpecBuilder, server_name, tool_name
from pytest_mcpeval.kinds.scenario.checks import FOREIGN_CHECKS, CheckRegistry, CheckSpecError
from pytest_mcpeval.kinds.scenario.checks.protocol import no_less_than_limit
from pytest_mcpeval.kinds.scenario.placeholders import has_opening, later, misused
from pytest_mcpeval.kinds.scenario.schema import (
    FOREIGN_KEYS,
    CaseModel,
    ExpectedModel,
    ScenarioSettings,
    StepModel,
    SuiteModel,
)
from pytest_mcpeval.kinds.scenario.spec import ScenarioSpec
from pytest_mcpeval.loading import Document, garbage_collection_paused
from pytest_mcpeval.loading.document import value_at
from pytest_mcpeval.loading.messages import counted, suggestion
from pytest_mcpeval.loading.schema import dotted
from pytest_mcpeval.text.placeholders import OPENING

Keys = tuple[str | int, ...]


def load_suite(document: Document, place: Place, registry: CheckRegistry) -> Suite[ScenarioSpec]:
    """The suite in a document; a JSON Lines file is a list of cases.

    Raises:
        DataFileError: With every problem that the schema sees, or else every other problem.
    """
    with garbage_collection_paused():
        model = suite_or_rows(SuiteModel, document, "tests")
        return _Loader(document, place, model, registry).suite()


class _Loader(SuiteLoader[SuiteModel, ScenarioSettings]):
    """Turns one validated file into cases, and collects problems that the schema cannot detect.  The
    spec of a case is made from its row on first use; keeping the models of all cases of a large file
    would slow down the whole session.
    """

    def __init__(self, document: Document, place: Place, model: SuiteModel, registry: CheckRegistry) -> None:
        super().__init__(document, place, model, ScenarioSettings, "tests")
        self.registry = registry
        self._foreign_checks: dict[str, list[Keys]] = {}

    def suite(self) -> Suite[ScenarioSpec]:
        tests = self.model.tests
        self._check_gates()
        self._check_cases()
        rows = value_at(self.document.data, self.at)
        builder = SpecBuilder(rows, self.settings, self.place.servers, self.registry, self.model.project)
        stateful = any(self.settings.stateful if case.stateful is None else case.stateful for case in tests)
        with self.all_problems():
            return Suite(
                key=self.place.key,
                kind="scenario",
                document=self.document,
                cases=tuple(self._case(index, case, builder, stateful) for index, case in enumerate(tests)),
                settings=self.settings,
                servers=self.place.servers,
                concurrency=self.settings.concurrency,
                stateful=stateful,
                warnings=tuple(self._foreign_keys()),
            )

    def _case(self, index: int, model: CaseModel, builder: SpecBuilder, stateful: bool) -> Case[ScenarioSpec]:
        at: Keys = (*self.at, index)
        fresh = self.settings.fresh if model.fresh is None else model.fresh
        steps = model.steps or ()
        tools = (model.tool,) if model.tool else tuple(dict.fromkeys(one.tool for one in steps if one.tool))
        traits = {
            "difficulty": model.difficulty,
            "tool": tools[0] if len(tools) == 1 else tools,
            "project": model.project or self.model.project,
            "tags": tuple(dict.fromkeys(model.tags)),
        }
        return Case(
            id=model.id,
            line=self.document.line(*at),
            keys=at,
            make_spec=partial(builder.spec, index),
            traits={name: value for name, value in traits.items() if value},
            marks=model.marks.within(self.model.marks),
            fixtures=tuple(model.fixtures),
            may_prefetch=not (fresh or stateful or model.fixtures),
        )

    def _foreign_keys(self) -> Iterator[str]:
        """Yield a warning for each key that is ignored, once per file."""
        for name, instead in FOREIGN_KEYS.items():
            places = [
                (index, *keys)
                for index, case in enumerate(self.model.tests)
                for keys, holder in (((), case), *_expectations(case))
                if getattr(holder, name) is not None
            ]
            if places:
                at = (*self.at, *places[0])
                line = self.document.line(*at, self._spelling(at, name))
                cases = counted(len({index for index, *_ in places}), "case")
                yield f"line {line}: `{to_camel(name)}` is not judged ({cases} of this file): {instead}"

    def _spelling(self, at: Keys, name: str) -> str:
        """Return how a key of a mapping is written in the file."""
        return name if name in value_at(self.document.data, at) else to_camel(name)

    def _check_gates(self) -> None:
        if self.settings.gates.no_new_failures and self.settings.baseline is None:
            message = (
                "gates.no_new_failures compares with a committed baseline: say which file with `baseline:`, "
                "and write it with pytest --mcpeval --mcpeval-bless"
            )
            self.problem("gates", "no_new_failures", message=message + self.origin("gates"))

    def _check_cases(self) -> None:
        tests = self.model.tests
        rules = (rule for case in tests for _, found in _expectations(case) for rule in found.validations)
        rules_hold = self.registry.accepts(rules)
        self._refuse_placeholders(("project",), self.model.project)
        for index, case in enumerate(tests):
            at: Keys = (*self.at, index)
            self._check_server(at, case)
            said = repr(value_at(self.document.data, at))
            if case.steps is None and OPENING not in said and "max_latency_ms" not in said:
                # Fast path for most cases: their text shows that there is nothing more to check.
                self._check_tool((*at, "tool"), case.tool or "")
            else:
                self._refuse_placeholders((*at, "project"), case.project)
                self._check_steps(at, case)
                self._check_latencies(at, case)
            if not rules_hold:
                self._check_rules(at, case)
        for message, found in self._foreign_checks.items():
            more = f" ({len(found)} times in this file)" if len(found) > 1 else ""
            self.problem(*found[0], message=f"{dotted(found[0])}: {message}{more}")

    def _check_server(self, at: Keys, model: CaseModel) -> None:
        servers = self.place.servers
        name = server_name(model, self.settings, servers)
        if name is not None and name in servers:
            return
        known = ", ".join(sorted(servers)) or "none"
        if name is None:
            message = f"no server is named: say `server:` here or in mcpeval.yaml (defined: {known})"
        else:
            message = f"unknown server {name!r}{suggestion(name, servers)} (defined: {known})"
        if model.server is not None:
            self.problem(*at, "server", message=message)
            return
        # A wrong server of the suite is reported once, not for each case.
        message += self.origin("server")
        if not any(problem.message == message for problem in self.problems):
            self.problem("server", message=message)

    def _check_steps(self, at: Keys, case: CaseModel) -> None:
        captured: dict[str, str] = {}
        in_all = {name for step in case.calls for name in step.capture}
        for number, step in enumerate(case.calls):
            self._check_step(_step_at(at, case, number), step, captured, in_all)
            captured.update(step.capture)

    def _check_step(
        self, at: Keys, step: StepModel, captured: Mapping[str, str], in_all: Collection[str]
    ) -> None:
        """Check a step's tool and placeholders; its checks may use what the step itself captures."""
        self._check_tool((*at, "tool"), step.tool or "")
        for key in ("input", "resource"):
            for path, message in misused(getattr(step, key), captured, in_all):
                self.problem(*at, key, *path, message=message)
        for key in ("tool", "prompt", "capture"):
            self._refuse_placeholders((*at, key), getattr(step, key))
        for name in ExpectedModel.model_fields.keys() - FOREIGN_KEYS.keys():
            rules = getattr(step.expected, name, ())
            for path, message in misused(rules, {**captured, **step.capture}, in_all):
                keys = (*at, "expected")
                self.problem(*keys, self._spelling(keys, name), *path, message=message)

    def _check_tool(self, at: Keys, alias: str) -> None:
        if alias and tool_name(alias, self.settings) is None:
            tools = self.settings.tools
            close = suggestion(alias, [*tools, *tools.values()])
            message = f"unknown tool alias {alias!r}{close}; `tools:` knows {', '.join(sorted(tools))}"
            self.problem(*at, message=message + self.origin("tools"))

    def _refuse_placeholders(self, at: Keys, value: Any) -> None:
        if has_opening(value):
            words = (
                "no value is filled in here: placeholders are allowed in `input`, `resource` and `expected`"
            )
            self.problem(*at, message=f"{dotted(at)}: {words}")

    def _check_latencies(self, at: Keys, case: CaseModel) -> None:
        """Refuse latency limits above the time limit of the call: after that there is no answer to judge."""
        for number, step in enumerate(case.calls):
            limit = 1000 * (step.timeout or case.timeout or self.settings.timeout)
            keys = (*_step_at(at, case, number), "expected", "validations")
            for path, latency in _latencies(step.expected.validations if step.expected else ()):
                if latency >= limit:
                    self.problem(*keys, *path, message=no_less_than_limit(latency, limit))

    def _check_rules(self, at: Keys, case: CaseModel) -> None:
        for place, expected in _expectations(case):
            for index, rule in enumerate(expected.validations):
                try:
                    self.registry.parse(rule, later)
                except CheckSpecError as error:
                    for path, message in error.problems:
                        keys = (*at, *place, "validations", index, *path)
                        if message in FOREIGN_CHECKS.values():
                            self._foreign_checks.setdefault(message, []).append(keys)
                        else:
                            self.problem(*keys, message=f"{dotted(keys)}: {message}")


def _step_at(at: Keys, case: CaseModel, number: int) -> Keys:
    """Return the path of a step; a case with one call has it directly."""
    return at if case.steps is None else (*at, "steps", number)


def _expectations(case: CaseModel) -> Iterator[tuple[Keys, ExpectedModel]]:
    """Yield the expectations on each answer of a case, with their path in the case."""
    if case.expected is not None:
        yield ("expected",), case.expected
    for number, step in enumerate(case.steps or ()):
        if step.expected is not None:
            yield ("steps", number, "expected"), step.expected


def _latencies(rule: Any) -> Iterator[tuple[Keys, float]]:
    """Yield the limits of all `max_latency_ms` in a check or a list of checks, each with its path."""
    if isinstance(rule, list):
        for index, one in enumerate(rule):
            yield from (((index, *path), latency) for path, latency in _latencies(one))
    elif isinstance(rule, dict) and rule.get("type") == "max_latency_ms":
        latency = rule.get("ms")
        if isinstance(latency, (int, float)) and not isinstance(latency, bool):
            yield ("ms",), latency
    elif isinstance(rule, dict):
        for key in ("not", "check", "any_of", "all_of", "checks"):
            yield from (((key, *path), latency) for path, latency in _latencies(rule.get(key)))
