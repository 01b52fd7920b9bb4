"""The interface of targets, and their errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Literal, Protocol

from pytest_mcpeval.core.errors import TargetError
from pytest_mcpeval.loading.messages import shown
from pytest_mcpeval.servers.definitions import ServerDefinition
from pytest_mcpeval.text.visible import indented

AnswerReason = Literal[
    "timeout", "crashed", "raised", "answer", "http", "refused", "unreachable", "protocol", "connection"
]
"""Why a request got no usable answer.

``timeout``: none within the time limit. ``crashed``: the process ended. ``raised``: the function raised.
``answer``: what came back is not what was asked for. ``http``: an HTTP error status. ``refused``: HTTP 401 or
403. ``unreachable``: no connection could be made. ``protocol``: an answer against the protocol, or a tool's
own error. ``connection``: the connection broke while the answer was awaited.
"""

Request = Mapping[str, Any]
"""A request to a target: names with plain JSON data."""


@dataclass(frozen=True)
class Codec:
    """How a kind asks targets and reads what they answer.

    ``role`` is its word for a target. A function is called with the ``arguments`` of a request; ``method`` is
    what is called of an object that is not a function, and ``parameters`` is how such a function looks,
    for messages. ``read`` makes an answer from what came back, and raises `AnswerError` when it cannot.
    """

    role: str
    method: str
    parameters: str
    arguments: Callable[[Request], Sequence[Any]]
    read: Callable[[Any], Any]


class Target(Protocol):
    """The system under evaluation, asked request by request. Creating it is cheap; `open` does slow
    work. One object serves all requests of a process, and `ask` may be called from several threads at
    once.
    """

    @property
    def name(self) -> str:
        """What it is, in a few words for people; without secrets."""

    def open(self) -> None:
        """Make ready; called before the first request. A second call does nothing.

        Raises:
            TargetError: It cannot be made ready, so nothing can be measured.
        """

    def ask(self, request: Request) -> Any:
        """The answer, as the codec of its kind reads what came back.

        Raises:
            AnswerError: There is none, or it is not what was asked for.
        """

    def close(self) -> None:
        """End what `open` began."""


class DefinedTarget:
    """What program and URL targets share: a definition as of a server, whose variables are in ``environ``.

    ``timeout`` is in seconds, for each request.
    """

    way: ClassVar[str]
    """The key of its setting."""

    def __init__(
        self, codec: Codec, definition: ServerDefinition, environ: Mapping[str, str], timeout: float
    ) -> None:
        self._codec = codec
        self._role = codec.role
        self._definition = definition
        self._environ = environ
        self._timeout = timeout

    @property
    def name(self) -> str:
        """The way and the definition, such as ``command: ./search --fast``."""
        return f"{self.way}: {self._definition.display()}"


class AnswerError(Exception):
    """A request got no answer. ``stderr_tail`` is what the target last wrote on standard error.

    ``cause`` identifies what keeps every request from being answered, such as a program that ends when it is
    started; empty where it is this request.
    """

    def __init__(self, reason: AnswerReason, message: str, *, stderr_tail: str = "", cause: str = "") -> None:
        super().__init__(message)
        self.reason: AnswerReason = reason
        self.message = message
        self.stderr_tail = stderr_tail
        self.cause = cause

    @property
    def is_incident(self) -> bool:
        """Whether the run could not even ask, so that nothing is known about the target's quality."""
        return self.reason in ("refused", "unreachable")


def cause_of(error: AnswerError | None, target: str) -> str:
    """Return a key of an error that other requests to the target have too.

    Empty if only this request has it.
    """
    if error is None:
        return ""
    return error.cause or (f"{target}: {error.reason}" if error.is_incident else "")


class TargetStartError(TargetError):
    """A target cannot be made ready. ``role`` is the kind's word for it, such as ``retriever``.

    ``stderr_tail`` is what it last wrote on standard error. ``origin`` is ``path:line`` of the setting that
    names it, which the caller fills in.
    """

    def __init__(self, role: str, name: str, reason: str, *, stderr_tail: str = "") -> None:
        super().__init__(role, name, reason, cause=f"{role} {name}: {reason}")
        self.role = role
        self.name = name
        self.reason = reason
        self.stderr_tail = stderr_tail
        self.origin = ""

    def __str__(self) -> str:
        lines = [f"{self.role} {self.name} cannot be used: {self.reason}"]
        if self.origin:
            lines.append(f"  defined: {self.origin}")
        if self.stderr_tail:
            lines += ["  its last words:", indented(self.stderr_tail)]
        return "\n".join(lines)


MISSING = object()
"""The result of `field_of` if there is no value."""


def field_of(entry: Any, path: str, default: Any = MISSING) -> Any:
    """The value at a dotted path below an entry; the empty path is the entry itself."""
    for name in path.split(".") if path else ():
        if not isinstance(entry, Mapping) or name not in entry:
            return default
        entry = entry[name]
    return entry


def outline(value: Any) -> str:
    """A value for a message: the keys of a mapping, else as messages show values."""
    if isinstance(value, Mapping) and value:
        return f"a mapping with {', '.join(map(shown, islice(value, 8)))}"
    return shown(value)
