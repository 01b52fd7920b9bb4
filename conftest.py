"""Root of the tests: pytester drives the plugin the way its users do."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

# What the tests start must not depend on how the tests were started.
# A background job and some CI runners ignore signals or hold them back, and every child inherits that.
signal.pthread_sigmask(signal.SIG_SETMASK, ())
if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
    signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD, signal.SIGALRM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)

# These variables change what a run prints, loads or decides. With TOX_ENV_DIR set, all runs of pytest share
# one cache.
FOREIGN_PREFIXES = ("GITHUB_", "MCP_", "PYTEST_ADDOPTS", "PYTEST_DEBUG", "PYTEST_PLUGINS", "PYTEST_THEME")
FOREIGN = {
    *("BUILD_NUMBER", "CI", "COLUMNS", "DISPLAY", "FORCE_COLOR", "LINES", "NO_COLOR", "PY_COLORS"),
    *("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTHONOPTIMIZE", "PYTHONUNBUFFERED", "PYTHONWARNINGS"),
    "TOX_ENV_DIR",
}
for name in list(os.environ):
    if name in FOREIGN or name.startswith(FOREIGN_PREFIXES):
        del os.environ[name]
# The servers that tests start are on this machine: no proxy stands before them.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "localhost,127.0.0.1,::1"
os.umask(0o022)
# Without it, compiled modules lie among the files a run has written.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def _no_variables_of_other_tests() -> Iterator[None]:
    """A value that one test has read from the environment is no secret of the next one."""
    from pytest_mcpeval.text.redact import redactor

    yield
    redactor.forget()
