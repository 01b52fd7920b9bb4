"""``pytest-mcpeval install-browser``: a Chromium for agents, where there is none."""

from __future__ import annotations

import argparse
from typing import Any

DESCRIPTION = """\
Find the Chromium that drives agents; where there is none, install one: by Playwright's own download, else by
the package manager of the system. Says what it did.
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "install-browser", help="find or install the Chromium that drives agents", description=DESCRIPTION
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Find or install a browser; 1 when there is none afterwards."""
    from pytest_mcpeval.browser.installing import install_browser
    from pytest_mcpeval.text.visible import visible

    return 0 if install_browser(lambda line: print(visible(line), flush=True)) is not None else 1
