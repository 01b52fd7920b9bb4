"""``report.html``: the report of a run as one page that asks nobody for anything.

It is made from ``report.json`` alone, and the screenshots that stand beside it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_mcpeval.core.sample import to_json
from pytest_mcpeval.reports.html_report import cases, summary
from pytest_mcpeval.reports.html_report.pictures import main_picture, pictures_of
from pytest_mcpeval.reports.templates import rendered
from pytest_mcpeval.text.visible import visible

SCRIPTS = ("vendor/d3.min.js", "vendor/plot.umd.min.js", "page.js")
SHOWN_GATES = 6
"""On the first screen; the others are folded."""


def text(report: Mapping[str, Any], directory: Path) -> str:
    """The page of a report, whose screenshots are in ``directory``.

    Raises:
        KeyError, TypeError, AttributeError: It is not a report of this version.
    """
    titles = summary.titles(report["suites"])
    of_suite: dict[str, dict[str, Any]] = {key: {} for key in report["suites"]}
    for gate in report["gates"]:
        of_suite.setdefault(gate["suite"], {})[gate["name"]] = gate
    gates = summary.gates(report)
    numbers = {key: summary.main_numbers(suite, of_suite[key]) for key, suite in report["suites"].items()}
    pictures = cases.Pictures(report, directory)
    evidence, room = cases.evidence(report, pictures)
    suites = [
        {
            "number": number,
            "key": visible(key),
            "title": visible(titles[key]),
            "kind": suite["kind"],
            "outcomes": _outcomes(suite),
            "expected": suite["expected"],
            "missing": suite["missing"],
            "gates": [gate for gate in gates if gate["suite"] == key],
            "numbers": numbers[key],
            "changes": summary.changes_of(suite),
            "verdict": _verdict(suite, of_suite[key]),
            "reports": _own_reports(report["run"]["suites"].get(key, {}), directory),
        }
        for number, (key, suite) in enumerate(report["suites"].items())
    ]
    ordered = sorted(suites, key=lambda suite: summary.WEIGHT[suite["verdict"]])
    data: dict[str, Any] = {
        "suites": [{"key": suite["key"], "title": suite["title"], "kind": suite["kind"]} for suite in suites],
        "outcomes": cases.WORST_FIRST,
        "options": report["options"],
        "chunk": cases.CHUNK,
        "cases": cases.index(report),
        "main": main_picture([(suite["title"], number) for suite in ordered for number in suite["numbers"]]),
        "pictures": [
            cases.made_visible(pictures_of(report, key, of_suite[key]), cases.NAME_LENGTH)
            for key in report["suites"]
        ],
    }
    scripts = {name: _own_file(name) for name in SCRIPTS}
    return rendered(
        "html_report/page.html",
        report=report,
        headline=summary.headline(report),
        links=_links(data["cases"]),
        gates=gates,
        shown_gates=SHOWN_GATES,
        suites=ordered,
        room=room,
        whole=cases.ROOMS[0],
        data=_inert(to_json(data, separators=(",", ":"))),
        evidence=[_inert(chunk) for chunk in evidence],
        screenshots=_inert(to_json(pictures.data)),
        style=_own_file("page.css"),
        scripts=list(scripts.values()),
        hashes=" ".join(f"'sha256-{_digest(script)}'" for script in scripts.values()),
    )


def _links(index: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What to look at first: words and the fragment that shows it."""
    outcomes = Counter(cases.WORST_FIRST[number] for number in index["outcome"])
    changes = Counter(index["change"])
    wrong = [outcome for outcome in ("error", "failed", "wrong", "inconclusive") if outcomes[outcome]]
    return [
        *((f"{outcomes[outcome]:,} {outcome}", f"outcome={outcome}") for outcome in wrong),
        *(
            (f"{changes[change]:,} {change}", f"change={change}")
            for change in ("lost", "won")
            if changes[change]
        ),
    ]


def _own_reports(run: Mapping[str, Any], directory: Path) -> list[tuple[str, str]]:
    """The reports that sessions and agents write themselves: path, and a link where the file is here."""
    paths = {Path(run["report"]).with_suffix(".html")} if isinstance(run.get("report"), str) else set()
    runs_of_cases = run.get("cases")
    if isinstance(runs_of_cases, Mapping):
        folders = {Path(one["case_dir"]).parent for one in runs_of_cases.values() if "case_dir" in one}
        paths |= {folder / "report.md" for folder in folders}
    return [
        (str(path), quote(os.path.relpath(path, directory)) if path.is_file() else "")
        for path in sorted(paths)
    ]


def _outcomes(suite: Mapping[str, Any]) -> dict[str, int]:
    counts = Counter(case["outcome"] for case in suite["cases"])
    return {outcome: counts[outcome] for outcome in cases.WORST_FIRST if counts[outcome]}


def _verdict(suite: Mapping[str, Any], gates: Mapping[str, Mapping[str, Any]]) -> str:
    verdicts = {gate["verdict"] for gate in gates.values()}
    outcomes = {case["outcome"] for case in suite["cases"]}
    if "error" in verdicts or "error" in outcomes:
        return "error"
    if "failed" in verdicts or "failed" in outcomes:
        return "failed"
    if "not_evaluated" in verdicts or suite["missing"] or outcomes & {"wrong", "inconclusive"}:
        return "not_evaluated"
    return "passed"


def _inert(text: str) -> str:
    """JSON that cannot end the element it stands in, nor begin another."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _own_file(name: str) -> str:
    return Path(__file__).with_name("vendor").parent.joinpath(name).read_text("utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def of_file(directory: Path) -> str:
    """The page of the ``report.json`` in a directory.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a report of this version.
    """
    path = directory / "report.json"
    try:
        report = json.loads(path.read_text("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    from jinja2 import UndefinedError

    try:
        return text(report, directory)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, UndefinedError) as error:
        raise ValueError(f"{path} is not a report of this version of pytest-mcpeval ({error!r})") from None
