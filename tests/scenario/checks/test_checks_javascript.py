"""The regular expressions mean what they mean in JavaScript: compared with Node on random texts."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mcpeval import Response
from pytest_mcpeval.kinds.scenario.checks import BUILTIN
from pytest_mcpeval.kinds.scenario.checks.javascript_regex import (
    Match,
    PatternError,
    compile_pattern,
    found_in,
    matching_itself,
)

# The one of this environment first: its version knows the same Unicode and syntax everywhere.
NODE = shutil.which("node", path=Path(sys.executable).parent) or shutil.which("node") or "node"

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


def in_javascript(cases: Sequence[Any], program: str = CHECKS_IN_JAVASCRIPT) -> list[Any]:
    completed = subprocess.run(
        [NODE, "-e", program],
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
        assert (match and [match.start, match.groups[0]]) == expected, (parameters["pattern"], text)
        compared += 1
    assert compared > 6_000


# Letters that fold to ASCII, in three forms, to more than one letter, without another case, paired by a later
# Unicode than others, and characters with a case that are no letters by their category.
EXCEPTIONS = (
    "\u00aa\u00b5\u00df\u00e5\u00c5\u00ff\u0130\u0131\u0149\u0178\u017f\u01c4\u01c5\u01c6\u01f0\u0345\u0390"
    "\u0391\u0398\u03a3\u03a9\u03b0\u03b1\u03b8\u03b9\u03bc\u03c2\u03c3\u03c9\u03d1\u03f4\u0412\u0432\u0587"
    "\u10a0\u10d0\u13a0\u13f8\u1c80\u1c90\u1e60\u1e61\u1e9b\u1e9e\u1f80\u1f88\u1fb3\u1fbc\u1fbe\u1fd3\u1fe3"
    "\u2126\u212a\u212b\u2160\u2170\u24b6\u24d0\u2d00\u4e00\ua64a\ua77d\uab70\ufb00\ufb05\ufb06\uff21\uff41"
    "\u2028\u2029"
)
SUPPLEMENTARY = "\U00010400\U00010428\U0001e900\U0001f600"
LETTERS = [*EXCEPTIONS, *SUPPLEMENTARY, *"kKsSiIaZ5-"]
CLASSES = r"""
    \w \W \d \D \s \S . [\w] [\W] [^\w] [^\W] [\W\d] [^\W_] [a-z] [A-Z] [^a-z] [^A-Z] [h-k] [^s] [^K] [S]
    [Z-a] [\x00-\x7f] [^\x00-\x7f] [\u0080-\uffff] [^\u0080-\uffff] [\u0130] [\u00df] [\u1e9e] [^\u03c3]
    [\u01c4] [\u1f80-\u1faf] [\u13a0-\u13ff] \u212a \u017f [\u212a\u212b\u2126] [^\u212a] [^] (?=k)[^]
    (?!s)[^] \bK\b s\B \b[^]\b ^.$ ^$ (?i:k) (?-i:k) (?-i:[a-k]) (?i:[^\W]) (?-i:\bs) (?i:\bS)
"""
WITH_U = r"""
    \p{Lu} \P{Lu} [^\p{Lu}] [^\P{Ll}] \p{Lt} [\p{Lu}\d] \u{10400} [\u{10428}-\u{10430}] \ud801\udc00
    (?i:\p{Lu})
"""
REFERENCES = [r"^(.)\1$", r"^(?<a>\w)\k<a>$", r"^(?:(k)|.)\1.$", r"^(.)(?=\1)", r"(?<=^(\D))\1"]
MULTILINE = ["^b$", "^", "a$", "^.$", "a.b", "(?m:^b)", "(?s:.)b", "(?-s:.)b"]
SWITCH = re.compile(r"\(\?[ims-]+:")
LINES = ["a\nb\nc", "a\rb", "a\u2028b", "a\u2029b\u2029", "b", "", "\n", "a\x85b"]
FLAGS = ["", "i", "u", "iu", "s", "m", "ims"]

MATCHING_IN_JAVASCRIPT = """
const table = JSON.parse(require('fs').readFileSync(0, 'utf8'));
console.log(JSON.stringify(table.map(([pattern, flags, texts]) => {
  let found;
  try {
    found = new RegExp(pattern, flags);
  } catch (error) {
    return null;
  }
  return texts.filter((text) => found.test(text));
})));
"""


def test_case_is_what_it_is_in_javascript() -> None:
    ascii_only = [*map(chr, range(128))]
    pairs = [left + right for left in LETTERS for right in dict.fromkeys(f"{left}{left.swapcase()}ksi")]
    of_one_unit = [text for text in pairs if max(text) <= "\uffff"]
    table = [
        *((pattern, flags, [*ascii_only, *EXCEPTIONS]) for pattern in CLASSES.split() for flags in FLAGS),
        *(
            (pattern, flags, [*ascii_only, *LETTERS])
            for pattern in [*WITH_U.split(), *CLASSES.split(), *LETTERS]
            for flags in ("u", "iu")
        ),
        *((pattern, flags, [*EXCEPTIONS, *ascii_only]) for pattern in EXCEPTIONS for flags in ("", "i")),
        *((pattern, flags, of_one_unit) for pattern in REFERENCES for flags in ("", "i")),
        *((pattern, flags, pairs) for pattern in REFERENCES for flags in ("u", "iu")),
        *((pattern, flags, LINES) for pattern in MULTILINE for flags in FLAGS),
    ]
    answers = in_javascript(table, MATCHING_IN_JAVASCRIPT)
    for (pattern, flags, texts), expected in zip(table, answers, strict=True):
        if expected is None and SWITCH.search(pattern):
            continue  # Before Node 24, JavaScript has no flags for a part.
        others = flags.replace("i", "")
        compiled = compile_pattern(f"(?{others}){pattern}" if others else pattern, "i" in flags)
        assert [text for text in texts if found_in(compiled, text)] == expected, (pattern, flags)


def test_whether_a_pattern_has_the_flag_u() -> None:
    kelvin = "\u212a"
    with_u = [r"k\p{Nd}?", r"k\u{31}?", "(?u)k", r"\\?k\P{L}?"]
    assert [found_in(compile_pattern(pattern), kelvin) is not None for pattern in with_u] == [True] * 4
    without = ["k", r"k(?:\\p{Nd})?", r"k\u0031?", "(?i)k"]
    assert [found_in(compile_pattern(pattern), kelvin) for pattern in without] == [None] * 4
    assert found_in(compile_pattern("(?i)K", ignore_case=False), "k") == Match(0, ("k",))
    assert found_in(compile_pattern("(?-i)K"), "k") is None


def test_a_back_reference_does_not_ignore_case_in_a_part() -> None:
    assert found_in(compile_pattern(r"(?i:(k))\1", ignore_case=False), "kK") is None
    with pytest.raises(PatternError, match=r"^not a regular expression: a back-reference .+ position 10 of"):
        compile_pattern(r"(?-i:a)(.)\1")


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
        (r"[\k<x>]", "<", "<"),
        (r"ask\W", "asking", None),
        (r"I\u0130", "xi\u0130", "i\u0130"),
    ],
)
def test_documented_syntax(pattern: str, text: str, found: str | None) -> None:
    match = found_in(compile_pattern(pattern), text)
    assert (match.groups[0] if match else None) == found


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "[",
        "a**",
        "(?<a",
        r"\k<x>",
        "x{2,1}",
        "\\",
        "(?<=a",
        r"\u{110000}",
        "(?z)a",
        "a(?i)b",
        "(?R)",
    ],
)
def test_what_does_not_compile(pattern: str) -> None:
    with pytest.raises(PatternError, match=r"^not a regular expression: .+ at position \d+ of "):
        compile_pattern(pattern)


@given(st.text(st.characters() | st.sampled_from("^$.*+?()[]{}|/-\\&~ nd1"), min_size=1))
def test_the_pattern_of_a_text_matches_it_and_nothing_else(text: str) -> None:
    pattern = matching_itself(text)
    match = found_in(compile_pattern(pattern, ignore_case=False), f"x{text}x")
    assert match is not None
    assert match.groups[0] == text
    one_of = compile_pattern(f"[{pattern}]", ignore_case=False)
    assert {char for char in f"aZ09_ {text}" if found_in(one_of, char)} == {*text}
