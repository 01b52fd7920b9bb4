"""What a person reads in the terminal, beyond what every mode shares."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from pytest_mcpeval.samples import Check, Sample, samples_from_json, samples_to_json
from pytest_mcpeval.text import escaped_markdown as escaped
from tests.support import Project, Run, case, failing

ANSI = re.compile(r"\x1b\[[0-9;]*m")
SECRET = 's3cr3t-"value"-0123'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """One suite that passes its gate with a tolerated case, and a failing one."""
    project = Project.at(tmp_path)
    project.suite("gated.yaml", case("a-1"), failing("a-2"), gates={"pass_rate": 0.9})
    project.suite("good.yaml", case("g-1", "answer", input={"confidence": 80}), gates={"pass_rate": 0.9})
    return project


def test_quiet_shows_totals_in_one_line_and_failed_gates(project: Project) -> None:
    run = project.run("-q", "datasets")
    line = run.line_with("mcpeval: ")
    assert re.fullmatch(
        r"mcpeval: 2 of 3 cases passed \(66\.7 %\), average confidence 80 %, "
        r"average response time \d+ ms; 1 of 2 gates failed",
        line,
    )
    assert run.line_with("  FAILED datasets/gated.yaml::gates::pass_rate")
    assert "datasets/good.yaml::gates" not in run.out
    assert "By tool" not in run.out


def test_verbose_shows_words_for_tolerated_cases(project: Project) -> None:
    run = project.run("-v", "datasets")
    assert run.line_with("datasets/gated.yaml::a-2 TOLERATED")
    assert run.line_with("datasets/gated.yaml::a-1 PASSED")


def test_colours_follow_the_option(project: Project) -> None:
    project.suite("plain.yaml", failing("p-1"))
    coloured = project.run("--color=yes", "datasets").out
    assert "\x1b[31m  ✗ contains" in coloured
    assert re.search(r"\x1b\[31mFAILED\x1b\[0m datasets/gated", coloured)
    assert re.search(r"\x1b\[32mPASSED\x1b\[0m datasets/good", coloured)
    assert not ANSI.search(project.run("--color=no", "datasets").out)


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_section_fits_the_terminal(project: Project, columns: int) -> None:
    name = "a tag of very many words that nobody would ever want to read in full " * 2
    project.suite("tagged.yaml", case("t-1", tags=[name.strip()]), gates={"pass_rate": 0.5})
    section = project.run("datasets", columns=columns).section()
    assert not [line for line in section if len(line) > columns and "::gates::" not in line]
    assert any("…" in line for line in section)


def test_of_many_groups_the_worst_are_shown(project: Project) -> None:
    cases = [case(f"m-{n}", tags=[f"tag-{n:02}"]) for n in range(30)]
    project.suite("many.yaml", *cases, failing("m-bad", tags=["tag-bad"]))
    section = project.run("datasets").section()
    assert re.search(r"^  tag-bad +0/1 +0\.0 %$", "\n".join(section), re.M)
    assert re.search(r"^  and 16 more +≥ 100\.0 %$", "\n".join(section), re.M)
    assert len([line for line in section if line.startswith("  tag-")]) == 15


def test_failure_text(project: Project) -> None:
    checks: list[dict[str, object]] = [
        {"type": "contains", "value": "zzz"},
        {"type": "min_length", "chars": 3},
    ]
    long = case("long", "echo", *checks, text="word " * 2000, name="A long answer")
    project.suite("plain.yaml", long)
    run = project.run("datasets")
    start = run.lines.index(run.line_with("____", " long "))
    text = "\n".join(run.lines[start:])
    assert 'case: A long answer\n  ✗ contains: missing "zzz"\n  ✓ min_length: length 9999 ≥ 3 char' in text
    assert "  response (10,000 characters):" in text
    assert "… (8,800 more characters)" in text
    assert "(the full text is in the report: --mcpeval-report=DIR)" in text
    assert re.search(r"^datasets/plain\.yaml:3\n  > 3 \|   \{$", text, re.M)


def test_standard_error_of_the_server_is_shown(tmp_path: Path) -> None:
    project = Project.at(tmp_path, transport="stdio")
    server = (tmp_path / "server.py").read_text(encoding="utf-8")
    loud = server.replace('"""Report an error."""', 'import sys; print("on \\x1b[31mfire", file=sys.stderr)')
    project.write("server.py", loud)
    project.suite("plain.yaml", case("f-1", "fail", input={"message": "no"}))
    run = project.run("datasets")
    start = run.lines.index("  the server's stderr ends with:")
    assert run.lines[start + 1] == "    on \\x1b[31mfire"


def test_secrets_appear_nowhere(tmp_path: Path) -> None:
    env = {"API_TOKEN": "${API_TOKEN}", "SETTING": "plain-value"}
    project = Project.at(tmp_path, transport="stdio", env=env)
    leak = case("leak", "environment", {"type": "contains", "value": "zzz"})
    echoed = failing("echoed", text=f"the token is {SECRET}")
    project.suite("leaky.yaml", leak)
    project.suite("gated.yaml", leak, echoed, gates={"pass_rate": 0.0})
    reports = (
        "--junitxml=junit.xml",
        "--html=report.html",
        "--self-contained-html",
        "--mcpeval-report=report",
    )
    for mode in ((), ("-n2",)):
        run = project.run(*mode, *reports, "-rA", "datasets", API_TOKEN=SECRET)
        assert "plain-value" in (tmp_path / "report" / "report.json").read_text(encoding="utf-8")
        assert _leaks(run) == []


def _leaks(run: Run) -> list[str]:
    texts = {"out": run.out, "err": run.err}
    for name in ("junit.xml", "report.html", "report/report.json", "report/report.md"):
        texts[name] = (run.path / name).read_text(encoding="utf-8")
    return [name for name, text in texts.items() if "s3cr3t" in text]


def test_a_report_directory_that_cannot_be_written_is_said_at_once(project: Project) -> None:
    (project.path / "taken").write_text("a file", encoding="utf-8")
    run = project.run("--mcpeval-report=taken", "datasets")
    assert run.status == 4
    assert re.search(r"ERROR: --mcpeval-report: cannot write into .*taken: File exists\.", run.err)
    assert "passed" not in run.out


def test_without_the_option_no_report_is_written(project: Project) -> None:
    before = set(os.listdir(project.path))
    project.run("-p", "no:cacheprovider", "datasets")
    assert set(os.listdir(project.path)) == before


@pytest.mark.parametrize("text", ["<b>", "a|b", "[x](y)", "`c`", "**d**", "# e", "line\nbreak", "\x1b[31m"])
def test_markdown_is_escaped(text: str) -> None:
    shown = escaped(text)
    assert "\n" not in shown
    assert "\x1b" not in shown
    assert not re.search(r"(?<!\\)[<>|\[\]`*#]", shown)


def test_samples_survive_what_json_cannot_say() -> None:
    odd = {
        "nan": float("nan"),
        "infinite": float("-inf"),
        "huge": 10**5000,
        "lone": "\udc80",
        "deep": [1.5, None],
    }
    sample = Sample("s", "k", "i", "passed", (Check({"type": "t"}, "passed", "m", odd),), measured=odd)
    text = samples_to_json([sample])
    assert text.encode("utf-8")
    (found,) = samples_from_json(text)
    expected = {
        "nan": "nan",
        "infinite": "-inf",
        "huge": hex(10**5000),
        "lone": "\udc80",
        "deep": [1.5, None],
    }
    assert found.measured == expected
    assert found.checks[0].details == expected
