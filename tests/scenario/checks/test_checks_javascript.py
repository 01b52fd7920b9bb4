"""The regular expressions mean what they mean in JavaScript: compared with Node on random texts."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mcpeval.kinds.scenario.checks import BUILTIN
from pytest_mcpeval.kinds.scenario.checks.javascript_regex import (
    PatternError,
    compile_pattern,
    found_in,
    matching_itself,
)
from pytest_mcpeval.servers.response import Response

NODE = shutil.which("node") or str(Path(sys.executable).with_name("node"))

CHECKS_IN_JAVASCRIPT = r"""
const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const quote = '[\'"`]';
const some = (text, flags, ...patterns) => patterns.some((pattern) => new RegExp(pattern, flags).test(text));
const number = (text, key) => Number((new RegExp(`"${key}":\\s*(\\d+)`).exec(text) ?? [0, '0'])[1]);
const checks = {
  has_code_block: (text, {language}) => some(text, 'i', '```' + literal(language ?? '') + '[\\s\\S]*?```'),
  has_import: (text, {module}) => {
    const m = literal(module);
    return some(text, 'i', `import\\s+.*\\s+from\\s+${quote}${m}${quote}`, `import\\s+${quote}${m}${quote}`,
      `require\\s*\\(\\s*${quote}${m}${quote}\\s*\\)`, `use\\s+${m}`, `import\\s+.*["']${m}["']`);
  },
  more_imports: (text, {module}) => {
    const m = literal(module);
    return some(text, 'im', `import\\s[^;'"\`()]*?\\sfrom\\s+${quote}${m}${quote}`,
      `import\\s*\\([^()]*${quote}${m}${quote}`, `^[ \\t]*from[ \\t]+${m}[.\\w]*[ \\t]+import\\b`,
      `^[ \\t]*import[ \\t]+(.*,[ \\t]*)?${m}[\\w., \\t]*(#.*)?$`);
  },
  has_citation: (text) => some(text, '', '\\[Source\\s*\\d+\\]', '\\[\\d+\\]'),
  confidence_above: (text, {threshold}) => number(text, 'confidence') >= threshold,
  sources_count: (text, {min}) => number(text, 'sourcesUsed') >= min,
  min_length: (text, {chars}) => text.split('<response_metadata>')[0].trim().length >= chars,
  contains: (text, {value}) => text.toLowerCase().includes(value.toLowerCase()),
  regex: (text, {pattern}) => {
    try {
      const found = new RegExp(pattern, 'i').exec(text);
      return found && [found.index, found[0]];
    } catch (error) {
      return 'invalid';
    }
  },
};
console.log(JSON.stringify(cases.map(([name, parameters, text]) => checks[name](text, parameters))));
"""

Case = tuple[str, dict[str, Any], str]

SPACES = [" ", " ", " ", "\n", "\r\n", "\t", "\u00a0", "\ufeff", "\u2028", "\x85", "\x1c", ""]
WORDS = {
    "has_code_block": ["```", "```", "`", "ts", "TypeScript", "go", "x", "c++", "```rust", "é"],
    "has_import": [
        *[
            "import",
            "IMPORT",
            "from",
            "use",
            "require",
            "require('o1js')",
            "(",
            ")",
            "{",
            "}",
            "A",
            "*",
            ";",
            ",",
        ],
        *[
            "'o1js'",
            '"o1js"',
            "`O1JS`",
            "'o1js\"",
            "o1js",
            "o1js::x",
            "'a.b'",
            "axb",
            "a.b",
            "'axb'",
            "as",
            "#",
        ],
    ],
    "has_citation": ["[", "]", "[1]", "[Source", "Source", "source", "12", "3]", "١", "[٣]"],
    "confidence_above": ['"confidence":', '"confidence"', "85", "7", "x", "12", '"', ",", "٣", ":"],
    "sources_count": ['"sourcesUsed":', '"sourcesUsed":', "2", "10", "{", "}", "none"],
    "min_length": ["abc", "ü", "😀", "<response_metadata>", "x"],
    "contains": ["İ", "ΑΣ", "σ", "ς", "ß", "ẞ", "É", "é", "K", "k", "ÀB"],
}
PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "has_code_block": [{}, {"language": "ts"}, {"language": "type"}, {"language": "c++"}, {"language": "É"}],
    "has_import": [{"module": "o1js"}, {"module": "a.b"}],
    "has_citation": [{}],
    "confidence_above": [{"threshold": 1}, {"threshold": 12}, {"threshold": 80.5}],
    "sources_count": [{"min": 1}, {"min": 3}],
    "min_length": [{"chars": 1}, {"chars": 4}, {"chars": 8}],
    "contains": [{"value": "ας"}, {"value": "ß"}, {"value": "É"}, {"value": "K"}, {"value": "i̇"}],
}


def in_javascript(cases: list[Case]) -> list[Any]:
    completed = subprocess.run(
        [NODE, "-e", CHECKS_IN_JAVASCRIPT],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    answers: list[Any] = json.loads(completed.stdout)
    return answers


def random_cases(name: str, amount: int = 3000) -> list[Case]:
    chance = random.Random(name)
    cases: list[Case] = []
    for _ in range(amount):
        words = chance.choices(WORDS[name], k=chance.randint(0, 9))
        text = "".join(word + chance.choice(SPACES) for word in words)
        cases.append((name, chance.choice(PARAMETERS[name]), text))
    return cases


@pytest.mark.parametrize("name", sorted(WORDS.keys() - {"has_import"}))
def test_same_as_javascript(name: str) -> None:
    cases = random_cases(name)
    expected = in_javascript(cases)
    assert {True, False} == set(expected)
    for (_, parameters, text), answer in zip(cases, expected, strict=True):
        check = BUILTIN.parse({"type": name, **parameters}).evaluate(Response(text))
        assert check.passed is answer, (parameters, text)


def test_imports_are_those_of_javascript_and_the_documented_ones() -> None:
    cases = random_cases("has_import", 6000)
    seen = in_javascript(cases)
    more = in_javascript([("more_imports", parameters, text) for _, parameters, text in cases])
    added = 0
    for (_, parameters, text), original, other in zip(cases, seen, more, strict=True):
        passed = BUILTIN.parse({"type": "has_import", **parameters}).evaluate(Response(text)).passed
        assert passed >= original, (parameters, text)
        assert passed <= (original or other), (parameters, text)
        added += passed > original
    assert {True, False} == set(seen)
    assert 0 < added < len(cases) / 10


ATOMS = [
    *[
        r"\d",
        r"\D",
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        ".",
        "[^]",
        "[]",
        "a",
        "É",
        "_",
        r"\/",
        r"\-",
        r"\x61",
        r"\u00e9",
    ],
    *["[a-c]", r"[^\W]", r"[\d-x]", r"[^\s]", r"[\S]", "[[a]", "[a&&b]", "[--a]", r"[\b]", "[^a-]", "[é|~]"],
    *[r"[\]]", r"[\0-\x1f]", r"[\b-a]", r"[a-\d]", r"[^\d\s]", r"[\D]", r"[^\S]"],
    *[
        "(?:a|b)",
        "(a)",
        "(?=a)",
        "(?!b)",
        "(?<=a)",
        "(?<!-)",
        "{",
        "}",
        "a{,2}",
        r"\cJ",
        r"\0",
        r"\y",
        r"\a",
        "]",
    ],
]
ASSERTIONS = ["^", "$", r"\b", r"\B", "", "", "", ""]
QUANTIFIERS = ["", "", "", "*", "+", "?", "{2}", "{1,2}", "*?", "+?"]
CHARACTERS = [*"aabBcx12_- \n\r\t|&~]{},y\0\b", *"\u00a0\u2028\ufeff\x85\x1c٣éÉ", "a{,2}"]


def random_pattern(chance: random.Random) -> str:
    parts = [
        chance.choice(ASSERTIONS) + chance.choice(ATOMS) + chance.choice(QUANTIFIERS)
        for _ in range(chance.randint(1, 3))
    ]
    return "|".join(parts) if chance.random() < 0.1 else "".join(parts)


def test_random_patterns_mean_the_same() -> None:
    chance = random.Random(7)
    cases: list[Case] = [
        (
            "regex",
            {"pattern": random_pattern(chance)},
            "".join(chance.choices(CHARACTERS, k=chance.randint(0, 12))),
        )
        for _ in range(8_000)
    ]
    compared = 0
    for (_, parameters, text), expected in zip(cases, in_javascript(cases), strict=True):
        if expected == "invalid":
            continue
        match = found_in(compile_pattern(parameters["pattern"]), text)
        assert (match and [match.start(), match[0]]) == expected, (parameters["pattern"], text)
        compared += 1
    assert compared > 6_000


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"(?<year>\d{4})-\k<year>", "2026-2026", "2026-2026"),
        (r"(['\"]).*?\1", "say 'x' now", "'x'"),
        (r"^\s*$", "\ufeff\n", "\ufeff\n"),
        (r"x$", "x\n", None),
        (r"(?s)a.b", "a\nb", "a\nb"),
        (r"(?m)^b$", "a\nb\nc", "b"),
        (r"(?P<n>a)(?P=n)", "aa", "aa"),
        (r"\p{L}+", "1é2", "é"),
        (r"\u{1F600}", "😀", "😀"),
        (r"^.$", "😀", "😀"),
        (r"\Aab\Z", "ab", "ab"),
    ],
)
def test_documented_syntax(pattern: str, text: str, found: str | None) -> None:
    match = found_in(compile_pattern(pattern), text)
    assert (match[0] if match else None) == found


@pytest.mark.parametrize(
    "pattern", ["(", ")", "[", "a**", "(?<a", r"\k<x>", "x{2,1}", "\\", "(?<=a", r"\u{110000}"]
)
def test_what_does_not_compile(pattern: str) -> None:
    with pytest.raises(PatternError, match=r"^not a regular expression: .+ at position \d+ of "):
        compile_pattern(pattern)


@given(st.text(st.characters() | st.sampled_from("^$.*+?()[]{}|/-\\&~ nd1"), min_size=1))
def test_the_pattern_of_a_text_matches_it_and_nothing_else(text: str) -> None:
    pattern = matching_itself(text)
    match = found_in(compile_pattern(pattern, ignore_case=False), f"x{text}x")
    assert match is not None
    assert match[0] == text
    one_of = compile_pattern(f"[{pattern}]", ignore_case=False)
    assert {char for char in f"aZ09_ {text}" if found_in(one_of, char)} == {*text}
