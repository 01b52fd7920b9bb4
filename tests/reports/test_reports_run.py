"""A run with every outcome, as each report shows it, in every mode."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from tests.reports.conftest import MODES, RunIn
from tests.support import Project, Run, case

VERDICTS = {
    "aside::pass_rate": "passed",
    "broken::pass_rate": "failed",
    "confidence::average_confidence": "failed",
    "nothing::pass_rate": "failed",
    "odd::pass_rate": "passed",
    "strict::pass_rate": "failed",
    "strict::p95_latency_ms": "passed",
    "tolerated::pass_rate": "passed",
}


def test_the_summary_line_counts_cases_and_gates_once(run: Run) -> None:
    # 12 cases, the Python test and 4 gates pass; 2 cases and 4 gates fail.
    line = run.last_line
    assert line.startswith("6 failed, 16 passed, 2 skipped, 1 xfailed, 1 error, 4 tolerated in ")
    assert run.status == 1


def test_progress_ends_at_a_hundred_percent_and_shows_no_gates(run: Run) -> None:
    shown = [int(found) for found in re.findall(r"\[ *(\d+)%\]", run.out)]
    assert max(shown) == 100
    assert shown.count(100) == 1
    assert not [line for line in run.lines if "::gates::" in line and "%]" in line]


def test_gate_verdicts_are_in_report_json(run: Run) -> None:
    assert run.gates() == VERDICTS
    assert run.report()["verdict"] == "error"


def test_gates_are_in_the_terminal(run: Run) -> None:
    section = run.section()
    for gate, verdict in VERDICTS.items():
        suite, _, name = gate.partition("::")
        assert f"  {verdict.upper()} datasets/{suite}.yaml::gates::{name}" in section
    assert run.lines[-2] == ("mcpeval: error: 1 case in error, 4 of 8 gates failed, 2 cases failed")


def test_a_failed_gate_is_a_failure_with_its_own_heading(run: Run) -> None:
    heading = run.line_with("____", "datasets/strict.yaml::gates::pass_rate")
    following = run.lines[run.lines.index(heading) + 1]
    assert following == "1 of 2 cases passed (50 %), wanted at least 90 %; not passed: f-bad"


def test_short_summary_says_what_is_wrong(run: Run) -> None:
    assert run.line_with('FAILED datasets/plain.yaml::bad-1 - contains: missing "goodbye"')
    assert run.line_with("FAILED datasets/strict.yaml::gates::pass_rate - 1 of 2 cases passed")
    assert run.line_with("ERROR datasets/broken.yaml::e-error - RuntimeError: the fixture broke")


def test_tolerated_cases_are_listed(run: Run) -> None:
    assert "Tolerated (4; gates decide)" in run.section()
    assert '  datasets/strict.yaml::f-bad: contains: missing "goodbye"' in run.section()


def test_expected_failures_and_skips_are_set_aside_and_named(run: Run) -> None:
    gate = next(gate for gate in run.report()["gates"] if "aside" in gate["suite"])
    assert gate["message"].endswith("(skipped or xfailed: s-skip, s-xfail)")
    suite = run.report()["suites"]["datasets/aside.yaml"]
    assert suite["setAside"] == ["s-skip", "s-xfail"]
    assert [found["outcome"] for found in suite["cases"]] == ["passed", "skipped", "xfailed"]
    assert suite["metrics"]["summary"]["skipped"] == 1
    assert suite["metrics"]["summary"]["expectedFailures"] == 1


def test_a_suite_without_any_measured_case_fails_its_gates(run: Run) -> None:
    gate = next(gate for gate in run.report()["gates"] if "nothing" in gate["suite"])
    assert gate["message"].startswith("no case was measured")


def test_a_case_in_error_fails_the_gate_that_names_it(run: Run) -> None:
    gate = next(gate for gate in run.report()["gates"] if "broken" in gate["suite"])
    assert gate["message"].startswith("1 of 2 cases in error: e-error;")


def test_the_terminal_section_is_like_an_evaluation_report(run: Run) -> None:
    section = "\n".join(run.section())
    totals = {name.strip(): value for name, value in re.findall(r"^  (.+?) {2,}(\S.*)$", section, re.M)}
    assert totals["cases"] == "18"
    assert totals["passed"] == "11"
    assert totals["failed"] == "6"
    assert totals["in error"] == "1"
    assert totals["pass rate"] == "61.1 %"
    assert totals["average confidence"] == "58 %"
    assert totals["average response time"].endswith(" ms")
    for title in ("By difficulty", "By tool", "By project", "By tag", "By suite"):
        assert re.search(rf"^{title} +passed +rate$", section, re.M)
    assert section.index("  basic ") < section.index("  advanced ")


def test_nothing_is_wider_than_the_terminal(run: Run) -> None:
    assert not [line for line in run.section() if len(line) > 80]


def test_hostile_text_reaches_no_terminal(run: Run) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", run.out)
    assert "no \\x1b[1mway" in run.out


def test_the_plugin_raises_no_warning(run: Run) -> None:
    assert "warnings summary" not in run.out
    assert "mcpeval" not in run.err


def test_junit_has_a_failure_for_a_gate_and_one_line_messages(run: Run) -> None:
    tree = [
        (found.attrib["classname"], child)
        for found in run.junit_cases()
        for child in found
        if found.attrib["name"] == "pass_rate" and child.tag == "failure"
    ]
    assert sorted(name.split(".")[1].split("::")[0] for name, _ in tree) == ["broken", "nothing", "strict"]
    for found in run.junit_cases():
        for child in found:
            assert "\n" not in child.attrib.get("message", "")


def test_junit_has_properties_for_each_case(run: Run) -> None:
    found = {
        element.attrib["name"]: element.attrib["value"] for element in run.junit()["ok-1"].iter("property")
    }
    latency = found.pop("mcpeval_latency_ms")
    assert float(latency) > 0
    assert found == {
        "mcpeval_kind": "scenario",
        "mcpeval_outcome": "passed",
        "mcpeval_difficulty": "basic",
        "mcpeval_project": "mina",
        "mcpeval_tool": "answer",
        "mcpeval_checks": "1/1 passed",
        "mcpeval_confidence": "90.0",
    }


def test_a_tolerated_case_is_skipped_in_junit(run: Run) -> None:
    found = run.junit()["f-bad"]
    (skipped,) = found.findall("skipped")
    assert skipped.attrib["message"] == 'wrong, left to the gates: contains: missing "goodbye"'
    (evidence,) = (one for one in found.iter("property") if one.attrib["name"] == "mcpeval_evidence")
    assert '✗ contains: missing "goodbye"\ncalled tool echo on server tiny' in evidence.attrib["value"]


def test_junit_and_report_agree_on_errors(run: Run) -> None:
    assert [child.tag for child in run.junit()["e-error"] if child.tag != "properties"] == ["error"]
    assert run.report()["suites"]["datasets/broken.yaml"]["errors"] == ["e-error"]


def test_html_has_a_row_for_each_case_and_gate_of_the_same_width(run: Run) -> None:
    rows = dict(run.html_rows())
    # All but the teardown of nothing: 22 items and 8 gates.
    assert len(rows) == 30
    assert {len(row["resultsTableRow"]) for row in rows.values()} == {6}
    results = {
        node: BeautifulSoup(row["resultsTableRow"][0], "html.parser").text for node, row in rows.items()
    }
    assert results["datasets/plain.yaml::ok-1"] == "Passed"
    assert results["datasets/plain.yaml::bad-1"] == "Failed"
    assert results["datasets/broken.yaml::e-error"] == "Error"
    assert results["datasets/strict.yaml::f-bad"] == "XFailed"
    assert results["datasets/strict.yaml::gates::pass_rate"] == "Failed"
    assert results["datasets/tolerated.yaml::gates::pass_rate"] == "Passed"


def test_html_shows_kind_and_latency(run: Run) -> None:
    rows = dict(run.html_rows())
    kind, latency = (
        BeautifulSoup(cell, "html.parser").text
        for cell in rows["datasets/plain.yaml::ok-1"]["resultsTableRow"][2:4]
    )
    assert kind == "scenario"
    assert re.fullmatch(r"\d+ ms", latency)
    assert ">gate<" in rows["datasets/strict.yaml::gates::pass_rate"]["resultsTableRow"][2]
    assert ">scenario, wrong<" in rows["datasets/strict.yaml::f-bad"]["resultsTableRow"][2]
    assert rows["test_python.py::test_plain"]["resultsTableRow"][2] == '<td class="col-kind"></td>'


def test_html_has_checks_arguments_and_response_escaped(run: Run) -> None:
    row = dict(run.html_rows())["datasets/tolerated.yaml::t-bad"]
    (evidence,) = (extra["content"] for extra in row["extras"])
    soup = BeautifulSoup(evidence, "html.parser")
    cells = [cell.text for cell in soup.find_all("td")]
    assert cells == ["failed", "contains", 'missing "goodbye"']
    arguments, response = (found.text for found in soup.find_all("pre"))
    assert "<script>alert(1)</script></pre><img src=x onerror=alert(2)>" in response
    assert json.loads(arguments)["text"].startswith("<script>")
    assert {tag.name for tag in soup.find_all()} <= {
        "table",
        "caption",
        "tbody",
        "tr",
        "td",
        "span",
        "p",
        "pre",
    }


def test_no_tool_output_becomes_a_tag_of_the_page(run: Run) -> None:
    page = (run.path / "report.html").read_text(encoding="utf-8")
    soup = BeautifulSoup(page, "html.parser")
    assert not soup.find_all("img", src="x")
    assert not [script for script in soup.find_all("script") if "alert(1)" in script.text[:20]]
    logs = "".join(row["log"] for _, row in run.html_rows())
    assert "<script>" not in logs


def test_html_summary_has_verdict_gates_and_tables(run: Run) -> None:
    soup = BeautifulSoup((run.path / "report.html").read_text(encoding="utf-8"), "html.parser")
    prefix = soup.find(class_="prefix")
    assert isinstance(prefix, Tag)
    text = prefix.get_text(" ")
    assert "mcpeval: error" in text.replace("  ", " ")
    assert "datasets/strict.yaml::gates::pass_rate" in text
    assert [found.text for found in prefix.find_all("caption")] == [
        "Gates", "Scenarios", "By difficulty", "By tool", "By project", "By tag", "By suite",
    ]  # fmt: skip


def test_report_json_has_the_documented_shape(run: Run) -> None:
    report = run.report()
    assert list(report) == ["version", "verdict", "reason", "gates", "totals", "suites", "options", "run"]
    assert report["version"] == 1
    assert all(
        list(gate) == ["suite", "name", "verdict", "value", "baseline", "limit", "wanted", "message"]
        for gate in report["gates"]
    )
    suite = report["suites"]["datasets/plain.yaml"]
    assert suite["kind"] == "scenario"
    assert re.fullmatch("sha256:[0-9a-f]{64}", suite["digest"])
    assert (suite["expected"], suite["measured"]) == (3, 3)
    assert suite["metrics"]["summary"]["totalTests"] == 3
    assert list(report["run"])[:3] == ["started", "timestamp", "seconds"]


def test_every_field_of_an_evaluation_report_is_found(run: Run) -> None:
    report = run.report()
    suite, times = report["suites"]["datasets/plain.yaml"], report["run"]["suites"]["datasets/plain.yaml"]
    assert suite["metrics"]["summary"] | {"averageProcessingTime": 0} == {
        "totalTests": 3,
        "passed": 1,
        "failed": 2,
        "passRate": pytest.approx(100 / 3),
        "averageConfidence": 90,
        "averageProcessingTime": 0,
        "skipped": 0,
        "inconclusive": 0,
        "expectedFailures": 0,
    }
    assert times["averageProcessingTime"] >= 0
    assert suite["metrics"]["byDifficulty"]["intermediate"] == {"total": 0, "passed": 0, "passRate": 0.0}
    assert suite["metrics"]["byTool"]["answer"] == {"total": 1, "passed": 1, "passRate": 100.0}
    assert suite["metrics"]["byProject"]["solana"]["total"] == 1
    assert suite["metrics"]["byTag"]["intro"] == {"total": 2, "passed": 1, "passRate": 50.0}
    assert [found["testId"] for found in suite["failures"]] == ["bad-1", "tool-error"]
    failure = suite["failures"][0]
    assert failure["testName"] == "A bad case"
    assert failure["failedValidations"][0]["rule"] == {"type": "contains", "value": "goodbye"}
    assert failure["errorMessage"] == 'contains: missing "goodbye"'
    (passed, _, _) = suite["cases"]
    assert passed["traits"]["tags"] == ["intro", "a tag with a name of many words"]
    assert (passed["measured"]["confidence"], passed["measured"]["sourcesUsed"]) == (90, 2)
    assert passed["measured"]["calls"][0]["arguments"] == {"text": "hello", "confidence": 90}
    assert times["cases"]["ok-1"]["answers"][0]["text"].startswith("hello\n<response_metadata>")
    assert times["cases"]["ok-1"]["processingTimeMs"] > 0


def test_totals_are_over_all_suites_of_a_kind(run: Run) -> None:
    report = run.report()
    totals = report["totals"]["scenario"]
    suites = [suite["metrics"] for suite in report["suites"].values()]
    for name in ("totalTests", "passed", "failed", "skipped", "expectedFailures"):
        assert totals["summary"][name] == sum(metrics["summary"][name] for metrics in suites)
    assert totals["summary"]["passRate"] == pytest.approx(
        100 * totals["summary"]["passed"] / totals["summary"]["totalTests"]
    )
    assert totals["byDifficulty"]["advanced"] == {"total": 1, "passed": 0, "passRate": 0.0}
    assert totals["byTool"]["answer"] == {"total": 4, "passed": 4, "passRate": 100.0}
    assert totals["byProject"]["solana"]["total"] == 1
    times = report["run"]["totals"]["scenario"]
    assert times["p95ProcessingTime"] >= times["averageProcessingTime"] * 0.9 > 0


def test_a_message_that_only_speaks_of_a_time_limit_is_reported(tmp_path: Path) -> None:
    project = Project.at(tmp_path)
    about_times = case("l-about", "echo", {"type": "contains", "value": '"max_latency_ms"'})
    not_slow = {"type": "not", "check": {"type": "max_latency_ms", "ms": 59_000}}
    project.suite("limits.yaml", about_times, case("l-nested", "echo", not_slow))
    run = project.run("--mcpeval-report=report")
    (about, nested) = run.report()["suites"]["datasets/limits.yaml"]["cases"]
    assert about["message"] == 'contains: missing ""max_latency_ms""'
    assert about["checks"][0]["message"] == 'missing ""max_latency_ms""'
    assert nested["message"] == "not: a time: see run"
    text = (run.path / "report" / "report.md").read_text(encoding="utf-8")
    before, _, after = text.replace("\\", "").partition("## Run")
    assert "- [ ] not: a time: see run" in before
    assert not re.search(r"\d ms", before)
    assert "- datasets/limits.yaml::l-nested: should not hold: latency " in after
    assert "- Scenarios: average response time: " in after


def test_what_json_has_no_words_for_is_spelled_out(run: Run) -> None:
    cases = run.report()["run"]["suites"]["datasets/odd.yaml"]["cases"]

    def value(case: str) -> object:
        return cases[case]["answers"][0]["structured"]["value"]

    assert value("o-nan") in ({"a": "nan", "b": ["inf"]}, {"a": None, "b": [None]})
    assert value("o-integer") == int("1" * 2000)
    assert value("o-surrogate") == "\ud800"


def test_a_huge_answer_is_cut_and_says_so(run: Run) -> None:
    answer = run.report()["run"]["suites"]["datasets/odd.yaml"]["cases"]["o-huge"]["answers"][0]
    assert len(answer["text"]) < 1_000_100
    assert answer["text"].endswith("… (19,000,000 more characters)")


def test_times_are_under_run_only(run: Run) -> None:
    report = run.report()
    gate = next(gate for gate in report["gates"] if gate["name"] == "p95_latency_ms")
    assert (gate["value"], gate["limit"], gate["message"]) == (None, 60000, "a time: see run")
    timed = report["run"]["gates"]["datasets/strict.yaml::gates::p95_latency_ms"]
    assert timed["value"] > 0
    slow = report["suites"]["datasets/odd.yaml"]["cases"][-1]
    assert slow["message"] == "max_latency_ms: a time: see run"
    checks = report["run"]["suites"]["datasets/odd.yaml"]["timedChecks"]["o-slow"]
    assert checks["0"]["message"].startswith("latency ")


def test_report_md_holds_no_markup_of_the_tools(run: Run) -> None:
    text = (run.path / "report" / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# Evaluation report: error\n")
    assert "<script" not in text
    assert "\x1b" not in text
    assert "| datasets/strict.yaml | 1/2 | 50.0 % |" in text.replace("\\", "")
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)


def without_run(run: Run) -> bytes:
    report = run.report()
    del report["run"]
    return json.dumps(report, ensure_ascii=True).encode()


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "serial"])
def test_reports_agree_byte_for_byte_apart_from_run(run_in: RunIn, mode: str) -> None:
    assert without_run(run_in(mode)) == without_run(run_in("serial"))


def test_nothing_else_is_written(run: Run) -> None:
    # Python's own bytecode of the server is none of our files.
    written = {path.name for path in run.path.iterdir()} - {"__pycache__"}
    assert written == {
        *("server.py", ".mcp.json", "pytest.ini", "datasets", "conftest.py", "test_python.py"),
        *("junit.xml", "report.html", "report", ".pytest_cache"),
    }
    assert {path.name for path in (run.path / "report").iterdir()} == {
        "report.json",
        "report.md",
        "report.html",
    }
