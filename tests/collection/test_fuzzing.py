"""Spoilt data files of every kind end in errors about them."""

from __future__ import annotations

from pathlib import Path

from pytest_mcpeval import DataFileError
from tests.collection.fuzzing import Fuzzer


def test_the_files_are_good_before_they_are_spoilt(tmp_path: Path) -> None:
    fuzzer = Fuzzer(tmp_path, seed=1)
    counts = {}
    for name in fuzzer.files:
        if name != ".mcp.json":
            suite = fuzzer.runtime().suite(tmp_path / name)
            counts[name.removeprefix("datasets/")] = None if suite is None else len(suite.cases)
            fuzzer.load(name)
    assert counts == {
        **dict.fromkeys(["tools.json", "golden_base.json", "attacks_base.json"], None),
        **{"s.json": 2, "s.jsonl": 2, "s.yaml": 3, "golden.json": 2, "attacks.json": 2, "agent.yaml": 1},
        **{"t.scenarios.yaml": 2, "mcpeval.yaml": 1},
    }


def test_whatever_a_file_holds_loading_says_what_is_wrong_with_it(tmp_path: Path) -> None:
    fuzzer = Fuzzer(tmp_path, seed=20_260_131)
    failures = [failure for _ in range(1_500) if (failure := fuzzer.once()) is not None]
    assert not failures, failures[0]


def test_what_is_raised_besides_is_noticed(tmp_path: Path) -> None:
    fuzzer = Fuzzer(tmp_path, seed=1)
    runtime = fuzzer.runtime()

    class BrokenError(Exception):
        """What a loader must not raise."""

    def suite(path: Path) -> None:
        raise BrokenError if path.suffix == ".json" else DataFileError([])

    runtime.suite = suite  # type: ignore[method-assign]
    fuzzer.runtime = lambda: runtime  # type: ignore[method-assign]
    found = [failure for _ in range(50) if (failure := fuzzer.once()) is not None]
    assert found
    assert all("BrokenError" in failure for failure in found)
