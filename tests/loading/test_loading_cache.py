"""The cache: same results, safe under races, harmless when broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_mcpeval import DataFileError
from pytest_mcpeval.loading import Limits, cache, load

CONTENT = "tests:\n  - id: one\n    deep: [1, 2.5, null, é]\n  - id: two\nother:\n  - [x]\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "suite.yaml"
    path.write_text(CONTENT)
    return path


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "made" / "on demand"


def entry(directory: Path) -> Path:
    (found,) = directory.iterdir()
    return found


def forbid_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("the file was parsed again")

    from pytest_mcpeval.loading import loader

    for suffix in loader.PARSERS:
        monkeypatch.setitem(loader.PARSERS, suffix, refuse)


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.yaml", CONTENT), ("b.json", '{"tests":\n[{"id": 1},\n{}]}'), ("c.jsonl", '[1]\n\n{"a": 2.5}')],
)
def test_a_cached_load_equals_the_first(
    tmp_path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    first = load(path, cache_directory=directory)
    forbid_parsing(monkeypatch)
    second = load(path, cache_directory=directory)
    assert (
        (second.data, second.digest) == (first.data, first.digest) == (load_plain(first.data), first.digest)
    )
    for keys in [(), ("tests", 0), ("tests", 1), (0,), (1,)]:
        assert second.line(*keys) == first.line(*keys)


def load_plain(data: object) -> object:
    return json.loads(json.dumps(data))


def test_the_entry_is_named_by_format_content_and_suffix(path: Path, directory: Path) -> None:
    document = load(path, cache_directory=directory)
    digest = document.digest.removeprefix("sha256:")
    assert entry(directory).name == f"{cache.FORMAT}-{digest}-yaml.json"


def test_the_same_bytes_mean_another_thing_under_another_suffix(tmp_path: Path, directory: Path) -> None:
    for name in ("a.json", "a.jsonl", "a.yaml"):
        (tmp_path / name).write_text("[1]")
    found = [
        load(tmp_path / name, cache_directory=directory).data for name in ("a.json", "a.jsonl", "a.yaml")
    ]
    assert found == [[1], [[1]], [1]]


def test_a_changed_file_is_parsed_again(path: Path, directory: Path) -> None:
    load(path, cache_directory=directory)
    path.write_text("- changed")
    assert load(path, cache_directory=directory).data == ["changed"]


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "not UTF-8": lambda content: b"\xff" + content,
    "a list": lambda content: b"[]",
    "null": lambda content: b"null",
    "no keys": lambda content: b"{}",
    "too deep": lambda content: b"[" * 100_000,
    "of another file": lambda content: content.replace(b'"entry":"1-', b'"entry":"1-0'),
    "no measures": lambda content: content.replace(b'"nodes":', b'"nodes":"x","n":'),
    "no lines": lambda content: content.replace(b'"rows":[]', b'"rows":3'),
    "other lines": lambda content: content.replace(b'"rows":[]', b'"more":[]'),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_entry_is_ignored_and_rewritten(
    path: Path, directory: Path, broken: Callable[[bytes], bytes]
) -> None:
    first = load(path, cache_directory=directory)
    good = entry(directory).read_bytes()
    bad = broken(good)
    assert bad != good
    entry(directory).write_bytes(bad)
    assert load(path, cache_directory=directory).data == first.data
    assert entry(directory).read_bytes() == good


def test_an_entry_is_replaced_not_overwritten(path: Path, directory: Path, tmp_path: Path) -> None:
    load(path, cache_directory=directory)
    entry(directory).write_bytes(b"broken")
    reader = tmp_path / "what a reader has open"
    os.link(entry(directory), reader)
    load(path, cache_directory=directory)
    assert reader.read_bytes() == b"broken"


def test_a_directory_that_cannot_be_made_is_no_error(path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert load(path, cache_directory=tmp_path / "file" / "below").data["tests"][1] == {"id": "two"}


def test_an_entry_that_cannot_be_replaced_leaves_nothing_behind(path: Path, directory: Path) -> None:
    load(path, cache_directory=directory)
    taken = entry(directory)
    taken.unlink()
    taken.mkdir()
    assert load(path, cache_directory=directory).data["tests"][1] == {"id": "two"}
    assert list(directory.iterdir()) == [taken]


def test_a_failed_load_is_not_cached(path: Path, directory: Path) -> None:
    path.write_text("a: 1\na: 2\n")
    for _ in range(2):
        with pytest.raises(DataFileError, match="duplicate key"):
            load(path, cache_directory=directory)
    assert not directory.exists()


@pytest.mark.parametrize("limits", [Limits(max_nodes=18), Limits(max_depth=3)])
def test_limits_hold_for_cached_loads(path: Path, directory: Path, limits: Limits) -> None:
    load(path, cache_directory=directory)
    with pytest.raises(DataFileError) as caught:
        load(path, cache_directory=directory, limits=limits)
    assert [problem.line for problem in caught.value.problems] in ([3], [6])


@pytest.mark.parametrize("content", ["a: [[[1]]]\nb: &b [1]", "a: &a [[[1]]]\nb: 1", "a: &a [[1]]\nb: [*a]"])
def test_the_depth_of_cached_loads_counts_anchors_and_aliases(
    path: Path, directory: Path, content: str
) -> None:
    path.write_text(content)
    load(path, cache_directory=directory, limits=Limits(max_depth=4))
    with pytest.raises(DataFileError, match="nests deeper than 3 levels"):
        load(path, cache_directory=directory, limits=Limits(max_depth=3))


def test_limits_that_just_fit_are_met_by_cached_loads(
    path: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(path, cache_directory=directory)
    forbid_parsing(monkeypatch)
    assert load(path, cache_directory=directory, limits=Limits(max_nodes=19, max_depth=4)).data["other"] == [
        ["x"]
    ]


def test_use_keeps_an_entry_and_disuse_removes_it(path: Path, directory: Path, tmp_path: Path) -> None:
    load(path, cache_directory=directory)
    used = entry(directory)
    unused = directory / "0-abc-yaml.json"
    abandoned = directory / f"{used.name}.k2j3h4"
    foreign = directory / "notes.txt"
    old = time.time() - cache.UNUSED_SECONDS - 60
    for name in (unused, abandoned, foreign):
        name.write_text("")
    for name in (used, unused, abandoned, foreign):
        os.utime(name, (old, old))
    load(path, cache_directory=directory)
    cache.remove_unused(directory, time.time() - cache.UNUSED_SECONDS)
    assert sorted(directory.iterdir()) == sorted([used, foreign])


def test_writing_removes_unused_entries(path: Path, directory: Path) -> None:
    directory.mkdir(parents=True)
    unused = directory / "0-abc-yaml.json"
    unused.write_text("")
    os.utime(unused, (0, 0))
    load(path, cache_directory=directory)
    assert not unused.exists()


RACE = """
import sys
from pathlib import Path
from pytest_mcpeval.loading import cache, load
path, directory = Path(sys.argv[1]), Path(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(40):
    document = load(path, cache_directory=directory)
    assert len(document.data["tests"]) == 200, document.data
    assert document.line("tests", 199) == 201
    cache.entry_path(directory, document.digest, ".yaml").unlink(missing_ok=True)
load(path, cache_directory=directory)
"""


def test_processes_race_for_one_entry(path: Path, directory: Path) -> None:
    path.write_text("tests:\n" + "".join(f"- id: case-{number}\n" for number in range(200)))
    command = [sys.executable, "-c", RACE, str(path), str(directory)]
    pipe = subprocess.PIPE
    racers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) for _ in range(4)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    assert [(racer.communicate()[1], racer.returncode) for racer in racers] == [("", 0)] * 4
    assert cache.fetch(entry(directory)) is not None
