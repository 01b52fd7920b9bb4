"""Selectors of elements on a page: whether they can be read, without a page to try them on."""

from __future__ import annotations

import re

from pytest_mcpeval.loading.messages import shown

# Pseudo-classes of Playwright.
_PSEUDO = r":(?:has-text|text|text-is|text-matches|visible|nth-match|left-of|right-of|above|below|near)\b"

_QUOTED = re.compile(r"""\"[^\"]*\"|'[^']*'""")

# What Playwright reads and CSS does not: engines by name, chains, XPath, quoted text, its pseudo-classes.
_BEYOND_CSS = re.compile(rf"""^\s*(?:[a-z_][\w:-]*=|//|\.\.|["'])|>>|{_PSEUDO}""")


def page_selector(text: str) -> str:
    """A selector for the browser: CSS, or one of Playwright's own engines, which is taken as it is.

    Raises:
        ValueError: It is neither.
    """
    if _BEYOND_CSS.search(text) is None and (reason := _css_problem(text)):
        raise ValueError(
            f"{shown(text)} is no CSS selector: {reason}. Other selectors name their engine: text=…, role=…, "
            "xpath=…"
        )
    return text


def css_selector(text: str) -> str:
    """A selector of CSS alone, for captured pages and for what the page itself looks for.

    Raises:
        ValueError: It is none.
    """
    if found := re.search(_PSEUDO, _QUOTED.sub("", text)):
        raise ValueError(f"{shown(text)} is no CSS selector: {found[0]} is one of Playwright's own")
    if reason := _css_problem(text):
        raise ValueError(f"{shown(text)} is no CSS selector: {reason}")
    return text


def _css_problem(text: str) -> str:
    """Why it is no CSS selector, or an empty text; where soupsieve is not installed nothing is wrong."""
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
