"""Standard input and output, joined to a Unix socket: what an agent program starts as its one MCP server.

Run as a script, without site-packages: ``python -I -S guard_bridge.py SOCKET``. The guard itself is at the
other end, in the process that began the agent: its transcript, budgets and connections are there, and no
secret of a server is ever where the agent can read it.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

_CHUNK = 65_536


def main(path: str) -> int:
    """Pass bytes on in both directions until one side is closed; returns the exit status."""
    joined = socket.socket(socket.AF_UNIX)
    try:
        joined.connect(path)
    except OSError as error:
        sys.stderr.write(f"the guard is gone: {error.strerror or error} ({path})\n")
        return 1
    threading.Thread(target=_send, args=(joined,), daemon=True).start()
    while data := joined.recv(_CHUNK):
        while data:
            data = data[os.write(1, data) :]
    return 0


def _send(joined: socket.socket) -> None:
    try:
        while data := os.read(0, _CHUNK):
            joined.sendall(data)
        joined.shutdown(socket.SHUT_WR)
    except OSError:
        # The guard has ended; the other direction says so too.
        return


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(1)
