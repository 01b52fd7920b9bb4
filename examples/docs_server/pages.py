"""Documentation pages: Markdown files with front matter, cut into sections at their ``##`` headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FRONT_MATTER_KEYS = ("title", "topics", "kind")

PAGES = Path(__file__).parent / "pages"

FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)
HEADING = re.compile(r"^## +(.+)$", re.MULTILINE)
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class PageError(ValueError):
    """A page that cannot be read; the message starts with its path."""


@dataclass(frozen=True)
class CodeBlock:
    """A fenced block: the word after the fence, and the lines between the fences."""

    language: str
    code: str


@dataclass(frozen=True)
class Section:
    """The part of a page under one heading, code apart from prose.

    ``path`` is ``project/page.md#heading``; ``troubleshooting`` sections explain error messages.
    """

    project: str
    path: str
    title: str
    heading: str
    topics: tuple[str, ...]
    troubleshooting: bool
    paragraphs: tuple[str, ...]
    code: tuple[CodeBlock, ...]


def load_sections(directory: Path = PAGES) -> dict[str, tuple[Section, ...]]:
    """All sections by project, in the order of their file names.

    Every folder in ``directory`` is a project.

    Raises:
        PageError: A page has no front matter, no title, or no section.
    """
    projects = sorted(path for path in directory.iterdir() if path.is_dir())
    return {
        project.name: tuple(section for page in sorted(project.glob("*.md")) for section in read_page(page))
        for project in projects
    }


def read_page(path: Path) -> list[Section]:
    """The sections of one page.

    Raises:
        PageError: The page has no front matter, no title, or no section.
    """
    match = FRONT_MATTER.match(path.read_text(encoding="utf-8"))
    if match is None:
        raise PageError(f"{path}: expected YAML front matter between two lines of ---")
    front_matter = yaml.safe_load(match[1])
    if not isinstance(front_matter, dict) or not front_matter.get("title"):
        raise PageError(f"{path}: the front matter needs a title")
    _reject_unknown_keys(path, match[1], front_matter)
    sections = [_section(path, front_matter, heading, body) for heading, body in _cut(match[2])]
    if not sections:
        raise PageError(f"{path}: expected at least one '## ' heading")
    return sections


def _reject_unknown_keys(path: Path, text: str, front_matter: dict[str, Any]) -> None:
    for key in front_matter:
        if key not in FRONT_MATTER_KEYS:
            # The front matter begins on the second line of the page.
            line = 2 + [written.partition(":")[0] for written in text.splitlines()].index(str(key))
            known = ", ".join(FRONT_MATTER_KEYS)
            raise PageError(f"{path}:{line}: unknown key {key!r}; expected {known}")


def _cut(text: str) -> Iterator[tuple[str, str]]:
    """Pairs of heading and body."""
    pieces = HEADING.split(text)
    yield from zip(pieces[1::2], pieces[2::2], strict=True)


def _section(path: Path, front_matter: dict[str, Any], heading: str, body: str) -> Section:
    project = path.parent.name
    return Section(
        project=project,
        path=f"{project}/{path.name}#{_slug(heading)}",
        title=str(front_matter["title"]),
        heading=heading.strip(),
        topics=tuple(front_matter.get("topics", ())),
        troubleshooting=front_matter.get("kind") == "troubleshooting",
        paragraphs=tuple(part.strip() for part in FENCE.sub("", body).split("\n\n") if part.strip()),
        code=tuple(CodeBlock(language, code.rstrip()) for language, code in FENCE.findall(body)),
    )


def _slug(heading: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")
