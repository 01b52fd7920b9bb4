"""What travels from an item to the report: checks, and the sample of one case.

A sample crosses process borders as one JSON string, so everything in it is plain JSON data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

CheckStatus = Literal["passed", "failed", "inconclusive"]

Outcome = Literal["passed", "failed", "inconclusive", "tolerated", "error", "skipped", "xfailed"]
"""How a case ended.

``failed``: the target answered and was wrong. ``inconclusive``: evidence is missing, so nobody knows.
``tolerated``: it was wrong, but a gate decides. ``error``: the run could not ask. ``skipped`` and
``xfailed``: set aside by a mark, and counted apart.
"""


SAMPLE_ATTRIBUTE = "mcpeval_sample"
"""The attribute of a pytest report that holds a sample as JSON."""

LONGEST_INTEGER = 4_000
"""Bits; Python refuses to write or read longer ones than some 14,000 (4,300 digits)."""


def plain(data: Any) -> Any:
    """JSON data with what JSON has no words for spelled out: NaN, infinities, enormous integers."""
    if isinstance(data, float):
        return data if math.isfinite(data) else str(data)
    if isinstance(data, int) and data.bit_length() > LONGEST_INTEGER:
        return hex(data)
    if isinstance(data, Mapping):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [plain(value) for value in data]
    return data


def to_json(data: Any, **layout: Any) -> str:
    """Strict JSON of any JSON data; ``layout`` is passed to `json.dumps`. It has a UTF-8 form.

    Raises:
        TypeError: The data holds something that is not plain JSON data.
    """
    text = json.dumps(plain(data), ensure_ascii=False, allow_nan=False, **layout)
    # A lone surrogate has no UTF-8: it is written as the escape it came as.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True)
class Check:
    """One requirement of a case, evaluated.

    ``rule`` is the requirement as plain data, always with a ``type``; ``details`` is what was measured;
    ``step`` counts from 1 in cases of several calls.
    """

    rule: Mapping[str, Any]
    status: CheckStatus
    message: str
    details: Mapping[str, Any] | None = None
    step: int | None = None

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
    what differs from run to run (times, verbatim answers); ``label`` is its kind's word for a tolerated
    outcome, such as ``MISSED``.
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

    def to_json(self) -> str:
        """The sample as one JSON string that has a UTF-8 form.

        Raises:
            TypeError: A field holds something that is not plain JSON data.
        """
        # Not asdict: it copies every value deeply, for each case of a run.
        fields = {**vars(self), "checks": [vars(check) for check in self.checks]}
        return to_json(fields, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Sample:
        """The sample that `to_json` wrote."""
        fields = cast(dict[str, Any], json.loads(text))
        fields["checks"] = tuple(Check(**check) for check in fields["checks"])
        return cls(**fields)
