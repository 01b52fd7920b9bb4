"""A small project to run the plugin on, with a server of its own, and what such a run left behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.forking import run_pytest

SERVER = '''
import json
import os
import signal
import time
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent

server = MCPServer("tiny", log_level="ERROR")


@server.tool(structured_output=False)
def echo(text: str) -> str:
    """Return the text."""
    return text


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(structured_output=False)
def answer(text: str, confidence: float) -> str:
    """Return the text with a metadata block."""
    metadata = json.dumps({"confidence": confidence, "sourcesUsed": 2, "processingTimeMs": 5})
    return f"{text}\\n<response_metadata>\\n```json\\n{metadata}\\n```\\n</response_metadata>"


@server.tool(structured_output=False)
def repeat(text: str, times: int) -> str:
    """Return the text many times."""
    return text * times


@server.tool(structured_output=False)
def fail(message: str) -> str:
    """Report an error."""
    raise ToolError(message)


@server.tool(structured_output=False)
def sleep(seconds: float) -> str:
    """Take a while; a file called `asleep` tells that it has begun."""
    open("asleep", "w").close()
    time.sleep(seconds)
    return "woke up"


@server.tool(structured_output=False)
def crash() -> str:
    """End the process without a word: the server's, or in-process the test run's own."""
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


@server.tool(structured_output=False)
def environment() -> str:
    """Show every environment variable."""
    return json.dumps(dict(os.environ), indent=1)


@server.tool(structured_output=False)
def structured(value: str) -> CallToolResult:
    """Return structured content: the JSON that was given."""
    content = [TextContent(type="text", text="see the structured content")]
    return CallToolResult(content=content, structured_content={"value": json.loads(value)})


if __name__ == "__main__":
    server.run("stdio")
'''

Case = dict[str, Any]

NOT_OF_THE_PROJECT = ("-p", "no:hypothesispytest")
"""A plugin that the tests bring along, and that takes a while to import at the end of each run."""


def case(
    case_id: str, tool: str = "echo", *checks: Mapping[str, Any], text: str = "hello", **fields: Any
) -> Case:
    """A case that passes against `SERVER`, unless its checks or fields say otherwise."""
    arguments = {"text": text} if tool in ("echo", "answer") else {}
    return {
        "id": case_id,
        "tool": tool,
        "input": {**arguments, **fields.pop("input", {})},
        "expected": {"validations": list(checks) or [{"type": "min_length", "chars": 1}]},
        **fields,
    }


def failing(case_id: str, **fields: Any) -> Case:
    """A case whose check fails."""
    return case(case_id, "echo", {"type": "contains", "value": "goodbye"}, **fields)


@dataclass(frozen=True)
class Project:
    """A directory with the server, and suites under ``datasets/``."""

    path: Path

    @classmethod
    def at(cls, path: Path, *, transport: str = "module", **definition: Any) -> Project:
        """A project whose one server runs in the test process (``module``) or as a process of its own."""
        project = cls(path)
        project.write("server.py", SERVER)
        started: dict[str, Any] = {"command": sys.executable, "args": ["server.py"]}
        server = {"module": "server:server"} if transport == "module" else started
        project.write_json(".mcp.json", {"mcpServers": {"tiny": {**server, **definition}}})
        project.write("pytest.ini", "[pytest]\n")
        return project

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def write_json(self, name: str, data: Any) -> Path:
        """Write a file of the project as JSON, which is YAML too."""
        return self.write(name, json.dumps(data, indent=1))

    def suite(self, name: str, *cases: Case, **settings: Any) -> Path:
        """Write ``datasets/<name>``."""
        return self.write_json(f"datasets/{name}", {**settings, "tests": list(cases)})

    def command(self, *arguments: str) -> list[str]:
        """The command line of a run with the plugin on."""
        return [sys.executable, "-m", "pytest", "--mcpeval", *NOT_OF_THE_PROJECT, *arguments]

    def run(self, *arguments: str, columns: int = 80, timeout: float = 120, **environ: str) -> Run:
        """Run pytest in a process of its own: a new interpreter if a variable of Python's is given.

        Otherwise the process is forked, which is faster, and shares the seed of hashes with all others.
        """
        command, variables = self.command(*arguments), self.environ(columns, **environ)
        if any(name.startswith("PYTHON") for name in environ):
            done = subprocess.run(
                command,
                cwd=self.path,
                env=variables,
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=timeout,
                check=False,
            )
        else:
            done = run_pytest(command[3:], self.path, variables, timeout)
        return Run(self.path, done.returncode, done.stdout, done.stderr)

    def environ(self, columns: int = 80, **more: str) -> dict[str, str]:
        """This process's environment, without what the outer pytest put there."""
        # Without bytecode, each run would compile the whole plugin again.
        ours = ("PYTEST_", "PYTHONDONTWRITEBYTECODE", "GITHUB_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        return {**kept, "COLUMNS": str(columns), "PYTHONUTF8": "1", **more}


@dataclass(frozen=True)
class Run:
    """What a run printed, and the files it left."""

    path: Path
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of the terminal."""
        return self.out.splitlines()

    @property
    def last_line(self) -> str:
        """The summary line without its ``=``."""
        return self.lines[-1].strip("= ")

    def section(self, title: str = "mcpeval") -> list[str]:
        """The lines of a section of the terminal, up to the next one."""
        starts = [i for i, line in enumerate(self.lines) if re.fullmatch(rf"=+ {title} =+", line)]
        assert starts, self.out
        following = self.lines[starts[0] + 1 :]
        ends = (i for i, line in enumerate(following) if re.match(r"[=-]+ .* [=-]+$", line))
        end = next(ends, len(following))
        return following[:end]

    def line_with(self, *words: str) -> str:
        """The first line that holds all the words."""
        found = [line for line in self.lines if all(word in line for word in words)]
        assert found, self.out
        return found[0]

    def junit_cases(self, name: str = "junit.xml") -> list[ElementTree.Element]:
        """The test cases of a junit file."""
        return list(ElementTree.parse(self.path / name).iter("testcase"))

    def junit(self, name: str = "junit.xml") -> dict[str, ElementTree.Element]:
        """Test case name → element."""
        return {found.attrib["name"]: found for found in self.junit_cases(name)}

    def report(self, directory: str = "report") -> dict[str, Any]:
        """``report.json``, read as strictly as JSON is defined."""
        text = (self.path / directory / "report.json").read_text(encoding="utf-8")
        found: dict[str, Any] = json.loads(text, parse_constant=_no_constant)
        return found

    def gates(self, directory: str = "report") -> dict[str, str]:
        """``suite::gate`` → verdict, from ``report.json``."""
        return {
            f"{Path(gate['suite']).stem}::{gate['name']}": gate["verdict"]
            for gate in self.report(directory)["gates"]
        }

    def html_rows(self, name: str = "report.html") -> Iterator[tuple[str, Mapping[str, Any]]]:
        """(node id, row) of a pytest-html report."""
        from bs4 import BeautifulSoup

        soup = BeautifulSoup((self.path / name).read_text(encoding="utf-8"), "html.parser")
        container = soup.find(id="data-container")
        assert container is not None
        data: Mapping[str, Sequence[Mapping[str, Any]]] = json.loads(str(container["data-jsonblob"]))["tests"]  # type: ignore[index]
        for node, rows in data.items():
            yield from ((node, row) for row in rows)


def _no_constant(name: str) -> Any:
    raise AssertionError(f"{name} is not JSON")
