"""The MCP server: five tools over the documentation pages."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from examples.docs_server import answer
from examples.docs_server.models import Answer, Project, Projects, SearchResults
from examples.docs_server.pages import PAGES, Section, load_sections
from examples.docs_server.search import SectionIndex

ProjectName = Annotated[str, Field(description="Name of a project, as crypto_list_projects shows it")]
Limit = Annotated[int, Field(ge=1, le=20, description="Most sections to return")]


class DocsTools:
    """The tools; each is a method whose docstring is what a model reads."""

    def __init__(self, sections: dict[str, tuple[Section, ...]]) -> None:
        self._indexes = {project: SectionIndex(part) for project, part in sections.items()}

    def ask_docs(self, question: str, project: ProjectName) -> Annotated[CallToolResult, Answer]:
        """Answer a question from the documentation of a project, with citations."""
        started = time.perf_counter()
        return _answer_result(answer.ask(self._index(project), question), started)

    def get_working_example(self, task: str, project: ProjectName) -> Annotated[CallToolResult, Answer]:
        """Show documented code for a task."""
        started = time.perf_counter()
        return _answer_result(answer.working_example(self._index(project), task), started)

    def explain_error(
        self, error: str, project: ProjectName, context: str = ""
    ) -> Annotated[CallToolResult, Answer]:
        """Explain an error message and how to get past it; the context says what was being done."""
        started = time.perf_counter()
        return _answer_result(answer.explain_error(self._index(project), error, context), started)

    def search_docs(
        self, query: str, project: ProjectName, limit: Limit = 5
    ) -> Annotated[CallToolResult, SearchResults]:
        """List the sections of the documentation nearest to a query."""
        started = time.perf_counter()
        found = answer.search(self._index(project), query, limit)
        text = _with_metadata(answer.search_text(found), found.confidence, len(found.results), started)
        return _result(text, found)

    def list_projects(self) -> Annotated[CallToolResult, Projects]:
        """List the documented projects and their pages."""
        projects = [
            Project(
                name=name,
                pages=list(dict.fromkeys(section.title for section in index.sections)),
                sections=len(index.sections),
            )
            for name, index in self._indexes.items()
        ]
        lines = [f"- {project.name}: {', '.join(project.pages)}" for project in projects]
        return _result("\n".join(lines), Projects(projects=projects))

    def _index(self, project: str) -> SectionIndex:
        if project not in self._indexes:
            raise ToolError(f"unknown project {project[:80]!r}; known projects: {', '.join(self._indexes)}")
        return self._indexes[project]


def build_server(pages: Path = PAGES) -> MCPServer:
    """The server with the pages of a directory loaded and indexed."""
    tools = DocsTools(load_sections(pages))
    server = MCPServer(
        "crypto-docs",
        instructions="Documentation of blockchain development kits; crypto_list_projects names them.",
        log_level="WARNING",
    )
    server.add_tool(tools.ask_docs, name="crypto_ask_docs")
    server.add_tool(tools.get_working_example, name="crypto_get_working_example")
    server.add_tool(tools.explain_error, name="crypto_explain_error")
    server.add_tool(tools.search_docs, name="crypto_search_docs")
    server.add_tool(tools.list_projects, name="crypto_list_projects")
    return server


def _answer_result(found: Answer, started: float) -> CallToolResult:
    return _result(_with_metadata(found.answer, found.confidence, len(found.sources), started), found)


def _result(text: str, structured: BaseModel) -> CallToolResult:
    content = [TextContent(type="text", text=text)]
    return CallToolResult(content=list(content), structured_content=structured.model_dump())


def _with_metadata(text: str, confidence: int, sources: int, started: float) -> str:
    """The text followed by the block that clients read confidence, sources and time (ms) from."""
    elapsed = round((time.perf_counter() - started) * 1000)
    metadata = {"confidence": confidence, "sourcesUsed": sources, "processingTimeMs": elapsed}
    block = json.dumps(metadata, indent=2)
    return f"{text}\n\n<response_metadata>\n```json\n{block}\n```\n</response_metadata>"
