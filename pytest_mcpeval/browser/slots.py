"""Pool slots: how many browsers a user runs at once, over all processes and runs.

A slot is a file; the process that holds its lock may use a browser. The kernel frees the lock of a process
that dies, however it dies.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pytest_mcpeval.browser.directive import BrowserError

POLL_SECONDS = 0.05
LONGEST_WAIT_SECONDS = 900.0

# Where people read: pytest captures what is written, and workers have no terminal.
_descriptors: list[int] = []


@dataclass(frozen=True)
class Lease:
    """A slot that is held. ``waited`` is how long it was waited for, in seconds."""

    slot: int
    waited: float = 0.0


class SlotPool:
    """The slots ``0 … size - 1``. ``directory`` None stands for one that all runs of this user share."""

    def __init__(self, size: int, directory: Path | None = None) -> None:
        self.size = size
        self._directory = directory
        self._last: int | None = None
        self._shared: int | None = None
        self._has_waited = False

    @contextmanager
    def lease(
        self,
        hint: int = 0,
        *,
        shared: bool = False,
        when_full: Callable[[], None] = lambda: None,
        wait: Callable[[float], None] = time.sleep,
        longest: float = LONGEST_WAIT_SECONDS,
    ) -> Iterator[Lease]:
        """Hold a slot: the one held last, else ``hint``, else any.

        While one is ``shared``, every other lease of this pool gets the same slot: who holds a page and
        visits an agent besides does so by turns, and would wait for a second slot with the first in hand.
        ``when_full`` is called before waiting; ``wait`` lets some seconds pass, or raises to end the wait.

        Raises:
            BrowserError: The locks cannot be used, or no slot was free within ``longest`` seconds.
        """
        if self._shared is not None:
            yield Lease(self._shared)
            return
        directory = self._locks()
        started = time.monotonic()
        held = self._try_all(directory, hint)
        is_full = held is None
        if is_full:
            self._announce_wait()
            when_full()
        while held is None:
            if time.monotonic() - started > longest:
                raise BrowserError(self._full(directory, longest))
            wait(POLL_SECONDS)
            held = self._try_all(directory, hint)
        descriptor, slot = held
        self._last = slot
        self._shared = slot if shared else None
        try:
            # Slow locks are no wait for others.
            yield Lease(slot, time.monotonic() - started if is_full else 0.0)
        finally:
            self._shared = None
            # A process being started holds a copy until its program is loaded; closing ours does not free it.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _announce_wait(self) -> None:
        """Say, once, that this process waits: with more workers than slots each case would."""
        if not self._has_waited:
            self._has_waited = True
            slots = "the only browser slot is" if self.size == 1 else f"all {self.size} browser slots are"
            announce(f"mcpeval: {slots} in use: process {os.getpid()} waits for one (--mcpeval-pool-size)")

    def _locks(self) -> Path:
        directory = self._directory or Path(tempfile.gettempdir(), f"pytest-mcpeval-{os.getuid()}", "slots")
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            owner = directory.lstat().st_uid
        except OSError as error:
            raise BrowserError(f"browser slots: cannot make the directory {directory}: {error}") from None
        if owner != os.getuid():
            raise BrowserError(
                f"browser slots: {directory} belongs to another user: remove it, or set TMPDIR to a "
                "directory of your own"
            )
        return directory

    def _try_all(self, directory: Path, hint: int) -> tuple[int, int] | None:
        first = hint % self.size if self._last is None else self._last
        for offset in range(self.size):
            slot = (first + offset) % self.size
            descriptor = _try_lock(directory / f"slot-{slot}.lock")
            if descriptor is not None:
                return descriptor, slot
        return None

    def _full(self, directory: Path, longest: float) -> str:
        holders = [(directory / f"slot-{slot}.lock").read_text("utf-8").strip() for slot in range(self.size)]
        return (
            f"no browser slot was free within {longest:g} s: all {self.size} are held, by the processes "
            f"{', '.join(holders)}; end processes that hang, or raise --mcpeval-pool-size"
        )


@cache
def pool_of_process(size: int, directory: Path | None) -> SlotPool:
    """The pool that everything in this process leases from."""
    return SlotPool(size, directory)


def _try_lock(path: Path) -> int | None:
    """A descriptor that holds the lock, closed by processes started from here; None when it is held."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise BrowserError(f"browser slots: cannot open {path}: {error}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        os.close(descriptor)
        raise BrowserError(f"browser slots: cannot lock {path}: {error}") from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def keep_standard_error() -> Callable[[], None]:
    """Keep this process's standard error as it is now, before it is captured; call the result to let go.

    Workers share that of their controller.
    """
    try:
        kept = os.dup(2)
    except OSError:
        return lambda: None
    _descriptors.append(kept)

    def let_go() -> None:
        _descriptors.remove(kept)
        os.close(kept)

    return let_go


def announce(line: str) -> None:
    """Write a line of its own to standard error at once."""
    if _descriptors:
        with suppress(OSError):
            os.write(_descriptors[-1], f"\n{line}\n".encode(errors="replace"))
