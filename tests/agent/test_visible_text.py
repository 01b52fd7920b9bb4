"""What of a page counts as visible text."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup, Comment
from hypothesis import given
from hypothesis import strategies as st

from pytest_mcpeval.kinds.agent.visible_text import normalized, visible_text

HIDDEN = ("script", "style", "noscript", "template")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a</p><p>b</p>", "a b"),
        ("a<b>b</b>c", "abc"),
        ("<span>1</span><span>2</span><div>3</div>4", "12 3 4"),
        ("a<br>b", "a b"),
        ("  a \n\t b&nbsp;c ", "a b c"),
        ("<script>secret</script>a<style>secret</style>", "a"),
        ("<noscript><p>secret</p></noscript>a", "a"),
        ("<template><p>secret<b>deep</b></p></template>a", "a"),
        ("a<!-- secret -->b", "ab"),
        ("<script>if (a < b) '</p>'</script>a", "a"),
        ("<template>x<template>y</template>z</template>a", "a"),
        (
            '<x-chat><template shadowrootmode="open"><p>in shadow</p></template>light</x-chat>',
            "in shadow light",
        ),
        ('<template shadowrootmode="open"><style>s</style><template>t</template>a</template>', "a"),
        ('<mcpeval-frame src="x"><p>in a frame</p></mcpeval-frame>', "in a frame"),
        ("a</template>b</script>c", "a b c"),
        ("&lt;b&gt; &amp; &#65;", "<b> & A"),
        ("<textarea>typed</textarea>", "typed"),
        ("<custom-el>An</custom-el>swer", "Answer"),
        ("An&shy;swer, an\u200bswer, an\u2060swer", "Answer, answer, answer"),
        ("<noscript><!-- no end</noscript>a<!-- secret -->", "a"),
        ("<noscript><script>no end</noscript>a", "a"),
        ("<iframe><p>secret</p><!-- no end</iframe>a", "a"),
        ("<xmp><b>told <!-- &amp;</xmp>a", "<b>told <!-- &amp; a"),
        ("e\u0301", "\u00e9"),
        ("<template>never closed", ""),
        ("", ""),
    ],
)
def test_visible_text(html: str, text: str) -> None:
    assert visible_text(html) == text


WORDS = st.text(alphabet="abc <&>\n'\"", max_size=12)
TAGS = st.sampled_from(["p", "div", "b", "li", "section", *HIDDEN])
TREES = st.recursive(
    WORDS.map(lambda text: text.replace("&", "&amp;").replace("<", "&lt;")),
    lambda inner: st.builds(
        lambda tag, children: f"<{tag}>{''.join(children)}</{tag}>", TAGS, st.lists(inner, max_size=3)
    ),
    max_leaves=12,
)


def expected(html: str) -> str:
    """The same by another parser."""
    soup = BeautifulSoup(html, "html.parser")
    for found in soup.find_all(HIDDEN):
        found.decompose()
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    return normalized(soup.get_text()).replace(" ", "")


@given(TREES)
def test_it_is_the_text_that_another_parser_finds(html: str) -> None:
    # What holds raw text does not nest. The other parser reads noscript as browsers without scripts do.
    if "<script>" not in html.replace("<script></script>", "") and not re.search(
        "<style>|<noscript>.*<noscript>", html, re.DOTALL
    ):
        assert visible_text(html).replace(" ", "") == expected(html)
