"""``shard.json``: what a run that is a part of another one found out, for ``pytest-mcpeval merge``."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from pytest_mcpeval.core.baseline import digest_of
from pytest_mcpeval.core.judging_input import SessionState, SuiteRun
from pytest_mcpeval.core.sample import to_json

if TYPE_CHECKING:
    from pytest_mcpeval.config.settings import Settings

SHARD_FILE = "shard.json"
SHARD_FORMAT: Literal[1] = 1
LONGEST_PATH = 1000
DATA_SUFFIXES = frozenset({".json", ".jsonl", ".yaml", ".yml"})


class TimesModel(BaseModel):
    """When a shard was run: an ISO time, and for how long."""

    started: str
    seconds: float


class ShardModel(BaseModel):
    """The file, behind the ``digest`` of all this. ``samples`` are those of all cases, as plain data.

    ``selected`` maps suites to the cases that were to run, ``inputs`` to what they depend on (see `inputs`).
    """

    mcpeval_shard: Literal[1] = SHARD_FORMAT
    version: str
    options: list[str]
    rootdir: str
    selected: dict[str, list[str]]
    inputs: dict[str, dict[str, str]]
    state: SessionState
    samples: list[dict[str, Any]]
    run: TimesModel


def text(
    suites: Sequence[SuiteRun],
    state: SessionState,
    settings: Settings,
    started: str,
    seconds: float,
) -> str:
    """The file; ``started`` is an ISO time."""
    from pytest_mcpeval import __version__

    found = ShardModel(
        version=__version__,
        options=list(settings.measuring_options),
        rootdir=str(settings.rootdir),
        selected={one.selection.suite: list(one.selection.selected) for one in suites},
        inputs={one.selection.suite: inputs(one, settings.rootdir) for one in suites},
        state=state,
        samples=[sample.as_data() for one in suites for sample in one.samples],
        run=TimesModel(started=started, seconds=round(seconds, 3)),
    )
    data = {**found.model_dump(mode="json", exclude={"samples"}), "samples": found.samples}
    # Read once, as `merge` reads it.
    data = json.loads(to_json(data))
    return to_json({"digest": digest_of(to_json(data)), **data}) + "\n"


def inputs(one: SuiteRun, root: Path) -> dict[str, str]:
    """What the samples of a suite and its gates depend on → its digest: files, by their path, and settings.

    Files are the data file and those that it or its settings name, such as a corpus and a baseline.
    """
    suite = one.suite
    if suite is None:
        return dict(_digests([root / one.selection.suite], root))
    from pydantic import TypeAdapter

    settings = TypeAdapter(Any).dump_python(suite.settings, mode="json", fallback=str)
    data = suite.document.data
    # What is in a list is a case.
    named = [*_texts(settings), *(data.values() if isinstance(data, Mapping) else ())]
    files = [suite.path, *(suite.path.parent / text for text in named if _may_be_path(text))]
    found = dict(_digests(files, root))
    return {**found, f"the settings of {suite.key}": digest_of(without_places(settings, root))}


def without_places(data: Any, root: Path) -> Any:
    """The same data wherever a project lies: its paths are relative, data files outside are their content."""
    if isinstance(data, Mapping):
        return {key: without_places(value, root) for key, value in data.items()}
    if isinstance(data, list):
        return [without_places(value, root) for value in data]
    if not _may_be_path(data) or not os.path.isabs(data):
        return data
    path = Path(os.path.normpath(data))
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    is_data = path.suffix in DATA_SUFFIXES and path.is_file()
    return hashlib.sha256(path.read_bytes()).hexdigest() if is_data else data


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, (list, Mapping)):
        for value in data.values() if isinstance(data, Mapping) else data:
            yield from _texts(value)


def _may_be_path(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) < LONGEST_PATH and value.isprintable()


def _digests(files: list[Path], root: Path) -> Iterator[tuple[str, str]]:
    for path in files:
        try:
            yield (
                Path(os.path.relpath(path, root)).as_posix(),
                f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}",
            )
        except OSError:
            # Most texts in settings name no file.
            continue
