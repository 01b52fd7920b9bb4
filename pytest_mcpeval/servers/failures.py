"""Turn information from mcp, HTTP and the process into one error for users.

Imports mcp: import this module only when a connection is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from mcp import MCPError
from pydantic import ValidationError

from pytest_mcpeval.servers.causes import cause_in_words, root_cause
from pytest_mcpeval.servers.definitions import public_url
from pytest_mcpeval.servers.errors import CallError, ServerStartError
from pytest_mcpeval.servers.exchange import Exchange
from pytest_mcpeval.servers.modules import described, place_of_thread

if TYPE_CHECKING:
    from pytest_mcpeval.servers.processes import Ending
    from pytest_mcpeval.servers.session import Session

_ENDING_SECONDS = 2.0
_POLL_SECONDS = 0.01
_MESSAGE_LENGTH = 500
# mcp answers these itself, among the events of the server.
_OWN_WORDS_ON_EVENTS = ("SSE stream ", "Failed to parse SSE message")


class HandshakeTimeoutError(Exception):
    """The server did not complete the handshake in time."""


class InProcessCrashError(Exception):
    """A server of this process raised, as the cause, what would have ended a process of its own."""


async def call_error(
    session: Session, error: Exception, exchange: Exchange, what: str, seconds: float, timeout: float
) -> CallError:
    """Return why a call got no result; also update the state of the session.

    ``what`` names the call, ``seconds`` is how long it took, ``timeout`` its limit.
    """
    if isinstance(error, InProcessCrashError):
        session.dead = True
        session.stop()
        assert error.__cause__ is not None
        return CallError("crashed", f"the server crashed during {what}: {described(error.__cause__)}")
    if exchange.failed:
        return _http_error(session, error, exchange)
    is_rejection = isinstance(error, MCPError) and await _is_rejection(session, error, exchange)
    if isinstance(error, MCPError) and error.code == types.CONNECTION_CLOSED and not is_rejection:
        session.dead = True
        return await _broken(session, what)
    if _is_timeout(error, seconds, timeout):
        session.suspect = True
        return CallError("timeout", f"{what} was not answered within {timeout:g} s")
    if isinstance(error, MCPError):
        if not is_rejection:
            return CallError("protocol", f"the answer to {what} breaks the protocol: {_own_words(error)}")
        message = f"the server answered {what} with an error: {_rpc_words(error)}"
        return CallError("protocol", message, is_rejection=True)
    if isinstance(error, ValidationError):
        return CallError("protocol", f"the answer to {what} breaks the protocol: {_first_problem(error)}")
    session.suspect = True
    return CallError("connection", f"{what} failed: {cause_in_words(error)}")


async def _is_rejection(session: Session, error: MCPError, exchange: Exchange) -> bool:
    """Whether the error is one that the server sent, and not one that mcp made.

    The code does not tell: any server may use those that mcp uses for its own.
    """
    transport = session.definition.transport
    if transport == "module":
        # What ends a connection is known to its calls before it is known to the session.
        closed = error.code == types.CONNECTION_CLOSED
        return not session.dead and (not closed or await session.answers(_ENDING_SECONDS))
    if transport != "http":
        return exchange.turned_down
    if exchange.has_events:
        return not error.message.startswith(_OWN_WORDS_ON_EVENTS)
    return exchange.has_rpc_error


def _is_timeout(error: Exception, seconds: float, timeout: float) -> bool:
    # A server may send the same code for reasons of its own; then the time is not up.
    return isinstance(error, TimeoutError) or (
        isinstance(error, MCPError) and error.code == types.REQUEST_TIMEOUT and seconds >= timeout
    )


def _http_error(session: Session, error: Exception, exchange: Exchange) -> CallError:
    words = exchange.words(public_url(session.written_url))
    if exchange.error is not None:
        session.suspect = True
        return CallError("unreachable" if exchange.never_connected else "connection", words)
    status = exchange.status
    if status in (401, 403):
        return CallError("refused", words, http_status=status)
    session.suspect = True
    if exchange.has_rpc_error and isinstance(error, MCPError):
        return CallError("protocol", _rpc_words(error, f"; {words}"), http_status=status, is_rejection=True)
    return CallError("http", words, http_status=status)


async def _broken(session: Session, what: str) -> CallError:
    session.stop()
    if session.files is None:
        # The transport's own exception surfaces where the connection is kept open, a moment later.
        with anyio.move_on_after(_ENDING_SECONDS):
            await session.ended.wait()
        cause = "" if session.failure is None else f": {cause_in_words(session.failure)}"
        return CallError("connection", f"the connection broke during {what}{cause}")
    ending = await wait_for_ending(session)
    if ending is None:
        return CallError("crashed", f"the server closed its output during {what}")
    return CallError("crashed", f"the server {ending.words} during {what}")


async def wait_for_ending(session: Session) -> Ending | None:
    """How the server's process ended, waiting a moment for it to be known."""
    if session.files is None:
        return None
    with anyio.move_on_after(_ENDING_SECONDS):
        while (ending := session.files.ending()) is None:
            await anyio.sleep(_POLL_SECONDS)
        return ending
    return None


def start_error(session: Session, error: BaseException, ending: Ending | None) -> ServerStartError:
    """Why a session could not be opened; the text still holds secrets."""
    return ServerStartError(
        session.definition.name,
        _start_reason(session, error, ending),
        exit_code=ending.exit_code if ending else None,
        stderr_tail=session.last_words(20, from_start=True),
    )


def _start_reason(session: Session, error: BaseException, ending: Ending | None) -> str:
    if isinstance(error, ServerStartError):
        return error.reason
    exchange, limit = session.exchange, session.definition.start_timeout
    if isinstance(error, HandshakeTimeoutError) and session.importer is not None:
        place = place_of_thread(session.importer)
        return f"its module was not imported within {limit:g} s (start_timeout){place}"
    if isinstance(error, HandshakeTimeoutError) and not exchange.failed:
        return f"no answer to the MCP handshake within {limit:g} s (start_timeout)"
    if exchange.failed:
        hint = "; check the credentials in its headers" if exchange.status in (401, 403) else ""
        return exchange.words(public_url(session.written_url)) + hint
    if ending is not None and ending.exit_code is None:
        return f"{session.definition.command}: {ending.words}"
    if ending is not None:
        return f"it {ending.words} before it answered"
    leaf = root_cause(error)
    return _rpc_words(leaf) if isinstance(leaf, MCPError) else cause_in_words(error)


def _rpc_words(error: MCPError, more: str = "") -> str:
    return f"{error.message[:_MESSAGE_LENGTH]} (JSON-RPC {error.code}{more})"


def _own_words(error: MCPError) -> str:
    # mcp's own message ends with the text of a validator.
    return error.message.partition("\n")[0][:_MESSAGE_LENGTH]


def _first_problem(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    return f"{place}: {problem['msg']}" if place else problem["msg"]
