"""``pytest-mcpeval compare``: two reports, and what got better or worse between them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_mcpeval.reports.comparison import CaseChange, Comparison, Figure, SuiteComparison

DESCRIPTION = """\
Compare two reports of pytest --mcpeval --mcpeval-report=DIR: numbers with their changes, paired tests, won
and lost cases, new failures and changed answers. BEFORE and AFTER are such directories, or their report.json.

A suite is worse if a gate that passed fails, if a case fails that did not, or if a paired test says that its
cases fell beyond chance (p < 0.05 for all tests of a suite together). A suite that AFTER lacks is worse too.

The exit code is 0, 1 if AFTER is worse, or 2 if the reports cannot be compared.
"""
SHOWN_CASES = 10


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "compare",
        help="compare two reports",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("before", type=Path, metavar="BEFORE", help="directory of the earlier report")
    parser.add_argument("after", type=Path, metavar="AFTER", help="directory of the later report")
    parser.add_argument(
        "--format",
        choices=["text", "markdown", "json", "html"],
        default="text",
        help="markdown is fit for a comment on a pull request (default: text)",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="write FILE instead of standard output")
    return parser


def run(options: argparse.Namespace) -> int:
    """Compare, and print or write what was found."""
    from pytest_mcpeval.kinds.registry import declaration_of
    from pytest_mcpeval.reports.comparison import ReportError, compared, read_report

    try:
        before, after = (read_report(path) for path in (options.before, options.after))
        found = compared(before, after, (str(options.before), str(options.after)), declaration_of)
    except ReportError as error:
        print(f"{options.prog}: {error}", file=sys.stderr)
        return 2
    text = _written(found, options.format)
    if options.output is None:
        print(text, end="")
    else:
        try:
            options.output.write_text(text, "utf-8")
        except OSError as error:
            print(f"{options.prog}: cannot write {options.output}: {error.strerror}", file=sys.stderr)
            return 2
        print(f"{found.headline}\nwritten: {options.output}")
    return int(found.change == "worse")


def _written(found: Comparison, form: str) -> str:
    from pytest_mcpeval.reports.templates import rendered
    from pytest_mcpeval.text.visible import visible

    if form == "json":
        return json.dumps(found.as_json(), indent=1, ensure_ascii=False) + "\n"
    if form == "text":
        return visible("\n".join(_lines(found))) + "\n"
    return rendered(
        "comparison.md" if form == "markdown" else "comparison.html",
        comparison=found,
        number=_number,
        signed=_signed,
        moved=_moved,
        shown_cases=50 if form == "markdown" else 1000,
    )


def _lines(found: Comparison) -> Iterator[str]:
    """The comparison for a terminal: what got worse first, suites without a change in one line."""
    order = ("worse", "better", "changed")
    for suite in sorted(
        (one for one in found.suites if one.change != "same"), key=lambda one: order.index(one.change)
    ):
        yield from _lines_of_suite(suite)
        yield ""
    for key in found.only_before:
        yield f"{key}: only in {found.before}"
    for key in found.only_after:
        yield f"{key}: only in {found.after}"
    same = sum(one.change == "same" for one in found.suites)
    if same:
        yield f"no change in {same} of {len(found.suites)} suites"
    yield f"compare: {found.headline}"


def _lines_of_suite(suite: SuiteComparison) -> Iterator[str]:
    yield f"{suite.change.upper()} {suite.key} ({suite.kind})"
    for gate in suite.gates:
        yield f"  gate {gate.name}: {gate.before} → {gate.after}: {gate.message}"
    if suite.data_changed:
        yield "  the data file changed: only cases that both reports have are compared"
    moved = _moved(suite)
    width = max((len(figure.name) for figure in moved), default=0)
    for figure in moved:
        values = f"{_number(figure.before):>8} → {_number(figure.after):<8} {_signed(figure.delta):>8}"
        judged = f"  {figure.change}" if figure.better else ""
        yield f"  {figure.name:<{width}}  {values}{judged}".rstrip()
    for test in suite.tests:
        words = "beyond chance" if test.is_significant else "may be chance"
        yield f"  {test.words}: {words} (p = {test.p:.3g})"
    yield from _listed("new failures", suite.new_failures)
    yield from _listed("lost", suite.lost)
    yield from _listed("won", suite.won)
    for title, ids in (
        ("other answers, same outcome", suite.changed_answers),
        ("new cases", suite.added),
        ("cases that are gone", suite.removed),
    ):
        if ids:
            more = f" and {len(ids) - SHOWN_CASES} more" if len(ids) > SHOWN_CASES else ""
            yield f"  {title} ({len(ids)}): {', '.join(ids[:SHOWN_CASES])}{more}"


def _listed(title: str, cases: Sequence[CaseChange]) -> Iterator[str]:
    if cases:
        yield f"  {title} ({len(cases)}):"
    for case in cases[:SHOWN_CASES]:
        message = case.message.partition("\n")[0]
        yield f"    {case.id}: {case.before} → {case.after}{f': {message}' if message else ''}"
    if len(cases) > SHOWN_CASES:
        yield f"    and {len(cases) - SHOWN_CASES} more"


def _moved(suite: SuiteComparison) -> list[Figure]:
    return [figure for figure in suite.figures if figure.change != "same"]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _signed(value: float) -> str:
    return f"{value:+.4f}".rstrip("0").rstrip(".") if value else "±0"
