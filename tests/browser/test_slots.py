"""Slots: held by one process at a time, whatever becomes of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_mcpeval import BrowserError
from pytest_mcpeval.browser.slots import SlotPool

HOLDER = """
import sys
from pathlib import Path
from pytest_mcpeval.browser.slots import SlotPool
with SlotPool(int(sys.argv[2]), Path(sys.argv[1])).lease(int(sys.argv[3])) as held:
    print(held.slot, flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(directory: Path, size: int, hint: int = 0) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that holds a slot until it is killed or the block ends; and the slot."""
    command = [sys.executable, "-c", HOLDER, str(directory), str(size), str(hint)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        try:
            yield process, int(process.stdout.readline())
        finally:
            process.kill()


def test_a_process_gets_the_slot_it_asks_for_or_the_next_free_one(tmp_path: Path) -> None:
    with holder(tmp_path, 3, hint=7) as (_, first), holder(tmp_path, 3, hint=1) as (_, second):
        assert (first, second) == (1, 2)
        with SlotPool(3, tmp_path).lease(1) as held:
            assert held.slot == 0


def test_whoever_finds_all_slots_held_waits_and_then_gives_up(tmp_path: Path) -> None:
    with holder(tmp_path, 1) as (process, _):
        told = list[str]()
        expected = f"all 1 are held, by the processes {process.pid}; end processes that hang"
        with (
            pytest.raises(BrowserError, match=expected),
            SlotPool(1, tmp_path).lease(when_full=lambda: told.append("full"), longest=0.2),
        ):
            pass
        assert told == ["full"]


def test_the_slot_of_a_process_that_is_killed_is_free(tmp_path: Path) -> None:
    with holder(tmp_path, 1) as (process, _):
        waits = list[float]()

        def kill(seconds: float) -> None:
            waits.append(seconds)
            process.kill()
            process.wait()

        with SlotPool(1, tmp_path).lease(wait=kill) as held:
            assert held.slot == 0
        assert len(waits) == 1


def test_a_slot_is_kept_from_lease_to_lease(tmp_path: Path) -> None:
    pool = SlotPool(4, tmp_path)
    for hint in (2, 0, 3):
        with pool.lease(hint) as held:
            assert held.slot == 2


def test_a_shared_slot_is_that_of_every_lease_meanwhile(tmp_path: Path) -> None:
    pool = SlotPool(1, tmp_path)
    with pool.lease(shared=True) as page, pool.lease(longest=0) as visit:
        assert (visit.slot, visit.waited) == (page.slot, 0)
        with pytest.raises(BrowserError), SlotPool(1, tmp_path).lease(longest=0):
            pass
    with holder(tmp_path, 1), pytest.raises(BrowserError), pool.lease(longest=0):
        pass


def test_started_processes_do_not_hold_a_slot(tmp_path: Path) -> None:
    pool = SlotPool(1, tmp_path)
    with pool.lease():
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    try:
        with SlotPool(1, tmp_path).lease(longest=0) as held:
            assert held.waited < 1
    finally:
        child.communicate(b"\n")


def test_locks_are_private(tmp_path: Path) -> None:
    with SlotPool(1, tmp_path / "locks").lease():
        lock = tmp_path / "locks" / "slot-0.lock"
        assert lock.stat().st_mode & 0o077 == 0
        assert lock.parent.stat().st_mode & 0o077 == 0


def test_a_lock_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "slot-0.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BrowserError, match="browser slots: cannot open"), SlotPool(1, tmp_path).lease():
        pass
    assert not (tmp_path / "elsewhere").exists()
