"""Checks of the code in an answer, by its outer form."""

from __future__ import annotations

import re

from pytest_mcpeval.servers.response import Response

from .claims import Fact
from .javascript_regex import compile_pattern, found_in
from .parameters import Parameters, Text
from .registry import check_type
from .verdict import Verdict, judged, quoted

QUOTE = "['\"`]"
IMPORTS = (
    # TypeScript and JavaScript; the second form may span lines
    rf"import\s+.*\s+from\s+{QUOTE}MODULE{QUOTE}",
    rf"import\s[^;'\"`()]*?\sfrom\s+{QUOTE}MODULE{QUOTE}",
    rf"import\s+{QUOTE}MODULE{QUOTE}",
    rf"require\s*\(\s*{QUOTE}MODULE{QUOTE}\s*\)",
    # Rust
    r"use\s+MODULE",
    # Go, one line and block
    r"import\s+.*[\"']MODULE[\"']",
    rf"import\s*\([^()]*{QUOTE}MODULE{QUOTE}",
    # Python: whole lines, since other languages begin statements with the same words
    r"(?:^|[\r\n])[ \t]*from[ \t]+MODULE(?:\.[\w.]*)?[ \t]+import\b",
    r"(?:^|[\r\n])[ \t]*import[ \t]+(?:[\w. \t]+,[ \t]*)*"
    r"MODULE(?:\.[\w.]+)?(?:[ \t]+as[ \t]+\w+)?[ \t]*(?:,[\w., \t]*)?(?:#.*)?(?=[\r\n]|$)",
)


class HasCodeBlock(Parameters):
    language: Text | None = None


class HasImport(Parameters):
    module: Text


@check_type(
    "has_code_block",
    HasCodeBlock,
    claim=lambda given: Fact("code block", "has", f"```{(given.language or '').lower()}"),
)
def has_code_block(parameters: HasCodeBlock, response: Response) -> Verdict:
    """The text has a fenced code block, of `language` when given.

    `language` is compared with the beginning of the word after the fence, in upper or lower case: `type`
    finds a `typescript` block.
    """
    language = parameters.language or ""
    pattern = f"```{re.escape(language)}[\\s\\S]*?```"
    found = found_in(compile_pattern(pattern), response.text) is not None
    block = f"{language} code block" if language else "code block"
    return judged(found, f"has a {block}" if found else f"no {block}")


@check_type("has_import", HasImport)
def has_import(parameters: HasImport, response: Response) -> Verdict:
    """The text imports `module`, in the notation of TypeScript, JavaScript, Rust, Go or Python.

    Upper and lower case are the same. A Rust `use` counts when it begins with the module; a Python import of
    a submodule counts as well, and so do import statements that span lines.
    """
    found = any(_imports(form, parameters.module, response.text) for form in IMPORTS)
    return judged(found, f"{'imports' if found else 'no import of'} {quoted(parameters.module)}")


def _imports(form: str, module: str, text: str) -> bool:
    # A plain search first: the patterns take quadratic time on long lines, and most texts lack the module.
    if module.isascii() and module.lower() not in text.lower():
        return False
    return found_in(compile_pattern(form.replace("MODULE", re.escape(module))), text) is not None
