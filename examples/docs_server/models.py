"""What the tools answer as structured content; the field descriptions are part of their output schemas."""

from __future__ import annotations

from pydantic import BaseModel, Field


class Source(BaseModel):
    """A section an answer is made of."""

    number: int = Field(description="The N of the citations [Source N]")
    title: str = Field(description="Title of the page")
    section: str = Field(description="Heading of the section")
    path: str = Field(description="project/page.md#section")


class Answer(BaseModel):
    """An answer assembled from sections; without sources nothing was found."""

    answer: str = Field(description="Markdown with citations")
    confidence: int = Field(ge=0, le=100, description="How well the sections cover the request")
    sources: list[Source]


class SearchResult(BaseModel):
    """One section found by a search."""

    title: str = Field(description="Title of the page")
    path: str = Field(description="project/page.md#section")
    section: str = Field(description="Heading of the section")
    score: float = Field(description="BM25 score; higher is better, comparable within one search only")
    excerpt: str = Field(description="The sentence nearest to the query")


class SearchResults(BaseModel):
    """The sections found by a search, best first."""

    results: list[SearchResult]
    confidence: int = Field(ge=0, le=100, description="How well the results cover the query")


class Project(BaseModel):
    """A documented project."""

    name: str = Field(description="What the argument `project` of the other tools takes")
    pages: list[str] = Field(description="Titles of its pages")
    sections: int = Field(description="Number of searchable sections")


class Projects(BaseModel):
    """All documented projects, by name."""

    projects: list[Project]
