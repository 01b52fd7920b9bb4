"""What the loaders of data files share: effective settings, and problems with their origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from pytest_mcpeval.config.merge import merge
from pytest_mcpeval.core.fields import PROVENANCE, given, located
from pytest_mcpeval.core.kind import Place
from pytest_mcpeval.loading import Document, Problem
from pytest_mcpeval.loading.messages import shown, suggestion
from pytest_mcpeval.loading.schema import validate

ModelT = TypeVar("ModelT", bound=BaseModel)
SettingsT = TypeVar("SettingsT", bound=BaseModel)


def checked(model: type[ModelT], document: Document) -> ModelT:
    """The document as a model, without the remarks of its authors.

    Raises:
        DataFileError: With every problem of the document.
    """
    data = document.data
    if isinstance(data, Mapping):
        data = {key: value for key, value in data.items() if not key.startswith(PROVENANCE)}
    return validate(model, document, data)


class SuiteLoader(Generic[ModelT, SettingsT]):
    """Turns a checked document into a suite, gathering what its schema alone cannot see.

    ``model`` has the file's own settings besides its rows. ``settings`` are those in force: of the project
    files, then of the file itself, then of the command line.
    """

    def __init__(
        self, document: Document, place: Place, model: ModelT, settings_model: type[SettingsT]
    ) -> None:
        self.document = document
        self.place = place
        self.model = model
        self.problems: list[Problem] = []
        own = given(located(model, document.path.parent), settings_model.model_fields)
        self.settings = settings_model(**merge(merge(place.settings, own), place.overrides))

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
