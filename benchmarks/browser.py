"""The cost of driving an agent, beside a script of Playwright that does the same, and the gain of workers.

``python benchmarks/browser.py [--quick]`` prints seconds per case for an agent that answers after half a
second, and how much sooner cases end under ``-n 2`` and ``-n 4`` when it takes three seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from measuring import PLUGIN, Process, in_turns, pytest, run, seconds, verdict

from pytest_mcpeval.browser.directive import DriverOptions
from pytest_mcpeval.browser.finding import find_browser

HERE = Path(__file__).resolve().parent
QUICK_ANSWER_MS = 500
SLOW_ANSWER_MS = 3_000
CASES = 12
WORKER_CASES = 12

PAGE = b"""<!doctype html><title>chat</title><main id="log"></main><textarea></textarea><script>
const input = document.querySelector("textarea"), delay = Number(location.search.slice(1));
input.addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  const text = input.value;
  input.value = "";
  setTimeout(() => {
    const line = document.createElement("p");
    line.className = "agent";
    line.textContent = `answer to ${text}`;
    document.querySelector("#log").append(line);
  }, delay);
});
</script>"""


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on the terminal."""


def main() -> int:
    """Print all figures; the exit status says whether the target holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 2 if parser.parse_args().quick else 5
    with served() as url, tempfile.TemporaryDirectory() as directory:
        holds = beside_a_script(Path(directory), url, rounds)
    with served() as url, tempfile.TemporaryDirectory() as directory:
        gain_of_workers(Path(directory), url, 1 if rounds == 2 else 3)
    return 0 if holds else 1


@contextmanager
def served() -> Iterator[str]:
    """The URL of a chat page; its query is how many milliseconds an answer takes."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def beside_a_script(directory: Path, url: str, rounds: int) -> bool:
    """What a case costs, start-up left out."""
    asked = f"{url}?{QUICK_ANSWER_MS}"
    one, all_ = (project(directory / str(count), asked, count) for count in (1, 1 + CASES))
    measured = in_turns(
        {
            "script one": lambda: script(asked, 1),
            "script all": lambda: script(asked, 1 + CASES),
            "cases one": lambda: evaluate(one),
            "cases all": lambda: evaluate(all_),
        },
        rounds,
    )
    bare = per_case(measured["script one"], measured["script all"])
    case = per_case(measured["cases one"], measured["cases all"])
    print(f"an agent that answers after {QUICK_ANSWER_MS} ms, least of {rounds} rounds, start-up left out")
    print(f"  script of Playwright    {bare:6.3f} s per case")
    print(f"  pytest --mcpeval        {case:6.3f} s per case")
    return verdict("a case beside the script", case / bare, 1.15)


def gain_of_workers(directory: Path, url: str, rounds: int) -> None:
    """How much sooner a run ends with workers; start-up included, which every worker has of its own."""
    chosen = project(directory / "workers", f"{url}?{SLOW_ANSWER_MS}", WORKER_CASES)
    measured = in_turns(
        {
            "serial": lambda: evaluate(chosen),
            "-n 2": lambda: evaluate(chosen, "-p", "xdist.plugin", "-n", "2"),
            "-n 4": lambda: evaluate(chosen, "-p", "xdist.plugin", "-n", "4"),
        },
        rounds,
        warm_up=0,
    )
    serial = seconds(measured["serial"])
    print(f"{WORKER_CASES} cases of an agent that takes {SLOW_ANSWER_MS / 1000:g} s, whole runs")
    for name, processes in measured.items():
        print(f"  {name:<23} {seconds(processes):6.1f} s, {serial / seconds(processes):4.2f} × as fast")


def script(url: str, count: int) -> Process:
    """The hand-written steps in a process of their own."""
    browser = str(find_browser(DriverOptions()))
    return run([sys.executable, str(HERE / "bare_browser.py"), url, str(count), browser], HERE)


def evaluate(directory: Path, *arguments: str) -> Process:
    """Run the cases in a process of their own."""
    return pytest(directory, *PLUGIN, "--mcpeval", "-q", *arguments)


def per_case(few: list[Process], many: list[Process]) -> float:
    """Seconds per further case."""
    return (seconds(many) - seconds(few)) / CASES


def project(directory: Path, url: str, count: int) -> Path:
    """A project with one manifest."""
    directory.mkdir(parents=True)
    (directory / "pytest.ini").write_text("[pytest]\n", "utf-8")
    manifest = {
        "apiVersion": "agentevaluator/v1",
        "name": "benchmark",
        "access": {"url": url},
        "interaction": {"response_wait_ms": 20_000, "response_ready": {"selector": ".agent"}},
        "cases": [
            {
                "id": f"case-{number}",
                "input": "hello",
                "assertions": {"final_response_contains": "answer to hello"},
            }
            for number in range(count)
        ],
    }
    (directory / "agent.yaml").write_text(json.dumps(manifest), "utf-8")
    return directory


if __name__ == "__main__":
    sys.exit(main())
