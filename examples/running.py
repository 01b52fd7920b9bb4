"""An example server as a process of its own, for those who evaluate it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def running(module: str, **environ: str) -> Iterator[str]:
    """A server such as ``examples.web_agent`` on a free port; gives the address that it prints.

    Raises:
        RuntimeError: It did not start; its error output says why.
    """
    command = [sys.executable, "-m", module, "--port", "0"]
    env = {**os.environ, **environ}
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        try:
            if not address:
                raise RuntimeError(f"{module} did not start: see its error output")
            yield address
        finally:
            process.terminate()
