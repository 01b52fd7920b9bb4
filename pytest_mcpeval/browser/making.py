"""A driver by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pytest_mcpeval.browser.slots import pool_of_process

if TYPE_CHECKING:
    from pytest_mcpeval.browser.control import Browser
    from pytest_mcpeval.browser.directive import Driver, DriverOptions

DriverName = Literal["playwright", "playwright-mcp"]


def make_driver(name: DriverName, options: DriverOptions) -> Driver:
    """The driver of that name. Its browser starts with the first visit.

    Raises:
        BrowserError: Playwright, its MCP server or a browser is missing; the text says what to install.
    """
    from pytest_mcpeval.browser.pool_driver import PoolDriver

    slots = pool_of_process(options.pool_size, options.lock_directory)
    return PoolDriver(_browser(name, options), slots)


def _browser(name: DriverName, options: DriverOptions) -> Browser:
    if name == "playwright-mcp":
        from pytest_mcpeval.browser.playwright_mcp import PlaywrightMcpBrowser

        return PlaywrightMcpBrowser(options)
    from pytest_mcpeval.browser.playwright_browser import PlaywrightBrowser

    return PlaywrightBrowser(options)
