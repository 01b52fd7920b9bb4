"""``pytest-mcpeval discover`` and ``validate`` on manifests."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mcpeval.cli import main
from tests.agent.captured_runs import case, manifest
from tests.support import Project

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


def test_every_manifest_below_a_directory_is_listed(project: Project, capsys: Captured) -> None:
    project.write_json("agent.yaml", manifest(case("a", max_steps=1), case("b", max_steps=1)))
    other = manifest(case("a", max_steps=1), name="pets", description="Finds\n  pets.")
    project.write_json("deep/down/pets.agent.yaml", other)
    project.write("deep/agent.yml", "not: one")
    project.write("deep/myagent.yaml", "not: one")
    project.write("node_modules.yaml", "not: one")
    assert main(["discover"]) == 0
    assert capsys.readouterr().out == (
        "agent.yaml\n"
        "  name         people\n"
        "  description  Answers questions on people.\n"
        "  cases        2\n"
        "\n"
        "deep/down/pets.agent.yaml\n"
        "  name         pets\n"
        "  description  Finds pets.\n"
        "  cases        1\n"
        "\n"
    )


def test_hidden_and_symlinked_directories_are_skipped(project: Project, capsys: Captured) -> None:
    project.write("elsewhere/agent.yaml", "broken: [")
    project.write("root/.hidden/agent.yaml", "broken: [")
    (project.path / "root" / "linked").symlink_to(project.path / "elsewhere", target_is_directory=True)
    assert main(["discover", "root"]) == 0
    found = capsys.readouterr()
    assert found.out.startswith("No manifest found below root.\nWrite one: an agent.yaml")
    assert found.err == ""


def test_an_invalid_manifest_is_told_and_the_others_are_listed(project: Project, capsys: Captured) -> None:
    project.write_json("a/agent.yaml", manifest())
    project.write_json("b/agent.yaml", manifest(case("a", max_steps=1)))
    assert main(["discover", str(project.path)]) == 1
    found = capsys.readouterr()
    assert "a/agent.yaml: not valid\n" in found.err
    assert "cases: expected at least 1 entry" in found.err
    assert found.out.startswith("b/agent.yaml\n  name         people\n")


def test_two_manifests_of_one_name_are_reported(project: Project, capsys: Captured) -> None:
    for name in ("a", "b"):
        project.write_json(f"{name}/agent.yaml", manifest(case("a", max_steps=1)))
    assert main(["discover"]) == 1
    found = capsys.readouterr()
    assert found.out.count("name         people") == 2
    assert "b/agent.yaml: not valid\n" in found.err
    assert 'name: "people" is the name of the agent in' in found.err
    assert main(["validate", "."]) == 1


UNSOUND_TEXT = """\
apiVersion:
name: people
access: {url: "https://x.example", auth: *y}
cases:
  - id: a
    input: hi
    input: hello
    assertions: {max_total_tokens: .nan, max_steps: 0, must_not_call: [x], must_call_exactly: {x: 1, [1]: 2}}
"""
UNSOUND_CONTENT = """\
apiVersion:
name: people
access: {url: "https://x.example"}
cases:
  - id: a
    input: hi
    assertions: {max_steps: 0}
  - {id: b, input: hi, assertions: {must_not_call: [x], must_call_exactly: {x: 1}}}
"""


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            UNSOUND_TEXT,
            [
                "agent.yaml:3: the alias *y has no anchor",
                'agent.yaml:7: duplicate key "input"',
                "agent.yaml:8: .nan is not a number JSON can hold",
                "agent.yaml:8: a key must be a text, found a list with 1 entry",
            ],
        ),
        (
            UNSOUND_CONTENT,
            [
                "agent.yaml:1: apiVersion is missing",
                "agent.yaml:7: cases[0].assertions.max_steps: expected a number of at least 1",
                'agent.yaml:8: cases[1].assertions.must_call_exactly.x: "x" is also in must_not_call',
            ],
        ),
    ],
)
def test_all_problems_of_the_text_or_the_content_are_shown_by_both_commands(
    project: Project, capsys: Captured, text: str, problems: list[str]
) -> None:
    project.write("agent.yaml", text)
    assert main(["discover"]) == 1
    discovered = capsys.readouterr().err
    assert main(["validate", "agent.yaml"]) == 1
    validated = capsys.readouterr().out
    for words in problems:
        assert words in discovered
        assert words in validated
    assert validated.endswith(f": {len(problems)} problems\n")


def test_the_name_of_a_manifest_says_what_it_is(project: Project, capsys: Captured) -> None:
    project.write("short.agent.yaml", "name: people\n")
    assert main(["validate", "short.agent.yaml"]) == 1
    out = capsys.readouterr().out
    assert "short.agent.yaml:1: apiVersion is missing" in out
    assert 'missing required key "access"' in out


def test_a_root_that_is_no_directory(project: Project, capsys: Captured) -> None:
    assert main(["discover", "gone"]) == 1
    assert "gone is not a directory" in capsys.readouterr().err


def test_validate_sums_a_manifest_up(project: Project, capsys: Captured) -> None:
    content = manifest(
        case("a", must_call=["find"]), tools_catalog=["find", "rank"], agents_catalog=[{"name": "hr"}]
    )
    project.write_json("agent.yaml", content)
    assert main(["validate", "agent.yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "agent.yaml: 1 case (agent), agent people, 2 declared tools, 1 declared sub-agent",
        "1 file, 1 case: no problems",
    ]


def test_validate_lists_every_violation(project: Project, capsys: Captured) -> None:
    path = project.write_json("agent.yaml", manifest(case("a", must_cal=["find"]), name="No Slug"))
    path.write_text(path.read_text().replace('"apiVersion": "agentevaluator/v1",', ""))
    assert main(["validate", "agent.yaml"]) == 1
    out = capsys.readouterr().out
    for words in ("apiVersion is missing", "name: expected a text", 'unknown key "must_cal"'):
        assert words in out
    assert out.endswith("1 file, 0 cases: 3 problems\n")
