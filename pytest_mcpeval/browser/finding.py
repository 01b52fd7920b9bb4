"""Find the Chromium for visits, and decide whether it is visible."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_mcpeval.browser.directive import BrowserError, DriverOptions

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
DOWNLOADS = (
    "chrome-linux*/chrome",
    "chrome-mac*/*.app/Contents/MacOS/*",
    "chrome-win*/chrome.exe",
)


def find_browser(options: DriverOptions, environ: Mapping[str, str] = os.environ) -> Path:
    """The browser to use: the one that was named, else one on the machine.

    On the machine, what Playwright has downloaded goes before what the system has: it fits Playwright.

    Raises:
        BrowserError: There is none.
    """
    if options.browser is not None:
        return _named(Path(options.browser))
    found = installed_browser(environ)
    if found is None:
        raise BrowserError(
            f"no Chromium found: neither {', '.join(NAMES)} on the PATH, nor a download of Playwright's. "
            "Run `pytest-mcpeval install-browser`, or give its path with --mcpeval-browser=PATH"
        )
    return found


def installed_browser(environ: Mapping[str, str] = os.environ) -> Path | None:
    """A browser on the machine; None if there is none."""
    return next(_candidates(environ), None)


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    yield from _downloads(environ)
    for name in NAMES:
        found = shutil.which(name, path=environ.get("PATH", os.defpath))
        if found is not None:
            yield Path(found)
    yield from (Path(path) for path in APPLICATIONS if os.access(path, os.X_OK))


def _named(path: Path) -> Path:
    if not path.is_file():
        raise BrowserError(f"--mcpeval-browser: there is no file {path}")
    if not os.access(path, os.X_OK):
        raise BrowserError(
            f"--mcpeval-browser: {path} cannot be executed: name a Chromium, such as {NAMES[0]}"
        )
    return path


def _downloads(environ: Mapping[str, str]) -> list[Path]:
    """Return the browsers that Playwright has downloaded, newest first."""
    directory = environ.get("PLAYWRIGHT_BROWSERS_PATH") or _download_directory(environ)
    folders = sorted(Path(directory).glob("chromium-*"), key=_revision, reverse=True)
    found = (path for folder in folders for pattern in DOWNLOADS for path in folder.glob(pattern))
    return [path for path in found if path.is_file() and os.access(path, os.X_OK)]


def _download_directory(environ: Mapping[str, str]) -> Path:
    home = Path(environ.get("HOME") or Path.home())
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ms-playwright"
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "ms-playwright"


def _revision(folder: Path) -> int:
    number = re.search(r"\d+$", folder.name)
    return int(number[0]) if number else 0


def is_headed(options: DriverOptions, environ: Mapping[str, str] = os.environ) -> tuple[bool, str]:
    """Whether browsers are shown, and why: asked for, or a display exists and ``CI`` is not set."""
    if options.headed is not None:
        return options.headed, "as asked for"
    if environ.get("CI"):
        return False, "CI is set"
    has_display = sys.platform == "darwin" or any(
        environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    return (True, "there is a display") if has_display else (False, "there is no display")


def header(options: DriverOptions, environ: Mapping[str, str] = os.environ) -> str:
    """A line for the header of a session: which browser, shown or not, and how many at once."""
    headed, reason = is_headed(options, environ)
    try:
        browser = str(find_browser(options, environ))
    except BrowserError:
        browser = "none found"
    mode = "headed" if headed else "headless"
    slots = "1 slot" if options.pool_size == 1 else f"{options.pool_size} slots"
    return f"browser: {browser}, {mode} ({reason}), {slots}"
