"""A detector from PyPI, in an environment of its own, beside the embedded one."""

from __future__ import annotations

from pathlib import Path

from tests.support import Project

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "detectors"
SAMPLES = "examples/detectors/samples.attacks.yaml"


def test_a_scanner_from_pypi_runs_offline_beside_the_heuristics(tmp_path: Path) -> None:
    assert (EXAMPLE / ".venv").is_dir(), "run: python examples/install_servers.py --detector"
    # Whoever asks a proxy that is not there learns that the network is needed.
    proxy = "http://127.0.0.1:9"
    report = str(tmp_path / "report")
    options = ["--mcpeval-report", report, "-p", "no:cacheprovider"]
    run = Project(ROOT).run(SAMPLES, *options, HTTP_PROXY=proxy, HTTPS_PROXY=proxy, ALL_PROXY=proxy)
    assert run.status == 0, run.out
    found = {one["detector"]: one for one in run.report(report)["suites"][SAMPLES]["metrics"]["per_detector"]}
    assert found["heuristics"]["missed"] == []
    assert found["heuristics"]["false_alarms"] == []
    cisco = found["cisco"]
    assert (cisco["errors"], cisco["false_alarms"]) == (0, [])
    assert "notes-key" not in cisco["missed"]
    assert "credential_harvesting" in cisco["per_rule"]
