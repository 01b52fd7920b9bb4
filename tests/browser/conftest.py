"""Drivers with a real browser, and pages to visit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval.browser.artifacts import CaseFolder, RunFolder
from pytest_mcpeval.browser.directive import CaptureResult, Directive, Driver, DriverOptions, Interaction
from pytest_mcpeval.browser.pool_driver import DriverName, make_driver
from tests.browser.pages import Site, serve

NPM_PROGRAMS = Path(__file__).parents[2] / "examples" / "npm_servers" / "node_modules" / ".bin"
DRIVERS: tuple[DriverName, ...] = ("playwright", "playwright-mcp")

by_one_driver = pytest.mark.parametrize("driver", ["playwright"], indirect=True)
"""For what page.js or the procedure decides: a driver has no part in it."""


@pytest.fixture
def site() -> Iterator[Site]:
    """A web server of the test's own."""
    with serve() as running:
        yield running


@pytest.fixture(scope="session")
def npm_programs() -> Iterator[None]:
    """The programs of the npm servers are on the PATH."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{NPM_PROGRAMS}{os.pathsep}{os.environ['PATH']}")
        yield


@pytest.fixture(scope="session", params=DRIVERS)
def driver(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, npm_programs: None
) -> Iterator[Driver]:
    """Each driver in turn, with a browser that stays warm over tests."""
    options = DriverOptions(headed=False, lock_directory=tmp_path_factory.mktemp("slots"))
    made = make_driver(request.param, options)
    yield made
    made.close()


@dataclass(frozen=True)
class Visit:
    """A visit that was made."""

    result: CaptureResult
    folder: CaseFolder

    @property
    def landing(self) -> str:
        """The HTML before the input."""
        return self.folder.landing_dom.read_text(encoding="utf-8")

    @property
    def answer(self) -> str:
        """The HTML with the answer."""
        assert self.result.error is None, self.result.error
        return self.folder.after_submit_dom.read_text(encoding="utf-8")

    @property
    def error(self) -> str:
        """Step and message of what went wrong."""
        assert self.result.error is not None
        return f"{self.result.error.step}: {self.result.error.message}"

    def files(self) -> dict[str, Path]:
        """Everything in the folder, by its name relative to it."""
        path = self.folder.path
        return {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}


MakeVisit = Callable[..., Visit]


@pytest.fixture
def visit(driver: Driver, site: Site, tmp_path: Path) -> MakeVisit:
    """Visit a page of the site: ``visit("/chat?delay=100", input="hello", **fields of a directive)``."""

    def make(page: str = "/chat", input: str = "hello", case_id: str = "case", **fields: Any) -> Visit:
        folder = RunFolder.of(tmp_path / "runs", "agent", "run").case(case_id)
        folder.create()
        url = page if page.startswith("http") else site.url + page
        used = {name: fields.pop(name) for name in Interaction.model_fields if name in fields}
        interaction = Interaction.model_validate({"response_wait_ms": 300, **used})
        directive = Directive("agent", "run", case_id, url, input, folder, interaction, **fields)
        return Visit(driver.capture(directive), folder)

    return make
