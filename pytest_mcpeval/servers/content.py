"""Answers of mcp reduced to `Response`.

Imports mcp's types: import this module only when a connection is opened.
"""

from __future__ import annotations

from collections.abc import Iterable

import mcp_types as types

from pytest_mcpeval.servers.response import Block, Response


def tool_response(result: types.CallToolResult) -> Response:
    """The answer to a tool call."""
    return Response(
        text=_joined(result.content),
        structured=result.structured_content,
        is_error=result.is_error,
        blocks=tuple(_block(content) for content in result.content),
    )


def resource_response(result: types.ReadResourceResult) -> Response:
    """The contents of a resource; text parts are joined with newlines."""
    texts = [part.text for part in result.contents if isinstance(part, types.TextResourceContents)]
    return Response(
        text="\n".join(texts), blocks=tuple(_contents_block("resource", part) for part in result.contents)
    )


def prompt_response(result: types.GetPromptResult) -> Response:
    """The messages of a prompt; their texts are joined with newlines."""
    contents = [message.content for message in result.messages]
    return Response(text=_joined(contents), blocks=tuple(_block(content) for content in contents))


def _joined(contents: Iterable[types.ContentBlock]) -> str:
    return "\n".join(content.text for content in contents if isinstance(content, types.TextContent))


def _block(content: types.ContentBlock) -> Block:
    if isinstance(content, types.TextContent):
        return Block("text", len(content.text))
    if isinstance(content, types.ImageContent | types.AudioContent):
        return Block(content.type, _decoded_size(content.data), content.mime_type)
    if isinstance(content, types.EmbeddedResource):
        return _contents_block("resource", content.resource)
    return Block("resource_link", content.size or 0, content.mime_type, str(content.uri))


def _contents_block(kind: str, part: types.TextResourceContents | types.BlobResourceContents) -> Block:
    size = len(part.text) if isinstance(part, types.TextResourceContents) else _decoded_size(part.blob)
    return Block(kind, size, part.mime_type, str(part.uri))


def _decoded_size(base64_text: str) -> int:
    # Counted, not decoded: an image may be large, and only its size is wanted.
    return len(base64_text) * 3 // 4 - base64_text[-2:].count("=")
