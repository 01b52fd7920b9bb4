"""Root of the tests: pytester drives the plugin the way its users do."""

from __future__ import annotations

import os

# What tests start must not depend on how these tests were started. With TOX_ENV_DIR set, all pytest runs
# share one cache; without PYTHONDONTWRITEBYTECODE, compiled modules lie among the files a run has written.
os.environ.pop("TOX_ENV_DIR", None)
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

pytest_plugins = ["pytester"]
