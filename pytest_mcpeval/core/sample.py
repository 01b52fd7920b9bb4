"""What travels from an item to the report: checks, and the sample of one case.

A sample crosses process borders as one JSON string, so everything in it is plain JSON data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from pytest_mcpeval.text.redact import redactor

CheckStatus = Literal["passed", "failed", "inconclusive"]

MARKS: Mapping[CheckStatus, str] = {"passed": "✓", "failed": "✗", "inconclusive": "?"}
"""What a line on a check begins with; the terminal colours it by that."""

Outcome = Literal["passed", "failed", "inconclusive", "wrong", "tolerated", "error", "skipped", "xfailed"]
"""How a case ended.

``failed``: the target answered and was wrong. ``inconclusive``: evidence is missing.
``wrong``: it was wrong, and that is for the gates of its suite to decide; ``tolerated``: one of them was
evaluated, which `judging` finds out when the session ends. ``error``: the run could not ask. ``skipped`` and
``xfailed``: a mark applies; counted separately.
"""

TEARDOWN_FAILED = "tear-down failed"
"""How the message begins of a case that was judged, and is in error because its fixtures did not end well."""

NOT_PASSED: frozenset[Outcome] = frozenset({"failed", "error", "inconclusive", "wrong", "tolerated"})
"""The outcomes of cases that have something to explain."""

SAMPLES_ATTRIBUTE = "mcpeval_samples"
"""The attribute of a pytest report that holds the samples of its item as JSON."""

LONGEST_INTEGER = 14_280
"""Bits; Python refuses to write or read integers of more than 4,300 digits."""


def json_safe(data: Any) -> Any:
    """JSON data with what JSON has no words for spelled out: NaN, infinities, enormous integers."""
    if isinstance(data, float):
        return data if math.isfinite(data) else str(data)
    if isinstance(data, int) and data.bit_length() > LONGEST_INTEGER:
        return hex(data)
    if isinstance(data, Mapping):
        return {key: json_safe(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [json_safe(value) for value in data]
    return data


def to_json(data: Any, **layout: Any) -> str:
    """Strict JSON of any JSON data; ``layout`` is passed to `json.dumps`. It has a UTF-8 form.

    Raises:
        TypeError: The data holds something that is not plain JSON data.
    """
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, **layout)
    except (TypeError, ValueError):
        # Rare, and the search for what has no words in JSON takes longer than the writing.
        text = json.dumps(json_safe(data), ensure_ascii=False, allow_nan=False, **layout)
    # Some readers end a line at these; in JSON they stand in strings only, and may be written as escapes.
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    # A lone surrogate has no UTF-8: it is written as the escape it came as.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True)
class Check:
    """One requirement of a case, evaluated.

    ``rule`` is the requirement as plain data, always with a ``type``; ``details`` is what was measured;
    ``step`` counts from 1 in cases of several calls. ``timed``: its message and details hold times, which
    differ from run to run. ``broke``: the check itself is wrong or raised an error, which makes the case one.
    """

    rule: Mapping[str, Any]
    status: CheckStatus
    message: str
    details: Mapping[str, Any] | None = None
    step: int | None = None
    timed: bool = False
    broke: bool = False

    @property
    def name(self) -> str:
        """The type of the rule, such as ``contains``."""
        return str(self.rule["type"])

    @property
    def passed(self) -> bool:
        """Whether the requirement holds; an inconclusive check does not."""
        return self.status == "passed"


@dataclass(frozen=True)
class Sample:
    """What one case measured.

    ``suite`` is the suite's path relative to the root directory, with forward slashes. ``traits`` are the
    groups a case belongs to (difficulty, tool, …); ``measured`` are the values of its kind; ``run`` is
    what differs from run to run (times, verbatim answers); ``label`` is its kind's word for a wrong case,
    such as ``MISSED``. ``runs`` are the samples of a case that was asked several times, one for each
    time, and empty otherwise: see `repeating`. ``cause`` identifies what kept the run from asking, where it
    does so for other cases too.
    """

    suite: str
    kind: str
    id: str
    outcome: Outcome
    checks: tuple[Check, ...] = ()
    message: str = ""
    label: str = ""
    traits: Mapping[str, Any] = field(default_factory=dict)
    measured: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[Sample, ...] = ()
    cause: str = ""

    @property
    def is_set_aside(self) -> bool:
        """Whether a mark, or its kind, took the case out of the measurement: it counts in no metric."""
        return self.outcome in ("skipped", "xfailed")

    def as_data(self) -> dict[str, Any]:
        """The sample as plain data."""
        # Not asdict: it copies every value deeply, for each case of a run.
        checks = [vars(check) for check in self.checks]
        return {**vars(self), "checks": checks, "runs": [run.as_data() for run in self.runs]}

    def redacted(self) -> Sample:
        """The sample without values that came from the environment; its verdicts stay what they are."""
        if redactor.is_empty:
            return self
        return replace(
            self,
            checks=tuple(
                replace(
                    check,
                    rule={**redactor.data(check.rule, is_free=True), "type": check.name},
                    message=redactor.text(check.message),
                    details=redactor.data(check.details, is_free=True),
                )
                for check in self.checks
            ),
            message=redactor.text(self.message),
            traits=redactor.data(self.traits),
            measured=redactor.data(self.measured),
            run=redactor.data(self.run),
            runs=tuple(run.redacted() for run in self.runs),
            cause=redactor.text(self.cause),
        )

    @classmethod
    def of_data(cls, fields: Mapping[str, Any]) -> Sample:
        """The sample that `as_data` described."""
        checks = tuple(Check(**check) for check in fields["checks"])
        return cls(**{**fields, "checks": checks, "runs": tuple(map(cls.of_data, fields["runs"]))})


def samples_to_json(samples: Iterable[Sample]) -> str:
    """Samples as one JSON string that has a UTF-8 form.

    Raises:
        TypeError: A field holds something that is not plain JSON data.
    """
    return to_json([sample.as_data() for sample in samples], separators=(",", ":"))


def samples_from_json(text: str) -> list[Sample]:
    """The samples that `samples_to_json` wrote."""
    return [Sample.of_data(fields) for fields in cast(Sequence[dict[str, Any]], json.loads(text))]
