"""BM25 and TF-IDF over a corpus: what is read, what is found, and in which order."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_mcpeval.kinds.retrieval.corpus import Corpus
from pytest_mcpeval.kinds.retrieval.retrievers import RetrieverModel, make_retriever, retriever_from_text
from pytest_mcpeval.kinds.retrieval.retrievers.embedded import Bm25, Tfidf, schema_texts
from pytest_mcpeval.kinds.retrieval.words import names_the_tool, words

WEIGHTS = {"tool": 1, "description": 1, "schema": 1}

SCHEMA = {
    "type": "object",
    "description": "What to look for",
    "properties": {
        "repoPath": {"type": "string", "title": "Directory"},
        "state": {"enum": ["open", "merged", 3, None]},
        "range": {"$ref": "#/$defs/Range"},
        "paths": {"type": "array", "items": {"type": "string", "description": "glob of files"}},
    },
    "$defs": {"Range": {"anyOf": [{"const": "yesterday"}, {"properties": {"since": {}}}]}},
    "required": ["repoPath"],
}


def row(tool_id: str, description: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    server, _, tool = tool_id.partition(":")
    found = {"tool_id": tool_id, "server": server, "tool": tool, "description": description}
    return found if schema is None else {**found, "schema": schema}


CORPUS = Corpus.of(
    [
        row("git:git_log", "Show the history of commits", SCHEMA),
        row("git:git_diff", "Show changes between commits"),
        row("mail:sendMessage", "Send an e-mail to somebody"),
        row("mail:list-messages", "List e-mail of a folder"),
        row("empty:x", ""),
    ]
)


def made(text: str, corpus: Corpus = CORPUS) -> Any:
    return make_retriever(retriever_from_text(text, Path()), corpus)


def ids(text: str, query: str, k: int = 10, corpus: Corpus = CORPUS) -> list[str]:
    return [hit.tool_id for hit in made(text, corpus).ask({"query": query, "limit": k})]


@pytest.mark.parametrize("way", ["bm25", "tfidf"])
def test_tools_that_share_a_word_are_found_best_first(way: str) -> None:
    assert ids(way, "history of commits") == ["git:git_log", "git:git_diff", "mail:list-messages"]
    assert ids(way, "history of commits", 1) == ["git:git_log"]
    scores = [hit.score for hit in made(way).ask({"query": "history of commits", "limit": 10})]
    assert scores == sorted(scores, reverse=True)
    assert all(type(score) is float and score > 0 for score in scores)


@pytest.mark.parametrize("way", ["bm25", "tfidf"])
@pytest.mark.parametrize("query", ["", "   ", "?!", "zebra"])
def test_a_query_without_known_words_finds_nothing(way: str, query: str) -> None:
    assert ids(way, query) == []


@pytest.mark.parametrize("way", ["bm25", "tfidf"])
@pytest.mark.parametrize("rows", [[], [row("a:b", "")]])
def test_a_corpus_without_words_finds_nothing(way: str, rows: list[dict[str, Any]]) -> None:
    bare = f'{{"{way}": {{"fields": ["description"]}}}}'
    assert ids(bare, "anything", corpus=Corpus.of(rows)) == []


@pytest.mark.parametrize("way", ["bm25", "tfidf"])
def test_equal_scores_keep_the_order_of_the_corpus(way: str) -> None:
    names = [f"s{number}:t" for number in range(600)]
    random.Random(7).shuffle(names)
    corpus = Corpus.of(
        [row(name, ["needle", "hay", "needle and hay"][at % 3]) for at, name in enumerate(names)]
    )
    assert ids(way, "needle", 600, corpus) == [*names[0::3], *names[2::3]]


@pytest.mark.parametrize("way", ["bm25", "tfidf"])
def test_names_are_split_and_case_does_not_count(way: str) -> None:
    assert ids(way, "MESSAGE") == ["mail:sendMessage"]
    assert ids(way, "messages") == ["mail:list-messages"]


@pytest.mark.parametrize("way", ["bm25", "tfidf"])
def test_schemas_are_read_unless_switched_off(way: str) -> None:
    assert ids(way, "merged since yesterday") == ["git:git_log"]
    assert ids(f'{{"{way}": {{"schema": false}}}}', "merged since yesterday") == []


@pytest.mark.parametrize("way", ["bm25", "tfidf"])
def test_fields_are_chosen_and_weighted(way: str) -> None:
    corpus = Corpus.of([row("a:alpha", "beta gamma"), row("beta:other", "alpha gamma")])
    assert ids(f'{{"{way}": {{"fields": ["tool"]}}}}', "alpha", corpus=corpus) == ["a:alpha"]
    assert ids(f'{{"{way}": {{"fields": ["server"]}}}}', "beta", corpus=corpus) == ["beta:other"]
    heavy = f'{{"{way}": {{"fields": {{"tool": 1, "description": 9}}}}}}'
    assert ids(heavy, "alpha", corpus=corpus) == ["beta:other", "a:alpha"]
    assert ids(heavy.replace("9", "0"), "alpha", corpus=corpus) == ["a:alpha"]


def test_names_say_what_is_read() -> None:
    assert made("bm25").name == "bm25 (tool, description, schema)"
    assert made('{"tfidf": {"fields": {"tool": 3, "server": 1}}}').name == "tfidf (tool ×3, server)"


def test_bm25_is_the_published_formula() -> None:
    """Robertson and Zaragoza 2009, with Lucene's idf, against a plain implementation."""
    chance = random.Random(5)
    texts = [[f"w{chance.randrange(30)}" for _ in range(chance.randrange(1, 25))] for _ in range(60)]
    corpus = Corpus.of([row(f"s:t{number}", " ".join(text)) for number, text in enumerate(texts)])
    retriever = Bm25(corpus, {"description": 1}, k1=1.2, b=0.6)
    query = ["w1", "w2", "w2", "w29"]
    wanted = [plain_bm25(query, text, texts, 1.2, 0.6) for text in texts]
    found = {hit.tool_id: hit.score for hit in retriever.ask({"query": " ".join(query), "limit": 100})}
    for number, score in enumerate(wanted):
        assert found.get(f"s:t{number}", 0.0) == pytest.approx(score, abs=1e-6)


def plain_bm25(query: list[str], text: list[str], texts: list[list[str]], k1: float, b: float) -> float:
    mean = sum(map(len, texts)) / len(texts)
    counts = Counter(text)
    total = 0.0
    for word in query:
        holding = sum(word in other for other in texts)
        idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
        total += idf * counts[word] / (counts[word] + k1 * (1 - b + b * len(text) / mean))
    return total


def test_tfidf_is_the_cosine_of_what_scikit_learn_makes() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]
    from sklearn.metrics.pairwise import cosine_similarity  # type: ignore[import-untyped]

    texts = [" ".join([tool.tool, tool.description]) for tool in CORPUS.tools]
    vectorizer = TfidfVectorizer(tokenizer=words, lowercase=False, token_pattern=None)
    vectors = vectorizer.fit_transform(texts)
    (wanted,) = cosine_similarity(vectorizer.transform(["show e-mail commits"]), vectors)
    found = {
        hit.tool_id: hit.score
        for hit in Tfidf(CORPUS, {"tool": 1, "description": 1}).ask(
            {"query": "show e-mail commits", "limit": 10}
        )
    }
    assert found == pytest.approx(
        {tool.tool_id: score for tool, score in zip(CORPUS.tools, wanted, strict=True) if score}, abs=1e-8
    )


def test_the_words_of_a_schema() -> None:
    assert sorted(schema_texts(SCHEMA)) == sorted(
        [
            "What to look for",
            *("repoPath", "state", "range", "paths", "since"),
            *("Directory", "glob of files"),
            *("open", "merged", "yesterday"),
        ]
    )
    assert list(schema_texts(None)) == list(schema_texts(True)) == []


def test_a_property_may_be_called_like_a_keyword() -> None:
    schema = {"properties": {"description": {"type": "string"}, "enum": {"enum": ["a"]}}}
    assert list(schema_texts(schema)) == ["description", "enum", "a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("createIssue", ["create", "issue"]),
        ("create-issue_now", ["create", "issue", "now"]),
        ("HTTPServer2Go", ["http", "server2", "go"]),
        ("e-mail an Straße №5", ["e", "mail", "an", "strasse", "no5"]),
        ("查找 文件", ["查找", "文件"]),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("query", "tool", "expected"),
    [
        ("please create issue for me", "create_issue", True),
        ("please Create-Issue for me", "createIssue", True),
        ("run createissue", "create-issue", True),
        ("call create_issue()", "createIssue", True),
        ("create an issue", "create_issue", False),
        ("recreate issue", "create_issue", False),
        ("create issues", "create_issue", False),
        ("look at GitHub", "hub", False),
        ("search the web", "search", True),
        ("research the web", "search", False),
        ("CREATE  ISSUE", "create_issue", True),
        ("anything", "", False),
        ("a b c", "b_c", True),
        ("a a b", "a_b", True),
        ("请帮我搜索文件吧", "搜索文件", True),
        ("请帮我找到文件", "搜索文件", False),
        ("ファイルを検索してください", "ファイル", True),
        ("이 파일을 찾아 줘", "파일", True),
        ("看图说话", "图", False),
    ],
)
def test_queries_that_name_the_tool(query: str, tool: str, expected: bool) -> None:
    assert names_the_tool(query, tool) is expected


@pytest.mark.parametrize("way", [Bm25, Tfidf])
def test_weights_may_be_fractions(way: Any) -> None:
    rows = [
        {"tool_id": f"s:{name}", "server": "s", "tool": name, "description": text}
        for name, text in {
            "send": "post mail mail",
            "mail": "read what came",
            "read": "mail of today",
        }.items()
    ]
    corpus = Corpus.of(rows)
    for query in ("mail", "read mail", "send what came"):
        request = {"query": query, "limit": 5}
        half = way(corpus, {"tool": 0.5, "description": 1}).ask(request)
        other = way(corpus, {"tool": 1, "description": 2}).ask(request)
        if way is Tfidf:
            assert half == other
        else:
            # What counts twice is soon enough; a k1 of half the size undoes it.
            assert half == way(corpus, {"tool": 1, "description": 2}, k1=3.0).ask(
                {"query": query, "limit": 5}
            )
    assert way(corpus, {"tool": 0.5, "description": 1}).name.endswith("(tool ×0.5, description)")


WRONG: dict[str, dict[str, float]] = {
    "'tools' is not a field of a tool (did you mean 'tool'?)": {"tools": 1},
    "no field of the tools is read": {"tool": 0},
    "no field of the tools is read: give": {},
    "expected a weight from 0 to 100, found -1": {"tool": -1},
    "expected a weight from 0 to 100, found": {"tool": float("nan")},
    "expected 0 or a weight of 0.01 at least": {"tool": 0.001},
}


@pytest.mark.parametrize("message", WRONG)
def test_weights_that_are_none(message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message.replace("'", '"'))):
        Bm25(Corpus("v1", ()), WRONG[message])
    with pytest.raises(ValueError, match="k1"):
        Bm25(Corpus("v1", ()), {"tool": 1}, k1=-1)


@pytest.mark.parametrize(
    ("fields", "is_right"),
    [({"tool": 0.5, "description": 2}, True), ({"tool": -0.5}, False), ({"tool": 0.001}, False), ({}, False)],
)
def test_weights_in_settings(fields: dict[str, float], is_right: bool) -> None:
    setting = {"bm25": {"fields": fields}}
    if is_right:
        model = RetrieverModel.model_validate(setting)
        assert model.bm25 is not None
        assert model.bm25.weights() == fields
    else:
        with pytest.raises(ValidationError):
            RetrieverModel.model_validate(setting)
