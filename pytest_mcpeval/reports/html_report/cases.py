"""The cases of a report as the page holds them: an index that it filters, and the evidence of each."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pytest_mcpeval.core.sample import to_json
from pytest_mcpeval.reports.html_report.summary import Data, changes_of
from pytest_mcpeval.text.visible import clipped, visible

CHUNK = 200
"""Cases whose evidence is read at once."""

LARGEST_EVIDENCE = 12_000_000
"""Characters of all evidence together, as JSON."""

LARGEST_PICTURE, LARGEST_PICTURES = 1024 * 1024, 4 * 1024 * 1024
"""Bytes of one screenshot, and of all."""

PNG = b"\x89PNG\r\n\x1a\n"
NAME_LENGTH, MESSAGE_LENGTH = 160, 240

COLUMNS = (
    "id",
    "suite",
    "outcome",
    "label",
    "name",
    "message",
    "tags",
    "targets",
    "change",
    "latency",
    "line",
    "item",
)

WORST_FIRST = ("error", "failed", "wrong", "inconclusive", "tolerated", "xfailed", "skipped", "passed")


@dataclass(frozen=True)
class Room:
    """How many characters of one text are kept, by how its case ended: 0 keeps the checks, None nothing."""

    wrong: int | None
    tolerated: int | None
    passed: int | None

    def of(self, outcome: str) -> int | None:
        """That of a case that ended so."""
        if outcome in ("error", "failed", "wrong", "inconclusive"):
            return self.wrong
        return self.passed if outcome == "passed" else self.tolerated


ROOMS = (
    Room(20_000, 20_000, 20_000),
    Room(20_000, 20_000, 2_000),
    Room(20_000, 4_000, 400),
    Room(20_000, 400, 100),
    Room(20_000, 400, 0),
    Room(20_000, 0, None),
    Room(20_000, None, None),
    Room(4_000, None, None),
    Room(400, None, None),
    Room(0, None, None),
)
"""The first one with which all evidence together is small enough is taken; the last one in any case."""


def index(report: Data) -> dict[str, Any]:
    """What is filtered, sorted and listed: a column for each property, with an entry for each case."""
    tags: dict[str, int] = {}
    targets: dict[str, int] = {}
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for number, (key, suite) in enumerate(report["suites"].items()):
        changes = changes_of(suite)
        won = frozenset().union(*(change.won for change in changes))
        lost = frozenset().union(*(change.lost for change in changes))
        latencies = latencies_of(report, key)
        for case in suite["cases"]:
            traits = case["traits"]
            row = {
                "id": case["id"],
                "suite": number,
                "outcome": WORST_FIRST.index(case["outcome"]),
                "label": _label(case),
                "name": _line(traits.get("name", ""), NAME_LENGTH),
                "message": _line(case["message"], MESSAGE_LENGTH),
                "tags": _numbers(_texts(traits.get("tags")), tags),
                "targets": _numbers(_targets(traits), targets),
                "change": "lost" if case["id"] in lost else "won" if case["id"] in won else "",
                "latency": latencies.get(case["id"]),
                "line": case.get("line"),
                "item": case.get("item"),
            }
            for name, column in columns.items():
                column.append(row[name])
    return {**columns, "tagNames": list(tags), "targetNames": list(targets)}


def latencies_of(report: Data, key: str) -> dict[str, float]:
    """How long the cases of a suite took, in milliseconds, as far as known."""
    run = report["run"]["suites"].get(key, {})
    found = {case: one.get("processingTimeMs") for case, one in run.get("cases", {}).items()}
    seconds = run.get("seconds")
    if isinstance(seconds, Mapping):
        found |= {case: 1000 * value for case, value in seconds.items()}
    return {case: round(value, 2) for case, value in found.items() if isinstance(value, int | float)}


def _label(case: Data) -> str:
    measured = case["measured"]
    if case["outcome"] in ("wrong", "tolerated") and "flagged" in measured:
        return "false alarm" if measured["flagged"] else "missed"
    return ""


def _targets(traits: Data) -> list[str]:
    return [text for name in ("tool", "server", "detector", "agent") for text in _texts(traits.get(name))]


def _texts(value: Any) -> list[str]:
    if value is None or value == "":
        return []
    return [visible(str(one)) for one in value] if isinstance(value, list) else [visible(str(value))]


def _numbers(texts: Sequence[str], known: dict[str, int]) -> list[int]:
    return [known.setdefault(text, len(known)) for text in dict.fromkeys(texts)]


def _line(text: Any, limit: int) -> str:
    return visible(clipped(" ".join(str(text).split()), limit))


class Pictures:
    """The screenshots of a report, as data that the page holds: those of cases that did not pass first."""

    def __init__(self, report: Data, directory: Path) -> None:
        self.data: list[str] = []
        self._numbers: dict[str, int | str] = {}
        left = LARGEST_PICTURES
        for name in _pictures_of(report):
            content = _png(directory / name)
            if isinstance(content, bytes) and len(content) > left:
                content = f"left out: all pictures together have more than {LARGEST_PICTURES:,} bytes"
            if isinstance(content, bytes):
                left -= len(content)
                self._numbers[name] = len(self.data)
                self.data.append(f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}")
            else:
                self._numbers[name] = content

    def block(self, title: str, name: str) -> dict[str, Any]:
        """What is shown of a picture: itself, or why it is not shown."""
        found = self._numbers.get(name, "not found")
        if isinstance(found, int):
            return {"title": title, "picture": found}
        return {"title": title, "text": f"{name} is not shown: {found}"}


def _pictures_of(report: Data) -> list[str]:
    names = []
    for key, suite in report["suites"].items():
        attachments = report["run"]["suites"].get(key, {}).get("attachments", {})
        for case in suite["cases"]:
            weight = WORST_FIRST.index(case["outcome"])
            names += [(weight, one["image"]) for one in attachments.get(case["id"], ()) if "image" in one]
    return [name for _, name in sorted(names, key=lambda found: found[0])]


def _png(path: Path) -> bytes | str:
    """A picture, or why it cannot be shown."""
    try:
        content = path.read_bytes()
    except OSError as error:
        return error.strerror or str(error)
    if not content.startswith(PNG):
        return "it is not a PNG"
    if len(content) > LARGEST_PICTURE:
        return f"it has {len(content):,} bytes, more than {LARGEST_PICTURE:,}"
    return content


def evidence(report: Data, pictures: Pictures) -> tuple[list[str], Room]:
    """What is shown of each case, as JSON lists of `CHUNK` cases; and how much of a text is kept."""
    for room in ROOMS:
        found: list[str] = []
        size = 0
        for one in _all_evidence(report, pictures, room):
            found.append(to_json(one, separators=(",", ":")))
            size += len(found[-1])
            if size > LARGEST_EVIDENCE and room is not ROOMS[-1]:
                break
        else:
            break
    return [f"[{','.join(found[start : start + CHUNK])}]" for start in range(0, len(found), CHUNK)], room


def _all_evidence(report: Data, pictures: Pictures, room: Room) -> Iterator[dict[str, Any]]:
    for key, suite in report["suites"].items():
        run = report["run"]["suites"].get(key, {})
        for case in suite["cases"]:
            yield _evidence(case, run, pictures, room.of(case["outcome"]))


def _evidence(case: Data, run: Data, pictures: Pictures, limit: int | None) -> dict[str, Any]:
    if limit is None:
        return {}
    name = case["id"]
    timed = run.get("timedChecks", {}).get(name, {})
    checks = [
        [
            check["status"],
            check["rule"].get("type", ""),
            timed.get(str(number), check)["message"],
            check.get("step"),
            {key: value for key, value in check["rule"].items() if key != "type"},
        ]
        for number, check in enumerate(case["checks"])
    ]
    found: dict[str, Any] = {"checks": checks}
    if limit:
        own = run.get("cases", {})
        own = own.get(name, {}) if isinstance(own, Mapping) else {}
        found["blocks"] = [
            *_runs(case),
            *_calls(case["measured"], own.get("answers", ())),
            *_ranking(case["measured"], own.get("scores", ())),
            *_tables(case["measured"]),
            *_attached(run.get("attachments", {}).get(name, ()), pictures),
            *_outcomes(own.get("outcomes", ())),
            *_rest(case, own),
        ]
    kept: dict[str, Any] = made_visible(found, max(limit, MESSAGE_LENGTH))
    return kept


def made_visible(data: Any, limit: int) -> Any:
    """JSON data whose texts are cut at a number of characters, and can be seen: see `visible`."""
    if isinstance(data, str):
        # Most texts are short and plain, and there are many.
        if len(data) <= limit and data.isascii() and data.isprintable():
            return data
        return visible(clipped(data, limit))
    if isinstance(data, dict):
        return {made_visible(key, limit): made_visible(value, limit) for key, value in data.items()}
    return [made_visible(value, limit) for value in data] if isinstance(data, list) else data


def _runs(case: Data) -> Iterator[dict[str, Any]]:
    if case.get("runs"):
        rows = [[str(number), run["outcome"], run["message"]] for number, run in enumerate(case["runs"], 1)]
        yield {"title": f"Asked {len(rows)} times", "header": ["run", "outcome", ""], "rows": rows}


def _calls(measured: Data, answers: Sequence[Data]) -> Iterator[dict[str, Any]]:
    calls = measured.get("calls", ())
    for number, call in enumerate(calls):
        step = f"Step {number + 1}: " if len(calls) > 1 else ""
        answer = answers[number] if number < len(answers) else {}
        yield {
            "title": f"{step}{call.get('target', '')} {call['name']}, arguments",
            "text": _json(call["arguments"]),
        }
        if "text" in answer:
            yield {
                "title": f"{step}answer{' (an error)' if answer.get('isError') else ''}",
                "text": answer["text"],
            }
        if answer.get("structured") is not None:
            yield {"title": f"{step}structured content", "text": _json(answer["structured"])}
        if answer.get("stderr"):
            yield {"title": f"{step}the server's stderr ends with", "text": answer["stderr"]}


def _ranking(measured: Data, scores: Sequence[float]) -> Iterator[dict[str, Any]]:
    if "ranked" not in measured:
        return
    labels, old = measured.get("labels", {}), measured.get("baseline_ranks") or {}
    rows = [
        [
            str(rank),
            tool,
            _number(labels.get(tool)),
            _number(scores[rank - 1] if rank <= len(scores) else None),
            _number(old.get(tool)),
        ]
        for rank, tool in enumerate(measured["ranked"], 1)
    ]
    rows += [
        ["not found", tool, _number(relevance), "", _number(old.get(tool))]
        for tool, relevance in labels.items()
        if relevance and tool not in measured["ranked"]
    ]
    header = ["rank", "tool", "relevance", "score", "rank in the baseline"]
    yield {"title": "Ranked list", "header": header, "rows": rows}


def _tables(measured: Data) -> Iterator[dict[str, Any]]:
    """The lists of objects with the same keys: calls of a session, detections, findings."""
    titles = {"transcript": "Calls", "detections": "What the detector found", "findings": "Findings"}
    for name, title in titles.items():
        entries = measured.get(name)
        if not entries:
            continue
        header = list(
            dict.fromkeys(key for entry in entries for key, value in entry.items() if value is not None)
        )
        rows = [[_text(entry.get(key)) for key in header] for entry in entries]
        yield {"title": title, "header": [key.replace("_", " ") for key in header], "rows": rows}


def _attached(attachments: Sequence[Data], pictures: Pictures) -> Iterator[dict[str, Any]]:
    for one in attachments:
        if "image" in one:
            yield pictures.block(one["title"], one["image"])
        elif "rows" in one:
            block = {
                "title": one["title"],
                "header": list(one["header"]),
                "rows": list(map(list, one["rows"])),
            }
            yield {**block, **_timeline(one)}


def _timeline(attachment: Data) -> dict[str, Any]:
    """A table whose first column is times, as a picture: milliseconds since the first, with what happened."""
    rows = attachment["rows"]
    try:
        times = [datetime.fromisoformat(row[0]).timestamp() for row in rows]
    except (ValueError, IndexError):
        return {}
    if len(times) < 2:
        return {}
    events = [
        {"at": round(1000 * (time - times[0]), 1), "name": str(row[1])}
        for time, row in zip(times, rows, strict=True)
    ]
    return {"drawing": {"type": "timeline", "title": attachment["title"], "events": events}}


def _outcomes(outcomes: Sequence[Data]) -> Iterator[dict[str, Any]]:
    """Where the evidence of an agent's assertions stands."""
    rows = [
        [
            one["assertion_kind"],
            _text(one.get("target")),
            evidence.get("artifact_path", ""),
            evidence.get("detail", ""),
        ]
        for one in outcomes
        if (evidence := one.get("evidence") or {})
    ]
    if rows:
        yield {"title": "Evidence", "header": ["assertion", "target", "file", ""], "rows": rows}


SHOWN_ELSEWHERE = frozenset(
    {
        "answers",
        "attachments",
        "baseline_ranks",
        "calls",
        "detections",
        "findings",
        "labels",
        "name",
        "outcomes",
        "query",
        "ranked",
        "ranks",
        "scores",
        "tags",
        "transcript",
    }
)


def _rest(case: Data, own: Data) -> Iterator[dict[str, Any]]:
    """What else is known of a case, by name."""
    rows = [
        [key, _text(value)]
        for key, value in {**case["traits"], **case["measured"], **own}.items()
        if key not in SHOWN_ELSEWHERE and value not in (None, "", [], {})
    ]
    if rows:
        yield {"title": "More", "header": ["", ""], "rows": rows}


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _json(data: Any) -> str:
    return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, indent=2)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
