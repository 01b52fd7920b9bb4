"""Targets written in Python: ``python: pkg.mod:function``, and ``fixture: name``; also ``async`` ones."""

from __future__ import annotations

import inspect
import threading
import time
from abc import ABC, abstractmethod
from asyncio import CancelledError
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pytest_mcpeval.servers.modules import ImportProblem, described, imported, place_of_thread
from pytest_mcpeval.targets.base import AnswerError, Codec, Request, TargetStartError
from pytest_mcpeval.targets.threads import DaemonThreads, EventLoop, Late

_IMPORT_SECONDS = 300.0


def imported_in_time(target: str, directory: Path, seconds: float, threads: DaemonThreads) -> Any:
    """The object that ``pkg.mod:name`` names, imported on a thread that may be left behind.

    Raises:
        ImportProblem: It cannot be imported, or its import takes longer than so many seconds.
    """
    importers: list[int] = []

    def work() -> Any:
        importers.append(threading.get_ident())
        return imported(target, directory)

    try:
        return threads.call(work, seconds)
    except Late:
        place = place_of_thread(importers[0]) if importers else ""
        raise ImportProblem(f"its import took longer than {seconds:g} s{place}") from None


class _FunctionTarget(ABC):
    """Calls a function; ``timeout`` is in seconds, for each request."""

    def __init__(self, codec: Codec, timeout: float) -> None:
        self._codec = codec
        self._timeout = timeout

    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def _returned(self, request: Request) -> Any:
        """What was read from what the function returned, or an awaitable of it."""

    @abstractmethod
    def _awaited(self, found: Awaitable[Any], seconds: float) -> Any:
        """Return the result of an awaitable; raise `Late` if it takes too long."""

    def _called(self, function: Callable[..., Any], request: Request) -> Any:
        try:
            found = function(*self._codec.arguments(request))
            # A generator runs while it is read, so that it is read where it was called.
            return self._answer_of(found) if inspect.isawaitable(found) else self._codec.read(found)
        except (AnswerError, KeyboardInterrupt):
            raise
        except BaseException as error:
            # `pytest.skip` and the like too: a target must not skip its own evaluation.
            raise _raised(error) from error

    async def _answer_of(self, found: Awaitable[Any]) -> Any:
        try:
            return self._codec.read(await found)
        except (AnswerError, KeyboardInterrupt, CancelledError):
            raise
        except BaseException as error:
            raise _raised(error) from error

    def ask(self, request: Request) -> Any:
        """What was read from what the function returned.

        Raises:
            AnswerError: It raised, was too slow, or returned something that is not an answer.
        """
        deadline = time.monotonic() + self._timeout
        try:
            found = self._returned(request)
            if inspect.isawaitable(found):
                found = self._awaited(found, max(0.0, deadline - time.monotonic()))
        except Late:
            raise AnswerError("timeout", f"no answer within {self._timeout:g} s") from None
        except AnswerError:
            raise
        except (Exception, SystemExit) as error:
            raise _raised(error) from error
        if time.monotonic() > deadline:
            raise AnswerError("timeout", f"the answer took longer than {self._timeout:g} s")
        return found


class PythonTarget(_FunctionTarget):
    """A function found by ``pkg.mod:name``; ``directory`` is importable.

    It is imported and called on a thread of its own, always the same one unless several requests are made
    at once or a call never returned.
    """

    def __init__(self, codec: Codec, target: str, directory: Path, timeout: float) -> None:
        super().__init__(codec, timeout)
        self._target = target
        self._directory = directory
        self._threads = DaemonThreads(f"mcpeval-{codec.role}")
        self._loop = EventLoop(f"mcpeval-{codec.role}-loop")
        self._function: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        """``python:pkg.mod:function``."""
        return f"python:{self._target}"

    def open(self) -> None:
        """Import the module.

        Raises:
            TargetStartError: It cannot be imported, or there is nothing to call in it.
        """
        if self._function is not None:
            return
        try:
            found = imported_in_time(self._target, self._directory, _IMPORT_SECONDS, self._threads)
        except ImportProblem as error:
            raise TargetStartError(self._codec.role, self.name, str(error)) from error
        self._function = function_of(self._codec, self.name, found)

    def _returned(self, request: Request) -> Any:
        function = self._function
        assert function is not None, "open() comes first"
        return self._threads.call(lambda: self._called(function, request), self._timeout)

    def _awaited(self, found: Awaitable[Any], seconds: float) -> Any:
        # One loop for all requests: clients that are kept between them belong to it.
        return self._loop.run(found, seconds)

    def close(self) -> None:
        """End threads and event loop."""
        self._loop.close()
        self._threads.close()


class FixtureTarget(_FunctionTarget):
    """The value of a pytest fixture.

    A plain function is called on the thread of the test, as fixtures may depend on it, and so cannot be
    interrupted: that it took too long is found out when it returns.
    """

    def __init__(self, codec: Codec, fixture: str, value: Any, timeout: float) -> None:
        super().__init__(codec, timeout)
        self._fixture = fixture
        self._value = value

    @property
    def name(self) -> str:
        """``fixture:name``."""
        return f"fixture:{self._fixture}"

    def open(self) -> None:
        """Look at the value.

        Raises:
            TargetStartError: There is nothing to call.
        """
        function_of(self._codec, self.name, self._value)

    def _returned(self, request: Request) -> Any:
        return self._called(function_of(self._codec, self.name, self._value), request)

    def _awaited(self, found: Awaitable[Any], seconds: float) -> Any:
        # A loop for this request: the fixture is torn down with its test, and nothing of it may stay.
        loop = EventLoop("mcpeval-fixture-loop")
        try:
            return loop.run(found, seconds)
        finally:
            loop.close()

    def close(self) -> None:
        """There is nothing to end."""


def function_of(codec: Codec, name: str, found: Any) -> Callable[..., Any]:
    """What to call of an object: its method, or the object itself.

    Raises:
        TargetStartError: Neither can be called, or it is a class.
    """
    function = found if inspect.isclass(found) else getattr(found, codec.method, found)
    if inspect.isclass(function) or not callable(function):
        kind = f"the class {function.__name__}" if inspect.isclass(function) else type(found).__name__
        shape = f"{codec.method}({codec.parameters})"
        expected = f"expected a function {shape}, or an object with such a method"
        raise TargetStartError(codec.role, name, f"{expected}, found {kind}")
    result: Callable[..., Any] = function
    return result


def _raised(error: BaseException) -> AnswerError:
    return AnswerError("raised", f"raised {described(error)}")
