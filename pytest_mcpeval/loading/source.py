"""Read the bytes of a data file within limits, decode them, and count lines."""

from __future__ import annotations

import hashlib
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from .problems import DataFileError, Problem

LINE_BREAK = re.compile(r"\r\n|\n|\r")
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
DEEPEST = 200


@dataclass(frozen=True)
class Limits:
    """Limits that protect the machine from a hostile or broken file.

    ``max_bytes`` bounds the size of the file. ``max_depth`` bounds how deep mappings and lists nest
    (at most 200, so that no recursion can overflow). ``max_nodes`` bounds the number of values and
    keys after aliases are expanded; in YAML, a long text counts once more per 64 characters.

    Raises:
        ValueError: A bound is below 1, or ``max_depth`` is above 200.
    """

    max_bytes: int = 64 * 1024 * 1024
    max_depth: int = 64
    max_nodes: int = 5_000_000

    def __post_init__(self) -> None:
        if min(self.max_bytes, self.max_depth, self.max_nodes) < 1 or self.max_depth > DEEPEST:
            raise ValueError(f"limits must be at least 1, and max_depth at most {DEEPEST}: {self}")

    @property
    def too_many(self) -> str:
        """Return the message about a file with more than ``max_nodes`` nodes."""
        limit = f"{self.max_nodes:,} values, with aliases expanded"
        return f"the file holds more than {limit}: split it, or use fewer aliases"

    @property
    def too_deep(self) -> str:
        """Return the message about a file with more than ``max_depth`` levels."""
        return f"nests deeper than {self.max_depth} levels: flatten the data"


@dataclass(frozen=True)
class Source:
    """A file's text without byte order mark, and ``sha256:<hex>`` of its bytes.

    ``first_line`` is the line of the file on which the text starts: 1, unless the text is only a part
    of the file.
    """

    path: Path
    text: str
    digest: str
    first_line: int = 1

    def line_at(self, position: int) -> int:
        """Return the line (from 1) of the character at ``position``."""
        return self.first_line + sum(1 for _ in LINE_BREAK.finditer(self.text, 0, position))

    def error(self, line: int, message: str) -> DataFileError:
        """Return an error with one problem of this file."""
        return DataFileError([Problem(self.path, line, message)])


def read(path: Path, limits: Limits) -> Source:
    """Read a file as UTF-8.

    Raises:
        DataFileError: The file is missing, not a regular file, too large, or not UTF-8.
    """
    raw = read_bytes(path, limits)
    text = _decoded(path, raw)
    return Source(path, text.removeprefix(BYTE_ORDER_MARK), digest_of(raw))


def digest_of(raw: bytes) -> str:
    """Return ``sha256:<hex>`` of some bytes."""
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def read_bytes(path: Path, limits: Limits) -> bytes:
    """Return the bytes of a regular file within the size limit; raise DataFileError otherwise."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise _whole(path, "is not a regular file: expected a data file")
        _check_size(path, status.st_size, limits)
        with path.open("rb") as stream:
            raw = stream.read(limits.max_bytes + 1)
    except OSError as error:
        raise _whole(path, f"cannot be read: {error.strerror or error}") from error
    _check_size(path, len(raw), limits)
    return raw


def _check_size(path: Path, size: int, limits: Limits) -> None:
    if size > limits.max_bytes:
        found = f"is too large: {size:,} bytes, the limit is {limits.max_bytes:,}"
        raise _whole(path, f"{found}; split it into several files")


def _decoded(path: Path, raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise _whole(path, "is UTF-16: save it as UTF-8") from error
        line = 1 + len(LINE_BREAK.findall(raw[: error.start].decode("utf-8")))
        found = f"is not UTF-8: invalid byte 0x{raw[error.start]:02x} at byte offset {error.start}"
        raise DataFileError([Problem(path, line, f"{found}; save the file as UTF-8")]) from error


def _whole(path: Path, message: str) -> DataFileError:
    return DataFileError([Problem(path, 0, message)])
