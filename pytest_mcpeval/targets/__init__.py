"""Targets that several kinds evaluate: functions, programs, MCP tools and URLs, asked request by request."""

from __future__ import annotations

from pytest_mcpeval.targets.base import AnswerError, AnswerReason, Codec, Request, Target, TargetStartError

__all__ = ["AnswerError", "AnswerReason", "Codec", "Request", "Target", "TargetStartError"]
