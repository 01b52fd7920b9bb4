"""What the security corpus consists of, and how far words alone tell its labels apart.

python datasets/security/corpus_statistics.py
"""

# Not `statistics.py`: as a script it would stand in for the standard library's module of that name.
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from pytest_mcpeval.kinds.retrieval.words import words
from pytest_mcpeval.kinds.security.schema import EntryModel

CORPUS = Path(__file__).with_name("attacks_v1.json")
Trigrams = Callable[[str], frozenset[tuple[str, ...]]]

LABELS = ("malicious", "benign")
FOLDS, SEED = 5, 0

UNSPACED = ("ja", "zh")
"""Languages without spaces between words, whose word trigrams say nothing."""


class Overlap(NamedTuple):
    """Two entries, and the Jaccard index of their descriptions' trigrams: 0 nothing shared, 1 the same."""

    value: float
    first: str
    second: str


class Auc(NamedTuple):
    """Areas under the ROC curve, mean of the folds: 0.5 is guessing, and 0 is as telling as 1.

    ``plain``: folds drawn entry by entry. ``grouped``: an entry and its counterpart are in one fold.
    """

    plain: float
    grouped: float


def read_entries(path: Path = CORPUS) -> list[EntryModel]:
    """The entries of a corpus, in the order of the file.

    Raises:
        pydantic.ValidationError: An entry is not as the corpus format has it.
    """
    return [EntryModel.model_validate(entry) for entry in json.loads(path.read_text("utf-8"))["entries"]]


def description(entry: EntryModel) -> str:
    """The description that is judged."""
    return str(entry.seen()["description"])


def everything_seen(entry: EntryModel) -> str:
    """Every text that a detector is given, keys of the schema included, the description once."""
    seen = entry.seen()
    tool = {name: value for name, value in seen.get("tool", {}).items() if name != "description"}
    return "\n".join(_texts({**seen, "tool": tool}))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif value is not None:
        yield str(value)


def word_trigrams(text: str) -> frozenset[tuple[str, ...]]:
    """The trigrams of a text's words, folded."""
    said = words(text)
    return frozenset(zip(said, said[1:], said[2:], strict=False))


def character_trigrams(text: str) -> frozenset[tuple[str, ...]]:
    """The trigrams of a text's letters and digits, folded: for texts without spaces."""
    said = "".join(words(text))
    return frozenset(zip(said, said[1:], said[2:], strict=False))


def overlaps(entries: Sequence[EntryModel], trigrams: Trigrams) -> list[Overlap]:
    """Every pair of entries whose descriptions share trigrams, the most alike first."""
    grams = [(entry.id, trigrams(description(entry))) for entry in entries]
    found = (
        Overlap(len(one & other) / len(one | other), a, b)
        for (a, one), (b, other) in combinations(grams, 2)
        if not one.isdisjoint(other)
    )
    return sorted(found, key=lambda overlap: (-overlap.value, overlap.first, overlap.second))


def bag_of_words_auc(texts: Sequence[str], entries: Sequence[EntryModel]) -> Auc:
    """Logistic regression on tf-idf of word 1- and 2-grams, 5-fold cross-validated with a fixed seed.

    The grouped area is the one that says something: in plain folds an entry's counterpart, with the same
    words and the other label, is mostly in the training folds and pulls the prediction the wrong way.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
    from sklearn.model_selection import (  # type: ignore[import-untyped]
        StratifiedGroupKFold,
        StratifiedKFold,
        cross_val_score,
    )
    from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]

    model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression(max_iter=3000))
    labels = [entry.label == "malicious" for entry in entries]
    pairs = [min(entry.id, entry.counterpart or entry.id) for entry in entries]
    folds = {"n_splits": FOLDS, "shuffle": True, "random_state": SEED}

    def area(splitter: Any, groups: Sequence[str] | None) -> float:
        scores = cross_val_score(model, texts, labels, groups=groups, cv=splitter, scoring="roc_auc")
        return float(scores.mean())

    return Auc(area(StratifiedKFold(**folds), None), area(StratifiedGroupKFold(**folds), pairs))


def lengths(entries: Sequence[EntryModel], label: str) -> list[int]:
    """The lengths of the descriptions of a label, in characters."""
    return [len(description(entry)) for entry in entries if entry.label == label]


def count_lines(entries: Sequence[EntryModel]) -> list[str]:
    """Everything that is counted, as lines of text."""
    return [
        *_category_lines(entries),
        "",
        *_label_lines(entries),
        "",
        *_language_lines(entries),
    ]


def _category_lines(entries: Sequence[EntryModel]) -> Iterator[str]:
    yield f"{'category':<30}{'tune':>6}{'test':>6}{'all':>6}"
    rows = Counter[tuple[str, str]]()
    for entry in entries:
        for name in (entry.label, f"  {entry.category}", *_resembled(entry), "all"):
            rows[name, str(entry.split)] += 1
    names = dict.fromkeys(name for name, _ in rows)
    # The rows of a label follow it, as its entries do in the file; the sum comes last.
    for name in sorted(names, key=lambda name: name == "all"):
        tune, test = rows[name, "tune"], rows[name, "test"]
        yield f"{name:<30}{tune:>6}{test:>6}{tune + test:>6}"


def _resembled(entry: EntryModel) -> list[str]:
    return [f"    like {entry.resembles}"] if entry.resembles else []


def _label_lines(entries: Sequence[EntryModel]) -> Iterator[str]:
    yield f"{'':<30}{'malicious':>11}{'benign':>8}"
    has: dict[str, Callable[[EntryModel], object]] = {
        "with a counterpart": lambda entry: entry.counterpart,
        "with peers": lambda entry: entry.peers,
        "with a previous description": lambda entry: entry.previous,
        "with an input schema": lambda entry: "input_schema" in entry.seen().get("tool", {}),
        "not in English": lambda entry: entry.language != "en",
    }
    for name, holds in has.items():
        bad, good = (sum(bool(holds(e)) for e in entries if e.label == label) for label in LABELS)
        yield f"{name:<30}{bad:>11}{good:>8}"
    measures: dict[str, Callable[[list[int]], float]] = {"shortest": min, "median": median, "longest": max}
    for name, measure in measures.items():
        bad, good = (round(measure(lengths(entries, label))) for label in LABELS)
        yield f"{f'characters, {name}':<30}{bad:>11}{good:>8}"


def _language_lines(entries: Sequence[EntryModel]) -> Iterator[str]:
    counted = {label: Counter(str(e.language) for e in entries if e.label == label) for label in LABELS}
    both = counted["malicious"] + counted["benign"]
    yield "languages (malicious + benign)"
    told = [
        f"{name} {counted['malicious'][name]} + {counted['benign'][name]}"
        for name, _ in sorted(both.items(), key=lambda found: (-found[1], found[0]))
    ]
    for start in range(0, len(told), 6):
        yield "  " + ", ".join(told[start : start + 6])


def overlap_lines(entries: Sequence[EntryModel]) -> list[str]:
    """The most alike pairs of descriptions, as lines of text."""
    unspaced = [entry for entry in entries if entry.language in UNSPACED]
    most = {
        "words": overlaps(entries, word_trigrams)[0],
        "characters, ja and zh": overlaps(unspaced, character_trigrams)[0],
    }
    return [
        f"highest overlap of trigrams ({of}): {found.value:.2f} ({found.first}, {found.second})"
        for of, found in most.items()
    ]


def auc_lines(entries: Sequence[EntryModel]) -> Iterator[str]:
    """How far words tell the labels apart, as lines of text."""
    yield f"{'bag of words, AUC':<30}{'plain':>7}{'grouped':>9}"
    for name, text_of in {"description": description, "everything seen": everything_seen}.items():
        auc = bag_of_words_auc([text_of(entry) for entry in entries], entries)
        yield f"{name:<30}{auc.plain:>7.2f}{auc.grouped:>9.2f}"


def main() -> None:
    """Print it all."""
    entries = read_entries()
    print("\n".join([*count_lines(entries), "", *overlap_lines(entries), "", *auc_lines(entries)]))


if __name__ == "__main__":
    main()
