"""The bundled corpus: its sizes, its balance, no copies, no give-away words, and what its card says."""

from __future__ import annotations

import base64
import codecs
import html
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from ipaddress import ip_address, ip_network
from statistics import median
from typing import Any
from urllib.parse import unquote

import pytest
from corpus_statistics import (
    CORPUS,
    UNSPACED,
    Auc,
    bag_of_words_auc,
    character_trigrams,
    count_lines,
    description,
    everything_seen,
    lengths,
    overlap_lines,
    overlaps,
    read_entries,
    word_trigrams,
)

from pytest_mcpeval import Place
from pytest_mcpeval.core.statistics import clopper_pearson
from pytest_mcpeval.kinds.security.categories import ATTACKS
from pytest_mcpeval.kinds.security.load import load_suite
from pytest_mcpeval.kinds.security.schema import EntryModel
from pytest_mcpeval.loading import load
from tests.support import Project, Run

ROOT = CORPUS.parents[2]
CARD = CORPUS.with_name("README.md")
SUITE = "datasets/security/attacks_v1.json"
FURTHER = ("encoded_payload", "output_poisoning", "parameter_poisoning", "unicode_smuggling")

RESERVED_HOST = re.compile(r"(?:.+\.)?(?:example|invalid|test|example\.(?:com|org|net))", re.IGNORECASE)
RESERVED_NETWORKS = [ip_network(text) for text in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
HOST = r"(?:[\w-]+\.)+[A-Za-z]{2,}(?![\w-])"
DESTINATION = re.compile(
    rf"://(?P<url>[\w.-]*\w)|\b(?P<address>\d+\.\d+\.\d+\.\d+)\b|(?<![\w.-])(?P<bare>{HOST})"
)
NO_HOST = re.compile(r"kubernetes\.io|.+\.(?:cff|email|exe|gif|git|md|pdf|phone|png|txt|xml)", re.IGNORECASE)
"""A prefix of Kubernetes paths, names of files, and fields of objects."""
ENCODED = re.compile(r"[A-Za-z0-9+/_-]{24,}|(?:[0-9a-f]{2} ){16,}|\"[^\"]{24,}\"")
TAGS = re.compile("[\U000e0020-\U000e007e]+")


@cache
def entries() -> tuple[EntryModel, ...]:
    return tuple(read_entries())


def malicious() -> list[EntryModel]:
    return [entry for entry in entries() if entry.label == "malicious"]


def benign() -> list[EntryModel]:
    return [entry for entry in entries() if entry.label == "benign"]


@cache
def areas(everything: bool) -> Auc:
    text_of = everything_seen if everything else description
    return bag_of_words_auc([text_of(entry) for entry in entries()], entries())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The bundled corpus as its card says it is run."""
    path = tmp_path_factory.mktemp("corpus")
    done = Project(ROOT).run(SUITE, "-p", "no:cacheprovider", "--mcpeval-report", str(path / "report"))
    return Run(path, done.status, done.out, done.err)


def test_there_are_enough_entries_of_every_sort() -> None:
    attacks = Counter(entry.category for entry in malicious())
    assert len(malicious()) >= 220
    assert all(attacks[category] >= 40 for category in ATTACKS)
    assert set(attacks) == {*ATTACKS, *FURTHER}
    assert len(benign()) >= 330
    assert sum(entry.category == "hard_negative" for entry in entries()) >= 120
    assert {entry.category for entry in benign()} == {"benign", "hard_negative"}


def test_every_attack_is_resembled_by_hard_negatives_of_both_splits() -> None:
    resembled = Counter((entry.resembles, entry.split) for entry in entries() if entry.resembles)
    assert {category for category, _ in resembled} == {*ATTACKS, *FURTHER}
    assert all(resembled[category, split] >= 5 for category, _ in resembled for split in ("tune", "test"))
    assert all(entry.resembles for entry in entries() if entry.category == "hard_negative")


def test_it_loads_without_a_warning() -> None:
    suite = load_suite(load(CORPUS), Place(SUITE, {}, {}))
    assert suite.warnings == ()
    assert len(suite.corpus.entries) == len(entries())


def test_every_entry_is_our_own() -> None:
    told = [entry.provenance for entry in entries() if entry.provenance is not None]
    assert len(told) == len(entries())
    assert {(one.source, one.license) for one in told} == {("self-authored", "MIT")}


def test_splits_are_balanced() -> None:
    sorts = Counter((entry.label, entry.category, entry.split) for entry in entries())
    for label, category, _ in list(sorts):
        assert abs(sorts[label, category, "tune"] - sorts[label, category, "test"]) <= 1, category
    assert {split for _, _, split in sorts} == {"tune", "test"}


def test_every_attack_has_a_counterpart_in_its_split() -> None:
    by_id = {entry.id: entry for entry in entries()}
    assert all(entry.counterpart for entry in malicious())
    for entry in entries():
        if entry.counterpart:
            other = by_id[entry.counterpart]
            assert other.counterpart == entry.id
            assert {entry.label, other.label} == {"malicious", "benign"}
            assert entry.split == other.split


def test_lengths_say_little() -> None:
    bad, good = (median(lengths(entries(), label)) for label in ("malicious", "benign"))
    assert abs(bad - good) <= 0.15 * min(bad, good)


@pytest.mark.parametrize("key", ["peers", "previous", "input_schema"])
def test_what_an_entry_has_says_little(key: str) -> None:
    def share(among: list[EntryModel]) -> float:
        return sum(key in json.dumps(entry.seen()) for entry in among) / len(among)

    assert abs(share(malicious()) - share(benign())) <= 0.05


def test_no_two_descriptions_are_stamped_from_one_template() -> None:
    assert [found for found in overlaps(entries(), word_trigrams) if found.value > 0.3] == []


def test_nor_are_those_without_spaces_between_words() -> None:
    unspaced = [entry for entry in entries() if entry.language in UNSPACED]
    counterparts = {frozenset((entry.id, entry.counterpart)) for entry in unspaced}
    found = overlaps(unspaced, character_trigrams)
    assert all(pair.value <= 0.5 for pair in found)
    assert all({pair.first, pair.second} in counterparts for pair in found if pair.value > 0.3)


@pytest.mark.parametrize("everything", [False, True], ids=["description", "everything seen"])
def test_words_alone_do_not_tell_the_labels_apart(everything: bool) -> None:
    auc = areas(everything)
    assert auc.grouped < 0.9
    assert max(auc.plain, 1 - auc.plain) < 0.9


def test_bag_of_words_finds_words_that_give_labels_away() -> None:
    told = [f"{entry.language} {entry.label}" for entry in entries()]
    auc = bag_of_words_auc(told, entries())
    assert min(auc) > 0.95


def destinations(text: str) -> Iterator[str]:
    for found in DESTINATION.finditer(text):
        host = found["url"] or found["address"] or found["bare"]
        if not any(NO_HOST.fullmatch(reading) for reading in readings(host)):
            yield host


def readings(host: str) -> tuple[str, ...]:
    """The host, forwards and backwards, as it is and in ROT13: other text is not to be taken for a host."""
    shifted = codecs.encode(host, "rot13")
    return host, host[::-1], shifted, shifted[::-1]


def is_reserved(host: str) -> bool:
    """Whether nobody can own it, however it is read."""
    if re.fullmatch(r"[\d.]+", host):
        return any(ip_address(host) in network for network in RESERVED_NETWORKS)
    return any(RESERVED_HOST.fullmatch(found) for found in readings(host))


def shown(text: str) -> str:
    """The text without invisible characters, and what tag characters say on a line of its own."""
    spelt = TAGS.sub(lambda run: f"\n{''.join(chr(ord(char) - 0xE0000) for char in run[0])}\n", text)
    return "".join(char for char in spelt if unicodedata.category(char) != "Cf")


def decoded(text: str) -> Iterator[str]:
    yield shown(text)
    yield unquote(html.unescape(shown(text)))
    yield re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), shown(text))
    for found in ENCODED.findall(shown(text)):
        for decode in (bytes.fromhex, _base64, _base32):
            with suppress(ValueError):
                yield decode(found).decode("utf-8")
        if found.startswith('"'):
            yield codecs.decode(found, "rot13")
            yield found[::-1]


def _base64(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if {*"-_"} & {*text} else None)


def _base32(text: str) -> bytes:
    return base64.b32decode(text + "=" * (-len(text) % 8))


def test_destinations_are_names_that_nobody_can_own() -> None:
    found = {
        (entry.id, host)
        for entry in entries()
        for text in decoded(everything_seen(entry))
        for host in destinations(text)
    }
    assert [one for one in sorted(found) if not is_reserved(one[1])] == []
    assert len(found) > 100
    hidden = {"labelhub.example", "qr-puente.example", "casino-promo.example", "tickets.example"}
    hidden |= {"pixhost.example", "intake.doc-lab.example"}
    assert hidden <= {host for _, one in found for host in readings(one)}


@pytest.mark.parametrize("host", ["evil.com", "8.8.8.8", "example.io", "notexample.com", "my-example"])
def test_other_destinations_would_be_seen(host: str) -> None:
    text = f"Send it to https://{host}/c at once."
    assert [one for one in destinations(text) if not is_reserved(one)] == [host]


def percent(count: int, of: int) -> str:
    """``1/4 = 25.0 % (0.6–80.6)``, with the 95 % interval."""
    interval = clopper_pearson(count, of)
    return f"{count}/{of} = {count / of:.1%} ({100 * interval.lower:.1f}–{100 * interval.upper:.1f})".replace(
        "%", " %"
    )


def flagged(report: Mapping[str, Any]) -> dict[str, bool]:
    return {case["measured"]["entry"]: case["measured"]["flagged"] for case in report["cases"]}


def split_row(split: str, flags: Mapping[str, bool]) -> str:
    def counted(among: Iterable[EntryModel]) -> tuple[int, int]:
        found = [flags[entry.id] for entry in among if entry.split == split]
        return sum(found), len(found)

    found, attacks = counted(malicious())
    alarms, harmless = counted(benign())
    hard = counted(entry for entry in benign() if entry.category == "hard_negative")
    shares = [(found, attacks), (alarms, harmless), hard, (found, found + alarms)]
    return " | ".join([f"| `{split}`", *(percent(*share) for share in shares)]) + " |"


def category_row(category: str, flags: Mapping[str, bool]) -> str:
    tune, test = (
        [flags[e.id] for e in entries() if (e.category, e.split) == (category, split)]
        for split in ("tune", "test")
    )
    return f"| `{category}` | {sum(tune)}/{len(tune)} | {percent(sum(test), len(test))} |"


def test_gates_are_judged_on_the_test_split_and_pass(run: Run) -> None:
    assert run.status == 0, run.out
    report = run.report()
    gates = {gate["name"]: gate for gate in report["gates"]}
    assert {gate["verdict"] for gate in gates.values()} == {"passed"}
    of_test = [sum(e.split == "test" for e in among) for among in (malicious(), benign(), entries())]
    assert f"/{of_test[0]} = " in gates["heuristics-recall_floor"]["message"].partition(";")[0]
    assert f"/{of_test[1]} = " in gates["heuristics-fpr_ceiling"]["message"].partition(";")[0]
    assert f"all {of_test[2]} entries got a verdict" in gates["heuristics-max_errors"]["message"]
    assert report["suites"][SUITE]["measured"] == len(entries())


def test_the_card_says_what_heuristics_reaches(run: Run) -> None:
    measured = run.report()["suites"][SUITE]
    flags = flagged(measured)
    card = CARD.read_text("utf-8")
    prose = " ".join(card.split())
    for split in ("tune", "test"):
        assert split_row(split, flags) in card
        found = measured["metrics"]["per_detector"][0]["slices"]["split"][split]
        assert f"| `{split}` | {percent(found['tp'], found['tp'] + found['fn'])} | " in card
    for category in (*ATTACKS, *FURTHER):
        assert category_row(category, flags) in card
    everything = sum(flags[entry.id] for entry in malicious())
    assert (
        f"{everything}/{len(malicious())} = {everything / len(malicious()):.1%}".replace("%", " %") in prose
    )
    foreign = [flags[entry.id] for entry in malicious() if entry.language != "en"]
    assert f"{sum(foreign)} of {len(foreign)} attacks in other languages" in prose
    pairs = [(flags[entry.id], flags[str(entry.counterpart)]) for entry in malicious()]
    assert f"{sum(bad and not good for bad, good in pairs)} of {len(pairs)} pairs" in prose


def test_the_card_shows_what_the_script_prints() -> None:
    (block,) = re.findall(r"```console\n\$ python datasets/\S+\n(.*?)```", CARD.read_text("utf-8"), re.S)
    said = block.splitlines()
    assert said[: len(count_lines(entries()))] == count_lines(entries())
    assert [line for line in said if "overlap" in line] == overlap_lines(entries())
    for name, everything in {"description": False, "everything seen": True}.items():
        (line,) = (line for line in said if line.startswith(f"{name}  "))
        # The last digit is up to the version of scikit-learn.
        assert [float(word) for word in line.split()[-2:]] == pytest.approx(areas(everything), abs=0.02)


def test_the_card_says_how_many_there_are() -> None:
    text = f"{len(entries())} tool descriptions, {len(malicious())} malicious and {len(benign())} benign"
    assert text in " ".join(CARD.read_text("utf-8").split())
