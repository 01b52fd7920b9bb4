"""Selectors of elements on a page: whether they can be read, without a page to try them on."""

from __future__ import annotations

import re

from pytest_mcpeval.loading.wording import shown

# What Playwright reads and CSS does not: engines by name, chains, XPath, quoted text, its pseudo-classes.
_BEYOND_CSS = re.compile(
    r"""^\s*(?:[a-z_][\w:-]*=|//|\.\.|["'])|>>|"""
    r""":(?:has-text|text|text-is|text-matches|visible|nth-match|left-of|right-of|above|below|near)\b"""
)


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
    """A selector for captured pages, which are read without a browser: CSS alone.

    Raises:
        ValueError: It is none.
    """
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
