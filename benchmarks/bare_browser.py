"""The steps of a captured case as a person would write them with Playwright, and nothing else.

``python benchmarks/bare_browser.py URL COUNT BROWSER`` visits a page so many times.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright


def main() -> None:
    """Visit the page, each time in a fresh context."""
    url, count, executable = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable)
        for number in range(count):
            visit(browser, url, Path(directory, str(number)))
        browser.close()


def visit(browser: Browser, url: str, folder: Path) -> None:
    """Landing, input, answer: a screenshot and the HTML of both pages."""
    folder.mkdir()
    context = browser.new_context()
    page = context.new_page()
    page.goto(url)
    page.screenshot(path=folder / "landing.png")
    (folder / "landing.html").write_text(page.content(), encoding="utf-8")
    page.fill("textarea", "hello")
    page.keyboard.press("Enter")
    page.wait_for_selector(".agent")
    page.screenshot(path=folder / "answer.png")
    (folder / "answer.html").write_text(page.content(), encoding="utf-8")
    assert "answer to hello" in page.inner_text("body")
    context.close()


if __name__ == "__main__":
    main()
