"""Programs that answer line by line: well-behaved, crashing, hanging, talking nonsense."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from pytest_mcpeval.kinds.retrieval.corpus import Corpus
from pytest_mcpeval.kinds.retrieval.retrievers import (
    Hit,
    RetrieverModel,
    ask,
    make_retriever,
    retriever_from_text,
)
from pytest_mcpeval.targets import AnswerError, Target, TargetStartError
from pytest_mcpeval.targets.making import Surroundings

PROGRAM = """
import json
import os
import signal
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else ""
print("log: started as", os.getpid(), "with", os.environ.get("API_KEY"), file=sys.stderr, flush=True)
if MODE == "dies":
    print("cannot open the index", file=sys.stderr)
    sys.exit(3)
if MODE == "chatty":
    print("Loading the model...", flush=True)


def say(value):
    print(json.dumps(value), flush=True)


def found(results):
    say({"id": request["id"], "results": results})


for number, line in enumerate(sys.stdin, 1):
    request = json.loads(line)
    query = request["query"]
    print("log:", query, "with", os.environ.get("API_KEY"), file=sys.stderr, flush=True)
    if query == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    elif query == "exit":
        sys.exit(4)
    elif query == "hang":
        time.sleep(600)
    elif query == "close":
        os.close(1)
        time.sleep(600)
    elif query == "nonsense":
        print("Segment 5 loaded \\x1b[31m", flush=True)
    elif query == "nan":
        found([["git:log", float("nan")], ["git:diff", float("inf")], "git:show"])
    elif query == "twice":
        say({"id": request["id"], "results": ["git:log"]})
        say({"id": request["id"], "results": ["git:late"]})
    elif query == "behind":
        say({"id": request["id"] - 1, "results": ["git:late"]})
    elif query == "error":
        say({"id": request["id"], "error": "no such index"})
    elif query == "keys":
        say({"id": request["id"], "hits": []})
    elif query == "number":
        found([1])
    elif query == "empty":
        found([])
    elif query == "no id":
        say({"results": ["git:log"]})
    elif query == "bare":
        say(["git:log"])
    elif query == "environment":
        found(sorted(os.environ))
    elif query == "directory":
        found([os.getcwd()])
    elif query == "pairs":
        say({"id": request["id"], "results": [["git:log", 2], {"tool_id": "git:diff", "score": 1.5}]})
    else:
        found([f"pid:{os.getpid()}", f"number:{number}", f"limit:{request['limit']}", query])
"""

Make = Callable[..., Target]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes retrievers of the program, closes them all, and then none of their processes may be left."""
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    before = set(psutil.Process().children(recursive=True))
    made: list[Target] = []

    def of(*arguments: str, timeout: float = 30, **options: object) -> Target:
        command = [sys.executable, "program.py", *arguments]
        model = RetrieverModel.model_validate({"command": command, "directory": str(tmp_path), **options})
        environ = {**os.environ, "SECRET_KEY": "s3cr3t-value"}
        made.append(make_retriever(model, Corpus("v1", ()), Surroundings(timeout=timeout, environ=environ)))
        return made[-1]

    yield of
    for retriever in made:
        retriever.close()
    assert set(psutil.Process().children(recursive=True)) <= before


def ids(retriever: Target, query: str, k: int = 5) -> list[str]:
    return [hit.tool_id for hit in retriever.ask({"query": query, "limit": k})]


def error(retriever: Target, query: str) -> AnswerError:
    with pytest.raises(AnswerError) as raised:
        retriever.ask({"query": query, "limit": 5})
    return raised.value


def test_one_process_answers_all_queries(make: Make) -> None:
    retriever = make()
    retriever.open()
    answers = [ids(retriever, f'quote " and umlaut ü {number}', number) for number in (1, 2, 3)]
    assert len({answer[0] for answer in answers}) == 1
    assert [answer[1:] for answer in answers] == [
        [f"number:{number}", f"limit:{number}", f'quote " and umlaut ü {number}'] for number in (1, 2, 3)
    ]


def test_scores_and_empty_results(make: Make) -> None:
    retriever = make()
    assert retriever.ask({"query": "pairs", "limit": 5}) == [Hit("git:log", 2.0), Hit("git:diff", 1.5)]
    assert retriever.ask({"query": "empty", "limit": 5}) == []


def test_it_starts_in_its_directory_and_sees_few_variables(make: Make, tmp_path: Path) -> None:
    retriever = make(env={"API_KEY": "${SECRET_KEY}", "MODE": "fast"})
    assert ids(retriever, "directory") == [os.path.realpath(tmp_path)]
    allowed = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
    # A locale is what Python itself sets when there is none.
    seen = set(ids(retriever, "environment", 50)) - {"LC_CTYPE"}
    assert seen == {"API_KEY", "MODE"} | (allowed & os.environ.keys())


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("crash", "the command was killed by SIGKILL, so there is no answer"),
        ("exit", "the command exited with code 4, so there is no answer"),
    ],
)
def test_a_crash_is_told_and_the_next_query_has_a_new_process(make: Make, query: str, message: str) -> None:
    retriever = make(env={"API_KEY": "${SECRET_KEY}"})
    (first, *_) = ids(retriever, "hello")
    found = error(retriever, query)
    assert (found.reason, found.message, found.is_incident) == ("crashed", message, False)
    # Nothing of the start, or of the query before.
    assert found.stderr_tail == f"log: {query} with ${{SECRET_KEY}}"
    assert ids(retriever, "hello")[:2] != [first, "number:2"]
    assert ids(retriever, "hello")[1] == "number:2"


def test_a_process_that_closes_its_output(make: Make) -> None:
    retriever = make()
    assert ids(retriever, "hello")
    assert "closed its standard output" in error(retriever, "close").message


def test_a_process_that_hangs_is_ended(make: Make) -> None:
    retriever = make(timeout=2)
    retriever.open()
    pid = _answered_pid(retriever)
    found = error(retriever, "hang")
    assert found.reason == "timeout"
    assert found.message == "no answer within 2 s, so the process was ended"
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def _answered_pid(retriever: Target) -> int:
    """The process of a retriever, which has had the time to start."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return int(ids(retriever, "hello")[0].removeprefix("pid:"))
        except AnswerError:
            assert time.monotonic() < deadline


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("nonsense", 'wrote a line that is not JSON: "Segment 5 loaded \\u001b[31m"; logs belong on'),
        ("behind", "answered the request with id 1, expected 2"),
        ("no id", 'wrote an answer without `id`, expected 2: "{'),
        ("bare", 'wrote an answer without `id`, expected 2: "['),
    ],
)
def test_an_answer_that_is_out_of_step_ends_the_process(make: Make, query: str, message: str) -> None:
    retriever = make()
    first = ids(retriever, "hello")[0]
    found = error(retriever, query)
    assert found.reason == "answer"
    assert found.message.startswith(message)
    assert ids(retriever, "hello")[0] != first


def test_a_line_too_many_is_not_taken_for_the_next_answer(make: Make) -> None:
    retriever = make()
    assert ids(retriever, "twice") == ["git:log"]
    # Its id tells, whether it arrives before the next query or after.
    found = error(retriever, "empty")
    assert found.message.startswith(("wrote more lines than requests", "answered the request with id 1"))
    assert ids(retriever, "empty") == []


@pytest.mark.parametrize(
    ("query", "message", "reason"),
    [
        ("error", 'the command reported an error: "no such index"', "raised"),
        ("keys", 'expected a line with "results", found one with "id", "hits"', "answer"),
        ("number", "entry 1 of the list is 1: expected a list of tool ids", "answer"),
    ],
)
def test_an_answer_that_is_no_ranked_list_leaves_the_process(
    make: Make, query: str, message: str, reason: str
) -> None:
    retriever = make()
    first = ids(retriever, "hello")[0]
    found = error(retriever, query)
    assert found.message.startswith(message)
    assert found.reason == reason
    assert ids(retriever, "hello")[0] == first


def test_what_dies_at_once_is_not_started_for_every_query(make: Make) -> None:
    retriever = make("dies")
    found = [error(retriever, "hello") for _ in range(4)]
    assert [one.reason for one in found] == ["crashed"] * 4
    assert "exited with code 3" in found[0].message
    assert "cannot open the index" in found[1].stderr_tail
    assert found[2].message.startswith("not asked: 2 processes in a row ended without an answer")
    assert not found[2].stderr_tail


def test_a_greeting_on_standard_output_is_explained(make: Make) -> None:
    retriever = make("chatty")
    retriever.open()
    message = ""
    for _ in range(2):
        message = error(retriever, "hello").message
        if "Loading the model" in message:
            break
    assert "Loading the model..." in message


@pytest.mark.parametrize("command", ["no-such-program-here --fast", "./nowhere", "/nowhere/at/all"])
def test_a_program_that_does_not_exist(tmp_path: Path, command: str) -> None:
    retriever = make_retriever(retriever_from_text(f"command:{command}", tmp_path), Corpus("v1", ()))
    with pytest.raises(TargetStartError, match="there is no program") as raised:
        retriever.open()
    retriever.close()
    assert raised.value.name == f"command: {command}"


def test_a_directory_that_does_not_exist(make: Make, tmp_path: Path) -> None:
    with pytest.raises(TargetStartError, match="its directory does not exist"):
        make(directory=str(tmp_path / "gone")).open()


def test_a_variable_that_is_not_set(make: Make) -> None:
    with pytest.raises(TargetStartError, match=r"needs the environment variable UNSET_HERE \(in env.KEY\)"):
        make(env={"KEY": "${UNSET_HERE}"}).open()


def test_a_relative_program_is_found_in_the_directory(tmp_path: Path) -> None:
    script = tmp_path / "find"
    answer = json.dumps({"id": 1, "results": ["a:b"]})
    script.write_text(f"#!{sys.executable}\nwhile input():\n    print({answer!r}, flush=True)\n")
    script.chmod(0o755)
    retriever = make_retriever(retriever_from_text("command:./find", tmp_path), Corpus("v1", ()))
    assert ids(retriever, "x") == ["a:b"]
    retriever.close()
    retriever.close()


def test_scores_that_are_no_numbers_are_told_as_those_of_functions_are(make: Make) -> None:
    found = ask(make(), "nan", 5, {"git:log", "git:diff", "git:show"})
    assert found.error is None
    assert found.ranked == ["git:log", "git:diff", "git:show"]
    assert found.problems == ("the score is not a finite number at rank 1, 2",)
