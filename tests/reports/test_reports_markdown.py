"""Text of others in Markdown: it reads as it is, raw and rendered."""

from __future__ import annotations

import pytest

from pytest_mcpeval.text.visible import escaped_markdown

AS_IT_IS = (
    "datasets/retrieval/golden_v1.json::recall_at_5",
    "recall@5 0.64 ± 0.01, a < b, -0.05, +0.012, (x) {y}; ok!",
    "FPR 12/183 = 6.6 % (95 % CI 3.4–11.2 %): within 10 %",
    "C:\\data; costs $0.0001; #12 of 3",
)
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)> </details>",
    "[a](javascript:alert(1)) ![i](http://evil.example/i.png)",
    "https://evil.example <https://evil.example>",
    "*a* **b** _c_ __d__ a_b_ _e_f_ ~~g~~ `h` ``i``",
    "# heading",
    "> quote",
    "- item",
    "+ item",
    "1. item",
    "1) item",
    "---",
    "===",
    "***",
    "| a | b |",
    "&lt;b&gt; &#60; &amp;",
    "\\*a\\* \\\\ end\\",
    "[^1] [x] [ref]: http://a.example",
    "```",
    "a\nb\r\nc",
)


def test_it_is_one_line_without_control_characters() -> None:
    assert escaped_markdown("a\n\x1b[31mb") == r"a \x1b\[31mb"


@pytest.mark.parametrize("text", AS_IT_IS)
def test_ordinary_text_needs_no_escape(text: str) -> None:
    assert escaped_markdown(text) == text


@pytest.mark.parametrize("text", [*AS_IT_IS, *HOSTILE])
def test_hostile_text_is_rendered_as_text(text: str) -> None:
    from markdown_it import MarkdownIt

    renderer = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = renderer.parse(escaped_markdown(text))
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    inline = tokens[1].children or []
    assert {token.type for token in inline} <= {"text", "text_special"}
    assert "".join(token.content for token in inline) == " ".join(text.split())
