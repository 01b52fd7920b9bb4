"""Checks of the code in an answer: its form, and its syntax by the grammars of tree-sitter."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from textwrap import dedent
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import AfterValidator, model_validator

from pytest_mcpeval.loading.messages import suggestion
from pytest_mcpeval.servers.response import Response

from .claims import Fact
from .javascript_regex import compile_pattern, found_in
from .parameters import Parameters, Text
from .registry import check_type
from .verdict import Verdict, failed, judged, passed, quoted

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

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


ALIASES: Mapping[str, str] = {
    **dict.fromkeys(("ts", "typescript", "mts", "cts"), "typescript"),
    "tsx": "tsx",
    **dict.fromkeys(("js", "javascript", "jsx", "mjs", "cjs"), "javascript"),
    **dict.fromkeys(("rs", "rust"), "rust"),
    **dict.fromkeys(("go", "golang"), "go"),
    **dict.fromkeys(("py", "python", "python3"), "python"),
}
"""Language tag to grammar."""

GRAMMARS: Mapping[str, tuple[str, str]] = {
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "javascript": ("tree_sitter_javascript", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "go": ("tree_sitter_go", "language"),
    "python": ("tree_sitter_python", "language"),
}

FRAGMENTS: Mapping[str, tuple[str, ...]] = {
    "typescript": ("class Fragment {{\n{}\n}}",),
    "tsx": ("class Fragment {{\n{}\n}}",),
    "javascript": ("class Fragment {{\n{}\n}}",),
    "rust": ("fn fragment() {{\n{}\n}}", "struct Fragment {{\n{}\n}}"),
    "go": ("func fragment() {{\n{}\n}}", "type fragment struct {{\n{}\n}}"),
}
"""Templates to put around code, since documentation often shows only the inside of a class or a function."""


def _known_language(language: str) -> str:
    if language.lower() not in ALIASES:
        close = suggestion(language, ALIASES)
        raise ValueError(f"no grammar for language {quoted(language)}{close} (known: {', '.join(ALIASES)})")
    return language


class ValidSyntax(Parameters):
    language: Annotated[str, AfterValidator(_known_language)] | None = None

    @model_validator(mode="after")
    def _installed(self) -> Self:
        packages = {"tree_sitter", *(GRAMMARS[grammar][0] for grammar in self.grammars())}
        if not all(find_spec(package) for package in packages):
            raise ValueError("needs the 'syntax' extra: pip install 'pytest-mcpeval[syntax]'")
        return self

    def grammars(self) -> set[str]:
        """Return the grammars of the language (TypeScript has two), or all if no language is given."""
        if self.language is None:
            return set(GRAMMARS)
        grammar = ALIASES[self.language.lower()]
        return {"typescript", "tsx"} if grammar in ("typescript", "tsx") else {grammar}


@check_type("valid_syntax", ValidSyntax)
def valid_syntax(parameters: ValidSyntax, response: Response) -> Verdict:
    """Every fenced code block of `language` parses without a syntax error, and there is at least one.

    Without `language`: every block in TypeScript, JavaScript, Rust, Go or Python. The inside of a function,
    class or struct is accepted as well. Python must also be code to the Python that runs the evals. A block
    without code does not count.
    """
    grammars = parameters.grammars()
    found = [block for block in code_blocks(response.text) if ALIASES.get(block.tag) in grammars]
    blocks = [block for block in found if block.code.strip()]
    if found and not blocks:
        return failed(f"code block {found[0].number} ({found[0].tag}) is empty", {"blocks": 0})
    if not blocks:
        return failed(f"no code block in {parameters.language or 'a known language'}", {"blocks": 0})
    errors = [error for block in blocks if (error := syntax_error(block)) is not None]
    details = {"blocks": len(blocks), "errors": errors[:10]}
    if not errors:
        return passed(f"{len(blocks)} code block{'s parse' if len(blocks) > 1 else ' parses'}", details)
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return failed(f"{errors[0]}{more}", details)


def syntax_error(block: CodeBlock) -> str | None:
    """Return where the code of a block fails to parse, or None."""
    grammar = ALIASES[block.tag]
    code = f"{block.code}\n"  # the grammar of Go requires a line end after the last declaration
    place = _first_error(grammar, code)
    if place is None and grammar == "python":
        place = _first_error_of_python(code)
    elif place is not None and _is_fragment(grammar, code):
        return None
    if place is None:
        return None
    line, column, problem = place
    lines = code.split("\n")
    text = quoted(lines[line]) if line < len(lines) else "the end"
    return (
        f"code block {block.number} ({block.tag}), line {line + 1}, column {column + 1}: {problem} in {text}"
    )


def _is_fragment(grammar: str, code: str) -> bool:
    """Return whether the code parses inside one of the templates, without closing it and opening another."""
    for form in FRAGMENTS.get(grammar, ()):
        root = _parser(grammar).parse(form.format(code).encode("utf-8", "replace")).root_node
        if not root.has_error and root.named_child_count == 1:
            return True
    return False


def _first_error(grammar: str, code: str) -> tuple[int, int, str] | None:
    """Return line and column (from 0, in characters) of the first error, and its message."""
    source = code.encode("utf-8", "replace")
    root = _parser(grammar).parse(source).root_node
    if not root.has_error:
        return None
    node = next(_errors(root), root)
    row, column = node.start_point
    before = source.split(b"\n")[row][:column].decode("utf-8", "replace")
    return row, len(before), f'"{node.type}" is missing' if node.is_missing else "syntax error"


def _first_error_of_python(code: str) -> tuple[int, int, str] | None:
    """Return an error that Python finds and the grammar does not: wrong indentation, syntax of Python 2."""
    flush = dedent(code.encode("utf-8", "replace").decode())
    try:
        _parse_python(flush)
    except SyntaxError as error:
        if _is_indented_python(code):
            return None
        line = (error.lineno or 1) - 1
        removed = len(code.split("\n")[0]) - len(flush.split("\n")[0])
        return line, max((error.offset or 1) - 1, 0) + removed, f"syntax error ({error.msg})"
    except (ValueError, RecursionError, MemoryError) as error:
        return 0, 0, f"Python cannot parse it ({error})"
    return None


def _is_indented_python(code: str) -> bool:
    """Return whether the code is an indented block that `dedent` cannot fix, with long texts in column 0."""
    try:
        return len(_parse_python(f"if True:\n{code}").body) == 1
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _parse_python(code: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


def _errors(node: Node) -> Iterator[Node]:
    """Yield error nodes, inner ones first: an outer one often begins far above the mistake."""
    for child in node.children:
        if child.has_error:
            yield from _errors(child)
    if node.is_error or node.is_missing:
        yield node


@cache
def _parser(grammar: str) -> Parser:
    from tree_sitter import Language, Parser

    package, function = GRAMMARS[grammar]
    return Parser(Language(getattr(import_module(package), function)()))


OPENING = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<tag>[^\s`:,{]*)[^`]*$")
LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class CodeBlock:
    """A fenced block: its number in the text from 1, its language tag in lower case, and its code."""

    number: int
    tag: str
    code: str


def code_blocks(text: str) -> Iterator[CodeBlock]:
    """Yield every fenced block in order; one without an end extends to the end of the text."""
    lines = iter(LINE_END.split(text))
    number = 0
    for line in lines:
        opening = OPENING.match(line)
        if opening is not None:
            number += 1
            yield CodeBlock(number, opening["tag"].lower(), _code(lines, opening["fence"], opening["indent"]))


def _code(lines: Iterator[str], fence: str, indent: str) -> str:
    closing = re.compile(rf"^[ \t]*{fence[0]}{{{len(fence)},}}[ \t]*$")
    code: list[str] = []
    for line in lines:
        if closing.match(line):
            break
        code.append(line.removeprefix(indent))
    return "\n".join(code)
