"""The baseline of a session file: committed findings, with which later ones are compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pytest_mcpeval.core.baseline import BaselineModel, digest_of, is_baseline
from pytest_mcpeval.core.sample import Sample
from pytest_mcpeval.kinds.session.critic.findings import Finding
from pytest_mcpeval.kinds.session.spec import SessionSuite
from pytest_mcpeval.loading import DataFileError, load
from pytest_mcpeval.loading.schema import validate


class SessionBaselineModel(BaselineModel):
    """A baseline file. ``digest`` is of the scenarios and dispositions."""

    of: Literal["session"]
    findings: list[Finding]


def digest(suite: SessionSuite) -> str:
    """Return ``sha256:<hex>`` of the scenarios and dispositions, which determine the possible findings."""
    scenarios = [
        {"id": one.id, "description": one.description, "targets": list(one.targets_mcps)}
        for one in suite.scenarios
    ]
    allowed = {name: scope.disposition for name, scope in suite.scopes.items()}
    return digest_of({"scenarios": scenarios, "dispositions": allowed})


def read(suite: SessionSuite) -> list[Finding] | None:
    """The committed findings; None when the suite names no baseline, or there is none yet.

    Raises:
        DataFileError: The file is not a baseline of a session, or of another version of this one.
    """
    path = suite.settings.baseline
    if path is None or not Path(path).is_file():
        return None
    document = load(Path(path))
    if not is_baseline(document.data):
        raise DataFileError([document.problem(message="expected a baseline, written by --mcpeval-bless")])
    model: SessionBaselineModel = validate(SessionBaselineModel, document)
    if model.digest != digest(suite):
        message = (
            f"was made from other scenarios or dispositions than those of {suite.key}: undo the change, or "
            "bless the new ones with pytest --mcpeval --mcpeval-bless"
        )
        raise DataFileError([document.problem("digest", message=message)])
    return [one.model_copy(update={"id": f"B{number}"}) for number, one in enumerate(model.findings, 1)]


def content(suite: SessionSuite, samples: Sequence[Sample], findings: Sequence[Finding]) -> dict[str, Any]:
    """The content of a new baseline."""
    kept = ("severity", "dimension", "mcp_name", "summary")
    outcomes = {s.id: "passed" if s.outcome == "passed" else "failed" for s in samples}
    return {
        "digest": digest(suite),
        "findings": [finding.model_dump(include=set(kept), mode="json") for finding in findings],
        "cases": {case: {"outcome": outcome} for case, outcome in outcomes.items()},
    }
