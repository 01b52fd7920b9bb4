"""Run the agent: ``python -m examples.web_agent [--port PORT] [--pace SECONDS]``."""

from __future__ import annotations

import argparse
import socket

import uvicorn

from examples.web_agent.server import build_app
from examples.web_agent.telemetry import make_provider


def main() -> None:
    """Serve until stopped; prints the address once the port is open. Pending spans are sent at the end."""
    parser = argparse.ArgumentParser(prog="python -m examples.web_agent", description=__doc__)
    parser.add_argument("--port", type=int, default=8765, help="0 takes a free one; default: 8765")
    parser.add_argument("--pace", type=float, default=0.03, help="seconds a word takes; default: 0.03")
    options = parser.parse_args()
    app = build_app(make_provider(), options.pace)
    with socket.create_server(("127.0.0.1", options.port)) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    main()
