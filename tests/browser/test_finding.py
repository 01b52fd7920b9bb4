"""Which Chromium is used, and whether it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mcpeval import BrowserError
from pytest_mcpeval.browser.directive import DriverOptions
from pytest_mcpeval.browser.finding import find_browser, header, is_headed


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """An environment without any browser."""
    (tmp_path / "bin").mkdir()
    return {"HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "bin")}


def test_a_machine_without_a_browser(machine: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_mcpeval.browser.finding.APPLICATIONS", ())
    with pytest.raises(BrowserError, match=r"Run `pytest-mcpeval install-browser`, or .*--mcpeval-browser"):
        find_browser(DriverOptions(), machine)
    assert header(DriverOptions(pool_size=1), machine) == (
        "browser: none found, headless (there is no display), 1 slot"
    )


def test_what_playwright_downloaded_goes_first_and_the_newest_of_it(
    machine: dict[str, str], tmp_path: Path
) -> None:
    system = program(tmp_path / "bin" / "chromium")
    assert find_browser(DriverOptions(), machine) == system
    downloads = tmp_path / "home" / ".cache" / "ms-playwright"
    program(downloads / "chromium-999" / "chrome-linux" / "chrome")
    newest = program(downloads / "chromium-1187" / "chrome-linux64" / "chrome")
    machine |= {"XDG_CACHE_HOME": str(tmp_path / "home" / ".cache")}
    assert find_browser(DriverOptions(), machine) == newest
    elsewhere = program(tmp_path / "kept" / "chromium-1" / "chrome-linux" / "chrome")
    machine |= {"PLAYWRIGHT_BROWSERS_PATH": str(tmp_path / "kept")}
    assert find_browser(DriverOptions(), machine) == elsewhere


def test_a_browser_that_is_named(machine: dict[str, str], tmp_path: Path) -> None:
    named = program(tmp_path / "opt" / "my-chromium")
    assert find_browser(DriverOptions(browser=str(named)), machine) == named
    named.chmod(0o644)
    with pytest.raises(BrowserError, match="my-chromium cannot be executed: name a Chromium"):
        find_browser(DriverOptions(browser=str(named)), machine)
    with pytest.raises(BrowserError, match="--mcpeval-browser: there is no file"):
        find_browser(DriverOptions(browser=str(tmp_path)), machine)


@pytest.mark.parametrize(
    ("headed", "environ", "expected"),
    [
        (None, {}, (False, "there is no display")),
        (None, {"DISPLAY": ":1"}, (True, "there is a display")),
        (None, {"WAYLAND_DISPLAY": "wayland-0"}, (True, "there is a display")),
        (None, {"DISPLAY": ":1", "CI": "true"}, (False, "CI is set")),
        (True, {"CI": "true"}, (True, "as asked for")),
    ],
)
def test_headed_where_there_is_a_display_and_no_ci(
    headed: bool | None, environ: dict[str, str], expected: tuple[bool, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert is_headed(DriverOptions(headed=headed), environ) == expected
