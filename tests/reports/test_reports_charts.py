"""Charts as SVG: what is drawn where, in valid XML, with words of others made harmless."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from pytest_mcpeval import Bar, Bars, Curve, Matrix
from pytest_mcpeval.core.charts import Chart
from pytest_mcpeval.core.evaluation import Evaluation
from pytest_mcpeval.core.gate import GateResult
from pytest_mcpeval.core.tables import Row, Table
from pytest_mcpeval.reports.charts import BAR_WIDTH, COLOURS, NAME_WIDTH, svg
from pytest_mcpeval.reports.html import HtmlReport

NAMESPACE = "{http://www.w3.org/2000/svg}"
NASTY = 'a<script>"&\u202eb\u200b'
BARS = Bars(
    "Rates", (Bar("one", 0.25, "1/4", "bad", (0.1, 0.5)), Bar(NASTY, 0.0, "0/4")), 0.1, "ceiling 10 %"
)
MATRIX = Matrix("Counts", ("x", NASTY), ("yes", "no"), ((3, 1), (0, 0)), frozenset({(0, 1), (1, 0)}))
CURVE = Curve("ROC", "across", "up", ((0.0, 0.0), (0.5, 1.0), (1.0, 1.0)), NASTY, 0.1, diagonal=True)


def parsed(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(svg(chart))


def words(chart: Chart) -> list[str]:
    return [found.text or "" for found in parsed(chart).iter(f"{NAMESPACE}text")]


@pytest.mark.parametrize("chart", [BARS, MATRIX, CURVE], ids=lambda chart: type(chart).__name__)
def test_words_of_others_are_made_harmless(chart: Chart) -> None:
    assert any("a<script>" in text and "\\u202e" in text and "\u200b" not in text for text in words(chart))
    assert "<script>" not in svg(chart)
    assert svg(chart) == svg(chart)


def test_bars_are_as_long_as_their_shares() -> None:
    drawn = [one for one in parsed(BARS).iter(f"{NAMESPACE}rect") if one.attrib["fill"].startswith("#")]
    assert [float(one.attrib["width"]) for one in drawn] == [BAR_WIDTH / 4, 0.0]
    assert drawn[0].attrib["fill"] == COLOURS["bad"]
    dashed = [one for one in parsed(BARS).iter(f"{NAMESPACE}line") if "stroke-dasharray" in one.attrib]
    assert [float(one.attrib["x1"]) for one in dashed] == [NAME_WIDTH + BAR_WIDTH / 10]
    assert "ceiling 10 %" in words(BARS)


def test_cells_say_counts_and_shares_of_their_row() -> None:
    assert {"3 (75 %)", "1 (25 %)", "0 (0 %)"} <= set(words(MATRIX))
    cells = list(parsed(MATRIX).iter(f"{NAMESPACE}rect"))
    good, bad = COLOURS["good"], COLOURS["bad"]
    assert [one.attrib["fill"] for one in cells] == [good, good, bad, bad, bad, bad, good, good]
    lengths = [float(one.attrib["width"]) for one in cells[1::2]]
    assert lengths[0] == 3 * lengths[1] > 0
    assert lengths[2:] == [0.0, 0.0]


def test_curves_go_through_their_points() -> None:
    (line,) = parsed(CURVE).iter(f"{NAMESPACE}polyline")
    points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert x1 - x0 == x2 - x1 > 0
    assert y1 == y2 < y0
    assert {"across", "up"} <= set(words(CURVE))


def test_html_shows_a_table_of_one_column_and_escapes_it() -> None:
    table = Table("Seen", ("what",), (Row(("<b>bold</b>",)),))
    evaluation = Evaluation([], [table], "passed", "", session_gates=[GateResult("a", "b", "passed", "<i>")])
    prefix: list[str] = []
    HtmlReport({}, lambda: evaluation).pytest_html_results_summary(prefix)
    text = "".join(prefix)
    assert "&lt;b&gt;bold&lt;/b&gt;" in text
    assert "&lt;i&gt;" in text
    assert "<b>bold" not in text
