"""Golden sets, corpora and baselines as files: every shape that is read, and every problem with its line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import DataFileError, Place
from pytest_mcpeval.config.project_file import ProjectFiles
from pytest_mcpeval.core.detect import detect_kind
from pytest_mcpeval.kinds.retrieval.baseline import read
from pytest_mcpeval.kinds.retrieval.kind import RetrievalKind
from pytest_mcpeval.kinds.retrieval.load import load_corpus, load_suite
from pytest_mcpeval.kinds.retrieval.spec import RetrievalSuite
from pytest_mcpeval.loading import load
from pytest_mcpeval.servers import ServerDefinition

TOOLS = """\
version: v1
generated_from: {proxy: "0.9", servers: [git]}
description: [free, form]
__note: whatever
tools:
- tool_id: "git:log"
  server: git
  tool: log
  description: Show the history
  schema: {type: object, properties: {path: {type: string}}}
- {tool_id: "git:show_diff", server: git, tool: show_diff, description: Show changes}
- {tool_id: "mail:sendMail", server: mail, tool: sendMail, description: ""}
"""

GOLDEN = """\
corpus_version: v1
generated_from: by hand
description: A few queries.
__reviewed: true
corpus: tools.yaml
queries:
- id: q-history
  query: what happened here before
  labels:
  - {tool_id: "git:log", relevance: 2}
  - {tool_id: "git:show_diff", relevance: 1}
  - {tool_id: "mail:sendMail", relevance: 0}
- id: q-post
  query: write to my landlord
  labels: [{tool_id: "mail:sendMail", relevance: 1}]
  notes: "hard-negative: nothing is written to disk"
  must_hit: 3
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files into one directory: ``write(golden, tools=…)``; returns the golden file."""

    def files(golden: str = GOLDEN, *, tools: str = TOOLS, **others: str) -> Path:
        (tmp_path / "tools.yaml").write_text(tools, encoding="utf-8")
        for name, text in others.items():
            (tmp_path / name.replace("__", ".")).write_text(text, encoding="utf-8")
        (tmp_path / "golden.yaml").write_text(golden, encoding="utf-8")
        return tmp_path / "golden.yaml"

    return files


def suite(path: Path, settings: dict[str, Any] | None = None, **place: Any) -> RetrievalSuite:
    return load_suite(load(path), Place("golden.yaml", settings or {}, place.pop("servers", {}), **place))


def problems(path: Path, settings: dict[str, Any] | None = None, **place: Any) -> list[tuple[int, str]]:
    with pytest.raises(DataFileError) as raised:
        suite(path, settings, **place)
    return [(problem.line, problem.message) for problem in raised.value.problems]


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


def test_a_golden_set_and_its_corpus(write: Write) -> None:
    found = suite(write())
    assert [case.id for case in found.cases] == ["q-history", "q-post"]
    assert [case.line for case in found.cases] == [7, 13]
    first, second = found.golden.queries
    assert (first.text, dict(first.labels), first.notes, first.must_hit) == (
        "what happened here before",
        {"git:log": 2, "git:show_diff": 1, "mail:sendMail": 0},
        "",
        None,
    )
    assert (second.is_hard_negative, second.must_hit) == (True, 3)
    assert found.golden.pinned == {"q-post": 3}
    assert found.cases[0].spec == first
    assert found.cases[0].traits == {"server": ("git",)}
    assert found.cases[1].traits == {"server": ("mail",), "tags": ("hard-negative",)}
    corpus = found.golden.corpus
    assert (corpus.version, len(corpus.tools)) == ("v1", 3)
    assert corpus.tools[0].schema == {"type": "object", "properties": {"path": {"type": "string"}}}
    assert corpus.tools[1].schema is None


def test_the_same_as_json(write: Write, tmp_path: Path) -> None:
    yaml = suite(write())
    golden, tools = load(tmp_path / "golden.yaml").data, load(tmp_path / "tools.yaml").data
    (tmp_path / "golden.json").write_text(json.dumps({**golden, "corpus": "tools.json"}), encoding="utf-8")
    (tmp_path / "tools.json").write_text(json.dumps(tools, indent=3), encoding="utf-8")
    found = suite(tmp_path / "golden.json")
    assert found.golden.queries == yaml.golden.queries
    assert (found.golden.digest, found.golden.corpus.digest) == (
        yaml.golden.digest,
        yaml.golden.corpus.digest,
    )


@pytest.mark.parametrize(
    ("name", "version"), [("tools_v7.json", "tools_v7"), ("corpus-2026.tools.v2.json", "corpus-2026")]
)
def test_a_corpus_without_version_is_called_by_its_file(tmp_path: Path, name: str, version: str) -> None:
    tools = [{"tool_id": "a:b", "server": "a", "tool": "b", "description": "c"}]
    (tmp_path / name).write_text(json.dumps({"tools": tools}), encoding="utf-8")
    assert load_corpus(tmp_path / name).version == version


def test_digests_are_of_what_is_measured(write: Write) -> None:
    before = suite(write()).golden
    golden = changed(changed(GOLDEN, "A few queries.", "Other words."), "must_hit: 3", "must_hit: 2")
    same = suite(write(golden, tools=changed(TOOLS, "__note: whatever", "__note: else"))).golden
    assert (same.digest, same.corpus.digest) == (before.digest, before.corpus.digest)
    for old, new in [("landlord", "tenant"), ("relevance: 2", "relevance: 1"), ("to disk", "to paper")]:
        assert suite(write(changed(GOLDEN, old, new))).golden.digest != before.digest
    for old, new in [("the history", "a history"), ("string", "number")]:
        assert suite(write(tools=changed(TOOLS, old, new))).golden.corpus.digest != before.corpus.digest


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('"git:log", relevance', '"git:lag", relevance', 10, '"git:lag" is not in tools.yaml (did you mean'),
        ("relevance: 1}]", "relevance: 0}]", 15, "labels of 'q-post': none has a relevance of 1 or 2"),
        (
            "relevance: 2",
            "relevance: 3",
            10,
            "queries[0].labels[0].relevance: expected a number of at most 2, found 3",
        ),
        (
            "relevance: 2",
            "relevance: true",
            10,
            "queries[0].labels[0].relevance: expected 0, 1 or 2, found true",
        ),
        ("id: q-post", "id: q-history", 13, "duplicate id 'q-history': first used on line 7"),
        ("id: q-post", "id: 'q post'", 13, "queries[1].id: expected a text that matches"),
        ("id: q-post", "id: ../etc", 13, "queries[1].id: expected a text that matches"),
        (
            "to my landlord",
            "a Send-Mail to my landlord",
            14,
            'query: contains the name of its relevant tool "sendMail"',
        ),
        ("happened here", "show diff here", 8, 'query: contains the name of its relevant tool "show_diff"'),
        ("query: write to my landlord", "query: '  '", 14, "is blank, so nothing could be found"),
        (
            "query: write to my landlord",
            "query: ''",
            14,
            "queries[1].query: expected a text that is not empty",
        ),
        (
            "query: write to my landlord",
            "query: 5",
            14,
            "queries[1].query: expected a text, found 5; quote it",
        ),
        ('"git:show_diff"', '"git:log"', 11, '"git:log" is labelled twice'),
        (
            "corpus_version: v1",
            "corpus_version: v2",
            1,
            'labelled for "v2", and tools.yaml has the version "v1"',
        ),
        ("corpus_version: v1\n", "", 1, 'missing required key "corpus_version"'),
        ("must_hit: 3", "must_hit: 11", 17, "must_hit: expected at most 10, which is the `depth`, found 11"),
        ("must_hit: 3", "must_hits: 3", 17, 'queries[1]: unknown key "must_hits" (did you mean "must_hit"?)'),
        ("corpus: tools.yaml\n", "", 1, "no corpus is named: say `corpus: FILE`"),
        ("corpus: tools.yaml", "corpus: tool.yaml", 5, "corpus: there is no file "),
        ("corpus: tools.yaml", "corpsu: tools.yaml", 5, 'unknown key "corpsu" (did you mean "corpus"?)'),
    ],
)
def test_problems_of_a_golden_set(write: Write, old: str, new: str, line: int, message: str) -> None:
    found = problems(write(changed(GOLDEN, old, new)))
    assert (found[0][0], message in found[0][1]) == (line, True), found


def test_a_tool_named_like_a_distractor_is_no_leak(write: Write) -> None:
    golden = changed(GOLDEN, "what happened", "before sendMail, what happened")
    assert suite(write(golden)).golden.queries[0].text.startswith("before sendMail")


@pytest.mark.parametrize("golden", ["corpus_version: v1\nqueries: []\n", "corpus_version: v1\nqueries: 5\n"])
def test_a_set_without_queries(write: Write, golden: str) -> None:
    assert problems(write(golden))[0][1].startswith("queries: expected")


def test_all_problems_of_a_set_are_told_at_once(write: Write) -> None:
    golden = changed(changed(GOLDEN, "id: q-post", "id: q-history"), "relevance: 1}]", "relevance: 0}]")
    assert [line for line, _ in problems(write(golden))] == [13, 15]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("git:show_diff", "git:log", 11, 'duplicate tool_id "git:log": first used on line 6'),
        ("git:show_diff", "git:diff", 11, 'expected "git:show_diff", its server and tool, found "git:diff"'),
        ("git:show_diff", "", 11, "tools[1].tool_id: expected a text that is not empty"),
        ("tool: show_diff", "tool: 'show diff'", 11, "has a blank or a control character"),
        ("server: mail", "server: 'mail:x'", 12, '"mail:x" has a colon, which ends the server in a tool_id'),
        ("server: mail, ", "", 12, 'tools[2]: missing required key "server"'),
        ("schema:", "inputSchema:", 10, 'tools[0]: unknown key "inputSchema"'),
        ("__note", "note", 4, 'unknown key "note"'),
        (
            "{type: object, properties: {path: {type: string}}}",
            "text",
            10,
            "tools[0].schema: expected a mapping",
        ),
    ],
)
def test_problems_of_a_corpus_are_at_its_own_lines(
    write: Write, tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    path = write(tools=changed(TOOLS, old, new))
    with pytest.raises(DataFileError) as raised:
        suite(path)
    first = raised.value.problems[0]
    assert (first.path, first.line) == (tmp_path / "tools.yaml", line)
    assert message in first.message


def test_a_query_with_the_one_word_name_of_its_tool_is_a_warning_and_a_setting_decides(write: Write) -> None:
    one_word = GOLDEN.replace("what happened", "the log of what happened")
    (warning,) = suite(write(one_word)).warnings
    assert warning == (
        "1 query contains the name of a relevant tool, which may give it away: q-history (log). For no "
        "warning, set `named_tools: allow`"
    )
    assert suite(write(f"named_tools: allow\n{one_word}")).warnings == ()
    assert problems(write(f"named_tools: error\n{one_word}"))[0][1].startswith(
        'query: contains the name of its relevant tool "log", which gives it away: rephrase the query, or set'
    )
    two_words = one_word.replace("to my landlord", "a send-mail to my landlord")
    (warning,) = suite(write(f"named_tools: warn\n{two_words}")).warnings
    assert warning.startswith("2 queries contain the name of a relevant tool, which may give it away: q-hist")
    ((line, _),) = problems(write(two_words))
    assert line == 14


def test_an_empty_corpus(write: Write) -> None:
    assert problems(write(tools="tools: []\n"))[0][1].startswith("tools: expected at least 1 entry")


def test_settings_in_the_file_win_over_those_of_the_project(write: Write, tmp_path: Path) -> None:
    golden = "depth: 20\ngates: {floors: {mrr: 0.3}}\nexpect: hit@5\n" + GOLDEN
    given = {
        "depth": 50,
        "strict": True,
        "baseline": "/base.json",
        "corpus": "/other/tools.yaml",
        "gates": {"floors": {"map": 0.2}, "max_lost": 1},
    }
    settings = suite(write(golden), given).settings
    assert (settings.depth, settings.strict, settings.expect) == (20, True, 5)
    assert settings.corpus == str(tmp_path / "tools.yaml")
    assert settings.baseline == "/base.json"
    assert settings.gates.floors == {"map": 0.2, "mrr": 0.3}
    assert settings.gates.max_lost == 1


@pytest.mark.parametrize("expect", ["5", "hit@5", "{k: 5}"])
def test_every_way_to_say_what_is_expected(write: Write, expect: str) -> None:
    assert suite(write(f"expect: {expect}\n{GOLDEN}")).settings.expect == 5


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("expect: hit@0", 'expect: expected a number such as 10, or hit@10, found "hit@0"'),
        ("expect: 11", "expect: expected at most 10, which is the `depth`, found 11"),
        ("depth: 0", "depth: expected a number of at least 1, found 0"),
        (
            "gates: {tolerance: {recal_at_5: 0.1}}",
            '"recal_at_5" is not a metric (did you mean "recall_at_5"?)',
        ),
        ("gates: {floors: {mrr: 2}}", "gates.floors.mrr: expected a number of at most 1, found 2"),
        ("gates: {max_lost: -1}", "gates.max_lost: expected"),
        (
            "gates: {max_lost: 2}",
            "gates.max_lost: any value meets 2, so the gate could not fail: expected less",
        ),
        ("gates: {significance: {mrr: 0.2}}", "significance.mrr: the lowest p of 2 queries is 0.25, so the"),
        ("gates: {pinned: {q-hist: 5}}", 'there is no such query (did you mean "q-history"?)'),
        ("gates: {pinned: {q-history: 12}}", "expected at most 10, which is the `depth`, found 12"),
        (
            "gates: {floors: {recall_at_5: 0.5}}\ndepth: 3",
            "gates.floors.recall_at_5: recall_at_5 needs more",
        ),
        ("gates: {tolerance: {ndcg_at_10: 0.1}}\ndepth: 3", "set `depth: 10` or more, or use another"),
        ("gates: {significance: {hit_at_5: 0.1}}\ndepth: 3", "such as recall_at_3"),
        (
            "gates: {lost_by: recall_at_3}\ndepth: 1",
            "gates.lost_by: recall_at_3 needs more results than the `depth`",
        ),
        ("retriever: bm52", 'found "bm52" (did you mean "bm25"?)'),
        ("retriever: {bm25: {fields: [name]}}", "retriever.bm25.fields"),
        ("retriever: {bm25: {fields: {tool: 0}}}", "no field of the tools is read"),
        ("retriever: {bm25: , tfidf: }", "needs exactly one of bm25, tfidf, python"),
        ("retriever: {python: search}", 'expected a function, such as pkg.mod:function, found "search"'),
        ("retriever: {fixture: my-search}", '"my-search" is not the name of a fixture'),
        ("retriever: {command: []}", "retriever.command: expected at least 1 entry"),
        ("retriever: {command: x, env: {A: 1}}", "retriever.env.A: expected a text, found 1; quote it"),
        ("retriever: {bm25: , env: {A: b}}", "`env` is the environment of a `command`"),
        (
            "retriever: {mcp: {server: prox, tool: t, result: $}}",
            'retriever.mcp.server: unknown server "prox" (did you mean "proxy"?) (defined: proxy)',
        ),
        ("retriever: {mcp: {server: proxy, tool: t}}", 'retriever.mcp: missing required key "result"'),
        (
            "retriever: {mcp: {server: proxy, tool: t, result: $, arguments: {q: x}}}",
            "`arguments` do not contain {query}",
        ),
        ("retriever: {mcp: {server: proxy, tool: t, result: tools}}", "should begin with $"),
        ("retriever: {http: {url: 'http://x/?q=', result: $}}", "`url` does not contain {query}"),
        ("retriever: {http: {url: 'x/{query}', result: $}}", "retriever.http.url: expected"),
        (
            "retriever: {http: {url: 'http://x/{query}', result: $, tool_id: '{a'}}",
            "a brace without its partner",
        ),
    ],
)
def test_problems_of_settings(write: Write, line: str, message: str) -> None:
    servers = {"proxy": ServerDefinition("proxy", "stdio", "proxy")}
    found = problems(write(f"{line}\n{GOLDEN}"), servers=servers)
    assert (found[0][0], message in found[0][1]) == (1, True), found


def test_pins_of_the_settings_join_those_of_the_file(write: Write) -> None:
    found = suite(write(), {"gates": {"pinned": {"q-history": 1, "q-post": 5}}})
    assert found.golden.pinned == {"q-history": 1, "q-post": 5}
    assert found.golden.digest == suite(write()).golden.digest


def test_a_fixture_retriever_is_set_up_by_pytest_and_never_called_ahead(write: Write) -> None:
    case = suite(write(f"retriever: fixture:my_search\n{GOLDEN}")).cases[0]
    assert (case.fixtures, case.may_prefetch) == (("my_search",), False)
    assert suite(write()).cases[0].may_prefetch


def project(tmp_path: Path, text: str) -> ProjectFiles:
    (tmp_path / "mcpeval.yaml").write_text(text, encoding="utf-8")
    return ProjectFiles(tmp_path, {"retrieval": RetrievalKind()})


def test_paths_are_relative_to_the_file_that_says_them(write: Write, tmp_path: Path) -> None:
    path = write(changed(GOLDEN, "corpus: tools.yaml\n", ""))
    below = tmp_path / "below"
    below.mkdir()
    path = path.rename(below / "golden.yaml")
    text = """\
retrieval:
- corpus: tools.yaml
  baseline: below/../base.json
  retriever: python:search:find
"""
    place = project(tmp_path, text).place(path, "below/golden.yaml", RetrievalKind())
    settings = load_suite(load(path), place).settings
    assert settings.corpus == str(tmp_path / "tools.yaml")
    assert settings.baseline == str(tmp_path / "base.json")
    assert (settings.retriever.python, settings.retriever.directory) == ("search:find", str(tmp_path))


def test_a_retriever_given_nearer_replaces_the_other_whole(write: Write, tmp_path: Path) -> None:
    text = """\
retrieval:
- retriever: {command: [search, --fast], env: {A: b}}
- retriever: {bm25: {schema: false}}
  depth: 30
"""
    path = write()
    place = project(tmp_path, text).place(path, "golden.yaml", RetrievalKind())
    assert place.origins == {"retriever": "mcpeval.yaml:3", "depth": "mcpeval.yaml:4"}
    found = load_suite(load(path), place).settings.retriever
    assert (found.way, found.command, found.env) == ("bm25", None, {})
    assert found.bm25 is not None
    assert found.bm25.weights() == {"tool": 1, "description": 1}
    own = load_suite(load(write(f"retriever: tfidf\n{GOLDEN}")), place).settings.retriever
    assert own.way == "tfidf"


def test_problems_of_the_project_name_their_origin(write: Write, tmp_path: Path) -> None:
    text = """\
retrieval:
- retriever: {mcp: {server: proxy, tool: t, result: $}}
  gates: {pinned: {q-none: 5}}
"""
    path = write()
    place = project(tmp_path, text).place(path, "golden.yaml", RetrievalKind())
    with pytest.raises(DataFileError) as raised:
        load_suite(load(path), place)
    found = [problem.message for problem in raised.value.problems]
    assert any(message.endswith("`retriever` comes from mcpeval.yaml:2") for message in found)
    assert any(message.endswith("`gates` comes from mcpeval.yaml:3") for message in found)


FLAT = {
    "version": "v1",
    "generated_from": "proxy 0.9",
    "__host": "ci",
    "recall_at": {"1": 0.4, "3": 0.5, "5": 0.68, "10": 0.75},
    "mrr": 0.55,
    "ndcg_at_10": 0.6,
    "map": 0.52,
    "tolerance": {"recall_at_5": 0.05, "fpr": 0.01},
    "security": {"heuristics": {"precision": 0.9, "fpr": 0.02}},
}


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        ({"queries": []}, "suite"),
        ({"kind": "retrieval", "queries": []}, "suite"),
        ({"tools": [{"tool_id": "a:b"}]}, "support"),
        ({"kind": "retrieval", "tools": [{"tool_id": "a:b"}]}, "support"),
        (FLAT, "support"),
        ({"kind": "retrieval"}, "suite"),
    ],
)
def test_files_are_recognised(tmp_path: Path, data: dict[str, Any], shape: str) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    assert detect_kind(load(path), {"retrieval": RetrievalKind()}) == ("retrieval", shape)


@pytest.mark.parametrize("data", [{"tests": []}, {"tools": {"a": "b"}}, [], {"tools": [{"name": "a"}]}])
def test_files_of_others_are_not(data: Any) -> None:
    assert RetrievalKind().detect(data) is None


def test_a_flat_baseline_is_read_as_it_is(write: Write) -> None:
    found = read(suite(write(f"baseline: base.json\n{GOLDEN}", base__json=json.dumps(FLAT))))
    assert found is not None
    assert found.scores.metrics == {
        "recall_at_1": 0.4,
        "recall_at_3": 0.5,
        "recall_at_5": 0.68,
        "recall_at_10": 0.75,
        "mrr": 0.55,
        "ndcg_at_10": 0.6,
        "map": 0.52,
    }
    assert found.scores.tolerance == {"recall_at_5": 0.05}
    assert (found.scores.scores, found.ranks, found.scores.digests) == (None, None, {})


UPSTREAM_TOOLS = {
    "version": 1,
    "generated_from": {"proxy": "0.30.0", "servers": ["git"]},
    "description": "Frozen.",
    "__license": "MIT",
    "tools": [
        {
            "tool_id": "git:log",
            "server": "git",
            "tool": "log",
            "description": None,
            "schema": None,
            "__seen": 3,
        },
        {"tool_id": "git:blame", "server": "git", "tool": "blame", "description": "Who wrote a line"},
    ],
}
UPSTREAM_GOLDEN = {
    "corpus_version": 1,
    "generated_from": {"by": "hand"},
    "__note": ["free"],
    "queries": [
        {
            "id": "q-001",
            "query": "who is to be asked about this",
            "labels": [
                {"tool_id": "git:blame", "relevance": 2, "__by": "me"},
                {"tool_id": "git:log", "relevance": 0},
            ],
            "notes": None,
            "__reviewed": True,
        }
    ],
}
UPSTREAM_BASELINE = {
    "recall_at": {"1": 0.5, "3": 0.6, "5": 0.7, "10": 0.8},
    "mrr": 0.6,
    "ndcg_at_10": 0.65,
    "map": 0.6,
    "tolerance": {"recall_at_5": 0.05},
    "security": {
        "per_detector": [{"detector": "tpa", "precision": 1.0, "recall": 0.5, "f1": 0.67, "fpr": 0.0}]
    },
}


def test_files_of_the_upstream_project_load_unchanged(tmp_path: Path) -> None:
    files = {"tools": UPSTREAM_TOOLS, "golden": UPSTREAM_GOLDEN, "baseline": UPSTREAM_BASELINE}
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    settings = {"baseline": str(tmp_path / "baseline.json"), "corpus": str(tmp_path / "tools.json")}
    found = suite(tmp_path / "golden.json", settings)
    assert found.golden.corpus.version == "1"
    assert [query.notes for query in found.golden.queries] == [""]
    assert found.golden.corpus.tools[0].description == ""
    committed = read(found)
    assert committed is not None
    assert committed.scores.metrics["recall_at_5"] == 0.7
    assert committed.scores.tolerance == {"recall_at_5": 0.05}
