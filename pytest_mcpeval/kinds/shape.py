"""How documents of a kind look: all that is needed of a kind before there is a document of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from pytest_mcpeval.loading import Document

Shape = Literal["suite", "support"]
"""A suite holds cases; a support file (a baseline, a corpus) is read by suites and holds none."""


class KindShape(ABC):
    """What the documents of one kind are recognised by."""

    name: ClassVar[str]
    shape_description: ClassVar[str]
    """One line for people: how a document of this kind looks, such as ``a `tests:` list (scenario)``."""
    shape_keys: ClassVar[tuple[str, ...]] = ()
    """Keys a document is recognised by: what a misspelt key of an unknown document may have meant."""
    file_names: ClassVar[tuple[str, ...]] = ()
    """Patterns of names: a document of no known shape that has such a name is of this kind."""

    @abstractmethod
    def recognise(self, data: Any) -> Shape | None:
        """Whether a document has this kind's shape."""

    def is_read_by_another(self, document: Document, root: Path) -> bool:
        """Whether a document of this kind's shape is part of another data file's suite, and none itself."""
        return False
