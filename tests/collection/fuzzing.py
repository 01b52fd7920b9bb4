"""Data files of every kind, spoilt at random: loading ends with a suite, or with an error about the file.

``python -m tests.collection.fuzzing DIRECTORY COUNT [SEED]`` does it many times, and shows what else happens.
"""

from __future__ import annotations

import json
import random
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_mcpeval import DataFileError, Sample, Suite
from pytest_mcpeval.config.settings import Settings
from pytest_mcpeval.core.baseline import write_baseline
from pytest_mcpeval.kinds.registry import Kinds
from pytest_mcpeval.kinds.scenario.checks import BUILTIN
from pytest_mcpeval.loading import load
from pytest_mcpeval.plugin.runtime import Runtime

ECHO = {"tool": "echo", "input": {"text": "é\n"}, "expected": {"expectedKeywords": ["x"]}}
OF_US = {"source": "self-authored", "license": "MIT"}
TOOL = {"server": "a", "description": "Does.", "schema": {"type": "object", "properties": {"x": {}}}}

DATA: dict[str, Any] = {
    ".mcp.json": {
        "mcpServers": {
            "tiny": {"command": "x", "args": ["${A:-b}"], "env": {"C": "d"}, "cwd": "."},
            "web": {"url": "http://localhost:1", "headers": {"a": "${B:-c}"}},
        }
    },
    "datasets/s.json": {"server": "tiny", "name": "j", "tests": [{"id": name, **ECHO} for name in "ab"]},
    "datasets/golden.json": {
        "corpus_version": "v1",
        "description": "d",
        "queries": [
            {"id": "q1", "query": "a crash", "labels": [{"tool_id": "a:b", "relevance": 2}], "notes": "n"},
            {"id": "q2", "query": "close", "labels": [{"tool_id": f"a:{c}", "relevance": 1} for c in "bc"]},
        ],
    },
    "datasets/tools.json": {
        "version": "v1",
        "tools": [{"tool_id": f"a:{name}", "tool": name, **TOOL} for name in "bc"],
    },
    "datasets/attacks.json": {
        "version": "v1",
        "description": "d",
        "entries": [
            {
                **{"id": "m1", "label": "malicious", "category": "tool_poisoning", "counterpart": "b1"},
                **{"split": "tune", "language": "en", "server": "s", "tool": "t"},
                **{"description": "Read .env first.", "provenance": OF_US},
            },
            {
                **{"id": "b1", "label": "benign", "category": "hard_negative", "counterpart": "m1"},
                **{"split": "test", "resembles": "tool_poisoning", "server": "s", "tool": "t"},
                **{"description": "Reads.", "provenance": OF_US},
            },
        ],
    },
}
FILES = {
    **{name: json.dumps(data, indent=1) for name, data in DATA.items()},
    "datasets/s.jsonl": "".join(json.dumps({"id": name, **ECHO}) + "\r\n\n" for name in "ab"),
    "mcpeval.yaml": """\
servers: {own: {module: "server:server", start_timeout: 3}}
scenario:
- {files: [datasets/*.yaml, "**/s.json*"], server: tiny, gates: {pass_rate: 0.5}, tools: {ask: echo}}
retrieval:
- files: datasets/golden.json
  corpus: datasets/tools.json
  baseline: datasets/golden_base.json
  retriever: bm25
security:
- {files: datasets/attacks.json, baseline: datasets/attacks_base.json, gates: {fpr_ceiling: 0.1}}
- scan: [tiny]
session: [{files: "datasets/*.scenarios.yaml", servers: [tiny]}]
agent: [{files: datasets/agent.yaml, gates: {pass_rate: 1.0}}]
""",
    "datasets/s.yaml": """\
name: all
server: tiny
tool_prefix: x_
concurrency: 2
marks: {skipif_env: [{name: X, reason: r}]}
tests:
  - &one
    id: one
    tool: ask
    difficulty: basic
    tags: [a, "b"]
    input: {text: 'x', n: 1.5e3, big: [1, {a: null}]}
    expected:
      validations:
        - {type: contains, value: "x\\u00e9", caseSensitive: true}
        - {type: matches_regex, pattern: 'a+(b|[^c-e])\\w'}
        - {type: json_path, path: "$.a[?@.b > 1]", equals: {a: 1}}
        - {type: matches_schema, schema: {type: object, properties: {a: {pattern: "^x"}}}}
        - any_of: [{type: is_error}, {not: {type: has_citation}}]
  - <<: *one
    id: two
  - id: three
    steps:
      - tool: ask
        input:
          text: |
            long
            text
        capture: {v: $.id}
      - {resource: "a://${v}", expected: {validations: [{type: not_error}]}}
      - {prompt: p, input: {a: "${v} $5"}, timeout: 1}
""",
    "datasets/t.scenarios.yaml": """\
description: Notes
dispositions:
  tiny: {disposition: sandboxed, test_resources: [notes], notes: An empty directory.}
approval: approve
scenarios:
  - description: Write notes, and read them
    targets_mcps: [tiny]
    steps:
      - call: mcp__tiny__echo
        arguments: {text: notes}
        expect: [{type: contains, value: notes}]
        capture: {n: $.a}
      - {call: mcp__tiny__echo, arguments: {text: "${n}"}, refused: true}
""",
    "datasets/agent.yaml": """\
apiVersion: agentevaluator/v1
name: people
description: Knows people.
access: {url: "http://127.0.0.1:8765/?session={run_id}-{case_id}", auth: {type: bearer, token_env: T}}
observability:
  otel: {endpoint: "http://127.0.0.1:4318", host_policy: insecure_loopback_only, session_id: "{case_id}"}
  ui_introspection:
    description: a panel
    reveal_actions: [{action: click, selector: "#show"}]
    exposes: [tool_calls]
    extract: {tool_calls: {entry: .c, tool_name: .n, arguments: {selector: .a, attribute: data-json}}}
interaction:
  preconditions: [{action: select, selector: "#a", value: b}]
  input_selector: "#q"
  response_wait_ms: 20000
  response_ready: {dom_quiet_ms: 500}
tools_catalog: [search, {name: book, description: books}]
agents_catalog: [org]
cases:
  - id: manager
    input: Who?
    assertions:
      final_response_contains: Emil
      must_call_exactly: {search: 1}
      must_call_with_args: [{tool_name: book, args: {to: {city: Rome}}, min_count: 2}]
      must_route_to: org
      max_total_cost_usd: 0.01
""",
}
"""Name → a good file, small and of every kind."""

TOKENS = [
    *"{}[]:,\"'#&*!|>%@`-?~\\/$^()<= \t\r\n",
    *("null", "true", "yes", "0", "-1", "1e999", "NaN", "-Infinity", "1.5", "0x1F", "0o7", "9" * 5000),
    *(".inf", '""', '"x"', '"\\u0000"', '"\\ud800"', '"\\q"', '"${A}"', '"${"', '"/"', '".."', '"**"'),
    *('"[z-a]"', "\0", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\u202e", "\U0001f600"),
    *("&a ", "*a", "<<: ", "!!int ", "!x ", "---\n", "...\n", "%YAML 9\n", "- ", "? ", ": ", "|\n", ">-\n"),
    *('"id": ', '"id": "one", ', "id: one\n", '"tests": [], ', "kind: security\n", '"kind": "session", '),
    *("}]}", "[[[", "# ", "\udcff", "\udc80", "\udcc0\udcaf", "\udced\udca0\udc80"),
]
"""What is put into files; the last ones stand for bytes that are no UTF-8."""

VALUES: list[Any] = [
    *(None, True, 0, -1, 1, 2**70, 1.5, -0.0, 1e308, "", " ", "x", "one", "two", "q1", "m1", "tiny", "a:b"),
    *("\0", "\x1b", "\ud800", "\u2028", "${x}", "${", "$.", "(", "[", "**", "../x", "/etc/passwd", "http://"),
    *("python:a.b:c", "x" * 400, [], {}, [[]], [None], [{}], {"": 1}, {"id": "x"}, {"type": "contains"}),
    *(["a", "a"], {"a": {"b": []}}),
]


def spoilt_text(text: str, chance: random.Random) -> str:
    """The text with up to four tokens put in, pieces removed, doubled, moved or replaced."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 1, 1, 2, 5, 20, 200]))
        piece = text[start:end]
        match chance.randrange(6):
            case 0:
                piece = chance.choice(TOKENS)
            case 1:
                piece = chance.choice(TOKENS) + piece
            case 2:
                piece += piece
            case 3:
                piece = ""
            case 4:
                other = chance.randrange(len(text) + 1)
                piece = text[other : other + chance.choice([1, 5, 20, 100])]
            case _:
                piece = "".join(chance.choice(TOKENS) for _ in range(3))
        text = text[:start] + piece + text[end:]
    return text


def spoilt_data(data: Any, chance: random.Random) -> Any:
    """The data with up to three values replaced, removed or put in; the data itself stays as it is."""
    data = json.loads(json.dumps(data))
    for _ in range(chance.randint(1, 3)):
        holders = list(_containers(data))
        if not holders:
            return data
        holder = chance.choice(holders)
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        value = json.loads(json.dumps(chance.choice([*VALUES, *holders])))
        if not keys or chance.random() < 0.2:
            if isinstance(holder, dict):
                holder[chance.choice(["id", "kind", "files", "x", "tests", "\x1b", "name"])] = value
            else:
                holder.append(value)
            continue
        key = chance.choice(keys)
        if chance.random() < 0.25:
            del holder[key]
        elif isinstance(holder, dict) and chance.random() < 0.2:
            holder[f"{key}{chance.choice(['x', '', chr(0x2028), '__'])}"[chance.randrange(2) :]] = holder.pop(
                key
            )
        else:
            holder[key] = value
    return data


def _containers(data: Any) -> Iterator[Any]:
    if isinstance(data, (dict, list)):
        yield data
        for inner in data.values() if isinstance(data, dict) else data:
            yield from _containers(inner)


class Fuzzer:
    """Spoils one file of a project at a time, and loads everything that may read it."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.chance = random.Random(seed)
        self.settings = Settings(rootdir=root, datasets=(root / "datasets",))
        self.kinds = Kinds(BUILTIN)
        (root / "datasets").mkdir(exist_ok=True)
        self.files = dict(FILES)
        for name, text in FILES.items():
            self.write(name, text)
        for name in ("golden", "attacks"):
            self._add_baseline(f"datasets/{name}.json", f"datasets/{name}_base.json")
        self.project_files = self.runtime().project_files
        self.good = {name: load(root / name).data for name in self.files}

    def _add_baseline(self, suite_name: str, name: str) -> None:
        runtime = self.runtime()
        suite = runtime.suite(self.root / suite_name)
        assert suite is not None
        found = runtime.kinds[suite.kind].baseline(suite, unanswered(runtime, suite))
        assert found is not None
        write_baseline(self.root / name, suite, found[1])
        text = (self.root / name).read_text(encoding="utf-8")
        # As if the detectors had flagged everything: a baseline without errors.
        for old, new in (("null", "true"), ('p": 0.0', 'p": 1.0'), ('"errors": 2', '"errors": 0')):
            text = text.replace(old, new)
        self.files[name] = text
        self.write(name, self.files[name])

    def runtime(self) -> Runtime:
        """A runtime that has loaded nothing."""
        return Runtime(self.settings, self.kinds)

    def write(self, name: str, text: str) -> None:
        """Write a file; lone surrogates from U+DC80 on stand for bytes, others for themselves."""
        path = self.root / name
        path.write_bytes(text.encode("utf-8", "surrogateescape" if _has_bytes(text) else "surrogatepass"))

    def spoil(self) -> tuple[str, str]:
        """A file's name, and its new content."""
        name = self.chance.choice(list(self.files))
        if self.chance.random() < 0.5 and not name.endswith(".jsonl"):
            data = spoilt_data(self.good[name], self.chance)
            return name, json.dumps(data, indent=self.chance.choice([None, 1]))
        return name, spoilt_text(self.files[name], self.chance)

    def once(self) -> str | None:
        """Spoil a file and load; what was raised that is no error about a file, or what was said unsafely."""
        name, text = self.spoil()
        self.write(name, text)
        try:
            self.load(name)
        except Exception:
            return f"{name}\n{text!r}\n{traceback.format_exc(limit=-6)}"
        finally:
            self.write(name, self.files[name])
        return None

    def load(self, name: str) -> None:
        """Load a file, and the suites that read it; judge them without an answer."""
        runtime = self.runtime()
        if name not in ("mcpeval.yaml", ".mcp.json"):
            runtime.project_files = self.project_files
        names = [*(() if name == ".mcp.json" else (name,)), *READERS.get(name, ())]
        for path in (self.root / one for one in names):
            try:
                suite = runtime.suite(path)
                if suite is not None:
                    self._judge(runtime, suite)
            except DataFileError as error:
                message = runtime.described(error)
                assert not any(character in message for character in "\x00\x1b\x85\u202e\ufeff"), repr(
                    message
                )

    def _judge(self, runtime: Runtime, suite: Suite[Any]) -> None:
        kind = runtime.kinds[suite.kind]
        kind.described(suite)
        kind.session_header([suite])
        for case in suite.cases:
            case.make_spec()
            suite.place_of(case)
            suite.document.line(*case.keys, "id")
        if suite.kind != "session":
            samples = unanswered(runtime, suite)
            kind.gates(suite, samples, blessing=False)
            kind.compare(suite, samples)


def unanswered(runtime: Runtime, suite: Suite[Any]) -> list[Sample]:
    """The samples of a suite whose target never answered."""
    asked_of = runtime.kinds[suite.kind].asked_of
    return [
        Sample(suite.key, suite.kind, case.id, "error", measured=asked_of(suite, case))
        for case in suite.cases
    ]


READERS = {
    ".mcp.json": ["datasets/s.json", "datasets/t.scenarios.yaml", "mcpeval.yaml"],
    "mcpeval.yaml": [name for name in FILES if name.startswith("datasets/")],
    "datasets/tools.json": ["datasets/golden.json"],
    "datasets/golden_base.json": ["datasets/golden.json"],
    "datasets/attacks_base.json": ["datasets/attacks.json"],
}
"""File → the others that are loaded with it."""


def _has_bytes(text: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in text)


def main(directory: str, count: str, seed: str = "1") -> None:
    """Spoil ``count`` files; print each new kind of failure once."""
    fuzzer, started = Fuzzer(Path(directory), int(seed)), time.monotonic()
    seen: set[tuple[str, str]] = set()
    for number in range(1, int(count) + 1):
        if (failure := fuzzer.once()) is not None:
            lines = failure.splitlines()
            key = (lines[-1][:60], [line for line in lines if line.startswith("  File")][-1])
            if key not in seen:
                seen.add(key)
                print(f"#{number} {failure}", flush=True)
        if number % 20_000 == 0:
            print(f"{number} in {time.monotonic() - started:.0f} s, {len(seen)} failures", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
