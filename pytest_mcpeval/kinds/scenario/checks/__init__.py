"""Checks of scenario cases: parse a rule once, evaluate it on any number of responses."""

from __future__ import annotations

from .builtin import BUILTIN
from .expect import CheckFailed, Expect
from .implied import allows_error, implied
from .metadata import Metadata, response_metadata
from .parameters import NoParameters, Parameters, SpecProblem
from .registry import (
    FOREIGN_CHECKS,
    CheckGroup,
    CheckRegistry,
    CheckSpecError,
    CheckType,
    ParsedCheck,
    check_type,
)
from .text import expectation_checks
from .verdict import JudgementError, Verdict, failed, inconclusive, judged, passed

__all__ = [
    "BUILTIN",
    "FOREIGN_CHECKS",
    "CheckFailed",
    "CheckGroup",
    "CheckRegistry",
    "CheckSpecError",
    "CheckType",
    "Expect",
    "JudgementError",
    "Metadata",
    "NoParameters",
    "Parameters",
    "ParsedCheck",
    "SpecProblem",
    "Verdict",
    "allows_error",
    "check_type",
    "expectation_checks",
    "failed",
    "implied",
    "inconclusive",
    "judged",
    "passed",
    "response_metadata",
]
