"""Run the trace store until it is stopped: ``python -m examples.trace_store [--port PORT]``."""

from __future__ import annotations

import argparse
from contextlib import suppress

from examples.trace_store.server import make_server
from examples.trace_store.store import TraceStore


def main() -> None:
    """Serve, and print the address once the port is open."""
    parser = argparse.ArgumentParser(prog="python -m examples.trace_store", description=__doc__)
    parser.add_argument("--port", type=int, default=4318, help="0 takes a free one; default: 4318")
    with make_server(TraceStore(), parser.parse_args().port) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
