"""``pytest-mcpeval html``: the page of a report, made again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pytest_mcpeval.text.visible import from_here

DESCRIPTION = """\
Make report.html from the report.json in DIR, the directory of --mcpeval-report, and the screenshots there.
"""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "html",
        help="make report.html from report.json",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="directory of a report")
    return parser


def run(options: argparse.Namespace) -> int:
    """Write the page and print its path."""
    from pytest_mcpeval.core.baseline import write_atomically
    from pytest_mcpeval.reports import html_report
    from pytest_mcpeval.text.visible import visible

    page = options.directory / "report.html"
    try:
        write_atomically(page, html_report.of_file(options.directory), is_redacted=True)
    except OSError as error:
        name = from_here(Path(error.filename)) if error.filename else from_here(page)
        print(visible(f"{options.prog}: {name}: {error.strerror or error}"), file=sys.stderr)
        return 2
    except ValueError as error:
        print(visible(f"{options.prog}: {error}"), file=sys.stderr)
        return 1
    print(visible(f"wrote {from_here(page)}"))
    return 0
