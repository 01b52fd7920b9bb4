"""Narratives and reports: what they cite must have been captured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval.browser.artifacts import RunFolder
from pytest_mcpeval.cli import main
from pytest_mcpeval.kinds.agent.evidence import write_step_count
from pytest_mcpeval.kinds.agent.finalize import write_agent_files
from pytest_mcpeval.kinds.agent.narrative import citation_problem, narrative_of
from pytest_mcpeval.kinds.agent.scoring import AgentScore, read_score
from tests.agent.captured_runs import AGENT, RUN_ID, CapturedProject, Evidence, call, case

PAGE = "trace/dom/step-002-after_submit.html"
LOG = "trace/observability/tool_calls.jsonl"


@pytest.fixture
def made(tmp_path: Path) -> CapturedProject:
    """A project with a captured run."""
    made = CapturedProject.at(
        tmp_path,
        case("ok", final_response_contains="Ada"),
        case("bad", must_call=["find", "rank"]),
        case("open", max_steps=1),
        case("broken", max_steps=1),
    )
    made.capture("ok", Evidence())
    made.capture("bad", Evidence(calls=[call("find")]))
    made.capture("open", Evidence())
    made.capture("broken", Evidence(error="navigate: `nobody` answers", page=None))
    return made


@pytest.fixture
def run(made: CapturedProject) -> RunFolder:
    """A scored run: ``ok`` passed, ``bad`` failed, ``open`` is inconclusive, ``broken`` in error."""
    (note,) = made.score_here()
    assert note == f"agent {AGENT}: {made.folder().report}"
    return made.folder()


def narrative(path: Path, case_id: str = "bad", **changed: Any) -> Path:
    """A narrative that stands, unless a test changes it."""
    citations = [PAGE, {"artifact_path": LOG, "span_id": "call-0", "detail": "the first call"}]
    observation = {"text": "It looked for people, and ranked nobody.", "citations": citations}
    content = {"case_id": case_id, "summary": "It stopped halfway.", "observations": [observation], **changed}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def citing(*citations: Any) -> dict[str, Any]:
    return {"observations": [{"text": "x", "citations": list(citations)}]}


def test_a_grounded_narrative_is_confirmed(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = narrative(tmp_path / "n.json")
    assert main(["validate-narrative", str(path), "--score", str(run.case("bad").score)]) == 0
    out = capsys.readouterr().out
    assert "grounded" in out
    assert "bad of people (failed)" in out
    assert "citations     2, all found" in out


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"case_id": "ok"}, 'case_id: the narrative is of "ok", and the score of "bad"'),
        (
            citing("trace/dom/gone.html"),
            'observations[0].citations[0]: there is no file "trace/dom/gone.html"',
        ),
        (citing("../ok/score.json"), "leads out of the folder of the case"),
        (citing("/etc/passwd"), "leads out of the folder of the case"),
        (citing("trace/dom"), "there is no file"),
        (citing("trace/link.html"), "leads out of the folder of the case"),
        (
            citing(PAGE, {"artifact_path": LOG, "span_id": "call-9"}),
            'citations[1]: "trace/observability/tool_c',
        ),
        (citing({"artifact_path": LOG, "span_id": "call"}), 'has no span "call"'),
        (citing({"artifact_path": PAGE, "span_id": "Ada"}), 'has no span "Ada"'),
        (citing("score.json"), '"score.json" was not captured: cite a file below trace/'),
        (citing("nul\0byte"), "there is no file"),
        (citing(), "observations[0].citations: expected at least 1 entry"),
        ({"observations": []}, "observations: expected at least 1 entry"),
        ({"summary": " "}, "summary: is blank"),
        ({"more": 1}, 'unknown key "more"'),
    ],
)
def test_what_does_not_stand_is_refused(
    run: RunFolder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changed: dict[str, Any],
    words: str,
) -> None:
    (tmp_path / "outside.html").write_text("x")
    (run.case("bad").trace / "link.html").symlink_to(tmp_path / "outside.html")
    path = narrative(tmp_path / "n.json", **changed)
    assert main(["validate-narrative", str(path), "--score", str(run.case("bad").score)]) == 1
    found = capsys.readouterr()
    assert words in found.err
    assert found.out == ""


@pytest.mark.parametrize("content", ["{", "[]", '{"version": 1}'])
def test_files_that_are_none(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text(content)
    assert main(["validate-narrative", str(broken), "--score", str(run.case("bad").score)]) == 1
    assert main(["validate-narrative", str(narrative(tmp_path / "n.json")), "--score", str(broken)]) == 1
    assert main(["report", str(broken)]) == 1
    assert main(["report", str(tmp_path / "gone")]) == 1
    err = capsys.readouterr().err
    assert str(broken) in err
    assert "cannot be read" in err


def test_the_score_of_a_run_is_no_score_of_a_case(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = narrative(tmp_path / "n.json")
    assert main(["validate-narrative", str(path), "--score", str(run.score)]) == 1
    assert "give that of a case" in capsys.readouterr().err


def test_the_report_of_a_run(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(run.path)]) == 0
    out = capsys.readouterr().out
    assert out == run.report.read_text()
    assert f"Run {RUN_ID}" in out
    assert "**1 of 4 cases passed** (1 passed, 1 failed, 1 inconclusive, 1 error)." in out
    assert "| bad | ✗ failed | 1 | 1 | 0 |" in out
    assert "![step-002-after_submit](ok/trace/screenshots/step-002-after_submit.png)" in out
    assert "Asked: who leads Engineering?" in out
    assert "The case failed: 1 of 2 assertions hold, 1 does not." in out
    assert "(bad/trace/observability/tool_calls.jsonl)" in out
    assert "Error: navigate: \\`nobody\\` answers" in out
    assert "  - 1\\. declare a source of step_count" in out
    for target in (line.split("](")[1].split(")")[0] for line in out.splitlines() if "](" in line):
        assert (run.path / target).is_file()


def test_a_supplied_narrative_takes_the_place_of_the_made_one(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    narrative(run.case("bad").narrative)
    narrative(run.narrative("ok"), "ok", **citing(PAGE))
    assert main(["report", str(run.path)]) == 0
    out = capsys.readouterr().out
    assert out.count("It stopped halfway.") == 2
    assert "It looked for people, and ranked nobody." in out
    given = narrative(tmp_path / "given" / "bad.json", summary="From elsewhere.")
    assert main(["report", str(run.path), "--narratives-dir", str(given.parent)]) == 0
    assert "From elsewhere." in capsys.readouterr().out
    assert main(["report", str(run.case("bad").path), "--narrative", str(given)]) == 0
    assert capsys.readouterr().out.startswith("# Case bad of the agent people\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{run}", "--narrative", "{tmp}/n.json"], "--narrative goes with a case"),
        (["{run}/ok", "--narratives-dir", "{tmp}"], "--narratives-dir goes with a whole run"),
        (["{run}", "--narratives-dir", "{tmp}/gone"], "there is no directory"),
        (["{run}", "--narratives-dir", "{tmp}/other"], "the run has no case 'stranger'"),
        (["{run}/ok", "--narrative", "{tmp}/gone.json"], "gone.json: cannot be read"),
        (["{run}/ok", "--narrative", "{tmp}/n.json"], 'the narrative is of "bad", and the score of "ok"'),
    ],
)
def test_narratives_given_in_the_wrong_way(
    run: RunFolder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    narrative(tmp_path / "n.json")
    narrative(tmp_path / "other" / "stranger.json", "stranger")
    assert main(["report", *(text.format(run=run.path, tmp=tmp_path) for text in arguments)]) == 1
    found = capsys.readouterr()
    assert words in found.err
    assert found.out == ""


def test_a_report_is_refused_when_what_it_cites_is_gone(
    run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    run.case("ok").after_submit_dom.unlink()
    assert main(["report", str(run.path)]) == 1
    found = capsys.readouterr()
    assert found.out == ""
    assert f'score of ok: final_response_contains: there is no file "{PAGE}"' in found.err


def test_what_others_wrote_is_literal_in_a_report(run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    narrative(
        run.case("ok").narrative, "ok", summary="<script>x</script> [a](http://evil) \x1b[31m", **citing(PAGE)
    )
    assert main(["report", str(run.path)]) == 0
    out = capsys.readouterr().out
    assert "\\<script>x" in out
    assert "<script>" not in out.replace("\\<script>", "")
    assert "\\[a](http" in out
    assert "\x1b" not in out


def test_a_made_narrative_stands_on_what_was_captured(run: RunFolder) -> None:
    found = read_score(run.score)
    assert isinstance(found, AgentScore)
    for row in found.cases:
        made = narrative_of(row, run.case(row.case_id))
        assert made is not None
        for observation in made.observations:
            for citation in observation.citations:
                assert (run.case(row.case_id).path / citation.artifact_path).is_file()
    by_case = {row.case_id: narrative_of(row, run.case(row.case_id)) for row in found.cases}
    told = {name: [seen.text for seen in made.observations] for name, made in by_case.items() if made}
    assert told["bad"] == ["must_call rank failed: rank was not called"]
    assert told["open"] == ["max_steps inconclusive: there is no step_count.json"]
    assert told["broken"] == ["navigate: `nobody` answers"]


def test_a_case_whose_process_died_is_in_the_score_of_the_run(made: CapturedProject, run: RunFolder) -> None:
    run.case("ok").score.unlink()
    suite = made.suite()
    ids = {case.id for case in suite.manifest.cases}
    write_agent_files(suite, run, tried=dict.fromkeys(ids, ""), scored=ids)
    found = read_score(run.score)
    assert isinstance(found, AgentScore)
    assert [(row.case_id, row.outcome) for row in found.cases][:2] == [("ok", "error"), ("bad", "failed")]
    assert "the capture did not finish" in run.report.read_text()


def test_nothing_captured_gives_no_narrative(tmp_path: Path, run: RunFolder) -> None:
    found = read_score(run.case("open").score)
    assert not isinstance(found, AgentScore)
    assert narrative_of(found, RunFolder(tmp_path / "empty").case("open")) is None


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("case_dir", "../ok", '"../ok" leads out of the folder of the score'),
        ("case_dir", "/etc", '"/etc" leads out of the folder of the score'),
        ("case_dir", "linked", '"linked" leads out of the folder of the score'),
        ("evidence", None, "without `evidence`: the evidence is missing"),
    ],
)
def test_scores_that_do_not_stand_are_refused(
    run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, value: Any, words: str
) -> None:
    path = run.case("bad").score
    (path.parent / "linked").symlink_to(run.case("ok").path, target_is_directory=True)
    score = json.loads(path.read_text())
    holder = score if key in score else score["outcomes"][0]
    holder[key] = value
    path.write_text(json.dumps(score))
    told = narrative(tmp_path / "n.json")
    commands = [["report", str(path)]]
    commands += [["validate-narrative", str(told), "--score", str(path)]]
    for command in commands:
        assert main(command) == 1
        assert words in capsys.readouterr().err


def test_spans_of_a_step_count_may_be_cited(run: RunFolder) -> None:
    folder = run.case("ok")
    write_step_count(folder, ["one", "two"])
    cited = folder.relative(folder.step_count)
    assert citation_problem(cited, folder, "two") is None
    assert citation_problem(cited, folder, "tw") is not None
