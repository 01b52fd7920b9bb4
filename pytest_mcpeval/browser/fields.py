"""Fields of what a manifest says on pages: texts, selectors and names of variables.

Selectors are checked here, without a page.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, StringConstraints

from pytest_mcpeval.core.fields import FileModel
from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.loading.schema import Expected

VARIABLE = r"^[A-Z][A-Z0-9_]*$"

FORBIDDEN_VARIABLES = frozenset({"PATH", "HOME", "USER", "SHELL", "PWD"})
FORBIDDEN_PREFIXES = ("LD_", "DYLD_")
FORBIDDEN_SUFFIX = "_PRIVATE_KEY"

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

# Pseudo-classes of Playwright.
_PSEUDO = r":(?:has-text|text|text-is|text-matches|visible|nth-match|left-of|right-of|above|below|near)\b"

_QUOTED = re.compile(r"""\"[^\"]*\"|'[^']*'""")

# Syntax of Playwright that is not CSS: named engines, chains, XPath, quoted text, its pseudo-classes.
_BEYOND_CSS = re.compile(rf"""^\s*(?:[a-z_][\w:-]*=|//|\.\.|["'])|>>|{_PSEUDO}""")


def page_selector(text: str) -> str:
    """A selector for the browser: CSS, or one of Playwright's own engines, which is taken as it is.

    Raises:
        ValueError: It is neither.
    """
    if _BEYOND_CSS.search(text) is None and (reason := _css_problem(text)):
        raise ValueError(
            f"{shown(text)} is not a CSS selector: {reason}. Other selectors name their engine: text=…, "
            "role=…, "
            "xpath=…"
        )
    return text


def css_selector(text: str) -> str:
    """A selector of CSS alone, for captured pages and for what the page itself looks for.

    Raises:
        ValueError: It is none.
    """
    if found := re.search(_PSEUDO, _QUOTED.sub("", text)):
        raise ValueError(f"{shown(text)} is not a CSS selector: {found[0]} is one of Playwright's own")
    if reason := _css_problem(text):
        raise ValueError(f"{shown(text)} is not a CSS selector: {reason}")
    return text


def _css_problem(text: str) -> str:
    """Why it is not a CSS selector, or an empty text; where soupsieve is not installed nothing is wrong."""
    try:
        import soupsieve
    except ImportError:
        return ""
    try:
        soupsieve.compile(text)
    except soupsieve.SelectorSyntaxError as error:
        reason = str(error).partition("\n")[0]
        # Browsers know pseudo-classes that soupsieve does not.
        return "" if "pseudo" in reason else reason.rstrip(".")
    except NotImplementedError:
        return ""
    return ""


def _printable(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return _without_control_bytes(text)


def _without_control_bytes(text: str) -> str:
    if found := _CONTROL.search(text):
        raise ValueError(
            f"has the control character \\x{ord(found[0]):02x} at position {found.start()}: remove it"
        )
    return text


def _allowed_variable(name: str) -> str:
    if name in FORBIDDEN_VARIABLES or name.startswith(FORBIDDEN_PREFIXES) or name.endswith(FORBIDDEN_SUFFIX):
        raise ValueError(
            f"{shown(name)} must not be read for this: use a separate variable for the credential, such as "
            "AGENT_BEARER_TOKEN"
        )
    return name


FreeText = Annotated[str, AfterValidator(_printable)]
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


class ManifestModel(FileModel):
    """A mapping in a manifest. The format is that of another project, which has one spelling for each key."""

    model_config = ConfigDict(alias_generator=None)
