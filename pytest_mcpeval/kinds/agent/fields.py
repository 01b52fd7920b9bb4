"""Fields of manifests: names, selectors, variables and times, with their bounds."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from pytest_mcpeval.core.fields import CaseId
from pytest_mcpeval.kinds.agent.selectors import css_selector, page_selector
from pytest_mcpeval.kinds.agent.urls import known_placeholders, page_url
from pytest_mcpeval.kinds.agent.visible_text import normalized
from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.loading.schema import Expected
from pytest_mcpeval.text.placeholders import filled_in

SLUG = r"^[a-z0-9][a-z0-9_-]*$"
IDENTIFIER = r"^[A-Za-z_][A-Za-z0-9_.:/-]{0,199}$"
VARIABLE = r"^[A-Z][A-Z0-9_]*$"

FORBIDDEN_VARIABLES = frozenset({"PATH", "HOME", "USER", "SHELL", "PWD"})
FORBIDDEN_PREFIXES = ("LD_", "DYLD_")
FORBIDDEN_SUFFIX = "_PRIVATE_KEY"

RESERVED_CASE_IDS = frozenset({"narratives", "plan.json", "score.json", "report.md"})
"""Names of other things in the folder of a run."""

LONGEST_TRACE_WAIT_MS = 600_000

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def _printable(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return _without_control_bytes(text)


def _visible(text: str) -> str:
    if not normalized(text):
        raise ValueError("has no visible character, so every page would hold it")
    return text


def _without_control_bytes(text: str) -> str:
    if found := _CONTROL.search(text):
        raise ValueError(
            f"has the control character \\x{ord(found[0]):02x} at position {found.start()}: remove it"
        )
    return text


def _allowed_variable(name: str) -> str:
    if name in FORBIDDEN_VARIABLES or name.startswith(FORBIDDEN_PREFIXES) or name.endswith(FORBIDDEN_SUFFIX):
        raise ValueError(
            f"{shown(name)} must not be read for this: give the credential a variable of its own, such as "
            "AGENT_BEARER_TOKEN"
        )
    return name


def _free_case_id(name: str) -> str:
    if name.lower() in RESERVED_CASE_IDS:
        raise ValueError(
            f"{shown(name)} is the name of something else in the folder of a run: choose another"
        )
    return name


FreeText = Annotated[str, AfterValidator(_printable)]
OfCase = AfterValidator(lambda data: filled_in(data, "case"))
"""Takes environment variables as texts of cases do."""
CaseText = Annotated[FreeText, OfCase]
PageText = Annotated[FreeText, OfCase, AfterValidator(_visible)]
Value = Annotated[str, AfterValidator(_without_control_bytes)]
Selector = Annotated[
    str, StringConstraints(max_length=2_000), AfterValidator(_printable), AfterValidator(page_selector)
]
CssSelector = Annotated[
    str, StringConstraints(max_length=2_000), AfterValidator(_printable), AfterValidator(css_selector)
]
Variable = Annotated[
    str,
    StringConstraints(pattern=VARIABLE, max_length=200),
    AfterValidator(_allowed_variable),
    Expected("the name of an environment variable such as AGENT_BEARER_TOKEN"),
]
Slug = Annotated[str, StringConstraints(pattern=SLUG, max_length=80)]
Identifier = Annotated[str, StringConstraints(pattern=IDENTIFIER)]
PageUrl = Annotated[
    str,
    StringConstraints(max_length=2_048),
    AfterValidator(lambda url: filled_in(url, "definition")),
    AfterValidator(page_url),
]
FilledText = Annotated[FreeText, AfterValidator(known_placeholders)]
FilledUrl = Annotated[PageUrl, AfterValidator(known_placeholders)]
Count = Annotated[int, Field(ge=1)]
ManifestCaseId = Annotated[CaseId, AfterValidator(_free_case_id)]
ResponseWait = Annotated[int, Field(ge=100, le=120_000)]
TraceWait = Annotated[int, Field(ge=0, le=LONGEST_TRACE_WAIT_MS)]
