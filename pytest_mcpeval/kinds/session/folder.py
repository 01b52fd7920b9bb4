"""The folder of an evaluation, ``mcp-evals/mcp-eval-<name>/``, and its lock."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.kinds.session.options import EVALUATIONS, PREFIX

_LONGEST_LABEL = 40
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


def folder_names(name: str, keys: Collection[str]) -> Mapping[str, str]:
    """Session file → the name of its evaluation, when several files are run under one name.

    ``keys`` are the paths of the files from the root directory. Each name ends with that of its file; where
    that does not tell the files apart, also with a digest of the path.
    """
    stems = {key: PurePosixPath(key).stem.removesuffix(".scenarios") for key in keys}
    labels = {key: _NOT_IN_NAMES.sub("-", stem)[:_LONGEST_LABEL] for key, stem in stems.items()}
    # Some file systems do not distinguish A from a.
    numbers = Counter(label.lower() for label in labels.values())
    found = {}
    for key, label in labels.items():
        digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:8]
        found[key] = f"{name}-{label}" if numbers[label.lower()] == 1 else f"{name}-{label}-{digest}"
    return found


class Claim:
    """An evaluation in the hands of one run: its processes share it, those of other runs are refused.

    The kernel lets go when the last process of the run dies, however it dies.

    Raises:
        TargetError: Another run works on the evaluation, or its folder cannot be written.
    """

    def __init__(self, folder: Folder, run_id: str, pid: int) -> None:
        try:
            folder.path.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(folder.path / ".run", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise TargetError(
                f"the evaluation cannot be kept in {folder.path}: {error.strerror or error}: name a root "
                "directory that you can write with --rootdir=DIR"
            ) from None
        try:
            with suppress(BlockingIOError):
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, f"{run_id} {pid}".encode(), 0)
            # Changing an exclusive lock into a shared one releases it for a moment, in which another run may
            # take it.
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)
            holder, _, holder_pid = os.pread(self._descriptor, 100, 0).decode().partition(" ")
            if holder != run_id:
                raise TargetError(
                    f"{folder.path} is in use by another run, process {holder_pid}: wait until it has "
                    "ended, or give this evaluation another name with --mcpeval-name"
                )
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go."""
        os.close(self._descriptor)


@dataclass(frozen=True)
class Folder:
    """Where the files of an evaluation are. ``root`` is the directory that holds ``mcp-evals/``."""

    root: Path
    name: str

    @property
    def path(self) -> Path:
        """The folder."""
        return self.root / EVALUATIONS / f"{PREFIX}{self.name}"

    @property
    def state(self) -> Path:
        """Where the evaluation stands."""
        return self.path / "state.json"

    @property
    def transcript(self) -> Path:
        """One line for each call."""
        return self.path / "transcript.jsonl"

    @property
    def critic_output(self) -> Path:
        """What the critic wrote, word for word."""
        return self.path / "critic-output.md"

    @property
    def report(self) -> Path:
        """What a person reads."""
        return self.path / "report.md"

    @property
    def html_report(self) -> Path:
        """The same with the transcript as a timeline."""
        return self.path / "report.html"

    @property
    def of_evaluation(self) -> tuple[Path, ...]:
        """The files of an evaluation besides its state."""
        return (self.transcript, self.critic_output, self.report, self.html_report)

    def relative(self, path: Path) -> str:
        """A path from the directory that holds ``mcp-evals/``."""
        return path.relative_to(self.root).as_posix()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out; the kernel releases the lock when this process dies."""
        self.path.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def set_aside(self) -> None:
        """Move the files of an evaluation that starts over into a folder ``replaced-1``, ``replaced-2``, …"""
        names = (path.name.removeprefix("replaced-") for path in self.path.glob("replaced-*"))
        numbers = (int(name) for name in names if name.isdecimal())
        kept = self.path / f"replaced-{max(numbers, default=0) + 1}"
        kept.mkdir()
        # The state is moved last: if the process dies before, the evaluation must still be started over.
        for path in [*self.of_evaluation, self.state]:
            if path.exists():
                os.replace(path, kept / path.name)
