"""Edited baselines: one that does not agree with itself or its golden set is an error, never a pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import DataFileError, Place
from pytest_mcpeval.kinds.retrieval.baseline import read
from pytest_mcpeval.kinds.retrieval.kind import RetrievalKind
from pytest_mcpeval.kinds.retrieval.load import load_suite
from pytest_mcpeval.kinds.retrieval.retrievers import Hit, SearchResult
from pytest_mcpeval.kinds.retrieval.run import judge
from pytest_mcpeval.kinds.retrieval.spec import RetrievalSuite
from pytest_mcpeval.loading import load
from tests.retrieval.golden import QUERIES, GoldenProject, rank, tool
from tests.support import Project

Edit = Callable[[dict[str, Any]], object]


@pytest.fixture
def suite(tmp_path: Path) -> RetrievalSuite:
    """A golden set with the baseline of a search that finds every tool at rank 1, but q2 at 3 and q4 not."""
    GoldenProject.at(tmp_path)
    directory = tmp_path / "datasets"
    settings = {
        "corpus": str(directory / "tools_v1.json"),
        "baseline": str(directory / "baseline_v1.json"),
    }
    found = load_suite(load(directory / "golden_v1.json"), Place("golden_v1.json", settings, {}))
    places = {2: 3, 4: None}
    samples = []
    for number, case in enumerate(found.cases):
        hits = tuple(map(Hit, rank(number, places.get(number, 1))))
        samples.append(judge(found, case, SearchResult(hits, len(hits)), None))
    new = RetrievalKind().baseline(found, samples)
    assert new is not None
    path, content = new
    head = {"kind": "baseline", "of": "retrieval", "version": 1, "suite": "golden_v1.json"}
    path.write_text(json.dumps({**head, **content}, indent=1), encoding="utf-8")
    return found


def edited(suite: RetrievalSuite, edit: Edit) -> str:
    """What is wrong with the baseline after an edit."""
    path = Path(suite.settings.baseline or "")
    content = json.loads(path.read_text(encoding="utf-8"))
    edit(content)
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    with pytest.raises(DataFileError) as raised:
        read(suite)
    return str(raised.value)


def test_an_unedited_baseline_is_read(suite: RetrievalSuite) -> None:
    committed = read(suite)
    assert committed is not None
    assert committed.scores.metrics["hit_at_1"] == pytest.approx((QUERIES - 2) / QUERIES, abs=1e-12)
    assert committed.ranks is not None
    assert committed.ranks["q2"] == {tool("three"): 3}


EDITS: dict[str, tuple[Edit, str]] = {
    "a case is gone": (
        lambda found: found["cases"].pop("q3"),
        "1 of 12 cases are missing: q3; bless it again with",
    ),
    "all cases are gone": (lambda found: found["cases"].clear(), "12 of 12 cases are missing: q0, q1"),
    "a case too many": (
        lambda found: found["cases"].update(q99={"outcome": "passed", "ranks": {}}),
        "the suite has no q99, which the baseline has",
    ),
    "a lower metric": (
        lambda found: found["recall_at"].update({"5": 0.1}),
        "recall_at_5 is 0.1, but its cases have 0.9",
    ),
    "a metric is gone": (lambda found: found.pop("mrr"), "mrr is missing: its cases have 0.8"),
    "a lower rank": (lambda found: found["cases"]["q0"]["ranks"].clear(), "hit_at_1 is 0.8333333333333334"),
    "no rank at all": (
        lambda found: found["cases"]["q0"]["ranks"].update({tool("one"): 0}),
        "expected a number of at least 1, found 0",
    ),
    "a rank too deep": (
        lambda found: found["cases"]["q0"]["ranks"].update({tool("one"): 11}),
        "q0: expected ranks up to 10",
    ),
    "a rank of another tool": (
        lambda found: found["cases"]["q0"]["ranks"].update({tool("two"): 5}),
        f"q0: '{tool('two')}' has a rank, but is not a relevant tool of the query",
    ),
    "no share": (lambda found: found.update(map=1.5), "map"),
    "an unknown tolerance": (
        lambda found: found.update(tolerance={"recall_at_6": 0.1}),
        "'recall_at_6' is not a metric",
    ),
    "a tolerance that is no share": (lambda found: found.update(tolerance={"mrr": 5}), "tolerance"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_baseline_is_an_error(suite: RetrievalSuite, name: str) -> None:
    edit, message = EDITS[name]
    found = edited(suite, edit)
    assert message in found.replace('"', "'")
    assert "baseline_v1.json:" in found


FLAT: dict[str, tuple[dict[str, Any], str]] = {
    "another version": ({"corpus_version": "v0"}, "corpus_version: was made from another corpus"),
    "another golden set": ({"digest": "sha256:00"}, "digest: was made from another golden set"),
    "another corpus": ({"corpus_digest": None}, "corpus_digest: was made from another corpus"),
    "a near miss": ({"recal_at": {"5": 1.0}}, 'unknown key "recal_at" (did you mean "recall_at"?)'),
    "a lost tolerance": ({"tolerence": {}}, 'unknown key "tolerence" (did you mean "tolerance"?)'),
}


@pytest.mark.parametrize("name", FLAT)
def test_what_a_flat_baseline_says_of_its_origin_counts(suite: RetrievalSuite, name: str) -> None:
    wrong, message = FLAT[name]
    path = Path(suite.settings.baseline or "")
    path.write_text(json.dumps({"mrr": 1.0, "recall_at": {"5": 1.0}} | wrong), encoding="utf-8")
    with pytest.raises(DataFileError) as raised:
        read(suite)
    assert message in str(raised.value)


def test_a_flat_baseline_may_hold_any_metric_and_foreign_keys(suite: RetrievalSuite) -> None:
    own = {"corpus_version": "v1", "digest": suite.golden.digest, "ndcg_at_5": 1.0, "precision": {}, "k": 1}
    path = Path(suite.settings.baseline or "")
    path.write_text(json.dumps({"mrr": 0.2, "map": 1, **own}), encoding="utf-8")
    committed = read(suite)
    assert committed is not None
    assert committed.scores.metrics == {"mrr": 0.2, "map": 1.0}


def test_our_own_without_its_kind_is_no_flat_one(suite: RetrievalSuite) -> None:
    assert "no `kind: baseline`" in edited(suite, lambda found: found.pop("kind"))


@pytest.mark.parametrize(
    "wrong", [{"tolerance": {"recall_at_5": -1}}, {"tolerance": {"recal": 0.1}}, {"mrr": 2}]
)
def test_flat_baselines_are_held_to_their_ranges(suite: RetrievalSuite, wrong: dict[str, Any]) -> None:
    path = Path(suite.settings.baseline or "")
    path.write_text(json.dumps({"recall_at": {"5": 1.0}, **wrong}), encoding="utf-8")
    with pytest.raises(DataFileError, match=r"baseline_v1\.json:1"):
        read(suite)


def test_an_edited_baseline_fails_the_run(suite: RetrievalSuite, tmp_path: Path) -> None:
    edited(suite, lambda content: content["cases"].clear())
    run = GoldenProject(Project(tmp_path)).run("--mcpeval-report", "report")
    assert run.status == 1
    assert run.gates() == {"golden_v1::baseline": "error"}
    assert "12 of 12 cases are missing: q0, q1" in " ".join(run.out.split())
