"""A tool-search server from PyPI: FastMCP, with its BM25 search in front of the tools of a corpus.

``python tool_search_server.py CORPUS``; the tools are named ``<server>__<tool>``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fastmcp import FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import Tool


def answer(**_: Any) -> str:
    """Nobody calls it."""
    return ""


def server(corpus: Path) -> FastMCP:
    """The server for a corpus."""
    made: FastMCP = FastMCP("search", transforms=[BM25SearchTransform(max_results=10)])
    for row in json.loads(corpus.read_text("utf-8"))["tools"]:
        name = f"{row['server']}__{row['tool']}"
        made.add_tool(Tool(name=name, description=row["description"], parameters=row.get("schema") or {}))
    return made


if __name__ == "__main__":
    server(Path(sys.argv[1])).run(show_banner=False)
