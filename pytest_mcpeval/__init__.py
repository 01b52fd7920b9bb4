"""Evals of MCP systems as pytest suites."""

__version__ = "0.1.0"
