"""``transcript.jsonl``: one line for each call, written before the call is made and completed after it.

Every change replaces the whole file in one step, so that a killed process leaves each line whole: a call it
was waiting for has ``result_shape: null``. Threads and processes take turns by a lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_mcpeval.core.baseline import write_atomically
from pytest_mcpeval.kinds.session.records import BLOCKED, AbortReason, TranscriptEntry
from pytest_mcpeval.loading import DataFileError, Problem

Entries = Sequence[TranscriptEntry]


def call_count(entries: Entries, scenario_id: str) -> int:
    """The calls of a scenario that were made: what its budget is compared with."""
    return sum(entry.scenario_id == scenario_id and entry.is_call for entry in entries)


def blocked_count(entries: Entries, scenario_id: str) -> int:
    """The calls of a scenario that safety kept from being made."""
    return sum(entry.scenario_id == scenario_id and entry.tool == BLOCKED for entry in entries)


def abort_reason(entries: Entries, scenario_id: str) -> AbortReason | None:
    """Why a scenario was ended, or None while it may go on; the wallclock ends all of them."""
    for entry in entries:
        if entry.abort_reason and (entry.scenario_id == scenario_id or entry.abort_reason == "wallclock"):
            return entry.abort_reason
    return None


def wallclock_entry(entries: Entries) -> TranscriptEntry | None:
    """The entry that says when the time of the session was over."""
    return next((entry for entry in entries if entry.abort_reason == "wallclock"), None)


def read_entries(path: Path) -> tuple[TranscriptEntry, ...]:
    """The entries of a transcript; none when there is no such file.

    Raises:
        DataFileError: With every line that is not an entry.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    entries: list[TranscriptEntry] = []
    problems: list[Problem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                entries.append(TranscriptEntry.from_data(json.loads(line)))
            except (ValueError, TypeError, AttributeError) as error:
                problems.append(Problem(path, number, f"expected an entry of a transcript: {error}"))
    if problems:
        raise DataFileError(problems)
    return tuple(entries)


class Transcript:
    """A transcript that is being written. Safe to use from several threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._thread_lock = threading.RLock()
        self._depth = 0
        self._known: tuple[tuple[int, int, int] | None, tuple[TranscriptEntry, ...]] = (None, ())

    def entries(self) -> tuple[TranscriptEntry, ...]:
        """All entries so far, in the order in which they began.

        Raises:
            DataFileError: A line is not an entry.
        """
        with self._thread_lock:
            stamp = self._stamp()
            if stamp is None or stamp != self._known[0]:
                self._known = (stamp, read_entries(self.path))
            return self._known[1]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else changes the transcript meanwhile; may be nested."""
        with self._thread_lock:
            if self._depth:
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
                return
            with self._file_lock():
                self._depth = 1
                try:
                    yield
                finally:
                    self._depth = 0

    @contextmanager
    def _file_lock(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path.with_name(f".{self.path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            # The kernel lets go of it when a process dies.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._sweep()
            yield
        finally:
            os.close(descriptor)

    def _sweep(self) -> None:
        """Remove what a killed process left half written."""
        for path in self.path.parent.glob(f".{self.path.name}.*"):
            if path.suffix != ".lock":
                with suppress(FileNotFoundError):
                    path.unlink()

    def append(self, scenario_id: str, **fields: Any) -> TranscriptEntry:
        """Add an entry under the scenario's next id; ``fields`` are those of `TranscriptEntry`."""
        with self.locked():
            entries = self.entries()
            own = [entry.id for entry in entries if entry.scenario_id == scenario_id]
            last = max((int(entry_id.rpartition("-")[2]) for entry_id in own), default=0)
            entry = TranscriptEntry(f"{scenario_id}-{last + 1:03d}", scenario_id, **fields)
            self._write((*entries, entry))
            return entry

    def complete(self, entry_id: str, **changes: Any) -> TranscriptEntry:
        """Fill in what is known after a call, on the line that was written before it.

        Raises:
            KeyError: There is no such entry.
        """
        with self.locked():
            entries = list(self.entries())
            index = next((i for i, entry in enumerate(entries) if entry.id == entry_id), None)
            if index is None:
                raise KeyError(entry_id)
            entries[index] = replace(entries[index], **changes)
            self._write(tuple(entries))
            return entries[index]

    def _write(self, entries: tuple[TranscriptEntry, ...]) -> None:
        write_atomically(self.path, "".join(f"{entry.line}\n" for entry in entries))
        self._known = (self._stamp(), entries)

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size
