"""Screenshots and lists that a kind shows beside a case, embedded so that the report is one file."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_mcpeval.reports.html_parts import LABEL, block, cells, grid, shown

LARGEST_IMAGE = 1024 * 1024
"""Bytes; a larger one is named instead of embedded, so that the report can still be opened."""

PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = "max-width:100%;max-height:32em;border:1px solid #e6e6e6"


def attachment_html(attachment: Mapping[str, Any]) -> Iterator[str]:
    """One attachment: ``{title, image}`` with the path of a PNG, or ``{title, header, rows}`` with texts."""
    if "image" in attachment:
        yield f'<p style="{LABEL}">{shown(attachment["title"])}</p>{_image(Path(attachment["image"]))}'
    elif "rows" in attachment:
        rows: list[Sequence[str]] = [attachment["header"], *attachment["rows"]]
        yield grid(attachment["title"], (f"<tr>{cells(*map(shown, row))}</tr>" for row in rows))


def _image(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        return block("not shown", f"{path}: {error.strerror or error}")
    if not content.startswith(PNG):
        return block("not shown", f"{path} is no PNG")
    if len(content) > LARGEST_IMAGE:
        return block("not shown", f"{path} has {len(content):,} bytes, more than {LARGEST_IMAGE:,}")
    data = base64.b64encode(content).decode("ascii")
    return f'<img alt="" style="{IMAGE}" src="data:image/png;base64,{data}">'
