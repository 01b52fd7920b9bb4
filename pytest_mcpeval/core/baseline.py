"""Baselines: committed numbers of a suite, keyed by case id, that later runs are compared with."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from pytest_mcpeval.core.gate import names
from pytest_mcpeval.core.sample import to_json
from pytest_mcpeval.loading import DataFileError, Document, Problem, load
from pytest_mcpeval.text.redact import redactor

if TYPE_CHECKING:
    from pytest_mcpeval.core.suite import Suite

BASELINE_VERSION = 1
BLESS_COMMAND = "pytest --mcpeval --mcpeval-bless"
ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufffe\uffff]")
"""Characters that are allowed in JSON, but not in YAML, or are line breaks there."""


class BaselineCase(BaseModel):
    """One case in a baseline; kinds add more values."""

    model_config = ConfigDict(defer_build=True, extra="allow", frozen=True)

    outcome: Literal["passed", "failed"]


class BaselineModel(BaseModel):
    """A baseline file. ``digest`` is of the suite's data, so that an edited suite is noticed."""

    model_config = ConfigDict(defer_build=True, extra="allow", frozen=True)

    kind: Literal["baseline"]
    of: str
    version: Literal[1]
    suite: str
    digest: str
    cases: dict[str, BaselineCase]


@dataclass(frozen=True)
class Baseline:
    """A committed baseline that fits its suite. ``outcomes`` maps case id to ``passed`` or ``failed``."""

    path: Path
    model: BaselineModel

    @property
    def outcomes(self) -> Mapping[str, str]:
        """Case id → outcome."""
        return {case: found.outcome for case, found in self.model.cases.items()}


def digest_of(data: object) -> str:
    """``sha256:<hex>`` of JSON data in canonical form, the same whatever the file's layout and comments."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def differing_digests(found: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """Return the inputs that have changed since the baseline was made.

    None for a baseline without digests.
    """
    if not found:
        return []
    return [part for part in {**wanted, **found} if found.get(part) != wanted.get(part)]


def differing_cases(
    document: Document, found: Collection[str], wanted: Collection[str], hint: str
) -> Iterator[Problem]:
    """Yield problems of cases that a baseline lacks or has in excess; ``hint`` says what to do."""
    unknown = [case for case in found if case not in wanted]
    if unknown:
        message = f"the suite has no {names(unknown)}, which the baseline has: {hint}"
        yield document.problem("cases", unknown[0], message=message)
    missing = [case for case in wanted if case not in found]
    if missing:
        message = f"{len(missing)} of {len(wanted)} cases are missing: {names(missing)}; {hint}"
        yield document.problem("cases", message=message)


def mismatch_words(differing: Sequence[str], command: str) -> str:
    """Return why a baseline does not fit, and what to do; ``command`` blesses a new one."""
    return (
        f"was made from another {' and another '.join(differing)}, so the two cannot be compared: "
        f"undo the change, or bless the new version with {command}"
    )


def bless_command(suite: str, path: str | None) -> str:
    """Return the command that writes a suite's baseline; if no ``path`` is set, also what to set first."""
    command = f"{BLESS_COMMAND} {suite}"
    return (
        command
        if path is not None
        else f"`baseline: FILE` in the file or its entry in mcpeval.yaml, and {command}"
    )


def is_baseline(data: object) -> bool:
    """Whether a document is a baseline of any kind of suite."""
    return isinstance(data, dict) and data.get("kind") == "baseline"


def read_baseline(path: Path, suite: Suite[Any], digest: str) -> Baseline:
    """The baseline of a suite; ``digest`` is what the suite's data has now.

    Raises:
        DataFileError: There is none, it is not a baseline, or it was made from another version of the suite.
    """
    from pytest_mcpeval.loading.schema import validate

    if not path.is_file():
        raise DataFileError([Problem(path, 0, f"no baseline yet: write it with {BLESS_COMMAND} {suite.key}")])
    document = load(path)
    model: BaselineModel = validate(BaselineModel, document)
    problem = _mismatch(document, model, suite, digest)
    if problem:
        raise DataFileError([problem])
    return Baseline(path, model)


def _mismatch(document: Document, model: BaselineModel, suite: Suite[Any], digest: str) -> Problem | None:
    if model.of != suite.kind:
        return document.problem("of", message=f"is a baseline of a {model.of} suite, wanted {suite.kind}")
    if model.digest != digest:
        message = (
            f"was made from another version of {suite.key}, so the two cannot be compared: "
            f"undo the change, or bless the new version with {BLESS_COMMAND} {suite.key}"
        )
        return document.problem("digest", message=message)
    known = {case.id for case in suite.cases}
    unknown = [case for case in model.cases if case not in known]
    if unknown:
        message = f"{suite.key} has no case {unknown[0]!r}: bless it again with {BLESS_COMMAND} {suite.key}"
        return document.problem("cases", unknown[0], message=message)
    return None


def write_baseline(path: Path, suite: Suite[Any], content: Mapping[str, Any]) -> list[str]:
    """Write a baseline atomically, in a form that shows well in a diff.

    Returns the keys of the file that are not made by a run, such as tolerances: people wrote them, so that
    they are kept.
    """
    head = {"kind": "baseline", "of": suite.kind, "version": BASELINE_VERSION, "suite": suite.path.name}
    made = {**head, **content}
    old = load(path).data if path.exists() else {}
    kept = {key: value for key, value in old.items() if key not in made}
    text = to_json({**made, **kept}, indent=2) + "\n"
    write_atomically(path, ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text))
    return list(kept)


def write_atomically(path: Path, text: str, *, is_redacted: bool = False) -> None:
    """Replace a file's content in one step; a crash leaves the old content or the new.

    No value that came from the environment gets into it: a text that ``is_redacted`` is written as it is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text if is_redacted else redactor.file(path, text))
        # mkstemp makes files private; a committed file is as readable as its neighbours.
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
