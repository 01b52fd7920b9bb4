"""Where the runtime of a session is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_mcpeval.runtime import Runtime

runtime_key: pytest.StashKey[Runtime] = pytest.StashKey()
