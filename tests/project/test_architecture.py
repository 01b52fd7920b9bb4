"""What may import what."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_import_rules(tmp_path: Path) -> None:
    command = [
        str(Path(sys.executable).parent / "lint-imports"),
        "--no-logo",
        *("--config", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path)),
    ]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
