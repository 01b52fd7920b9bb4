"""``report.html`` as a person meets it, in a real browser, made from the report of a real run."""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_mcpeval.browser.directive import DriverOptions
from pytest_mcpeval.browser.finding import find_browser
from pytest_mcpeval.cli import main
from pytest_mcpeval.reports import html_report
from pytest_mcpeval.reports.html_report import cases, summary
from pytest_mcpeval.text.visible import visible
from tests.reports.conftest import HOSTILE, RunIn
from tests.support import Project, Run, case

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

DESKTOP, PHONE = (1280, 800), (390, 844)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser that stays open over the tests of this module."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = find_browser(DriverOptions(headed=False))
        # Nothing is asked of the network, by the browser itself neither.
        arguments = ["--no-sandbox", "--disable-background-networking", "--disable-quic"]
        launched = playwright.chromium.launch(executable_path=path, args=arguments)
        yield launched
        launched.close()


@dataclass
class Opened:
    """A page that was opened, and what it asked for and said."""

    page: Page
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def texts(self, selector: str) -> list[str]:
        """The visible texts of some elements."""
        found: list[str] = self.page.locator(selector).all_inner_texts()
        return found

    def watch(self) -> None:
        """Note what the page asks for and says."""

        def dismiss(dialog: Dialog) -> None:
            self.said.append(dialog.message)
            dialog.dismiss()

        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", dismiss)

    def has_rows(self, count: int) -> None:
        """Wait until that many cases are listed."""
        from playwright.sync_api import expect

        expect(self.page.locator("#rows li")).to_have_count(count)


Open = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens a page; at the end it must have asked for nothing and have reported no error."""
    opened: list[Opened] = []
    contexts = []

    def open_page(
        path: Path,
        fragment: str = "",
        size: tuple[int, int] = DESKTOP,
        scheme: Literal["light", "dark"] = "light",
    ) -> Opened:
        width, height = size
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        one = Opened(context.new_page())
        opened.append(one)
        one.watch()
        one.page.goto(f"{path.as_uri()}{fragment}")
        return one

    yield open_page
    for context in contexts:
        with suppress(Exception):
            context.close()
    for one in opened:
        assert one.said == []
        assert [url for url in one.requests if not url.startswith(("file:", "data:"))] == []


@pytest.fixture(scope="module")
def whole(run_in: RunIn) -> Run:
    """A run with every outcome and every verdict, and hostile text in answers."""
    return run_in("serial")


@pytest.fixture(scope="module")
def page_file(whole: Run) -> Path:
    return whole.path / "report" / "report.html"


def retrieval_report(cases_of_suite: int = 4, **more: Any) -> dict[str, Any]:
    """A report of one retrieval suite that got worse, small enough to be written down."""
    ids = [f"q{number:05d}" for number in range(cases_of_suite)]
    suite = {
        "kind": "retrieval",
        "digest": "sha256:0",
        "expected": len(ids),
        "measured": len(ids),
        "missing": [],
        "errors": [],
        "setAside": [],
        "metrics": {
            "queries": len(ids),
            "recall_at": {"1": 0.4, "5": 0.58},
            "mrr": 0.5,
            "slices": {"server": {"git": {"queries": 2, "recall_at": {"5": 0.2}}}},
        },
        "baseline_delta": {
            "metrics": {"recall_at_1": 0.0, "recall_at_5": -0.06, "mrr": 0.01},
            "queries": {"by": "recall_at_5", "won": ids[:1], "lost": ids[1:3], "tied": ids[3:]},
        },
        "cases": [
            {
                "id": name,
                "outcome": "tolerated" if number in (1, 2) else "passed",
                "message": "no relevant tool" if number in (1, 2) else "",
                "checks": [
                    {
                        "rule": {"type": "hit", "k": 10},
                        "status": "failed" if number in (1, 2) else "passed",
                        "passed": number not in (1, 2),
                        "message": f"a relevant tool at rank {number % 9 + 1}",
                    }
                ],
                "traits": {"server": [f"server-{number % 7}"], "name": f"query number {number} on its own"},
                "measured": {
                    "labels": {f"server-{number % 7}:tool-1": 2},
                    "ranked": [f"server-{number % 7}:tool-{rank}" for rank in range(10)],
                    "rank": 2,
                    "depth": 10,
                    "baseline_rank": 1,
                    "baseline_ranks": {f"server-{number % 7}:tool-1": 1},
                },
                "line": number + 3,
            }
            for number, name in enumerate(ids)
        ],
        "failures": [],
    }
    gate = {
        "suite": "evals/golden.json",
        "name": "recall_at_5",
        "verdict": "failed",
        "value": 0.58,
        "baseline": 0.64,
        "limit": 0.59,
        "wanted": "at least",
        "message": "recall_at_5 0.58, 0.06 below the baseline's 0.64",
    }
    return {
        "version": 1,
        "verdict": "failed",
        "reason": "1 of 1 gate failed",
        "gates": [gate],
        "totals": {},
        "suites": {"evals/golden.json": suite},
        "options": ["--mcpeval-retriever=tfidf"],
        "run": {
            "started": "2026-11-22T20:00:00+00:00",
            "seconds": 3.5,
            "host": "here",
            "python": "3.11.7",
            "gates": {},
            "suites": {
                "evals/golden.json": {
                    "cases": {
                        name: {"processingTimeMs": 1.5 * number, "scores": [9.5, 8.5]}
                        for number, name in enumerate(ids)
                    }
                }
            },
        },
        **more,
    }


def written(tmp_path: Path, report: dict[str, Any]) -> Path:
    path = tmp_path / "report.html"
    path.write_text(html_report.text(report, tmp_path), "utf-8")
    return path


def test_verdict_says_what_got_worse() -> None:
    report = retrieval_report()
    assert summary.headline(report) == "Worse: recall@5 fell from 0.64 to 0.58, 2 queries lost, 1 won"


@pytest.mark.parametrize(
    ("verdict", "moved", "lost", "wanted"),
    [
        ("passed", -0.01, 1, "Passed, though recall@5 fell from 0.59 to 0.58, 1 query lost, 0 won"),
        ("passed", -0.001, 1, "Passed, though recall@5 fell from 0.581 to 0.58, 1 query lost, 0 won"),
        ("passed", 0.08, 0, "Better: recall@5 rose from 0.50 to 0.58, 0 queries lost, 0 won"),
        ("passed", 0.0, 0, "Passed: nothing changed since the baselines"),
        ("failed", 0.0, 0, "Failed: golden.json: recall@5 is 0.58, wanted at least 0.59"),
        ("not_evaluated", 0.0, 0, "No verdict: 1 of 1 gate failed"),
        ("error", -0.06, 2, "Error: recall@5 fell from 0.64 to 0.58, 2 queries lost, 0 won"),
    ],
)
def test_verdict_in_words(verdict: str, moved: float, lost: int, wanted: str) -> None:
    report = retrieval_report(verdict=verdict)
    if verdict == "not_evaluated":
        report["gates"] = []
    delta = report["suites"]["evals/golden.json"]["baseline_delta"]
    delta["metrics"]["recall_at_5"] = moved
    delta["queries"] |= {"won": [], "lost": [f"q{number:05d}" for number in range(lost)]}
    assert summary.headline(report) == wanted


def test_suites_are_named_as_briefly_as_can_be() -> None:
    keys = ["docs/mina/basic.yaml", "docs/solana/basic.yaml", "a.yaml", "b/a.yaml", "only/one.yaml"]
    assert list(summary.titles(keys).values()) == [
        "mina/basic.yaml",
        "solana/basic.yaml",
        "a.yaml",
        "b/a.yaml",
        "one.yaml",
    ]


def test_texts_that_are_too_much_are_cut_and_the_page_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "LARGEST_EVIDENCE", 30_000)
    report = retrieval_report()
    suite = report["suites"]["evals/golden.json"]
    for one in suite["cases"]:
        one["measured"]["calls"] = [{"target": "tool", "name": "t", "arguments": {"text": "x" * 19_000}}]
    page = html_report.text(report, tmp_path)
    assert (
        "that were tolerated or left out, texts have at most 4,000 characters; of those that passed" in page
    )
    assert page.count("x" * 3_000) == 2
    assert "more characters)" in page
    monkeypatch.setattr(cases, "LARGEST_EVIDENCE", 1_000)
    page = html_report.text(report, tmp_path)
    # What failed keeps its evidence longest.
    assert "Of cases that failed, texts have at most 20,000 characters" in page
    assert "of those that passed, nothing but their messages is here" in page


def test_first_screen_answers_what_and_which(
    open_page: Open, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    path = written(tmp_path, retrieval_report())
    for size in (DESKTOP, PHONE):
        with subtests.test(size=size):
            opened = open_page(path, size=size)
            opened.page.wait_for_selector(".picture svg")
            for selector in ("h1", ".first .gates tbody tr", ".picture svg"):
                box = opened.page.locator(selector).first.bounding_box()
                assert box is not None
                assert box["y"] + box["height"] <= size[1], selector
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= size[0], selector
            row = opened.texts(".first .gates tbody tr")[0]
            assert [word for word in ("0.58", "0.64", "−0.06", "≥ 0.59") if word not in row] == []
            assert opened.page.evaluate("document.documentElement.scrollWidth") == size[0]


def test_page_of_a_whole_run(open_page: Open, page_file: Path, whole: Run) -> None:
    report = whole.report()
    opened = open_page(page_file)
    assert opened.texts("h1") == [summary.headline(report)]
    total = sum(len(suite["cases"]) for suite in report["suites"].values())
    assert opened.texts("#count") == [f"{total} cases"]
    assert opened.page.locator("#rows li").count() == min(total, 50)
    assert opened.page.locator(".first .gates tbody tr").count() == len(report["gates"])
    assert opened.page.locator(".suite-card").count() == len(report["suites"])


def test_filters_are_links(open_page: Open, page_file: Path, whole: Run) -> None:
    report = whole.report()
    opened = open_page(page_file)
    page = opened.page
    page.locator("#outcomes button", has_text="failed").first.click()
    failed = {
        case["id"]
        for suite in report["suites"].values()
        for case in suite["cases"]
        if case["outcome"] == "failed"
    }
    opened.has_rows(len(failed))
    assert {*opened.texts("#rows .id")} == failed
    assert "outcome=failed" in page.url
    page.select_option("select[name=suite]", label="plain.yaml")
    opened.has_rows(2)
    other = open_page(page_file, f"#{page.url.partition('#')[2]}")
    assert other.texts("#rows .id") == ["bad-1", "tool-error"]
    assert other.page.input_value("select[name=suite]") == "datasets/plain.yaml"
    page.go_back()
    opened.has_rows(len(failed))
    opened.page.locator("#clear").click()
    page.fill("input[type=search]", "BAD case")
    opened.has_rows(1)
    assert opened.texts("#rows .id") == ["bad-1"]
    assert opened.texts("#count")[0].startswith("1 of ")


def test_case_opens_with_everything(open_page: Open, page_file: Path, whole: Run) -> None:
    opened = open_page(page_file, "#case=datasets%2Fplain.yaml%3A%3Atool-error")
    text = opened.texts("#case")[0]
    assert opened.page.title().startswith("tool-error – ")
    suite = whole.report()["suites"]["datasets/plain.yaml"]
    (found,) = [one for one in suite["cases"] if one["id"] == "tool-error"]
    lines = (whole.path / "datasets/plain.yaml").read_text().splitlines()
    assert f"datasets/plain.yaml:{found['line']}" in text
    # The line is that on which the case begins.
    assert '"tool-error"' in "".join(lines[found["line"] - 1 : found["line"] + 1])
    assert [check["message"] for check in found["checks"] if visible(check["message"]) not in text] == []
    assert '"message": "no \\u001b[1mway"' in text
    assert "answer (an error)" in text
    assert opened.texts(".again pre") == ["pytest --mcpeval datasets/plain.yaml::tool-error"]
    opened.page.keyboard.press("Escape")
    opened.page.wait_for_selector("#rows a")
    assert "case=" not in opened.page.url


def test_command_runs_the_case_again(whole: Run, page_file: Path, open_page: Open) -> None:
    opened = open_page(page_file, "#case=datasets%2Fplain.yaml%3A%3Abad-1")
    (command,) = opened.texts(".again pre")
    words = shlex.split(command)
    assert words[:2] == ["pytest", "--mcpeval"]
    again = Project(whole.path).run(*words[2:])
    assert again.status == 1
    assert "1 failed" in again.last_line


def test_text_of_targets_is_text(open_page: Open, page_file: Path) -> None:
    opened = open_page(page_file, "#case=datasets%2Ftolerated.yaml%3A%3At-bad")
    text = opened.texts("#case")[0]
    assert "<script>alert(1)</script></pre><img src=x onerror=alert(2)>" in text
    assert "\\x1b[31mred" in text
    assert "\\u202ebidi" in text
    assert opened.page.locator("#case img, #case script").count() == 0


@pytest.mark.parametrize("text", [HOSTILE, "</script><b id=x>", "<!--<script>", "]]>", "&lt;b&gt;", "\u2028"])
def test_hostile_text_anywhere_in_a_report_stays_text(open_page: Open, tmp_path: Path, text: str) -> None:
    def spoiled(data: Any, key: str = "") -> Any:
        if isinstance(data, dict):
            return {name: spoiled(value, name) for name, value in data.items()}
        if isinstance(data, list):
            return [spoiled(value, key) for value in data]
        free = {"message", "name", "notes", "type", "reason", "text", "tool", "host", "started", "server"}
        return f"{data}{text}" if isinstance(data, str) and key in free else data

    report = spoiled(retrieval_report())
    suite = report["suites"].pop("evals/golden.json")
    report["suites"][f"evals/{text}.json"] = suite
    report["run"]["suites"][f"evals/{text}.json"] = report["run"]["suites"].pop("evals/golden.json")
    suite["cases"][0]["measured"]["ranked"].append(text)
    opened = open_page(written(tmp_path, report))
    opened.page.locator(".suite-card summary").first.click()
    opened.page.wait_for_selector(".pictures figure")
    opened.page.locator("#rows a").first.click()
    opened.page.wait_for_selector("#case h1")
    assert opened.page.locator("img, #x, b#x").count() == 0
    # Ours and those with data; none came from the report.
    assert opened.page.locator("script").count() == 2 + 1 + len(html_report.SCRIPTS)


def violations(opened: Opened, selector: str = "html") -> list[str]:
    """What axe finds wrong in some elements, one line for each rule."""
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
    opened.page.evaluate(axe)
    places = "{include: [...document.querySelectorAll(selector)]}"
    run = f"selector => axe.run({places}, {{resultTypes: ['violations']}})"
    found = opened.page.evaluate(run, selector)
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"]]


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_axe_finds_nothing(
    open_page: Open, page_file: Path, tmp_path: Path, size: tuple[int, int], scheme: Literal["light", "dark"]
) -> None:
    opened = open_page(page_file, size=size, scheme=scheme)
    opened.page.wait_for_selector("#rows a")
    assert violations(opened) == []
    assert opened.page.evaluate("document.documentElement.scrollWidth") == size[0]
    opened = open_page(page_file, "#case=datasets%2Fplain.yaml%3A%3Abad-1", size=size, scheme=scheme)
    assert violations(opened) == []
    assert opened.page.evaluate("document.documentElement.scrollWidth") == size[0]
    fragment = "#open=evals%2Fgolden.json"
    opened = open_page(written(tmp_path, retrieval_report()), fragment, size=size, scheme=scheme)
    opened.page.wait_for_selector(".pictures figure")
    for numbers in opened.page.locator("figure summary").all():
        numbers.click()
    assert violations(opened) == []
    assert opened.page.evaluate("document.documentElement.scrollWidth") == size[0]


def test_pytest_html_is_no_wider_than_its_window(open_page: Open, whole: Run) -> None:
    for size in (DESKTOP, PHONE):
        opened = open_page(whole.path / "report.html", size=size)
        page = opened.page
        page.wait_for_selector("#results-table .collapsible")
        page.locator("#show_all_details").click()
        for details in page.locator(".mcpeval details > summary").all():
            details.click()
        assert page.evaluate("document.documentElement.scrollWidth") == size[0]
        verdict, environment = (
            page.locator(one).first.bounding_box() for one in (".mcpeval", "#environment")
        )
        assert verdict is not None
        assert environment is not None
        assert verdict["y"] + verdict["height"] <= environment["y"]
        first_gate = page.locator(".mcpeval table tr").first.bounding_box()
        assert first_gate is not None
        assert first_gate["y"] < 300
        assert page.locator(".mcpeval a").get_attribute("href") == "report/report.html"
        # pytest-html's own greys are not ours to mend; the page as such is not either.
        assert [one for one in violations(opened, ".mcpeval, .extraHTML") if "contrast" in one] == []


def test_two_reports_in_one_file_are_refused(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    project.suite("s.yaml", case("a"))
    run = project.run("--html=out/report.html", "--mcpeval-report=out")
    assert run.status == 4
    assert "--html and --mcpeval-report would both write out/report.html: name another file" in run.err


def picture() -> bytes:
    """A PNG of one pixel."""
    data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    return base64.b64decode(data)


def test_screenshots_and_timeline_of_a_case(
    open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = retrieval_report()
    times = ["2026-11-22T20:00:00.000Z", "2026-11-22T20:00:00.250Z"]
    rows = [[times[0], "agent concierge", "", ""], [times[1], "tool search_people", "{}", "[]"]]
    report["run"]["suites"]["evals/golden.json"]["attachments"] = {
        "q00000": [
            {"title": "landing", "image": "screenshots/a.png"},
            {"title": "gone", "image": "screenshots/gone.png"},
            {"title": "no picture", "image": "screenshots/text.png"},
            {"title": "what the agent did", "header": ["time", "", "with", "result"], "rows": rows},
        ],
        "q00001": [{"title": "of a wrong case", "image": "screenshots/b.png"}],
    }
    (tmp_path / "screenshots").mkdir()
    for name in "ab":
        (tmp_path / f"screenshots/{name}.png").write_bytes(picture())
    (tmp_path / "screenshots" / "text.png").write_text("<svg onload=alert(1)>")
    opened = open_page(written(tmp_path, report), "#case=evals%2Fgolden.json%3A%3Aq00000")
    assert opened.page.evaluate("[...document.images].map(image => image.naturalWidth)") == [1]
    text = opened.texts("#case")[0]
    assert "screenshots/gone.png is not shown: No such file or directory" in text
    assert "screenshots/text.png is not shown: it is not a PNG" in text
    assert "tool search_people, 250 ms" in "".join(opened.page.locator("#case svg").all_text_contents())
    assert times[1] in text
    assert violations(opened) == []
    monkeypatch.setattr(cases, "LARGEST_PICTURES", len(picture()))
    page = html_report.text(report, tmp_path)
    # There is room for one, and the case that did not pass comes first.
    assert page.count("data:image/png") == 1
    assert "screenshots/a.png is not shown: left out" in page


def test_links_below_the_verdict_show_which_cases(open_page: Open, tmp_path: Path) -> None:
    report = retrieval_report()
    report["suites"]["evals/golden.json"]["cases"][3]["outcome"] = "failed"
    own = tmp_path / "runs" / "20261122T2000" / "report.md"
    own.parent.mkdir(parents=True)
    own.write_text("# A run")
    run = report["run"]["suites"]["evals/golden.json"]
    run["cases"]["q00000"]["case_dir"] = str(own.parent / "q00000")
    run["report"] = str(tmp_path / "gone" / "report.md")
    report["suites"]["evals/golden.json"]["cases"][0]["item"] = "q00000-to-q00003"
    opened = open_page(written(tmp_path, report))
    # What failed comes first, then what was lost.
    assert opened.texts("#rows .id") == ["q00003", "q00001", "q00002", "q00000"]
    assert opened.texts(".jumps a") == ["1 failed", "2 lost", "1 won", "all cases", "suites and pictures"]
    opened.page.locator(".jumps a", has_text="lost").click()
    opened.has_rows(2)
    assert opened.texts("#rows .id") == ["q00001", "q00002"]
    opened.page.go_back()
    opened.has_rows(4)
    assert not opened.page.locator("#clear").is_visible()
    assert [field.is_visible() for field in opened.page.locator(".fields select").all()] == [
        False, False, False, True, True, True,
    ]  # fmt: skip
    opened.page.locator(".jumps a", has_text="won").click()
    opened.has_rows(1)
    opened.page.locator("#rows a").click()
    opened.page.wait_for_selector("#case h1")
    assert opened.texts(".again pre")[0].endswith(" evals/golden.json::q00000-to-q00003")
    opened = open_page(written(tmp_path, report), "#open=evals%2Fgolden.json")
    assert opened.page.locator(".suite-card a").get_attribute("href") == "runs/20261122T2000/report.md"
    assert str(tmp_path / "gone" / "report.html") in opened.texts(".suite-card code")


def test_keyboard_alone_is_enough(open_page: Open, page_file: Path) -> None:
    opened = open_page(page_file)
    page = opened.page
    page.keyboard.press("/")
    page.keyboard.type("f-bad")
    opened.has_rows(1)
    page.keyboard.press("Tab")
    for _ in range(12):
        if page.evaluate("document.activeElement.matches('#rows a')"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#case h1")
    assert page.evaluate("document.activeElement.id") == "case-title"
    page.keyboard.press("Escape")
    page.wait_for_selector("#rows a")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.matches('#rows a')")


def test_pictures_have_their_numbers_as_text(open_page: Open, tmp_path: Path) -> None:
    opened = open_page(written(tmp_path, retrieval_report()), "#open=evals%2Fgolden.json")
    opened.page.wait_for_selector(".pictures figure")
    titles = opened.texts(".pictures figcaption")
    assert titles[:2] == [
        "Metrics, and the baseline",
        "Rank of the first relevant tool, lost and won queries",
    ]
    for numbers in opened.page.locator(".pictures figure summary").all():
        numbers.click()
    first, second, *_ = opened.texts(".pictures figure table")
    assert re.search(r"recall@5\s+0.58\s+0.64", first)
    assert re.search(r"q00001\s+lost\s+1\s+2", second)


def test_trend_marks_where_data_changed(open_page: Open, tmp_path: Path) -> None:
    report = retrieval_report()
    (key,) = report["suites"]
    report["run"]["history"] = [
        {
            "started": f"2026-11-0{number}T10:00:00+00:00",
            "commit": None if number == 1 else f"{number}" * 40,
            "suites": {key: {"inputs": inputs, "figures": {"recall_at.5": value, "mrr": 0.5}}},
        }
        for number, inputs, value in ((1, "a", 0.6), (2, "a", 0.64), (3, "b", 0.58))
    ] + [{"started": "", "commit": None, "suites": {}}]
    opened = open_page(written(tmp_path, report), "#open=evals%2Fgolden.json")
    figure = opened.page.locator("figure", has_text="recall_at.5 over the last 3 runs")
    figure.locator("svg").first.wait_for()
    assert "data or settings changed" in figure.inner_text()
    figure.locator("summary").click()
    rows = [row.inner_text().split("\t") for row in figure.locator("tbody tr").all()]
    assert [(row[1], row[3], row[4]) for row in rows] == [
        ("0.6", "–", "as before"),
        ("0.64", "2" * 10, "as before"),
        ("0.58", "3" * 10, "changed"),
    ]


def test_ten_thousand_cases(open_page: Open, tmp_path: Path) -> None:
    path = written(tmp_path, retrieval_report(10_000))
    assert path.stat().st_size < 20_000_000
    opened = open_page(path)
    assert opened.texts("#count") == ["10,000 cases"]
    assert opened.page.locator("*").count() < 3_000
    opened.page.fill("input[type=search]", "number 7777")
    opened.has_rows(1)
    opened.page.locator("#rows a").click()
    opened.page.wait_for_selector("#case h1")
    assert "evals/golden.json:7780" in opened.texts("#case")[0]
    assert opened.texts(".again pre") == [
        "pytest --mcpeval --mcpeval-retriever=tfidf evals/golden.json::q07777"
    ]


def test_page_is_made_again_from_its_report(
    whole: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "report.json").write_bytes((whole.path / "report" / "report.json").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert main(["html", "."]) == 0
    assert capsys.readouterr().out == "wrote report.html\n"
    made = (tmp_path / "report.html").read_bytes()
    assert made == (whole.path / "report" / "report.html").read_bytes()


def test_what_is_no_report_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["html", str(tmp_path)]) == 2
    assert "report.json: No such file or directory" in capsys.readouterr().err
    hollow = {"suites": {}, "gates": [], "options": [], "run": {}, "verdict": "passed", "reason": ""}
    contents = {
        "{": "is not JSON",
        "[]": "is not a report",
        "{}": "is not a report",
        json.dumps(hollow): "is not a report",
    }
    for content, words in contents.items():
        (tmp_path / "report.json").write_text(content)
        assert main(["html", str(tmp_path)]) == 1
        assert words in capsys.readouterr().err
    (tmp_path / "report.json").write_bytes(b"\xff\xfe")
    assert main(["html", str(tmp_path)]) == 1
    assert not (tmp_path / "report.html").exists()


def test_empty_report(open_page: Open, tmp_path: Path) -> None:
    report = retrieval_report(gates=[], verdict="not_evaluated", reason="no suite was collected", suites={})
    report["run"]["suites"] = {}
    opened = open_page(written(tmp_path, json.loads(json.dumps(report))))
    assert opened.texts("h1") == ["No verdict: no suite was collected"]
    assert opened.texts("#count") == ["0 cases"]
