"""The documentation as data: its pages, code blocks and links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = (README, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md")))

_BLOCK = re.compile(r"^(?:`(?P<file>[\w./-]+)`\n\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#+ (?P<title>.+)$", re.M)


@dataclass(frozen=True)
class CodeBlock:
    """A fenced block; ``file`` is the name written above it, if there is one."""

    page: Path
    line: int
    language: str
    text: str
    file: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(*languages: str, pages: tuple[Path, ...] = PAGES) -> list[CodeBlock]:
    """The code blocks of some languages, in order."""
    return [block for page in pages for block in _blocks(page) if block.language in languages]


def _blocks(page: Path) -> Iterator[CodeBlock]:
    text = page.read_text("utf-8")
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("text"))
        yield CodeBlock(page, line, match["language"], match["text"], match["file"] or "")


def links(page: Path) -> list[str]:
    """The targets of a page's links to files of this repository."""
    found = (match["target"] for match in _LINK.finditer(_prose(page)))
    return [target for target in found if "://" not in target]


def anchors(page: Path) -> set[str]:
    """The fragments that a page's headings answer to."""
    titles = (match["title"] for match in _HEADING.finditer(_prose(page)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def _prose(page: Path) -> str:
    return _BLOCK.sub("", page.read_text("utf-8"))


def code_words(*pages: Path) -> set[str]:
    """Every word that stands in inline code on some pages."""
    spans = [span for page in pages for span in re.findall(r"`([^`]+)`", _prose(page))]
    return {word for span in spans for word in re.findall(r"[\w-]+", span)}
