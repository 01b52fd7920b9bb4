"""Proof that the measurement can fail: a search is spoilt on purpose, and the gates have to notice. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.gates import SLACK, GateResult, names
from pytest_mcpeval.kinds.retrieval.gates import BaselineScores, GateInput, GateSettings, judge_gates
from pytest_mcpeval.kinds.retrieval.rankings import Ranking
from pytest_mcpeval.kinds.retrieval.slices import LabelledQuery

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.retrieval.metrics import Scores

Tool = Mapping[str, Any]
"""A tool of a corpus: ``tool_id``, ``server``, ``tool``, ``description`` and perhaps ``schema``."""

Search = Callable[[str, int], Sequence[str]]
"""A query and how many results are wanted → tool ids, best first."""

REMOVALS = 10
SEED = 20_260_531


@dataclass(frozen=True)
class Proof:
    """One way to spoil a search, and whether it was noticed; ``holds`` is None when it could not be shown."""

    name: str
    holds: bool | None
    message: str


@dataclass(frozen=True)
class Subject:
    """What is proven: a golden set over a corpus, a way to make a search over tools, and the set's gates."""

    queries: Sequence[LabelledQuery]
    tools: Sequence[Tool]
    build: Callable[[Sequence[Tool]], Search]
    depth: int
    settings: GateSettings = field(default_factory=GateSettings)

    def rankings(self, tools: Sequence[Tool]) -> list[Ranking]:
        """Every query, asked of a new search over some tools."""
        search = self.build(tools)
        return [_asked(search, query, self.depth) for query in self.queries]

    def scores(self, rankings: Iterable[Ranking]) -> Scores:
        """Rankings, scored."""
        from pytest_mcpeval.kinds.retrieval.metrics import evaluate_many

        return evaluate_many(rankings, self.depth)


def _asked(search: Search, query: LabelledQuery, depth: int) -> Ranking:
    return Ranking(query.id, list(search(query.text, depth)), query.labels)


def selftest(subject: Subject) -> list[Proof]:
    """Spoil a search in every way we know, and see whether the measurement and its gates notice."""
    rankings = subject.rankings(subject.tools)
    scores = subject.scores(rankings)
    return [
        _unchanged(subject, rankings, scores),
        _removed(subject, scores),
        _shuffled(subject, rankings, scores),
        _without_descriptions(subject, scores),
        _without_schemas(subject, rankings, scores),
    ]


def _unchanged(subject: Subject, rankings: Sequence[Ranking], scores: Scores) -> Proof:
    name = "an unchanged search reproduces its baseline"
    again = subject.rankings(subject.tools)
    differing = [new.id for new, old in zip(again, rankings, strict=True) if new.ranked != old.ranked]
    if differing:
        return Proof(name, False, f"{len(differing)} queries were ranked otherwise: {names(differing)}")
    new = subject.scores(again)
    if new.means() != scores.means():
        return Proof(name, False, "the same rankings gave other metrics")
    tripped = list(_tripped(_compared_gates(subject, new, scores)))
    if tripped:
        return Proof(name, False, f"these gates fail all the same: {', '.join(tripped)}")
    return Proof(name, True, f"all metrics of {len(rankings)} queries are the same")


def _removed(subject: Subject, scores: Scores) -> Proof:
    name = "a query whose labelled tools are removed drops to 0"
    found = {query for query, rank in zip(scores.ids, scores.first_rank.tolist(), strict=True) if rank}
    chosen = [query for query in subject.queries if query.id in found][:REMOVALS]
    if not chosen:
        return Proof(name, False, "no query finds a relevant tool, so none can be lost")
    kept = [query.id for query in chosen if _value_without_tools(subject, query) > SLACK]
    if kept:
        return Proof(name, False, f"these still score: {names(kept)}")
    return Proof(name, True, f"tried with {len(chosen)} queries")


def _value_without_tools(subject: Subject, query: LabelledQuery) -> float:
    """The highest metric of a query over the corpus without its relevant tools."""
    relevant = {tool for tool, relevance in query.labels.items() if relevance >= 1}
    search = subject.build([tool for tool in subject.tools if tool["tool_id"] not in relevant])
    return max(subject.scores([_asked(search, query, subject.depth)]).means().values())


def _shuffled(subject: Subject, rankings: Sequence[Ranking], scores: Scores) -> Proof:
    chance = random.Random(SEED)
    mixed = [replace(one, ranked=chance.sample(one.ranked, len(one.ranked))) for one in rankings]
    return _noticed("shuffled rankings trip a gate", subject, subject.scores(mixed), scores)


def _without_descriptions(subject: Subject, scores: Scores) -> Proof:
    bare = [{**tool, "description": ""} for tool in subject.tools]
    new = subject.scores(subject.rankings(bare))
    return _noticed("a corpus without descriptions trips a gate", subject, new, scores)


def _without_schemas(subject: Subject, rankings: Sequence[Ranking], scores: Scores) -> Proof:
    """Schemas may be ignored by a search, or do it harm: then this shows nothing."""
    bare = [{key: value for key, value in tool.items() if key != "schema"} for tool in subject.tools]
    new = subject.rankings(bare)
    name = "a corpus without schemas trips a gate"
    if all(one.ranked == old.ranked for one, old in zip(new, rankings, strict=True)):
        return Proof(name, None, "the search does not read schemas: every ranking is the same")
    proof = _noticed(name, subject, subject.scores(new), scores)
    return proof if proof.holds else replace(proof, holds=None)


def _noticed(name: str, subject: Subject, new: Scores, old: Scores) -> Proof:
    gates = _compared_gates(subject, new, old)
    tripped = list(_tripped(gates))
    metric = subject.settings.lost_by
    change = f"{metric} {old.means()[metric]:.4f} → {new.means()[metric]:.4f}"
    return Proof(name, bool(tripped), f"{change}; tripped: {', '.join(tripped) or 'none'}")


def _compared_gates(subject: Subject, new: Scores, old: Scores) -> list[GateResult]:
    given = GateInput("selftest", subject.settings, new, BaselineScores.of(old))
    return judge_gates(given)


def _tripped(gates: Iterable[GateResult]) -> Iterator[str]:
    return (gate.name for gate in gates if gate.verdict in ("failed", "error"))
