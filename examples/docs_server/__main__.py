"""Run the docs server: over stdio, or with ``--http PORT`` as streamable HTTP on 127.0.0.1."""

from __future__ import annotations

import argparse

from examples.docs_server.server import build_server


def main() -> None:
    """Serve until the client leaves (stdio) or the process is stopped (HTTP)."""
    parser = argparse.ArgumentParser(prog="python -m examples.docs_server", description=__doc__)
    parser.add_argument(
        "--http", type=int, metavar="PORT", help="serve http://127.0.0.1:PORT/mcp instead of stdio"
    )
    port: int | None = parser.parse_args().http
    if port is None:
        build_server().run("stdio")
    else:
        build_server().run("streamable-http", port=port, json_response=True, stateless_http=True)


if __name__ == "__main__":
    main()
