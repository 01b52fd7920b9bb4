"""What pytest-html shows: a column for kind and latency, checks and evidence for each case, tables on top."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mcpeval.core.gate import Verdict, gate_nodeid
from pytest_mcpeval.core.sample import SAMPLES_ATTRIBUTE, Sample, samples_from_json
from pytest_mcpeval.core.tables import Table
from pytest_mcpeval.reports.charts import svg
from pytest_mcpeval.reports.templates import rendered

if TYPE_CHECKING:
    from pytest_mcpeval.core.evaluation import Evaluation
    from pytest_mcpeval.core.kind import Kind

LARGEST_IMAGE = 1024 * 1024
"""Bytes; a larger one is named instead of embedded, so that the report can still be opened."""

GATES_IN_ORDER: tuple[Verdict, ...] = ("error", "failed", "not_evaluated", "passed", "not_set")
"""What is wrong comes first."""

PNG = b"\x89PNG\r\n\x1a\n"


class HtmlReport:
    """Hooks of pytest-html; registered only where that plugin is loaded.

    ``page`` is the link to ``report.html``, empty where none is written.
    """

    def __init__(
        self, kinds: Mapping[str, Kind[Any]], evaluation: Callable[[], Evaluation | None], page: str = ""
    ) -> None:
        self._kinds = kinds
        self._evaluation = evaluation
        self._page = page

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Attach checks and evidence to the report of a case."""
        text = getattr(report, SAMPLES_ATTRIBUTE, None)
        if text is not None:
            samples = [(sample, self._attachments(sample)) for sample in samples_from_json(text)]
            evidence = rendered("evidence.html", samples=samples, picture=_picture).strip()
            extras = [*getattr(report, "extras", []), *([_extra(evidence)] if evidence else [])]
            setattr(report, "extras", extras)  # noqa: B010

    def _attachments(self, sample: Sample) -> Sequence[Table]:
        with suppress(Exception):  # A gate in error shows what a kind raised.
            return self._kinds[sample.kind].attachments(sample)
        return ()

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_header(self, cells: list[str]) -> None:
        """Two columns more."""
        cells.insert(2, "<th>Kind</th>")
        cells.insert(3, "<th>Latency</th>")

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_table_row(self, report: pytest.TestReport, cells: list[str]) -> None:
        """Two cells in every row, so that no row is shifted."""
        if not cells:
            return
        kind, latency = _kind_and_latency(report)
        cells.insert(2, f'<td class="col-kind">{escape(kind)}</td>')
        cells.insert(3, f'<td class="col-latency">{escape(latency)}</td>')

    @pytest.hookimpl(optionalhook=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        """Verdict, gates and tables above the results."""
        evaluation = self._evaluation()
        if evaluation is None or not (evaluation.suites or evaluation.gates):
            return
        gates = sorted(evaluation.gates, key=lambda gate: GATES_IN_ORDER.index(gate.verdict))
        values = {"evaluation": evaluation, "gates": gates, "gate_nodeid": gate_nodeid, "svg": svg}
        prefix.append(rendered("summary.html", page=self._page, **values))


def _extra(content: str) -> dict[str, str | None]:
    """An extra as pytest-html's own function makes them; every key is read."""
    return {"name": None, "format_type": "html", "content": content, "mime_type": None, "extension": None}


def _kind_and_latency(report: pytest.TestReport) -> tuple[str, str]:
    # Reports of files that could not be collected have no properties.
    properties = dict(getattr(report, "user_properties", ()))
    if "mcpeval_gate" in properties:
        return "gate", ""
    latency = properties.get("mcpeval_latency_ms")
    outcome = str(properties.get("mcpeval_outcome", ""))
    apart = f", {outcome}" if outcome in ("wrong", "inconclusive") else ""
    kind = f"{properties.get('mcpeval_kind', '')}{apart}"
    return kind, f"{float(str(latency)):.0f} ms" if latency else ""


def _picture(name: str) -> tuple[str, str]:
    """A PNG in base64, so that the report is one file; or why it is not shown."""
    path = Path(name)
    try:
        content = path.read_bytes()
    except OSError as error:
        return "", f"{path}: {error.strerror or error}"
    if not content.startswith(PNG):
        return "", f"{path} is not a PNG"
    if len(content) > LARGEST_IMAGE:
        return "", f"{path} has {len(content):,} bytes, more than {LARGEST_IMAGE:,}"
    return base64.b64encode(content).decode("ascii"), ""
