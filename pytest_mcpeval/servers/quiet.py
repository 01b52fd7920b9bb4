"""Keep messages of the mcp library about misbehaving servers out of the user's log.

Garbage on a server's stdout, a broken stream: mcp logs them with tracebacks that look like a defect of the
test run. The connection reports the same facts where they belong.
"""

from __future__ import annotations

import logging

_LOGGERS = (
    "client",
    "httpx2",
    "mcp.client.session",
    "mcp.client.sse",
    "mcp.client.stdio",
    "mcp.client.streamable_http",
    "mcp.os.posix.utilities",
    "mcp.shared.jsonrpc_dispatcher",
)


class ThreadFilter(logging.Filter):
    """Drops what the client side of mcp logs in one thread; in other threads it belongs to someone else."""

    def __init__(self, thread: int) -> None:
        super().__init__()
        self._thread = thread

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record may pass."""
        return record.thread != self._thread

    def install(self) -> None:
        """Begin to drop."""
        for name in _LOGGERS:
            logging.getLogger(name).addFilter(self)

    def remove(self) -> None:
        """Let everything pass again."""
        for name in _LOGGERS:
            logging.getLogger(name).removeFilter(self)
