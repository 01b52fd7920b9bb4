"""Retrievers written in Python: ``python: pkg.mod:search``, and ``fixture: my_search``.

The function takes a query and the number of results wanted, and returns tool ids or ``(id, score)`` pairs,
best first; it may be ``async``. An object with a method ``search`` will do as well.
"""

from __future__ import annotations

import inspect
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pytest_mcpeval.kinds.retrieval.retrievers.base import Hit, RetrieverStartError, SearchError
from pytest_mcpeval.kinds.retrieval.retrievers.results import hits_of
from pytest_mcpeval.kinds.retrieval.retrievers.threads import DaemonThreads, EventLoop, Late
from pytest_mcpeval.loading.wording import shortened
from pytest_mcpeval.servers.modules import ImportProblem, imported

Search = Callable[[str, int], Any]

_IMPORT_SECONDS = 300.0


class _FunctionRetriever(ABC):
    """Calls a function; ``timeout`` is in seconds, for each query."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout

    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def _returned(self, query: str, k: int) -> Any:
        """What the function returns: hits, or an awaitable of what hits are made from."""

    @abstractmethod
    def _awaited(self, found: Awaitable[Any], seconds: float) -> Any:
        """What an awaitable brings; raises `Late`."""

    def search(self, query: str, k: int) -> list[Hit]:
        """What the function returned.

        Raises:
            SearchError: It raised, was too slow, or returned no ranked list.
        """
        deadline = time.monotonic() + self._timeout
        try:
            found = self._returned(query, k)
            if inspect.isawaitable(found):
                found = hits_of(self._awaited(found, max(0.0, deadline - time.monotonic())))
        except Late:
            raise SearchError("timeout", f"no answer within {self._timeout:g} s") from None
        except SearchError:
            raise
        except (Exception, SystemExit) as error:
            raise SearchError("raised", f"raised {described(error)}") from error
        if time.monotonic() > deadline:
            raise SearchError("timeout", f"the answer took longer than {self._timeout:g} s")
        return list(found)


class PythonRetriever(_FunctionRetriever):
    """A function found by ``pkg.mod:name``; ``directory`` is importable.

    It is imported and called on a thread of its own, always the same one unless several queries are asked at
    once or a call never returned.
    """

    def __init__(self, target: str, directory: Path, timeout: float) -> None:
        super().__init__(timeout)
        self._target = target
        self._directory = directory
        self._threads = DaemonThreads("mcpeval-retriever")
        self._loop = EventLoop("mcpeval-retriever-loop")
        self._function: Search | None = None

    @property
    def name(self) -> str:
        """``python:pkg.mod:search``."""
        return f"python:{self._target}"

    def open(self) -> None:
        """Import the module.

        Raises:
            RetrieverStartError: It cannot be imported, or there is nothing to call in it.
        """
        if self._function is not None:
            return
        try:
            found = self._threads.call(lambda: imported(self._target, self._directory), _IMPORT_SECONDS)
        except ImportProblem as error:
            raise RetrieverStartError(self.name, str(error)) from error
        except Late:
            raise RetrieverStartError(
                self.name, f"its import took longer than {_IMPORT_SECONDS:g} s"
            ) from None
        self._function = search_function(self.name, found)

    def _returned(self, query: str, k: int) -> Any:
        function = self._function
        assert function is not None, "open() comes first"

        def call() -> Any:
            found = function(query, k)
            # A generator runs while it is read, so that it is read here.
            return found if inspect.isawaitable(found) else hits_of(found)

        return self._threads.call(call, self._timeout)

    def _awaited(self, found: Awaitable[Any], seconds: float) -> Any:
        # One loop for all searches: clients that are kept between them belong to it.
        return self._loop.run(found, seconds)

    def close(self) -> None:
        """End threads and event loop."""
        self._loop.close()
        self._threads.close()


class FixtureRetriever(_FunctionRetriever):
    """The value of a pytest fixture.

    A plain function is called on the thread of the test, as fixtures may depend on it, and so cannot be
    interrupted: that it took too long is found out when it returns.
    """

    def __init__(self, fixture: str, value: Any, timeout: float) -> None:
        super().__init__(timeout)
        self._fixture = fixture
        self._value = value

    @property
    def name(self) -> str:
        """``fixture:my_search``."""
        return f"fixture:{self._fixture}"

    def open(self) -> None:
        """Look at the value.

        Raises:
            RetrieverStartError: There is nothing to call.
        """
        search_function(self.name, self._value)

    def _returned(self, query: str, k: int) -> Any:
        found = search_function(self.name, self._value)(query, k)
        return found if inspect.isawaitable(found) else hits_of(found)

    def _awaited(self, found: Awaitable[Any], seconds: float) -> Any:
        # A loop for this search: the fixture is torn down with its test, and nothing of it may stay.
        loop = EventLoop("mcpeval-fixture-loop")
        try:
            return loop.run(found, seconds)
        finally:
            loop.close()

    def close(self) -> None:
        """There is nothing to end."""


def search_function(name: str, found: Any) -> Search:
    """What to call of an object: its method ``search``, or the object itself.

    Raises:
        RetrieverStartError: Neither can be called, or it is a class.
    """
    function = found if inspect.isclass(found) else getattr(found, "search", found)
    if inspect.isclass(function) or not callable(function):
        kind = f"the class {function.__name__}" if inspect.isclass(function) else type(found).__name__
        expected = "expected a function search(query, k), or an object with such a method"
        raise RetrieverStartError(name, f"{expected}, found {kind}")
    result: Search = function
    return result


def described(error: BaseException) -> str:
    """An exception and where it was raised, on one line."""
    text = shortened(" ".join(str(error).split()), 200)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" (at {frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{f': {text}' if text else ''}{place}"
