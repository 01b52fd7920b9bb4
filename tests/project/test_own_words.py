"""No sentence of the texts that asked for this project stands in it: it says in its own words what they mean.

``sentences_of_others.txt`` has a digest for each eight words of their sentences, one after the other. Formats
and fixed tokens, which the project shares with them, are left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.project.documents import ROOT

WORDS = 8
OTHERS = Path(__file__).with_name("sentences_of_others.txt")
FOLDERS = ("pytest_mcpeval", "tests", "docs", "examples", "datasets", "benchmarks", "live_tests")
SUFFIXES = {".md", ".py", ".yaml", ".toml", ".js", ".mjs"}


def texts() -> Iterator[Path]:
    """The files in which somebody may have written a sentence."""
    for top in (ROOT, *(ROOT / name for name in FOLDERS)):
        for path in top.glob("*" if top == ROOT else "**/*"):
            hidden = {"node_modules", "site-packages", "mcp-evals"} & {*path.parts}
            if path.suffix in SUFFIXES and path.is_file() and not hidden:
                yield path


def words(text: str) -> list[str]:
    """What is left of a text without case, punctuation, quotes of comments and line ends."""
    return re.findall(r"[a-z0-9]+", text.lower())


def windows(text: str) -> Iterator[Sequence[str]]:
    """Every eight words in a row."""
    found = words(text)
    return (found[start : start + WORDS] for start in range(len(found) - WORDS + 1))


def digest(found: Sequence[str]) -> str:
    """The first 48 bits of a SHA-256: enough to tell some thousand sentences from half a million."""
    return hashlib.sha256(" ".join(found).encode()).hexdigest()[:12]


def copied(text: str, others: frozenset[str]) -> list[str]:
    """What stands in both."""
    return [" ".join(found) for found in windows(text) if digest(found) in others]


def test_no_sentence_is_copied() -> None:
    others = frozenset(OTHERS.read_text().split())
    found = {path.relative_to(ROOT).as_posix(): copied(path.read_text("utf-8"), others) for path in texts()}
    assert "docs/sessions.md" in found
    assert len(others) > 1000
    assert {path: rows for path, rows in found.items() if rows} == {}


def test_a_copy_is_found_in_any_layout() -> None:
    (sentence,) = windows("He who copies this sentence shall be found")
    text = '"""Pure.\n\n    # He who *copies* this\n    # sentence; "shall be found" out.\n"""'
    assert copied(text, frozenset({digest(sentence)})) == [" ".join(sentence)]
    assert copied(text.replace("shall", "will"), frozenset({digest(sentence)})) == []
