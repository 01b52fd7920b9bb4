"""Every package that is imported is named as a dependency."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "pytest_mcpeval"


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_what_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    declared = {normal(found[0]) for one in listed if (found := re.match(r"[A-Za-z0-9_.-]+", one))}
    names = {name for path in PACKAGE.rglob("*.py") for name in imported(path)}
    foreign = names - sys.stdlib_module_names - {PACKAGE.name}
    distributions = packages_distributions()
    undeclared = {name for name in foreign if declared.isdisjoint(map(normal, distributions.get(name, ())))}
    assert undeclared == set()
    assert {"pytest", "mcp", "numpy"} <= foreign
