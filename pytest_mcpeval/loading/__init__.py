"""Load data files into plain data with line numbers, within limits; every problem names its file and line."""

from __future__ import annotations

from .document import Document
from .loader import load
from .pausing import garbage_collection_paused
from .problems import DataFileError, Problem, lines_of
from .source import Limits

__all__ = [
    "DataFileError",
    "Document",
    "Limits",
    "Problem",
    "garbage_collection_paused",
    "lines_of",
    "load",
]
