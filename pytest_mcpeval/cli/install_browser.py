"""``pytest-mcpeval install-browser``: a Chromium for agents, where there is none."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DESCRIPTION = """\
Find the Chromium for visits of agents. If there is none, install one: Playwright's download, else the
system's package manager. Prints what it did.
"""


Tell = Callable[[str], None]

PACKAGE_MANAGERS: Mapping[str, Sequence[Sequence[str]]] = {
    "apt-get": (("update",), ("install", "--yes", "chromium")),
    "dnf": (("install", "--assumeyes", "chromium"),),
    "apk": (("add", "chromium"),),
    "pacman": (("-S", "--noconfirm", "chromium"),),
}
SHOWN_OUTPUT = 500
VERSION_SECONDS = 60


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Declare the command and its arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "install-browser", help="find or install the Chromium for visits of agents", description=DESCRIPTION
    )
    return parser


def run(options: argparse.Namespace) -> int:
    """Find or install a browser; 1 when there is none afterwards."""
    from pytest_mcpeval.text.visible import visible

    return 0 if install_browser(lambda line: print(visible(line), flush=True)) is not None else 1


def install_browser(tell: Tell, environ: Mapping[str, str] = os.environ) -> Path | None:
    """A Chromium that runs, installed if there is none; each step is printed. None when nothing worked."""
    found = _working(tell, environ)
    if found is not None:
        return found
    for commands in _ways(environ):
        if all(_succeeds(command, tell, environ) for command in commands):
            found = _working(tell, environ)
            if found is not None:
                return found
    tell("no Chromium could be installed: install one yourself, and name it by --mcpeval-browser=PATH")
    return None


def _working(tell: Tell, environ: Mapping[str, str]) -> Path | None:
    from pytest_mcpeval.browser.finding import installed_browser

    browser = installed_browser(environ)
    if browser is None:
        tell("there is no Chromium on this machine")
        return None
    try:
        done = _run([str(browser), "--version"], environ, VERSION_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        tell(f"{browser} does not run: {error}")
        return None
    if done.returncode != 0:
        tell(f"{browser} does not run: {_last_words(done)}")
        return None
    tell(f"found {browser}: {done.stdout.strip()}")
    return browser


def _ways(environ: Mapping[str, str]) -> Iterator[list[list[str]]]:
    """The ways to install a browser, each the commands to run one after the other."""
    if find_spec("playwright") is not None:
        yield [[sys.executable, "-m", "playwright", "install", "chromium"]]
    path = environ.get("PATH", os.defpath)
    as_root: list[str] = []
    if os.geteuid() != 0:
        sudo = shutil.which("sudo", path=path)
        as_root = [sudo, "--non-interactive"] if sudo else []
    for name, calls in PACKAGE_MANAGERS.items():
        program = shutil.which(name, path=path)
        if program is not None:
            yield [[*as_root, program, *call] for call in calls]


def _succeeds(command: Sequence[str], tell: Tell, environ: Mapping[str, str]) -> bool:
    tell(f"running {' '.join(command)}")
    try:
        done = _run(command, environ, None)
    except OSError as error:
        tell(f"it failed: {error}")
        return False
    if done.returncode != 0:
        tell(f"it failed with exit code {done.returncode}: {_last_words(done)}")
    return done.returncode == 0


def _run(
    command: Sequence[str], environ: Mapping[str, str], seconds: float | None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    said = " ".join((done.stderr.strip() or done.stdout.strip()).split())
    return said[-SHOWN_OUTPUT:] or "it said nothing"
