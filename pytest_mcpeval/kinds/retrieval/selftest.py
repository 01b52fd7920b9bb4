"""Proof that the measurement can fail: damage a search on purpose; the gates must notice."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_mcpeval.core.gate import SLACK, names
from pytest_mcpeval.core.proof import AskTwice, Proof
from pytest_mcpeval.kinds.retrieval.corpus import Corpus
from pytest_mcpeval.kinds.retrieval.gate_input import BaselineScores, GateInput, GateSettings, gate_settings
from pytest_mcpeval.kinds.retrieval.gates import judge_gates
from pytest_mcpeval.kinds.retrieval.metrics import Scores, evaluate_many
from pytest_mcpeval.kinds.retrieval.rankings import Ranking, relevant_of
from pytest_mcpeval.kinds.retrieval.retrievers.asking import make_retriever
from pytest_mcpeval.kinds.retrieval.spec import GoldenQuery, RetrievalSuite

Tool = Mapping[str, Any]
"""A tool of a corpus: ``tool_id``, ``server``, ``tool``, ``description`` and perhaps ``schema``."""

Search = Callable[[str, int], Sequence[str]]
"""A query and how many results are wanted → tool ids, best first."""

REMOVALS = 10
SEED = 20_260_531


@dataclass(frozen=True)
class Subject:
    """A golden set over a corpus, with a search that can be built again over other tools."""

    queries: Sequence[GoldenQuery]
    tools: Sequence[Tool]
    build: Callable[[Sequence[Tool]], Search]
    depth: int
    settings: GateSettings = field(default_factory=GateSettings)

    def rankings(self, tools: Sequence[Tool]) -> list[Ranking]:
        """Every query, asked of a new search over some tools."""
        search = self.build(tools)
        return [Ranking(one.id, list(search(one.text, self.depth)), one.labels) for one in self.queries]

    def without_its_tools(self, ranking: Ranking) -> Ranking:
        """A query, asked over the corpus without its relevant tools."""
        relevant = relevant_of(ranking.labels)
        chosen = [query for query in self.queries if query.id == ranking.id]
        kept = [tool for tool in self.tools if tool["tool_id"] not in relevant]
        return replace(self, queries=chosen).rankings(kept)[0]


@dataclass(frozen=True)
class Answers:
    """The answers of a search to every query of a golden set, asked twice; its index cannot be rebuilt."""

    first: Sequence[Ranking]
    second: Sequence[Ranking]
    depth: int
    settings: GateSettings = field(default_factory=GateSettings)


def proofs_of(suite: RetrievalSuite, ask_twice: AskTwice) -> dict[str, list[Proof]]:
    """Return headline → proofs of a golden set.

    Only embedded searches can be built again, from a damaged corpus.
    """
    model, queries = suite.settings.retriever, suite.golden.queries
    depth, settings = suite.settings.depth, gate_settings(suite)
    if model.way in ("bm25", "tfidf"):

        def build(tools: Sequence[Tool]) -> Search:
            retriever = make_retriever(model, Corpus.of(tools))
            return lambda query, k: [hit.tool_id for hit in retriever.ask({"query": query, "limit": k})]

        proofs = selftest(Subject(queries, suite.golden.corpus.rows, build, depth, settings))
    else:
        asked = ask_twice([query.id for query in queries], "queries", 2)
        first, second = (
            [Ranking(query.id, asked[query.id][turn]["ranked"], query.labels) for query in queries]
            for turn in (0, 1)
        )
        proofs = selftest_of_answers(Answers(first, second, depth, settings))
    return {f"{len(queries)} queries, {model.way}": proofs}


def selftest(subject: Subject) -> list[Proof]:
    """Damage a search in several ways, and see whether the metrics and gates notice."""
    rankings = subject.rankings(subject.tools)
    gates = _Gates(subject.depth, subject.settings, rankings)
    undescribed = [{**tool, "description": ""} for tool in subject.tools]
    bare = [{key: value for key, value in tool.items() if key != "schema"} for tool in subject.tools]
    return [
        gates.unchanged(subject.rankings(subject.tools)),
        gates.removed(subject.without_its_tools),
        gates.shuffled(),
        gates.noticed("a corpus without descriptions trips a gate", subject.rankings(undescribed)),
        gates.schemas(subject.rankings(bare)),
    ]


def selftest_of_answers(answers: Answers) -> list[Proof]:
    """Damage the answers of a search whose index cannot be rebuilt, and see whether the gates notice.
    Tools are removed from its ranked lists as if its index did not have them; no further results
    replace them.
    """
    rankings = answers.first
    gates = _Gates(answers.depth, answers.settings, rankings)
    tools = sorted({tool for one in rankings for tool in one.ranked})
    half = set(random.Random(SEED).sample(tools, len(tools) // 2))
    halved = [_without(one, half) for one in rankings]
    nothing = [one._replace(ranked=[]) for one in rankings]
    own_index = "its index is out of reach: rebuild it so yourself, and run the evals"
    return [
        gates.unchanged(answers.second),
        gates.removed(lambda one: _without(one, relevant_of(one.labels))),
        gates.shuffled(),
        gates.noticed("answers without every second tool they name trip a gate", halved),
        gates.noticed("a search that returns nothing trips a gate", nothing),
        Proof("an index without descriptions or schemas trips a gate", None, own_index),
    ]


def _without(ranking: Ranking, tools: Collection[str]) -> Ranking:
    return ranking._replace(ranked=[tool for tool in ranking.ranked if tool not in tools])


class _Gates:
    """The gates of a golden set, with ``rankings`` of up to ``depth`` tools as the baseline."""

    def __init__(self, depth: int, settings: GateSettings, rankings: Sequence[Ranking]) -> None:
        self._depth = depth
        self._settings = settings
        self._rankings = rankings
        self._old = evaluate_many(rankings, depth)

    def _tripped(self, new: Scores) -> list[str]:
        given = GateInput("selftest", self._settings, new, BaselineScores.of(self._old))
        return [gate.name for gate in judge_gates(given) if gate.verdict in ("failed", "error")]

    def noticed(self, name: str, spoilt: Sequence[Ranking]) -> Proof:
        """Whether a gate fails for spoilt rankings."""
        new = evaluate_many(spoilt, self._depth)
        tripped, metric = self._tripped(new), self._settings.lost_by
        change = f"{metric} {self._old.means()[metric]:.4f} → {new.means()[metric]:.4f}"
        return Proof(name, bool(tripped), f"{change}; tripped: {', '.join(tripped) or 'none'}")

    def unchanged(self, again: Sequence[Ranking]) -> Proof:
        """Return whether the same search, asked again, gives the same results and passes."""
        name = "an unchanged search reproduces its baseline"
        pairs = zip(again, self._rankings, strict=True)
        if differing := [new.id for new, old in pairs if new.ranked != old.ranked]:
            message = f"{len(differing)} queries were ranked otherwise: {names(differing)}"
            return Proof(name, False, f"{message}; to gate on the means of several runs, set `runs`")
        new = evaluate_many(again, self._depth)
        if new.means() != self._old.means():
            return Proof(name, False, "the same rankings gave other metrics")
        if tripped := self._tripped(new):
            return Proof(name, False, f"these gates fail all the same: {', '.join(tripped)}")
        return Proof(name, True, f"all metrics of {len(again)} queries are the same")

    def removed(self, without_its_tools: Callable[[Ranking], Ranking]) -> Proof:
        """Whether a query scores 0 without its relevant tools."""
        name = "a query whose labelled tools are removed drops to 0"
        ranks = zip(self._rankings, self._old.first_rank.tolist(), strict=True)
        chosen = [ranking for ranking, rank in ranks if rank][:REMOVALS]
        if not chosen:
            return Proof(name, False, "no query finds a relevant tool, so none can be lost")
        spoilt = [evaluate_many([without_its_tools(one)], self._depth) for one in chosen]
        kept = [scores.ids[0] for scores in spoilt if max(scores.means().values()) > SLACK]
        if kept:
            return Proof(name, False, f"these still score: {names(kept)}")
        return Proof(name, True, f"tried with {len(chosen)} queries")

    def shuffled(self) -> Proof:
        """Whether a gate fails for the same tools in another order."""
        name, chance = "shuffled rankings trip a gate", random.Random(SEED)
        mixed = [one._replace(ranked=chance.sample(one.ranked, len(one.ranked))) for one in self._rankings]
        if abs(evaluate_many(mixed, self._depth).values - self._old.values).max() <= SLACK:
            reason = "shuffling changes no metric of any query: lists of one tool, or without a relevant one"
            return Proof(name, None, reason)
        return self.noticed(name, mixed)

    def schemas(self, new: Sequence[Ranking]) -> Proof:
        """Return whether a corpus without schemas trips a gate.

        Not if the search ignores schemas or does worse with them.
        """
        name = "a corpus without schemas trips a gate"
        if all(one.ranked == old.ranked for one, old in zip(new, self._rankings, strict=True)):
            return Proof(name, None, "the search does not read schemas: every ranking is the same")
        proof = self.noticed(name, new)
        return proof if proof.holds else replace(proof, holds=None)
