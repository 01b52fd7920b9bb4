"""``pytest-mcpeval install-browser``: what is there, else Playwright's download, else the system's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHROMIUM = "#!/bin/sh\necho Chromium 150.0 of the test\n"


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The only directory of programs on a machine without a browser; no download can be reached."""
    programs = tmp_path / "bin"
    programs.mkdir()
    return programs


def program(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def install(machine: Path) -> tuple[int, str]:
    """Exit code and output of the command."""
    environ = {
        **os.environ,
        "PATH": str(machine),
        "PLAYWRIGHT_BROWSERS_PATH": str(machine / "downloads"),
        "PLAYWRIGHT_DOWNLOAD_HOST": "http://127.0.0.1:1",
    }
    code = "import sys; from pytest_mcpeval.cli import main; sys.exit(main(['install-browser']))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_a_browser_that_is_there_is_used(machine: Path) -> None:
    browser = program(machine, "chromium", CHROMIUM)
    assert install(machine) == (0, f"found {browser}: Chromium 150.0 of the test\n")


def test_the_system_installs_one_when_the_download_fails(machine: Path) -> None:
    log, browser = machine / "log", machine / "chromium"
    script = f"""#!/bin/sh
echo "$@" >> {log}
if [ "$1" = install ]; then
  printf '#!/bin/sh\\necho Chromium 150.0 of the test\\n' > {browser}
  /bin/chmod +x {browser}
fi
"""
    apt = program(machine, "apt-get", script)
    program(machine, "sudo", '#!/bin/sh\nshift\nexec "$@"\n')
    code, output = install(machine)
    assert code == 0, output
    lines = output.splitlines()
    assert lines[0] == "there is no Chromium on this machine"
    assert re.fullmatch(r"running \S+ -m playwright install chromium", lines[1])
    assert lines[2].startswith("it failed with exit code 1: ")
    assert [line.rpartition(str(apt))[2] for line in lines[3:5]] == [" update", " install --yes chromium"]
    assert lines[-1] == f"found {browser}: Chromium 150.0 of the test"
    assert log.read_text().splitlines() == ["update", "install --yes chromium"]


def test_nothing_works(machine: Path) -> None:
    program(machine, "chromium", "#!/bin/sh\necho libnss3.so is missing >&2\nexit 127\n")
    program(machine, "dnf", "#!/bin/sh\necho no network >&2\nexit 1\n")
    program(machine, "sudo", '#!/bin/sh\nshift\nexec "$@"\n')
    code, output = install(machine)
    assert code == 1
    assert f"{machine / 'chromium'} does not run: libnss3.so is missing\n" in output
    assert "it failed with exit code 1: no network\n" in output
    assert output.endswith("install one yourself, and name it by --mcpeval-browser=PATH\n")
