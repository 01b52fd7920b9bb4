"""What the loaders of data files share: effective settings, and problems with their origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, TypeAdapter

from pytest_mcpeval.config.merge import merge
from pytest_mcpeval.core.fields import given, located
from pytest_mcpeval.core.suite import Place
from pytest_mcpeval.loading import DataFileError, Document, Problem
from pytest_mcpeval.loading.messages import shown, suggestion
from pytest_mcpeval.loading.schema import validate

ModelT = TypeVar("ModelT", bound=BaseModel)
SettingsT = TypeVar("SettingsT", bound=BaseModel)


def suite_or_rows(model: type[ModelT], document: Document, rows: str) -> ModelT:
    """The document as a model of a suite; a document that is a list is the ``rows`` of one.

    Raises:
        DataFileError: With every problem of the document.
    """
    if not isinstance(document.data, list):
        return validate(model, document)
    return model.model_validate({rows: validate(_rows_adapter(model, rows), document)})


@cache
def _rows_adapter(model: type[BaseModel], rows: str) -> TypeAdapter[Any]:
    return TypeAdapter(model.model_fields[rows].rebuild_annotation())


class SuiteLoader(Generic[ModelT, SettingsT]):
    """Turns a checked document into a suite, gathering what its schema alone cannot see.

    ``model`` has the file's own settings besides its rows, which are at ``at`` in the document. ``settings``
    are those in force: of the project files, then of the file itself, then of the command line.
    """

    def __init__(
        self, document: Document, place: Place, model: ModelT, settings_model: type[SettingsT], rows: str
    ) -> None:
        self.document = document
        self.place = place
        self.model = model
        self.at: tuple[str, ...] = () if isinstance(document.data, list) else (rows,)
        self.problems: list[Problem] = []
        own = given(located(model, document.path.parent), settings_model.model_fields)
        self.settings = settings_model(**merge(merge(place.settings, own), place.overrides))

    def raise_problems(self) -> None:
        """Raise DataFileError with the problems noted so far, if there are any."""
        if self.problems:
            raise DataFileError(self.problems)

    @contextmanager
    def all_problems(self) -> Iterator[None]:
        """In its block a suite is made: what `Suite` refuses is raised together with the problems noted."""
        try:
            yield
        except DataFileError as error:
            self.problems += error.problems
        self.raise_problems()

    def problem(self, *keys: str | int, message: str) -> None:
        """Note a problem of the value at a path of keys."""
        self.problems.append(self.document.problem(*keys, message=message))

    def origin(self, setting: str) -> str:
        """Where a setting comes from, when it is not this file: words to append to a message."""
        if setting in self.place.overrides:
            return f"; `{setting}` comes from the command line"
        own = setting in self.model.model_fields_set
        origin = None if own else self.place.origins.get(setting)
        return f"; `{setting}` comes from {origin}" if origin else ""

    def place_of(self, setting: str) -> str:
        """``path:line`` of a setting; empty for a default, and for one of the command line."""
        if setting in self.place.overrides:
            return ""
        own = setting in self.model.model_fields_set
        return (
            f"{self.place.key}:{self.document.line(setting)}" if own else self.place.origins.get(setting, "")
        )

    def check_server(self, name: str, *keys: str) -> None:
        """Note a server that is not defined; ``keys`` lead to its name, the first one is the setting."""
        servers: Mapping[str, Any] = self.place.servers
        if name not in servers:
            known = ", ".join(sorted(servers)) or "none"
            words = f"{'.'.join(keys)}: unknown server {shown(name)}{suggestion(name, servers)}"
            self.problem(*keys, message=f"{words} (defined: {known}){self.origin(keys[0])}")
