"""Charts as inline SVG: pure functions. Lines and words take the colour of the page, be it light or dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from pytest_mcpeval.core.charts import Bar, Bars, Chart, Curve, Matrix
from pytest_mcpeval.text.visible import clipped, revealed

COLOURS = {"good": "#3f9b55", "bad": "#d1504b", "neutral": "#4a86c5"}
"""Of middle brightness: they stand out from white and from black."""

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}" '
    'viewBox="0 0 {width} {height}" '
    'style="margin:0 16px 16px 0;vertical-align:top;max-width:100%;height:auto" '
    'font-family="sans-serif" font-size="12" fill="currentColor"><title>{title}</title>{content}</svg>'
)
TITLE_HEIGHT = 26
ROW = 22
NAME_WIDTH, BAR_WIDTH, WORDS_WIDTH = 190, 220, 110
CELL_WIDTH, CELL_HEIGHT = 96, 44
SIDE = 200
MARGIN = 44
LONGEST_WORDS = 80
HEADING_LETTER = 8
"""Pixels that a bold letter takes at most, on average."""


def svg(chart: Chart) -> str:
    """A chart as one ``<svg>`` element."""
    if isinstance(chart, Bars):
        return _bars(chart)
    return _matrix(chart) if isinstance(chart, Matrix) else _curve(chart)


def _frame(title: str, width: int, height: int, content: Iterator[str]) -> str:
    heading = _text(0, 15, title, weight="bold")
    drawn = heading + "".join(content)
    width = max(width, HEADING_LETTER * min(len(title), LONGEST_WORDS))
    return SVG.format(width=width, height=height, title=_shown(title), content=drawn)


def _shown(text: str) -> str:
    return escape(clipped(revealed(" ".join(text.split())), LONGEST_WORDS))


def _text(x: float, y: float, text: str, anchor: str = "start", weight: str = "normal") -> str:
    style = f' font-weight="{weight}"' if weight != "normal" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{_shown(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, more: str = "") -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="currentColor"{more}/>'


def _rectangle(x: float, y: float, width: float, height: float, colour: str, opacity: float = 1.0) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {place} fill="{colour}" fill-opacity="{opacity:.2f}"/>'


def _bars(chart: Bars) -> str:
    height = TITLE_HEIGHT + ROW * len(chart.bars) + (20 if chart.limit is not None else 4)
    return _frame(chart.title, NAME_WIDTH + BAR_WIDTH + WORDS_WIDTH, height, _bar_parts(chart))


def _bar_parts(chart: Bars) -> Iterator[str]:
    bottom = TITLE_HEIGHT + ROW * len(chart.bars)
    for number, bar in enumerate(chart.bars):
        yield from _bar(bar, TITLE_HEIGHT + ROW * number)
    yield _line(NAME_WIDTH, TITLE_HEIGHT, NAME_WIDTH, bottom)
    if chart.limit is not None:
        x = NAME_WIDTH + chart.limit * BAR_WIDTH
        yield _line(x, TITLE_HEIGHT, x, bottom, ' stroke-dasharray="4 3"')
        yield _text(x, bottom + 14, chart.limit_words, "middle")


def _bar(bar: Bar, top: float) -> Iterator[str]:
    middle = top + ROW / 2
    yield _text(NAME_WIDTH - 8, middle + 4, clipped(bar.name, 26), "end")
    yield _rectangle(NAME_WIDTH, top + 4, BAR_WIDTH, ROW - 8, "currentColor", 0.08)
    yield _rectangle(NAME_WIDTH, top + 4, bar.share * BAR_WIDTH, ROW - 8, COLOURS[bar.severity], 0.85)
    if bar.interval is not None:
        low, high = (NAME_WIDTH + end * BAR_WIDTH for end in bar.interval)
        yield _line(low, middle, high, middle, ' stroke-width="1.5"')
        yield "".join(_line(x, middle - 4, x, middle + 4, ' stroke-width="1.5"') for x in (low, high))
    yield _text(NAME_WIDTH + BAR_WIDTH + 8, middle + 4, bar.words)


def _matrix(chart: Matrix) -> str:
    width = NAME_WIDTH // 2 + CELL_WIDTH * len(chart.columns)
    height = TITLE_HEIGHT + 20 + CELL_HEIGHT * len(chart.rows) + 4
    return _frame(chart.title, width, height, _matrix_parts(chart))


def _matrix_parts(chart: Matrix) -> Iterator[str]:
    left, top = NAME_WIDTH // 2, TITLE_HEIGHT + 20
    for column, name in enumerate(chart.columns):
        yield _text(left + CELL_WIDTH * (column + 0.5), TITLE_HEIGHT + 12, name, "middle")
    for row, name in enumerate(chart.rows):
        y = top + CELL_HEIGHT * row
        yield _text(left - 8, y + CELL_HEIGHT / 2 + 4, name, "end")
        total = sum(chart.counts[row]) or 1
        for column, count in enumerate(chart.counts[row]):
            colour = COLOURS["bad" if (row, column) in chart.wrong else "good"]
            words = f"{count:g} ({100 * count / total:.0f} %)"
            yield from _cell(left + CELL_WIDTH * column, y, count / total, words, colour)


def _cell(x: float, y: float, share: float, words: str, colour: str) -> Iterator[str]:
    """Words on a tint so light that they stay readable whatever their colour, over a bar for the share."""
    yield _rectangle(x + 1, y + 1, CELL_WIDTH - 2, CELL_HEIGHT - 2, colour, 0.12)
    yield _rectangle(x + 1, y + CELL_HEIGHT - 8, share * (CELL_WIDTH - 2), 7, colour)
    yield _text(x + CELL_WIDTH / 2, y + CELL_HEIGHT / 2 + 1, words, "middle")


def _curve(chart: Curve) -> str:
    width, height = MARGIN + SIDE + 20, TITLE_HEIGHT + SIDE + 56
    return _frame(chart.title, width, height, _curve_parts(chart))


def _curve_parts(chart: Curve) -> Iterator[str]:
    left, top, bottom = MARGIN, TITLE_HEIGHT + 4, TITLE_HEIGHT + 4 + SIDE
    yield _line(left, bottom, left + SIDE, bottom)
    yield _line(left, top, left, bottom)
    if chart.diagonal:
        yield _line(left, bottom, left + SIDE, top, ' stroke-opacity="0.3"')
    if chart.limit is not None:
        x = left + chart.limit * SIDE
        yield _line(x, top, x, bottom, ' stroke-dasharray="4 3"')
    points = " ".join(f"{left + x * SIDE:.1f},{bottom - y * SIDE:.1f}" for x, y in chart.points)
    yield f'<polyline points="{points}" fill="none" stroke="{COLOURS["neutral"]}" stroke-width="2"/>'
    for share in (0.0, 0.5, 1.0):
        yield _text(left + share * SIDE, bottom + 15, f"{share:g}", "middle")
        yield _text(left - 6, bottom - share * SIDE + 4, f"{share:g}", "end")
    yield _text(left + SIDE / 2, bottom + 30, chart.across, "middle")
    middle = (top + bottom) / 2
    yield f'<g transform="rotate(-90 10 {middle:.1f})">{_text(10, middle + 2, chart.up, "middle")}</g>'
    yield _text(left, bottom + 46, chart.words)
