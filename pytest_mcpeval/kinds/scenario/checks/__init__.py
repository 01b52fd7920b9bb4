"""The requirements of scenario cases: parse a rule once, evaluate it over any number of responses."""

from __future__ import annotations

from .builtin import BUILTIN
from .expectations import expectation_checks
from .metadata import Metadata, response_metadata
from .parameters import NoParameters, Parameters, SpecProblem
from .registry import CheckGroup, CheckRegistry, CheckSpecError, CheckType, ParsedCheck, check_type
from .verdict import Verdict, failed, inconclusive, judged, passed

__all__ = [
    "BUILTIN",
    "CheckGroup",
    "CheckRegistry",
    "CheckSpecError",
    "CheckType",
    "Metadata",
    "NoParameters",
    "Parameters",
    "ParsedCheck",
    "SpecProblem",
    "Verdict",
    "check_type",
    "expectation_checks",
    "failed",
    "inconclusive",
    "judged",
    "passed",
    "response_metadata",
]
