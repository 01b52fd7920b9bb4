"""Corpora and recorded verdicts as files: every shape that is read, and every problem with its line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import DataFileError, Place
from pytest_mcpeval.kinds.security.kind import SecurityKind
from pytest_mcpeval.kinds.security.load import load_suite
from pytest_mcpeval.kinds.security.schema import SecuritySettings
from pytest_mcpeval.kinds.security.spec import SecuritySuite
from pytest_mcpeval.loading import load
from pytest_mcpeval.servers import ServerDefinition

CORPUS = """\
version: v1
generated_from: by hand
__reviewed: true
entries:
- id: tp_1
  description: Reads a file, and ~/.ssh too.
  label: malicious
  category: tool_poisoning
  provenance: {source: self-authored, license: MIT, url: "https://x.example"}
- id: hn_tool_poisoning_1
  label: benign
  category: hard_negative
  provenance: {source: self-authored, license: mit}
  server: files
  tool: {name: read, description: Reads files., inputSchema: {type: object}}
  peers:
  - {server: mail, tool: send, description: Sends.}
  - {server: git, tool: {name: log, description: Shows.}}
  - {server: web, name: get}
  previous: Reads.
- id: bn_1
  description: Adds numbers.
  label: benign
  category: arithmetic
  provenance: {source: registry, license: Apache-2.0}
  split: test
  language: en
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a corpus with texts replaced: ``write({"old": "new"})``; returns its path."""

    def file(replaced: dict[str, str] | None = None, more: str = "") -> Path:
        text = CORPUS + more
        for old, new in (replaced or {}).items():
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "attacks.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return file


def suite(path: Path, settings: dict[str, Any] | None = None, **place: Any) -> SecuritySuite:
    checked = SecuritySettings.model_validate(settings or {})
    given = {name: getattr(checked, name) for name in checked.model_fields_set}
    return load_suite(load(path), Place("attacks.yaml", given, place.pop("servers", {}), **place))


def problems(path: Path, settings: dict[str, Any] | None = None, **place: Any) -> list[tuple[int, str]]:
    with pytest.raises(DataFileError) as raised:
        suite(path, settings, **place)
    return [(problem.line, problem.message) for problem in raised.value.problems]


def test_both_shapes_are_read(write: Write) -> None:
    loaded = suite(write())
    first, second, third = loaded.corpus.entries
    assert first.seen == {"description": "Reads a file, and ~/.ssh too."}
    assert (first.source, first.license, first.is_malicious) == ("self-authored", "MIT", True)
    assert second.seen == {
        "description": "Reads files.",
        "server": "files",
        "tool": {"name": "read", "description": "Reads files.", "input_schema": {"type": "object"}},
        "peers": [
            {"server": "mail", "tool": "send", "description": "Sends."},
            {"server": "git", "tool": "log", "description": "Shows."},
            {"server": "web", "tool": "get", "description": ""},
        ],
        "previous": "Reads.",
    }
    assert second.resembles == "tool_poisoning"
    assert (third.category, third.split, third.language) == ("arithmetic", "test", "en")
    assert loaded.corpus.version == "v1"
    assert loaded.warnings == ()
    assert [case.id for case in loaded.cases] == [
        "heuristics-tp_1",
        "heuristics-hn_tool_poisoning_1",
        "heuristics-bn_1",
    ]
    assert loaded.cases[1].traits == {
        "tags": ("hard_negative", "like-tool_poisoning"),
        "detector": "heuristics",
        "label": "benign",
    }


def test_kinds_of_documents_are_told_apart() -> None:
    detect = SecurityKind().detect
    assert detect({"entries": []}) == "suite"
    assert detect({"detectors": ["a"], "entries": [{"id": "x", "verdicts": []}]}) == "support"
    assert detect({"tests": []}) is None
    row = {"id": "x", "label": "benign", "provenance": {}, "verdicts": []}
    mapping = {"heuristics": "heuristics"}
    for corpus in (
        {"detectors": mapping, "entries": []},
        {"detectors": mapping, "entries": [row]},
        {"detectors": ["a"], "entries": []},
        {"detectors": ["a"], "entries": [{"id": "y", "verdicts": []}, row]},
    ):
        assert detect(corpus) == "suite", corpus


@pytest.mark.parametrize(
    ("replaced", "expected"),
    [
        ({"  label: malicious\n": ""}, (5, 'entries[0]: missing required key "label"')),
        ({"  category: tool_poisoning\n": ""}, (5, 'entries[0]: missing required key "category"')),
        (
            {'  provenance: {source: self-authored, license: MIT, url: "https://x.example"}\n': ""},
            (5, 'entries[0]: missing required key "provenance"'),
        ),
        ({", license: MIT": ""}, (9, 'entries[0].provenance: missing required key "license"')),
        (
            {"license: Apache-2.0": "license: CC-BY-NC-4.0"},
            (
                25,
                'provenance.license: "CC-BY-NC-4.0" is not known to allow redistribution (did you mean '
                '"CC-BY-4.0"?): do not put such a corpus into the repository, but name it as an external '
                "benchmark; or add the licence to `licenses` in mcpeval.yaml",
            ),
        ),
        ({"id: bn_1": "id: tp_1"}, (21, "duplicate id 'tp_1': first used on line 5; rename one")),
        (
            {"Adds numbers.": "Reads a file, and ~/.ssh too."},
            (
                21,
                '"bn_1" is the same as "tp_1" on line 5 in everything a detector sees: remove one',
            ),
        ),
        (
            {"label: malicious": "label: benign"},
            (
                8,
                'category: "tool_poisoning" is an attack, but the label is benign: a harmless entry '
                "that looks like one has the category hard_negative and `resembles: tool_poisoning`",
            ),
        ),
        (
            {"category: tool_poisoning": "category: benign"},
            (8, 'category: "benign" is for benign entries, but the label is malicious'),
        ),
        (
            {"language: en": "resembles: x"},
            (27, "resembles: is for entries of the category hard_negative"),
        ),
        (
            {"language: en": "langauge: en"},
            (27, 'entries[2]: unknown key "langauge" (did you mean "language"?)'),
        ),
        (
            {"  description: Adds numbers.\n": ""},
            (
                21,
                "entries[2]: there is nothing that a detector could see: expected a `description` or a "
                "`tool`",
            ),
        ),
        (
            {"- {server: web, name: get}": "- {server: web}"},
            (19, "entries[1].peers[2]: a peer is named once: by `tool`"),
        ),
        (
            {"{server: git, tool": "{server: git, description: Hides., tool"},
            (18, "entries[1].peers[1]: `description` and that of `tool` differ: a detector would see two"),
        ),
        (
            {"git, tool: {": "git, inputSchema: {}, tool: {inputSchema: {type: object}, "},
            (18, "entries[1].peers[1]: `input_schema` and that of `tool` differ: a detector would see two"),
        ),
    ],
)
def test_problems_of_a_corpus(write: Write, replaced: dict[str, str], expected: tuple[int, str]) -> None:
    assert expected in problems(write(replaced))


def test_a_corpus_needs_both_labels(write: Write) -> None:
    malicious = {"label: benign": "label: malicious", "category: hard_negative": "category: other"}
    assert (4, "no entry has the label benign, so there is no false-positive rate: add some") in problems(
        write(malicious)
    )
    only_test = problems(write(), {"split": "test"}, origins={"split": "mcpeval.yaml:3"})
    assert only_test[0][1].endswith(
        "so there is no recall: add some, or set `fpr_only: true` to measure false alarms alone; `split` "
        "comes from mcpeval.yaml:3"
    )


BENIGN_ONLY = """\
version: 1
__about: kept as it is
entries:
- id: bn_1
  label: benign
  category: benign
  description: null
  tool: {name: add, input_schema: null}
  notes: null
  __reviewed: true
  provenance: {source: self-authored, license: self-authored}
- {id: bn_2, label: benign, tool: multiply}
- {id: bn_3, label: benign, description: Divides., provenance: {source: x, license: Apache 2.0}}
"""


def test_corpora_of_others_load_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "benign.yaml"
    path.write_text(BENIGN_ONLY, encoding="utf-8")
    found = suite(path, {"fpr_only": True})
    assert found.warnings == ()
    assert [entry.seen for entry in found.corpus.entries] == [
        {"description": "", "tool": {"name": "add", "description": ""}},
        {"description": "", "tool": {"name": "multiply", "description": ""}},
        {"description": "Divides."},
    ]
    assert [(one.category, one.license) for one in found.corpus.entries] == [
        ("benign", "self-authored"),
        ("benign", ""),
        ("benign", "Apache 2.0"),
    ]
    path.write_text(BENIGN_ONLY.replace("license: self-authored", "license: Self_Authored"), encoding="utf-8")
    assert len(suite(path, {"fpr_only": True}).cases) == 3


def test_recall_is_not_asked_for_where_it_is_not_measured(write: Write, tmp_path: Path) -> None:
    assert problems(write(), {"fpr_only": True}) == [
        (1, 'fpr_only: "tp_1" is malicious, and then recall is measured: remove `fpr_only`')
    ]
    path = tmp_path / "benign.yaml"
    path.write_text(BENIGN_ONLY, encoding="utf-8")
    wanted = {"fpr_only": True, "gates": {"recall_floor": 0.5, "detectors": {"heuristics": {}}}}
    (problem,) = problems(path, wanted)
    assert problem[1] == "gates.recall_floor: recall is not measured with `fpr_only`: remove it"


def test_an_attack_that_no_hard_negative_resembles_is_a_warning(write: Write) -> None:
    warning, other = suite(write({"hn_tool_poisoning_1": "hn_other_1"})).warnings
    assert warning.startswith("no hard negative resembles tool_poisoning: false alarms on texts that look")
    assert other.startswith('"hn_other_1" resembles "other", but no malicious entry has that category')


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"detectors": {"a": {"mcp": {"server": "scan", "tool": "x"}}}},
            'unknown server "scan" (defined: files)',
        ),
        ({"gates": {"detectors": {"mine": {}}}}, 'there is no detector "mine": expected "heuristics"'),
        (
            {"gates": {"category_floors": {"shadowing": 0.1}}},
            'gates.category_floors: no malicious entry has the category "shadowing"',
        ),
        ({"gates": {"max_errors": 3}}, "gates.max_errors: any value meets 3, so the gate could not fail"),
        ({"gates": {"max_newly_missed": 1}}, "gates.max_newly_missed: any value meets 1, so the gate could"),
        (
            {"gates": {"detectors": {"heuristics": {"max_new_false_alarms": 9}}}},
            "gates.detectors.heuristics.max_new_false_alarms: any value meets 9, so the gate could not fail",
        ),
        ({"detectors": {"a": "heuristics", "a-tp": "heuristics"}}, "make the same item name: rename one"),
        ({"detectors": {"a": {"verdicts": "nowhere.json"}}}, "there is no such file of recorded verdicts"),
    ],
)
def test_settings_that_do_not_fit_the_corpus(write: Write, settings: dict[str, Any], message: str) -> None:
    path = write(
        {"id: tp_1": "id: tp-tp_1", "id: bn_1": "id: tp_1"} if "a-tp" in settings.get("detectors", {}) else {}
    )
    servers = {"files": ServerDefinition("files", "stdio", command="x")}
    assert any(message in text for _, text in problems(path, settings, servers=servers))


@pytest.mark.parametrize(
    ("detector", "message"),
    [
        ("heuristic", "expected heuristics, python:pkg.mod:function, fixture:name, command:… or a mapping"),
        ("http", "`http` needs options: write a mapping, such as `detector: {http: …}`"),
        ({"python": "x"}, 'expected a function, such as pkg.mod:function, found "x"'),
        ({"heuristics": {"without": ["hidden"]}}, 'is not a rule (did you mean "hidden_unicode"?)'),
        ({"python": "a:b", "fixture": "c"}, "needs exactly one of heuristics, verdicts, python"),
        ({"mcp": {"server": "s", "tool": "t", "arguments": {"x": 1}}}, "so every request is the same"),
        (
            {"command": ["x"], "takes_lists": True},
            "`takes_lists` is for functions, and this detector is command",
        ),
        (
            {"python": "a:b", "recorded_as": "x"},
            "`recorded_as` is for `verdicts`, and this detector is python",
        ),
    ],
)
def test_problems_of_detectors(write: Write, detector: Any, message: str) -> None:
    path = write({"version: v1": f"version: v1\ndetectors: {json.dumps({'a': detector})}"})
    assert any(message in text for _, text in problems(path))


RECORDED = {
    "detectors": ["scan", {"id": "other"}],
    "entries": [
        {"id": name, "verdicts": [{"detector": "scan", "flagged": name == "tp_1", "max_severity": "high",
                                   "detections": [{"rule_id": "R1", "message": "bad", "start": 0, "end": 5}]},
                                  {"detector": "other", "flagged": False}]}
        for name in ("tp_1", "hn_tool_poisoning_1", "bn_1")
    ],
}  # fmt: skip


def recorded(tmp_path: Path, change: Callable[[Any], None] = lambda _: None, name: str = "r.json") -> None:
    data = json.loads(json.dumps(RECORDED))
    change(data)
    (tmp_path / name).write_text(json.dumps(data, indent=1))


def test_recorded_verdicts_stand_in_for_a_detector(write: Write, tmp_path: Path) -> None:
    recorded(tmp_path)
    path = write({"version: v1": "detectors: {mine: {verdicts: r.json, recorded_as: scan}}"})
    loaded = suite(path)
    assert loaded.recorded["mine"][0]["tp_1"]["flagged"] is True
    assert loaded.runs == 1
    recorded(tmp_path, name="r2.json")
    several = {"version: v1": "detectors: {scan: {verdicts: [r.json, r2.json]}, h: heuristics}"}
    assert suite(write(several)).runs == 2
    three = {"version: v1": "runs: 3\ndetectors: {scan: {verdicts: [r.json, r2.json]}}"}
    assert (
        "one file of verdicts for each run is needed, and scan has 2; `runs` is 3"
        in problems(write(three))[0][1]
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["entries"].pop(), "no verdict for 1 of 3 entries of attacks.yaml: bn_1"),
        (lambda d: d["entries"].append(d["entries"][0]), 'duplicate id "tp_1": first used on line'),
        (lambda d: d["entries"][0].update(id="x"), '"x" is not an entry of attacks.yaml'),
        (lambda d: d["entries"][1].update(verdicts=[]), '"hn_tool_poisoning_1" has no verdict of "scan"'),
        (lambda d: d.update(detectors=["sacn"]), 'there are no verdicts of "scan" (did you mean "sacn"?)'),
        (lambda d: d["entries"][0]["verdicts"][0].pop("flagged"), 'missing required key "flagged"'),
        (lambda d: d["entries"][0]["verdicts"][0].update(flagged="yes"), 'true or false, found "yes"'),
        (lambda d: d["entries"][0]["verdicts"][0].update(flagged=1), "expected true or false, found 1"),
    ],
)
def test_problems_of_recorded_verdicts(
    write: Write, tmp_path: Path, change: Callable[[Any], None], message: str
) -> None:
    recorded(tmp_path, change)
    path = write({"version: v1": "detectors: {scan: {verdicts: r.json}}"})
    assert any(message in text for _, text in problems(path))


def test_a_corpus_cannot_allow_its_own_licence(write: Write) -> None:
    path = write(
        {"version: v1": "licenses: [Apache-2.0, MIT, Proprietary]", "license: MIT": "license: Proprietary"}
    )
    assert any('a corpus cannot allow "Proprietary" itself' in text for _, text in problems(path))
    narrower = write({"version: v1": "licenses: [MIT, Apache-2.0]"})
    assert len(suite(narrower).corpus.entries) == 3


def test_spaces_the_order_of_peers_and_empty_lists_make_no_difference(write: Write) -> None:
    twin = """\
- id: bn_2
  description: "Adds   numbers.\\n"
  label: benign
  category: arithmetic
  provenance: {source: registry, license: MIT}
  peers: []
"""
    assert any('"bn_2" is the same as "bn_1"' in text for _, text in problems(write(more=twin)))
    peers = ["{server: a, tool: x, description: X.}", "{server: b, tool: y, description: Y.}"]
    rows = [
        f"- {{id: p_{number}, description: Same., label: benign, category: benign, "
        f"provenance: {{source: s, license: MIT}}, peers: [{', '.join(order)}]}}\n"
        for number, order in enumerate((peers, peers[::-1]))
    ]
    assert any('"p_1" is the same as "p_0"' in text for _, text in problems(write(more="".join(rows))))


def test_a_misspelt_attack_that_is_resembled_is_warned_of(write: Write) -> None:
    path = write({"id: hn_tool_poisoning_1": "id: hn_tool_poisonning_1"})
    warned = " ".join(suite(path).warnings)
    assert '"hn_tool_poisonning_1" resembles "tool_poisonning", but no malicious entry has that' in warned
    assert 'did you mean "tool_poisoning"?' in warned
    assert "resembles" not in " ".join(suite(write()).warnings)
