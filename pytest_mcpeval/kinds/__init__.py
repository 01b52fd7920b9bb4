"""The kinds of evaluation: folders with the same rooms (declaration, schema, load, run, metrics, gates …)."""

from __future__ import annotations

from pytest_mcpeval.kinds.agent.command_line import OPTIONS as AGENT_OPTIONS
from pytest_mcpeval.kinds.retrieval.command_line import OPTIONS as RETRIEVAL_OPTIONS
from pytest_mcpeval.kinds.security.command_line import OPTIONS as SECURITY_OPTIONS
from pytest_mcpeval.kinds.session.command_line import OPTIONS as SESSION_OPTIONS

KIND_OPTIONS = (*RETRIEVAL_OPTIONS, *SECURITY_OPTIONS, *AGENT_OPTIONS, *SESSION_OPTIONS)
"""The options of the command line that belong to our kinds: known before a kind is."""
