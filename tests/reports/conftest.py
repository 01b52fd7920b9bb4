"""One project with everything that can happen to a case and a gate, run once in each mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import Project, Run, case, failing

MODES: Mapping[str, Sequence[str]] = {"serial": (), "n0": ("-n0",), "2 workers": ("-n2",)}
HOSTILE = "<script>alert(1)</script></pre><img src=x onerror=alert(2)>\x1b[31mred\x1b[0m\u202ebidi\x07 | `x`"
REPORTS = ("--junitxml=junit.xml", "--html=report.html", "--self-contained-html", "--mcpeval-report=report")

RunIn = Callable[[str], Run]

CONFTEST = """
import pytest

@pytest.fixture
def broken():
    raise RuntimeError("the fixture broke")
"""

PYTHON_TEST = """
def test_plain() -> None:
    pass
"""


def write_project(path: Path) -> Project:
    """Suites for every outcome and every verdict."""
    project = Project.at(path)
    tags = ["intro", "a tag with a name of many words", "intro"]
    tagged: dict[str, Any] = {"difficulty": "basic", "project": "mina", "tags": tags}
    project.suite(
        "plain.yaml",
        case("ok-1", "answer", input={"confidence": 90}, **tagged),
        failing("bad-1", difficulty="advanced", project="solana", name="A bad case", tags=["intro"]),
        case("tool-error", "fail", input={"message": "no \x1b[1mway"}),
        send_project=False,
    )
    project.suite("tolerated.yaml", case("t-ok"), failing("t-bad", text=HOSTILE), gates={"pass_rate": 0.5})
    project.suite(
        "strict.yaml", case("f-ok"), failing("f-bad"), gates={"pass_rate": 0.9, "p95_latency_ms": 60000}
    )
    answers = [case(f"c-{n}", "answer", input={"confidence": n}) for n in (80, 60, 0)]
    project.suite("confidence.yaml", *answers, gates={"average_confidence": 75})
    project.suite("broken.yaml", case("e-ok"), case("e-error", fixtures=["broken"]), gates={"pass_rate": 0.1})
    project.suite(
        "aside.yaml",
        case("s-ok"),
        failing("s-skip", marks={"skip": "not today"}),
        failing("s-xfail", marks={"xfail": "known bug"}),
        gates={"pass_rate": 1.0},
    )
    project.suite("nothing.yaml", case("n-skip", marks={"skip": "off"}), gates={"pass_rate": 0.1})
    project.suite(
        "odd.yaml",
        case("o-nan", "structured", {"type": "not_error"}, input={"value": '{"a": NaN, "b": [Infinity]}'}),
        case("o-integer", "structured", {"type": "not_error"}, input={"value": "1" * 2000}),
        case("o-surrogate", "structured", {"type": "not_error"}, input={"value": '"\\ud800"'}),
        case(
            "o-huge", "repeat", {"type": "contains", "value": "y"}, input={"text": "x", "times": 20_000_000}
        ),
        case("o-slow", "echo", {"type": "max_latency_ms", "ms": 0.000001}),
        gates={"pass_rate": 0.1},
    )
    project.write("conftest.py", CONFTEST)
    project.write("test_python.py", PYTHON_TEST)
    return project


@pytest.fixture(scope="session")
def run_in(tmp_path_factory: pytest.TempPathFactory) -> RunIn:
    """Runs the project in a mode, once."""
    done: dict[str, Run] = {}

    def run(mode: str) -> Run:
        if mode not in done:
            # The same directory name in every mode: paths in reports must not differ.
            path = tmp_path_factory.mktemp(mode.replace(" ", "-")) / "project"
            project = write_project(path)
            # What is written does not depend on the order of sets either.
            seed = str(list(MODES).index(mode))
            done[mode] = project.run(".", "-v", *MODES[mode], *REPORTS, "-ra", PYTHONHASHSEED=seed)
        return done[mode]

    return run


@pytest.fixture(scope="session", params=["serial", "2 workers"])
def run(request: pytest.FixtureRequest, run_in: RunIn) -> Run:
    """The run of the project, serially and with workers."""
    return run_in(request.param)
