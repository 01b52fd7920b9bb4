"""The settings of a retriever: ``retriever:`` of a set, in short (``bm25``) or with options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, model_validator

from pytest_mcpeval.core.fields import FileModel, Whole, located
from pytest_mcpeval.kinds.retrieval.retrievers.embedded import LARGEST_WEIGHT, weight_of
from pytest_mcpeval.kinds.retrieval.retrievers.results import AnswerModel
from pytest_mcpeval.loading import DataFileError, Document
from pytest_mcpeval.loading.schema import validate
from pytest_mcpeval.targets.settings import (
    WAYS,
    Arguments,
    TargetModel,
    ToolModel,
    UrlModel,
    in_full,
)

_EMBEDDED = ("bm25", "tfidf")

FieldName = Literal["server", "tool", "description", "schema"]


def _weight(weight: float) -> float:
    weight_of(weight)
    return weight


Weight = Annotated[float, Field(ge=0, le=LARGEST_WEIGHT), AfterValidator(_weight)]
PLAIN_FIELDS: dict[str, float] = {"tool": 1, "description": 1}
"""What the embedded retrievers read when ``fields`` is not given; the schema comes with ``schema: true``."""


class TextFieldsModel(FileModel):
    """Which texts of a tool an embedded retriever reads."""

    fields: list[FieldName] | dict[FieldName, Weight] | None = Field(
        None,
        description="server, tool, description, schema; weights (two decimals) say how often words count",
    )
    # `schema` itself is a name pydantic's models have.
    with_schema: bool = Field(True, validation_alias="schema", description="read names and texts of schemas")

    @model_validator(mode="after")
    def _reads_something(self) -> TextFieldsModel:
        if not self.weights():
            raise ValueError("no field of the tools is read: name one in `fields` with a weight above 0")
        if not self.with_schema and "schema" in (self.fields or ()):
            raise ValueError("`fields` names schema, and `schema: false` leaves it out: remove one of them")
        return self

    def weights(self) -> dict[str, float]:
        """Field → how many times its words count; fields that are not read are left out."""
        if self.fields is None:
            return {**PLAIN_FIELDS, **({"schema": 1} if self.with_schema else {})}
        given = self.fields if isinstance(self.fields, dict) else dict.fromkeys(self.fields, 1)
        return {name: weight for name, weight in given.items() if weight}


class Bm25Model(TextFieldsModel):
    """``bm25:``, the embedded default."""

    k1: Annotated[float, Field(ge=0)] = Field(1.5, description="how soon repetitions of a word stop counting")
    b: Annotated[float, Field(ge=0, le=1)] = Field(0.75, description="how much the length of a text counts")


class TfidfModel(TextFieldsModel):
    """``tfidf:``, embedded: cosine similarity of TF-IDF vectors."""


class McpModel(AnswerModel, ToolModel):
    """``mcp:``, a search tool of a named server."""

    arguments: Arguments = Field(
        {"query": "{query}", "limit": "{limit}"},
        description="arguments of the call; {query} and {limit} are filled in",
    )

    @model_validator(mode="after")
    def _sends_the_query(self) -> McpModel:
        if "{query}" not in json.dumps(self.arguments):
            raise ValueError("`arguments` do not contain {query}, so every search would be the same")
        return self


class HttpModel(AnswerModel, UrlModel):
    """``http:``, a GET request. ``${VAR}`` in the URL and the headers is taken from the environment."""

    @model_validator(mode="after")
    def _sends_the_query(self) -> HttpModel:
        if "{query}" not in self.url:
            raise ValueError("`url` does not contain {query}, so every search would be the same")
        return self


class RetrieverModel(TargetModel):
    """Exactly one way to search, with its options."""

    role: ClassVar[str] = "retriever"
    ways: ClassVar[tuple[str, ...]] = (*_EMBEDDED, *WAYS)

    bm25: Bm25Model | None = None
    tfidf: TfidfModel | None = None
    mcp: McpModel | None = None
    http: HttpModel | None = None


RetrieverSetting = Annotated[
    RetrieverModel,
    BeforeValidator(
        lambda value: in_full(value, RetrieverModel.role, RetrieverModel.ways, _EMBEDDED),
        json_schema_input_type=str | RetrieverModel,
    ),
    Whole(),
]

_ADAPTER: TypeAdapter[RetrieverModel] = TypeAdapter(RetrieverSetting)

EMBEDDED_DEFAULT = _ADAPTER.validate_python("bm25")


def retriever_from_text(text: str, directory: Path) -> RetrieverModel:
    """Return the retriever that a command line names: a short form, or a JSON mapping as in a file.

    Paths are relative to ``directory``.

    Raises:
        ValueError: The text does not name a retriever; the message is shown to users.
    """
    value: Any = text
    if text.lstrip().startswith("{"):
        try:
            value = json.loads(text)
        except ValueError as error:
            raise ValueError(f"not JSON: {error}") from None
    try:
        # As in a file, but for the lines.
        return located(validate(_ADAPTER, Document(directory, value, "")), directory)
    except DataFileError as error:
        raise ValueError("; ".join(problem.message for problem in error.problems)) from None
