"""Root of the tests: pytester drives the plugin the way its users do."""

from __future__ import annotations

pytest_plugins = ["pytester"]
