"""Errors of servers, with messages for users."""

from __future__ import annotations

from typing import Literal

from pytest_mcpeval.text.visible import indented, visible

CallReason = Literal[
    "timeout", "crashed", "refused", "http", "protocol", "unknown_tool", "connection", "unreachable"
]
"""Why a call got no answer.

``timeout``: none within the time limit. ``crashed``: the server's process ended. ``refused``: HTTP 401 or
403. ``http``: another HTTP error status. ``protocol``: a JSON-RPC error, or an answer against the protocol.
``unknown_tool``: the server lists no such tool. ``connection``: the connection broke while the server was
answering. ``unreachable``: no connection could be made.
"""


class ServerConfigError(Exception):
    """A server's definition cannot be used: a variable is not set, or the definition is ambiguous.

    ``advice`` is what to do about it; it ends the text.
    """

    __module__ = "pytest_mcpeval"  # Shown in tracebacks: where people import it from.

    def __init__(self, problem: str, advice: str = "") -> None:
        super().__init__(f"{problem}: {advice}" if advice else problem)
        self._problem = problem

    @property
    def cause(self) -> str:
        """What identifies the problem in all cases that have it."""
        return self._problem


class ServerStartError(Exception):
    """A server could not be started or reached.

    ``command`` is the command line or URL, without secrets. ``exit_code`` is None when the server is not a
    process or has not ended; a negative one is the signal that killed it.
    """

    __module__ = "pytest_mcpeval"  # Shown in tracebacks: where people import it from.

    def __init__(
        self,
        server: str,
        reason: str,
        *,
        command: str = "",
        origin: str = "",
        exit_code: int | None = None,
        stderr_tail: str = "",
    ) -> None:
        super().__init__(server, reason)
        self.server = server
        self.reason = reason
        self.command = command
        self.origin = origin
        self.exit_code = exit_code
        self.stderr_tail = stderr_tail

    @property
    def cause(self) -> str:
        """What identifies the server in all cases that need it."""
        return f"server {self.server} {self.origin}"

    def __str__(self) -> str:
        return visible("\n".join(self._lines()))

    def _lines(self) -> list[str]:
        lines = [f"server {self.server!r} did not start: {self.reason}"]
        if self.command:
            lines.append(f"  run as:  {self.command}")
        if self.origin:
            lines.append(f"  defined: {self.origin}")
        if self.stderr_tail:
            lines.append("  its last words:")
            lines.append(indented(self.stderr_tail))
        return lines


class CallError(Exception):
    """A call got no answer that can be judged.

    ``http_status`` is the status of the HTTP response, if there was one. ``stderr_tail`` is what the server
    last wrote on its standard error. ``is_rejection`` says that the server itself turned the call down, with
    an error as the protocol has it.
    """

    __module__ = "pytest_mcpeval"  # Shown in tracebacks: where people import it from.

    def __init__(
        self,
        reason: CallReason,
        message: str,
        *,
        http_status: int | None = None,
        stderr_tail: str = "",
        is_rejection: bool = False,
    ) -> None:
        # Servers choose these words, and tracebacks show them as they are.
        message = visible(message)
        super().__init__(message)
        self.reason: CallReason = reason
        self.message = message
        self.http_status = http_status
        self.stderr_tail = stderr_tail
        self.is_rejection = is_rejection

    @property
    def is_incident(self) -> bool:
        """Whether the run could not even ask, so that nothing is known about the server's quality."""
        return self.reason in ("refused", "unreachable")
