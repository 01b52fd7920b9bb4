"""Proof that the measurement can fail: a search is spoilt on purpose, and the gates have to notice. Pure."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_mcpeval.core.gate import SLACK, names
from pytest_mcpeval.core.proof import Proof
from pytest_mcpeval.kinds.retrieval.gate_input import BaselineScores, GateInput, GateSettings
from pytest_mcpeval.kinds.retrieval.gates import judge_gates
from pytest_mcpeval.kinds.retrieval.rankings import Ranking, relevant_of
from pytest_mcpeval.kinds.retrieval.slices import LabelledQuery

if TYPE_CHECKING:
    from pytest_mcpeval.kinds.retrieval.metrics import Scores

Tool = Mapping[str, Any]
"""A tool of a corpus: ``tool_id``, ``server``, ``tool``, ``description`` and perhaps ``schema``."""

Search = Callable[[str, int], Sequence[str]]
"""A query and how many results are wanted → tool ids, best first."""

OWN_INDEX = "an index without descriptions or schemas trips a gate"
REMOVALS = 10
SEED = 20_260_531


@dataclass(frozen=True)
class Judge:
    """The gates of a golden set, whose answers are ranked lists of up to ``depth`` tools."""

    depth: int
    settings: GateSettings

    def scores(self, rankings: Iterable[Ranking]) -> Scores:
        """Rankings, scored."""
        from pytest_mcpeval.kinds.retrieval.metrics import evaluate_many

        return evaluate_many(rankings, self.depth)

    def tripped(self, new: Scores, old: Scores) -> list[str]:
        """The gates that fail for some scores, with others as the baseline."""
        gates = judge_gates(GateInput("selftest", self.settings, new, BaselineScores.of(old)))
        return [gate.name for gate in gates if gate.verdict in ("failed", "error")]

    def noticed(self, name: str, spoilt: Iterable[Ranking], old: Scores) -> Proof:
        """Whether a gate fails for spoilt rankings."""
        new = self.scores(spoilt)
        tripped = self.tripped(new, old)
        metric = self.settings.lost_by
        change = f"{metric} {old.means()[metric]:.4f} → {new.means()[metric]:.4f}"
        return Proof(name, bool(tripped), f"{change}; tripped: {', '.join(tripped) or 'none'}")


@dataclass(frozen=True)
class Subject:
    """A golden set over a corpus, with a search that can be made anew over other tools."""

    queries: Sequence[LabelledQuery]
    tools: Sequence[Tool]
    build: Callable[[Sequence[Tool]], Search]
    depth: int
    settings: GateSettings = field(default_factory=GateSettings)

    @property
    def judge(self) -> Judge:
        """The gates of the set."""
        return Judge(self.depth, self.settings)

    def rankings(self, tools: Sequence[Tool]) -> list[Ranking]:
        """Every query, asked of a new search over some tools."""
        search = self.build(tools)
        return [_asked(search, query, self.depth) for query in self.queries]


@dataclass(frozen=True)
class Answers:
    """What a search answered to every query of a golden set, asked twice: its index is its own."""

    first: Sequence[Ranking]
    second: Sequence[Ranking]
    depth: int
    settings: GateSettings = field(default_factory=GateSettings)

    @property
    def judge(self) -> Judge:
        """The gates of the set."""
        return Judge(self.depth, self.settings)


def _asked(search: Search, query: LabelledQuery, depth: int) -> Ranking:
    return Ranking(query.id, list(search(query.text, depth)), query.labels)


def selftest(subject: Subject) -> list[Proof]:
    """Spoil a search in every way we know, and see whether the measurement and its gates notice."""
    rankings = subject.rankings(subject.tools)
    scores = subject.judge.scores(rankings)
    return [
        _unchanged(subject.judge, rankings, subject.rankings(subject.tools)),
        _removed(subject.judge, rankings, partial(_without_tools, subject)),
        _shuffled(subject.judge, rankings),
        _without_descriptions(subject, scores),
        _without_schemas(subject, rankings, scores),
    ]


def selftest_of_answers(answers: Answers) -> list[Proof]:
    """Spoil the answers of a search whose index is out of reach, and see whether the gates notice.

    Tools are taken out of its ranked lists, as if its index did not hold them; nothing moves up from below.
    """
    judge, rankings = answers.judge, answers.first
    scores = judge.scores(rankings)
    half = "answers without every second tool they name trip a gate"
    nothing = "a search that returns nothing trips a gate"
    return [
        _unchanged(judge, rankings, answers.second),
        _removed(judge, rankings, _stripped),
        _shuffled(judge, rankings),
        judge.noticed(half, _without_half(rankings), scores),
        judge.noticed(nothing, [one._replace(ranked=[]) for one in rankings], scores),
        Proof(OWN_INDEX, None, "its index is out of reach: rebuild it so yourself, and run the evals"),
    ]


def _unchanged(judge: Judge, rankings: Sequence[Ranking], again: Sequence[Ranking]) -> Proof:
    name = "an unchanged search reproduces its baseline"
    differing = [new.id for new, old in zip(again, rankings, strict=True) if new.ranked != old.ranked]
    if differing:
        hint = "to gate on the means of several runs, set `runs`"
        return Proof(
            name, False, f"{len(differing)} queries were ranked otherwise: {names(differing)}; {hint}"
        )
    old, new = judge.scores(rankings), judge.scores(again)
    if new.means() != old.means():
        return Proof(name, False, "the same rankings gave other metrics")
    tripped = judge.tripped(new, old)
    if tripped:
        return Proof(name, False, f"these gates fail all the same: {', '.join(tripped)}")
    return Proof(name, True, f"all metrics of {len(rankings)} queries are the same")


def _removed(judge: Judge, rankings: Sequence[Ranking], without_tools: Callable[[Ranking], Ranking]) -> Proof:
    name = "a query whose labelled tools are removed drops to 0"
    scores = judge.scores(rankings)
    found = {query for query, rank in zip(scores.ids, scores.first_rank.tolist(), strict=True) if rank}
    chosen = [ranking for ranking in rankings if ranking.id in found][:REMOVALS]
    if not chosen:
        return Proof(name, False, "no query finds a relevant tool, so none can be lost")
    kept = [one.id for one in chosen if max(judge.scores([without_tools(one)]).means().values()) > SLACK]
    if kept:
        return Proof(name, False, f"these still score: {names(kept)}")
    return Proof(name, True, f"tried with {len(chosen)} queries")


def _without_tools(subject: Subject, ranking: Ranking) -> Ranking:
    """A query, asked over the corpus without its relevant tools."""
    relevant = relevant_of(ranking.labels)
    search = subject.build([tool for tool in subject.tools if tool["tool_id"] not in relevant])
    (query,) = (query for query in subject.queries if query.id == ranking.id)
    return _asked(search, query, subject.depth)


def _stripped(ranking: Ranking) -> Ranking:
    """A ranked list without the relevant tools of its query."""
    relevant = relevant_of(ranking.labels)
    return ranking._replace(ranked=[tool for tool in ranking.ranked if tool not in relevant])


def _without_half(rankings: Sequence[Ranking]) -> list[Ranking]:
    """The lists without every second of the tools that are named anywhere, drawn with a fixed seed."""
    tools = sorted({tool for one in rankings for tool in one.ranked})
    gone = set(random.Random(SEED).sample(tools, len(tools) // 2))
    return [one._replace(ranked=[tool for tool in one.ranked if tool not in gone]) for one in rankings]


def _shuffled(judge: Judge, rankings: Sequence[Ranking]) -> Proof:
    chance = random.Random(SEED)
    mixed = [one._replace(ranked=chance.sample(one.ranked, len(one.ranked))) for one in rankings]
    name = "shuffled rankings trip a gate"
    old = judge.scores(rankings)
    if abs(judge.scores(mixed).values - old.values).max() <= SLACK:
        reason = "shuffling changes no metric of any query: lists of one tool, or without a relevant one"
        return Proof(name, None, reason)
    return judge.noticed(name, mixed, old)


def _without_descriptions(subject: Subject, scores: Scores) -> Proof:
    bare = [{**tool, "description": ""} for tool in subject.tools]
    name = "a corpus without descriptions trips a gate"
    return subject.judge.noticed(name, subject.rankings(bare), scores)


def _without_schemas(subject: Subject, rankings: Sequence[Ranking], scores: Scores) -> Proof:
    """Schemas may be ignored by a search, or do it harm: then this shows nothing."""
    bare = [{key: value for key, value in tool.items() if key != "schema"} for tool in subject.tools]
    new = subject.rankings(bare)
    name = "a corpus without schemas trips a gate"
    if all(one.ranked == old.ranked for one, old in zip(new, rankings, strict=True)):
        return Proof(name, None, "the search does not read schemas: every ranking is the same")
    proof = subject.judge.noticed(name, new, scores)
    return proof if proof.holds else replace(proof, holds=None)
