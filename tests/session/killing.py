"""Runs an evaluation again and again, and kills it at every write: ``python -m tests.session.killing ROOT``.

A process that imported everything forks a child for each attempt. The child is killed before it puts the n-th
file in place, so that the one before is the last; a second child goes on with ``--mcpeval-resume``. What the
first one left, and what became of it, is printed as one JSON line for each attempt.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from pytest_mcpeval.cli.project import runtime_at
from pytest_mcpeval.kinds.session.options import SessionOptions
from pytest_mcpeval.plugin.runtime import Runtime
from pytest_mcpeval.servers.modules import imported

SESSION = "datasets/tiny.scenarios.yaml"


def evaluate(root: Path, options: SessionOptions) -> None:
    """Run every case of the session file, as a serial run of pytest does."""
    runtime = runtime_at(root)
    runtime = Runtime(replace(runtime.settings, options={"session": options}), runtime.kinds)
    suite = runtime.suite(root / SESSION)
    assert suite is not None
    kind = runtime.kinds[suite.kind]
    for case in suite.cases:
        kind.prepare(suite, case, runtime)
        sample = kind.judge(suite, case, kind.ask(suite, case, runtime), runtime)
        assert sample.outcome == "passed", sample.message


def killed_at(number: int) -> None:
    """Make this process die at its n-th atomic write."""
    put_in_place: Callable[..., None] = os.replace
    numbers = count(1)

    def dying(source: str, target: str) -> None:
        if next(numbers) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        put_in_place(source, target)

    os.replace = dying  # type: ignore[assignment]


def in_child(work: Callable[[], None]) -> int:
    """Do some work in a child; returns what `os.waitpid` says of it: 0, or the signal that killed it."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(100)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def attempt(root: Path, number: int) -> dict[str, Any]:
    """One evaluation that is killed at its n-th write, and gone on with."""
    shutil.rmtree(root / "mcp-evals", ignore_errors=True)

    def first() -> None:
        killed_at(number)
        evaluate(root, SessionOptions("one", run_id="first"))

    status = in_child(first)
    left = contents(root)
    resumed = in_child(lambda: evaluate(root, SessionOptions("one", resume=True, run_id="second")))
    return {"status": status, "left": left, "resumed": resumed, "finally": contents(root)}


def contents(root: Path) -> dict[str, str]:
    """File → text, of the evaluation."""
    folder = root / "mcp-evals" / "mcp-eval-one"
    names = ("state.json", "transcript.jsonl", "critic-output.md", "report.md")
    return {name: (folder / name).read_text() for name in names if (folder / name).exists()}


def import_what_children_need(root: Path) -> None:
    """Each child would import it anew; running an evaluation here would start threads, which forks lose."""
    listed = root / "modules.json"
    known = set(sys.modules)

    def rehearse() -> None:
        evaluate(root, SessionOptions("rehearsal", run_id="rehearsal"))
        listed.write_text(json.dumps(sorted({*sys.modules} - known)))

    assert in_child(rehearse) == 0
    imported("server:server", root)
    for name in json.loads(listed.read_text()):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def main(root: Path) -> None:
    """Kill at every write, until there is none left."""
    import_what_children_need(root)
    for number in count(1):
        found = attempt(root, number)
        print(json.dumps({"number": number, **found}), flush=True)
        if found["status"] == 0:
            break


if __name__ == "__main__":
    main(Path(sys.argv[1]))
