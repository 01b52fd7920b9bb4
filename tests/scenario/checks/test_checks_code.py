"""Code blocks, imports, and syntax by a real parser."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from pytest_mcpeval import Check, CheckSpecError, Response
from pytest_mcpeval.kinds.scenario.checks import BUILTIN


def evaluate(rule: dict[str, Any], text: str) -> Check:
    return BUILTIN.parse(rule).evaluate(Response(text))


@pytest.mark.parametrize(
    ("language", "text", "passes"),
    [
        (None, "```\nx\n```", True),
        (None, "```x```", True),
        (None, "```\nnever closed", False),
        (None, "", False),
        ("typescript", "```TypeScript\r\nx\r\n```", True),
        ("type", "```typescript\nx\n```", True),
        ("typescript", "```ts\nx\n```", False),
        ("rust", "```go\nx\n```", False),
        ("c++", "```c++\nint x;\n```", True),
        ("c++", "```ccc\nint x;\n```", False),
    ],
)
def test_has_code_block(language: str | None, text: str, passes: bool) -> None:
    rule = {"type": "has_code_block"} | ({"language": language} if language else {})
    check = evaluate(rule, text)
    block = f"{language} code block" if language else "code block"
    assert check.passed is passes
    assert check.message == (f"has a {block}" if passes else f"no {block}")


@pytest.mark.parametrize(
    ("module", "text", "passes"),
    [
        ("o1js", "import { Field } from 'o1js';", True),
        ("o1js", 'IMPORT * as o from "O1JS"', True),
        ("o1js", "import {\r\n  Field,\r\n  Proof,\r\n} from `o1js`;", True),
        ("o1js", "import 'o1js'", True),
        ("o1js", "const o = require ( 'o1js' )", True),
        ("O1JS", "const o = require('o1js')", True),
        ("o1js", "import { x } from 'o1js/extra'", False),
        ("o1js", "import o1js from 'other'", False),
        ("o1js", "import { Field } from o1js", False),
        ("o1js", "use of o1js", False),
        ("a.b", "import x from 'axb'", False),
        ("solana_program", "use solana_program::pubkey::Pubkey;", True),
        ("solana", "use solana_program;", True),
        ("fmt", 'import "fmt"', True),
        ("fmt", 'import f "fmt"', True),
        ("github.com/x/y", 'import (\n\t"fmt"\n\ty "github.com/x/y"\n)', True),
        ("github.com/x/y", 'import (\n\t"fmt"\n)\nvar a = "github.com/x/y"', False),
        ("json", "import json", True),
        ("json", "import os, json as j  # both", True),
        ("json", "x = 1\r\nimport json\r\n", True),
        ("json", "    from json import loads", True),
        ("json", "from json.decoder import JSONDecoder", True),
        ("json", "import json.decoder", True),
        ("json", "import jsonschema", False),
        ("json", "from jsonschema import validate", False),
        ("json", "to import json you write this", False),
        ("json", "import json is how you begin", False),
        ("x", "", False),
    ],
)
def test_has_import(module: str, text: str, passes: bool) -> None:
    check = evaluate({"type": "has_import", "module": module}, text)
    assert check.passed is passes
    assert check.message == f'{"imports" if passes else "no import of"} "{module}"'


def test_has_import_on_a_huge_line() -> None:
    text = "import x " * 300_000
    assert evaluate({"type": "has_import", "module": "o1js"}, text).status == "failed"


GOOD = {
    "typescript": "import { Field } from 'o1js';\nexport const add = (a: Field): Field => a.add(1);",
    "ts": "@method async update(x: Field) {\n  this.num.set(x);\n}\n@state(Field) num = State<Field>();",
    "tsx": "const view = <div className='a'>{1}</div>;",
    "javascript": "const { a } = require('b');\nawait a?.b ?? c;",
    "jsx": "const view = <a href='x'>y</a>;",
    "rust": "use a::prelude::*;\n#[program]\npub mod p { pub fn f(c: C<I>) -> Result<()> { Ok(()) } }",
    "rs": 'let balance = client.get_balance(&key)?;\nprintln!("{}", balance);\nOk(())',
    "go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("hi")\n}',
    "Go": 'import "x"\ntype T int',
    "golang": 'b := keeper.Get(ctx, "stake")\nif err != nil {\n\treturn err\n}\nkeeper.Send(ctx)',
    "python": "import json\n\nasync def f(x):\n    match x:\n        case 1:\n            await g()",
    "py": "    x = [i for i in range(3)]\n    return x",
}
BROKEN = {
    "typescript": ("const a: number = ;", 'line 1, column 17: syntax error in "const a: number = ;"'),
    "tsx": ("const view = <div>;\n", None),
    "javascript": ("foo(1,\n", None),
    "rust": ("fn main() {\n    let x = ;\n}", 'line 2, column 11: syntax error in "let x = ;"'),
    "go": ("func main() {\n\tx := \n}", None),
    "python": ("größe = 'ä' +* 2", None),
    "ts": ("function f() {\n  return 1;", 'line 2, column 12: "}" is missing in "return 1;"'),
}


@pytest.mark.parametrize("tag", GOOD)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_good_code_parses(tag: str, line_end: str) -> None:
    text = f"Text.\n\n```{tag}\n{GOOD[tag]}\n```\nMore.".replace("\n", line_end)
    check = evaluate({"type": "valid_syntax", "language": tag}, text)
    assert (check.status, check.message) == ("passed", "1 code block parses")
    assert evaluate({"type": "valid_syntax"}, text).passed


@pytest.mark.parametrize("tag", BROKEN)
def test_broken_code_is_located(tag: str) -> None:
    code, message = BROKEN[tag]
    text = f"```text\nno (code\n```\n```{tag} title=x\n{code}\n```"
    check = evaluate({"type": "valid_syntax", "language": tag}, text)
    assert check.status == "failed"
    assert check.message.startswith(f"code block 2 ({tag}), line ")
    assert message is None or check.message == f"code block 2 ({tag}), {message}"
    assert not evaluate({"type": "valid_syntax"}, text).passed


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def f():\nreturn 1", "line 2, column 1: syntax error (expected an indented block"),
        ("print 'x'", "line 1, column 1: syntax error (Missing parentheses"),
        ("x = 1\n    y = 2", "line 2, column "),
        ("    x = 1\ny = 2", "line 1, column "),
        ("if x:\n    y = 1\n  z = 2", "line 3, column "),
    ],
)
def test_what_python_rejects_is_a_syntax_error(code: str, message: str) -> None:
    check = evaluate({"type": "valid_syntax"}, f"```python\n{code}\n```")
    assert check.status == "failed"
    assert check.message.startswith(f"code block 1 (python), {message}")


@pytest.mark.parametrize(
    "code",
    [
        "return 1",
        "await f()\nyield 2",
        "    @property\n    def f(self):\n        return 1",
        '    x = """\nfrom column 0\n"""\n    return x',
        r"x = '\d'",
        "def f():\n\treturn 1",
    ],
)
def test_fragments_of_python_parse(code: str) -> None:
    assert evaluate({"type": "valid_syntax"}, f"```python\n{code}\n```").message == "1 code block parses"


@pytest.mark.parametrize("code", ["", "\n", "  \n\t"])
def test_an_empty_block_is_no_code(code: str) -> None:
    rule = {"type": "valid_syntax", "language": "python"}
    empty = f"```python\n{code}\n```"
    check = evaluate(rule, empty)
    assert (check.status, check.message) == ("failed", "code block 1 (python) is empty")
    assert evaluate(rule, f"{empty}\n```python\nx = 1\n```").message == "1 code block parses"


def test_columns_count_characters() -> None:
    check = evaluate({"type": "valid_syntax"}, "```ts\nconst größe = ;\n```")
    assert check.message == 'code block 1 (ts), line 1, column 13: syntax error in "const größe = ;"'


def test_every_broken_block_is_listed() -> None:
    text = "```go\nx := \n```\n~~~~rust\nlet = 1;\n~~~~\n```python\nx = 1\n```"
    check = evaluate({"type": "valid_syntax"}, text)
    assert check.details is not None
    assert check.details["blocks"] == 3
    assert [error[:19] for error in check.details["errors"]] == ["code block 1 (go), ", "code block 2 (rust)"]
    assert check.message.endswith(" (and 1 more)")


def test_closing_and_reopening_braces_is_no_fragment() -> None:
    assert not evaluate({"type": "valid_syntax"}, "```rust\nlet a = 1; }\nfn b() {\n```").passed
    assert not evaluate({"type": "valid_syntax"}, "```ts\nfoo() {} }\nclass B {\nbar() {}\n```").passed


@pytest.mark.parametrize(
    ("rule", "text", "message"),
    [
        ({"language": "rust"}, "```go\nx := 1\n```", "no code block in rust"),
        ({"language": "typescript"}, "", "no code block in typescript"),
        ({}, "```\nx\n```", "no code block in a known language"),
        ({}, "```yaml\na: 1\n```", "no code block in a known language"),
    ],
)
def test_no_block_of_the_language_fails(rule: dict[str, Any], text: str, message: str) -> None:
    check = evaluate({"type": "valid_syntax", **rule}, text)
    assert (check.status, check.message) == ("failed", message)


def test_indented_nested_and_unclosed_blocks() -> None:
    listed = "1. Do\n\n   ```python\n   def f():\n       return 1\n   ```"
    nested = '````python\nx = """\n```\n"""\n````'
    for text in (listed, nested, "```python\nx = 1"):
        assert evaluate({"type": "valid_syntax"}, text).message == "1 code block parses"


def test_columns_leave_out_the_indentation_of_the_block() -> None:
    check = evaluate({"type": "valid_syntax"}, "1. Do\n\n   ```ts\n   const a = ;\n   ```")
    assert check.message == 'code block 1 (ts), line 1, column 9: syntax error in "const a = ;"'


def test_unknown_language_is_a_load_error() -> None:
    with pytest.raises(CheckSpecError) as caught:
        BUILTIN.parse({"type": "valid_syntax", "language": "pyton"})
    ((path, message),) = caught.value.problems
    assert path == ("language",)
    assert message.startswith(
        'no grammar for language "pyton" (did you mean "python"?) (known: ts, typescript,'
    )


@pytest.mark.parametrize("package", ["tree_sitter", "tree_sitter_go"])
def test_missing_grammar_is_a_load_error(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(CheckSpecError) as caught:
        BUILTIN.parse({"any_of": [{"type": "valid_syntax", "language": "go"}]})
    message = "needs the 'syntax' extra: pip install 'pytest-mcpeval[syntax]'"
    assert caught.value.problems == ((("any_of", 0), message),)
