"""Document → suite: every problem of a scenario file, or its cases."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from pytest_mcpeval.config.merge import merge
from pytest_mcpeval.core.case import id_problems
from pytest_mcpeval.core.fields import given, located
from pytest_mcpeval.core.kind import Case, CaseMarks, Place, SkipIfEnv, Suite
from pytest_mcpeval.kinds.scenario.build import SpecBuilder, server_name, steps_of, tool_name
from pytest_mcpeval.kinds.scenario.checks import FOREIGN_CHECKS, CheckRegistry, CheckSpecError
from pytest_mcpeval.kinds.scenario.checks.protocol import no_less_than_limit
from pytest_mcpeval.kinds.scenario.placeholders import has_opening, later, misused
from pytest_mcpeval.kinds.scenario.schema import (
    FOREIGN_KEYS,
    CaseModel,
    ExpectedModel,
    MarksModel,
    ScenarioSettings,
    SkipIfEnvModel,
    StepModel,
    SuiteModel,
    XfailModel,
    case_problem,
    step_problem,
)
from pytest_mcpeval.kinds.scenario.spec import ScenarioSpec
from pytest_mcpeval.loading import DataFileError, Document, Problem, garbage_collection_paused
from pytest_mcpeval.loading.document import value_at
from pytest_mcpeval.loading.messages import closest, counted, suggestion
from pytest_mcpeval.loading.salvage import held
from pytest_mcpeval.loading.schema import dotted, validate
from pytest_mcpeval.text.placeholders import OPENING

Keys = tuple[str | int, ...]

_ROWS = TypeAdapter(list[CaseModel])


class CombinationProblem(Protocol):
    """What is wrong with the keys of a mapping taken together, or None."""

    def __call__(self, given: Mapping[str, Any], *, says_what_lacks: bool) -> str | None:
        """Judge a mapping; a key with null is one that is not there."""


def load_suite(document: Document, place: Place, registry: CheckRegistry) -> Suite[ScenarioSpec]:
    """The suite in a document; a JSON Lines file is a list of cases.

    Raises:
        DataFileError: With every problem of the file.
    """
    at: Keys = () if isinstance(document.data, list) else ("tests",)
    with garbage_collection_paused():
        try:
            model = _validated(document)
        except DataFileError as error:
            found = [*error.problems, *_further_problems(error, document, place, registry, at)]
            raise DataFileError(dict.fromkeys(found)) from error
        return _Loader(document, place, registry, model, at).suite(model.tests)


def _validated(document: Document) -> SuiteModel:
    if isinstance(document.data, list):
        return SuiteModel.model_construct(tests=validate(_ROWS, document))
    return validate(SuiteModel, document)


def _further_problems(
    error: DataFileError, document: Document, place: Place, registry: CheckRegistry, at: Keys
) -> Sequence[Problem]:
    """What the schema cannot see, of as much of a file as is valid."""
    assert isinstance(error.__cause__, ValidationError)
    mistakes = [details["loc"] for details in error.__cause__.errors(include_url=False, include_input=False)]
    data = {"tests": document.data} if isinstance(document.data, list) else document.data
    loader = _Loader(document, place, registry, held(SuiteModel, data), at, mistakes)
    return loader.further_problems()


class _Loader:
    """Turns one validated file into cases, gathering what the schema alone cannot see.

    What a case needs to run is made from its row when it is first asked for; the models of all cases of a
    large file, kept, would slow down the whole session.

    Of a file that is not valid, it gets what is, and the places of the ``mistakes``: nothing is said about
    what may follow from one of them.
    """

    def __init__(
        self,
        document: Document,
        place: Place,
        registry: CheckRegistry,
        model: SuiteModel,
        at: Keys,
        mistakes: Sequence[Keys] = (),
    ) -> None:
        self.model = model
        self.document = document
        self.place = place
        self.registry = registry
        self.project = model.project
        self.marks = model.marks
        self.own_settings = frozenset(model.model_fields_set)
        self.at = at
        self.problems: list[Problem] = []
        self._foreign_checks: dict[str, list[Keys]] = {}
        self.settings = self._effective_settings(model)
        self._mistakes = {loc[:length] for loc in mistakes for length in range(1, len(loc) + 1)}
        self._lost_settings = {_setting_meant(str(loc[0])) for loc in mistakes} if at else set()

    def _effective_settings(self, model: SuiteModel) -> ScenarioSettings:
        own = given(located(model, self.document.path.parent), ScenarioSettings.model_fields)
        return ScenarioSettings(**merge(self.place.settings, own))

    def further_problems(self) -> Sequence[Problem]:
        tests = getattr(self.model, "tests", ())
        self._check_ids(tests)
        self._check_gates()
        self._check_cases(tests)
        self._check_combinations()
        return self.problems

    def _check_combinations(self) -> None:
        """What keys say together, where a mistake in one of them kept the schema from seeing it."""
        rows: Any = self.document.data
        rows = rows.get(self.at[0]) if self.at and isinstance(rows, dict) else rows
        for at, row in _mappings((), rows):
            self._check_combination((*self.at, *at), row, case_problem, CaseModel)
            for step_at, step in _mappings((*at, "steps"), row.get("steps")):
                self._check_combination((*self.at, *step_at), step, step_problem, StepModel)

    def _check_combination(
        self, at: Keys, row: Mapping[str, Any], problem_of: CombinationProblem, model: type[BaseModel]
    ) -> None:
        if at not in self._mistakes:
            return
        names = _spelled_names(model)
        # What seems to be missing may be what is misspelt.
        all_known = row.keys() <= names.keys()
        given = {names.get(key, key): value for key, value in row.items()}
        problem = problem_of(given, says_what_lacks=all_known)
        if problem is not None:
            self._problem(*at, message=f"{dotted(at)}: {problem}")

    def suite(self, tests: Sequence[CaseModel]) -> Suite[ScenarioSpec]:
        self._check_ids(tests)
        self._check_gates()
        self._check_cases(tests)
        if self.problems:
            raise DataFileError(self.problems)
        rows = self.document.data[self.at[0]] if self.at else self.document.data
        stateful = any(map(self._is_stateful, tests))
        builder = SpecBuilder(rows, self.settings, self.place.servers, self.registry, self.project)
        return Suite(
            key=self.place.key,
            kind="scenario",
            document=self.document,
            cases=tuple(self._case(index, case, builder, stateful) for index, case in enumerate(tests)),
            settings=self.settings,
            servers=self.place.servers,
            concurrency=self.settings.concurrency,
            stateful=stateful,
            warnings=tuple(self._foreign_keys(tests)),
        )

    def _foreign_keys(self, tests: Sequence[CaseModel]) -> Iterator[str]:
        """Each key that is read over, once for the file."""
        for name, instead in FOREIGN_KEYS.items():
            places = [
                (index, *keys)
                for index, case in enumerate(tests)
                for keys, holder in _holders(case)
                if getattr(holder, name) is not None
            ]
            if places:
                at = (*self.at, *places[0])
                line = self.document.line(*at, self._spelling(at, name))
                cases = counted(len({index for index, *_ in places}), "case")
                yield f"line {line}: `{to_camel(name)}` is not judged ({cases} of this file): {instead}"

    def _problem(self, *keys: str | int, message: str) -> None:
        self.problems.append(self.document.problem(*keys, message=message))

    def _check_ids(self, tests: Sequence[CaseModel]) -> None:
        rows = ((case.id, (*self.at, i)) for i, case in enumerate(tests) if "id" in case.model_fields_set)
        self.problems += id_problems(self.document, rows)

    def _check_gates(self) -> None:
        gates = self.settings.gates
        if "baseline" in self._lost_settings:
            return
        if gates.no_new_failures and self.settings.baseline is None:
            message = (
                "gates.no_new_failures compares with a committed baseline: say which file with `baseline:`, "
                "and write it with pytest --mcpeval --mcpeval-bless"
            )
            self._problem("gates", "no_new_failures", message=message + self._origin("gates"))

    def _case(self, index: int, model: CaseModel, builder: SpecBuilder, stateful: bool) -> Case[ScenarioSpec]:
        at = (*self.at, index)
        fresh = self.settings.fresh if model.fresh is None else model.fresh
        return Case(
            id=model.id,
            line=self.document.line(*at),
            keys=at,
            make_spec=partial(builder.spec, index),
            traits=self._traits(model),
            marks=_marks(model.marks, self.marks),
            fixtures=tuple(model.fixtures),
            may_prefetch=not (fresh or stateful or model.fixtures),
        )

    def _is_stateful(self, model: CaseModel) -> bool:
        return self.settings.stateful if model.stateful is None else model.stateful

    def _traits(self, model: CaseModel) -> dict[str, Any]:
        tools = [model.tool] if model.tool else [step.tool for step in model.steps or () if step.tool]
        traits = {
            "difficulty": model.difficulty,
            "tool": tools[0] if len(set(tools)) == 1 else tuple(dict.fromkeys(tools)),
            "project": model.project or self.project,
            "tags": tuple(dict.fromkeys(model.tags)),
        }
        return {name: value for name, value in traits.items() if value}

    def _check_cases(self, tests: Sequence[CaseModel]) -> None:
        rules = (rule for case in tests for found in _expectations(case) for rule in found.validations)
        rules_hold = self.registry.accepts(rules)
        self._refuse_placeholders(("project",), self.project)
        for index, case in enumerate(tests):
            at = (*self.at, index)
            self._check_server(at, case)
            said = repr(value_at(self.document.data, at))
            if case.steps is None and OPENING not in said and "max_latency_ms" not in said:
                # Most cases: made faster, their text shows that there is nothing more to look at.
                self._check_tool((*at, "tool"), case.tool or "")
            else:
                self._check_case(at, case)
            if not rules_hold:
                self._check_rules(at, case)
        for message, found in self._foreign_checks.items():
            more = f" ({len(found)} times in this file)" if len(found) > 1 else ""
            self._problem(*found[0], message=f"{dotted(found[0])}: {message}{more}")

    def _check_case(self, at: Keys, case: CaseModel) -> None:
        self._refuse_placeholders((*at, "project"), case.project)
        steps = steps_of(case)
        if case.steps is not None:
            self._check_steps((*at, "steps"), steps)
        else:
            self._check_step(at, steps[0], {}, ())
        self._check_latencies(at, case, steps)

    def _check_latencies(self, at: Keys, case: CaseModel, steps: Sequence[StepModel]) -> None:
        """A call that takes longer than its time limit has no answer, whose latency could be too long."""
        for number, step in enumerate(steps):
            limit = 1000 * (step.timeout or case.timeout or self.settings.timeout)
            place = at if case.steps is None else (*at, "steps", number)
            for index, rule in enumerate(step.expected.validations if step.expected else ()):
                for path, latency in _latencies(rule):
                    if latency >= limit and "timeout" not in self._lost_settings:
                        message = no_less_than_limit(latency, limit)
                        self._problem(*place, "expected", "validations", index, *path, message=message)

    def _check_steps(self, at: Keys, steps: Sequence[StepModel]) -> None:
        captured: dict[str, str] = {}
        in_all = {name for step in steps for name in step.capture}
        for number, step in enumerate(steps):
            here = (*at, number)
            for name, path in step.capture.items():
                self._check_json_path((*here, "capture", name), path)
            if any((*at, earlier) in self._mistakes for earlier in range(number)):
                # A mistake may hide what is captured.
                self._check_tool((*here, "tool"), step.tool or "")
            else:
                self._check_step(here, step, captured, in_all)
            captured.update(step.capture)

    def _check_step(
        self, at: Keys, step: StepModel, captured: Mapping[str, str], in_all: Collection[str]
    ) -> None:
        """Its tool, and its placeholders: its checks know what the step itself captures."""
        self._check_tool((*at, "tool"), step.tool or "")
        for key in ("input", "resource"):
            for path, message in misused(getattr(step, key), captured, in_all):
                self._problem(*at, key, *path, message=message)
        for key in ("tool", "prompt", "capture"):
            self._refuse_placeholders((*at, key), getattr(step, key))
        if step.expected is None or at in self._mistakes:
            return
        for name in ExpectedModel.model_fields.keys() - FOREIGN_KEYS.keys():
            rules = getattr(step.expected, name, ())
            for path, message in misused(rules, {**captured, **step.capture}, in_all):
                keys = (*at, "expected")
                self._problem(*keys, self._spelling(keys, name), *path, message=message)

    def _refuse_placeholders(self, at: Keys, value: Any) -> None:
        if has_opening(value):
            words = "no value is filled in here: placeholders stand in `input`, `resource` and `expected`"
            self._problem(*at, message=f"{dotted(at)}: {words}")

    def _check_tool(self, at: Keys, alias: str) -> None:
        if not alias or self._lost_settings & {"tools", "tool_prefix"}:
            return
        if tool_name(alias, self.settings) is None:
            tools = self.settings.tools
            close = suggestion(alias, [*tools, *tools.values()])
            message = f"unknown tool alias {alias!r}{close}; `tools:` knows {', '.join(sorted(tools))}"
            self._problem(*at, message=message + self._origin("tools"))

    def _spelling(self, at: Keys, name: str) -> str:
        """How a key of a mapping is written in the file."""
        found: Any = self.document.data
        for key in at:
            found = found[key]
        return name if name in found else to_camel(name)

    def _check_json_path(self, at: Keys, path: str) -> None:
        from pytest_mcpeval.kinds.scenario.capture import json_path_problem

        problem = json_path_problem(path)
        if problem:
            self._problem(*at, message=problem)

    def _check_rules(self, at: Keys, model: CaseModel) -> None:
        for number, step in enumerate(steps_of(model)):
            place = at if model.steps is None else (*at, "steps", number)
            for index, rule in enumerate(step.expected.validations if step.expected else ()):
                try:
                    self.registry.parse(rule, later)
                except CheckSpecError as error:
                    for path, message in error.problems:
                        keys = (*place, "expected", "validations", index, *path)
                        if message in FOREIGN_CHECKS.values():
                            self._foreign_checks.setdefault(message, []).append(keys)
                        else:
                            self._problem(*keys, message=f"{dotted(keys)}: {message}")

    def _check_server(self, at: Keys, model: CaseModel) -> None:
        servers = self.place.servers
        name = server_name(model, self.settings, servers)
        if name is not None and name in servers:
            return
        if name is None and (at in self._mistakes or "server" in self._lost_settings):
            return
        known = ", ".join(sorted(servers)) or "none"
        if name is None:
            message = f"no server is named: say `server:` here or in mcpeval.yaml (defined: {known})"
        else:
            message = f"unknown server {name!r}{suggestion(name, servers)} (defined: {known})"
        if model.server is not None:
            self._problem(*at, "server", message=message)
            return
        # The suite's own server is one mistake, however many cases there are.
        message += self._origin("server")
        if not any(problem.message == message for problem in self.problems):
            self._problem("server", message=message)

    def _origin(self, setting: str) -> str:
        """Where a setting comes from, when it is not this file."""
        origin = None if setting in self.own_settings else self.place.origins.get(setting)
        return f"; `{setting}` comes from {origin}" if origin else ""


def _mappings(at: Keys, entries: Any) -> Iterator[tuple[Keys, dict[str, Any]]]:
    """The mappings in what should be a list of them, each with its path."""
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield (*at, index), entry


def _latencies(rule: Any) -> Iterator[tuple[Keys, float]]:
    """The limits of all `max_latency_ms` in a check, each with its path."""
    if not isinstance(rule, dict):
        return
    if rule.get("type") == "max_latency_ms":
        latency = rule.get("ms")
        if isinstance(latency, (int, float)) and not isinstance(latency, bool):
            yield ("ms",), latency
        return
    for key in ("not", "check", "any_of", "all_of", "checks"):
        nested = rule.get(key)
        for index, one in enumerate(nested) if isinstance(nested, list) else ((None, nested),):
            place = (key,) if index is None else (key, index)
            yield from (((*place, *path), latency) for path, latency in _latencies(one))


def _setting_meant(key: str) -> str | None:
    """The setting that a key of a file is, or nearly is."""
    names = _spelled_names(ScenarioSettings)
    return names.get(key) or names.get(closest(key, names) or "")


def _spelled_names(model: type[BaseModel]) -> dict[str, str]:
    """Every spelling of a field of a model → its name."""
    return {spelling: name for name in model.model_fields for spelling in (name, to_camel(name))}


def _holders(model: CaseModel) -> Iterator[tuple[Keys, CaseModel | ExpectedModel]]:
    """What may hold a key of another evaluator, each with its path in the case."""
    yield (), model
    if model.expected is not None:
        yield ("expected",), model.expected
    for number, step in enumerate(model.steps or ()):
        if step.expected is not None:
            yield ("steps", number, "expected"), step.expected


def _expectations(model: CaseModel) -> Iterator[ExpectedModel]:
    if model.expected is not None:
        yield model.expected
    for step in model.steps or ():
        if step.expected is not None:
            yield step.expected


def _marks(case: MarksModel, suite: MarksModel) -> CaseMarks:
    xfail = case.xfail or suite.xfail
    listed = [*_conditions(suite), *_conditions(case)]
    return CaseMarks(
        skip=case.skip or suite.skip,
        xfail=xfail.reason if isinstance(xfail, XfailModel) else xfail,
        xfail_strict=xfail.strict if isinstance(xfail, XfailModel) else True,
        skipif_env=tuple(SkipIfEnv(found.name, found.reason, found.when) for found in listed),
    )


def _conditions(marks: MarksModel) -> list[SkipIfEnvModel]:
    found = marks.skipif_env or []
    return found if isinstance(found, list) else [found]
