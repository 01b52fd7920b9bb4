"""``command:``, a program that is started once and answers one line of JSON for each line it reads.

It reads ``{"id": 1, …}`` with the request, and writes its answer with the same ``id``: only an id
proves that an answer belongs to its request. ``{"error": "…"}`` says that it failed. Logs belong on
standard error. It must not keep its answers in a buffer, and ends when its input does.
"""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.servers.errors import ServerConfigError
from pytest_mcpeval.servers.json_paths import parse_json
from pytest_mcpeval.servers.processes import ProcessFiles, inherited_environment, launch
from pytest_mcpeval.servers.variables import expand
from pytest_mcpeval.targets.base import AnswerError, Codec, DefinedTarget, Request, TargetStartError
from pytest_mcpeval.text.redact import redactor

_LONGEST_LINE = 64 * 1024 * 1024
_TAIL_LINES = 20
_GRACE_SECONDS = 1.0
_END_SECONDS = 5.0
_STATUS_SECONDS = 3.0
_MOST_FRUITLESS = 2
"""After this many processes in a row end without an answer, nothing more is tried."""


class CommandTarget(DefinedTarget):
    """One process for all requests, which are made one after another.

    A process that crashed, was too slow, or wrote no valid answer is replaced for the next request; when
    two in a row end without a single answer, every further request fails at once. ``definition`` says what to
    run, as for a stdio server: the process sees the variables such a server sees. ``timeout`` is in seconds.
    """

    way = "command"

    def __init__(
        self, codec: Codec, definition: ServerDefinition, environ: Mapping[str, str], timeout: float
    ) -> None:
        super().__init__(codec, definition, environ, timeout)
        self._lock = threading.Lock()
        self._process: _Process | None = None
        self._started = 0
        self._fruitless = 0
        self._last_error: AnswerError | None = None
        self._directory: Path | None = None

    def open(self) -> None:
        """Start the process.

        Raises:
            TargetStartError: There is no such program, or a variable is not set.
        """
        with self._lock:
            self._running()

    def ask(self, request: Request) -> Any:
        """What is read from the JSON value of the line that answers a request.

        Raises:
            AnswerError: The process crashed, did not answer in time, or says that it failed.
        """
        return self._codec.read(self._answer(request))

    def _answer(self, request: Request) -> Any:
        with self._lock:
            if self._fruitless >= _MOST_FRUITLESS and (last := self._last_error) is not None:
                why = f"{_MOST_FRUITLESS} processes in a row ended without an answer; {last.message}"
                raise AnswerError(last.reason, f"not asked: {why}", cause=last.cause)
            process = self._running()
            # Output before the first answer is about the start, so it belongs to the first request.
            began = process.files.stderr_size() if process.answered else 0
            try:
                answer = process.answer(request, self._timeout)
            except AnswerError as error:
                self._fruitless = 0 if process.answered else self._fruitless + 1
                self._last_error = self._with_last_words(error, process, began)
                if not process.answered and error.reason == "crashed":
                    self._last_error.cause = f"{self._role} {self.name}"
                self._drop()
                raise self._last_error from None
            except BaseException:
                # Ctrl-C: the unread answer must not be taken for the next one.
                self._drop()
                raise
            self._fruitless = 0
            if isinstance(answer, Mapping) and answer.get("error") is not None:
                message = f"the command reported an error: {shown(answer['error'])}"
                raise self._with_last_words(AnswerError("raised", message), process, began)
            return answer

    def _with_last_words(self, error: AnswerError, process: _Process, began: int) -> AnswerError:
        tail = redactor.text(process.files.tail(_TAIL_LINES, began))
        return AnswerError(error.reason, redactor.text(error.message), stderr_tail=tail)

    def _running(self) -> _Process:
        if self._process is None:
            self._started += 1
            self._directory = self._directory or Path(tempfile.mkdtemp(prefix=f"mcpeval-{self._role}-"))
            files = ProcessFiles.create(self._directory, "command", self._started)
            self._process = self._start(files)
        return self._process

    def _start(self, files: ProcessFiles) -> _Process:
        try:
            definition = expand(self._definition, self._environ)
        except ServerConfigError as error:
            raise TargetStartError(self._role, self.name, str(error)) from None
        directory = Path(definition.cwd or ".")
        if not directory.is_dir():
            raise TargetStartError(self._role, self.name, f"its directory does not exist: {directory}")
        inherited = inherited_environment(self._environ)
        started = launch(definition, files, inherited)
        program = definition.command
        if (
            shutil.which(str(directory / program) if "/" in program else program, path=started.env["PATH"])
            is None
        ):
            raise TargetStartError(
                self._role,
                self.name,
                f"there is no program {program!r}: install it, or correct its name",
            )
        return _Process([started.command, *started.args], directory, {**inherited, **started.env}, files)

    def _drop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def close(self) -> None:
        """End the process, within some seconds."""
        with self._lock:
            self._drop()
            directory, self._directory = self._directory, None
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)


class _Process:
    """One process, and the lines it writes."""

    def __init__(self, command: list[str], directory: Path, env: dict[str, str], files: ProcessFiles) -> None:
        self.files = files
        self.answered = False
        self._asked = 0
        with files.stderr.open("wb") as stderr:
            self._process = subprocess.Popen(
                command, cwd=directory, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input: IO[bytes] = self._process.stdin
        self._output: IO[bytes] = self._process.stdout
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="mcpeval-command-output", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while line := self._output.readline(_LONGEST_LINE):
                self._lines.put(line)
        self._lines.put(None)

    def answer(self, request: Request, seconds: float) -> Any:
        """The JSON value of the line that answers a request."""
        if not self._lines.empty():
            unasked = self._lines.get()
            if unasked is None:
                raise self._ended()
            raise AnswerError("answer", f"wrote more lines than requests: {_excerpt(unasked)}")
        self._asked += 1
        line = json.dumps({**request, "id": self._asked}, ensure_ascii=True)
        try:
            self._input.write(line.encode() + b"\n")
            self._input.flush()
        except OSError:
            raise self._ended() from None
        written = self._line(seconds)
        try:
            answer = parse_json(written.decode("utf-8"), with_nan=True)
        except ValueError:
            message = f"wrote a line that is not JSON: {_excerpt(written)}; logs belong on standard error"
            raise AnswerError("answer", message) from None
        if not isinstance(answer, Mapping) or "id" not in answer:
            message = f"wrote an answer without `id`, expected {self._asked}: {_excerpt(written)}"
            raise AnswerError("answer", message)
        if answer["id"] != self._asked:
            message = f"answered the request with id {shown(answer['id'])}, expected {self._asked}"
            raise AnswerError("answer", message)
        self.answered = True
        return answer

    def _line(self, seconds: float) -> bytes:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            message = f"no answer within {seconds:g} s, so the process was ended"
            raise AnswerError("timeout", message) from None
        if line is None:
            raise self._ended()
        return line

    def _ended(self) -> AnswerError:
        deadline = time.monotonic() + _STATUS_SECONDS
        while (ending := self.files.ending()) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        if ending is not None and ending.exit_code is None:
            return AnswerError("crashed", f"the command could not be started: {ending.words}")
        words = "closed its standard output" if ending is None else ending.words
        return AnswerError("crashed", f"the command {words}, so there is no answer")

    def end(self) -> None:
        """Close its standard input, and end it when that is not enough."""
        with suppress(OSError):
            self._input.close()
        try:
            # The launcher ends the whole process group when it is told to stop.
            self._process.wait(_GRACE_SECONDS if self.answered else 0)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            try:
                self._process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._reader.join(_END_SECONDS)
        self._output.close()


def _excerpt(line: bytes) -> str:
    return shown(line[:200].decode("utf-8", "replace").strip())
