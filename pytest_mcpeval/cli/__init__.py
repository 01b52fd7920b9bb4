"""The console script, for what is not a test run."""

from __future__ import annotations


def main() -> int:
    """Run a command."""
    return 0
