"""Retrievers written in Python: imported by name, or handed in by a fixture."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import TargetError
from pytest_mcpeval.kinds.retrieval.corpus import Corpus
from pytest_mcpeval.kinds.retrieval.retrievers import Hit, ask, make_retriever, retriever_from_text
from pytest_mcpeval.targets import AnswerError, Target, TargetStartError
from pytest_mcpeval.targets.making import Surroundings

MODULE = """
import asyncio
import functools
import threading

imported_on = threading.get_ident()
threads = set()
endless = threading.Event()


def search(query, k):
    threads.add(threading.get_ident())
    return [("git:log", 0.5)]


async def asynchronous(query, k):
    await asyncio.sleep(0)
    return [f"git:{query}", f"loop:{id(asyncio.get_running_loop())}"]


def asks_for_a_loop(query, k):
    return asynchronous(query, k)


def generates(query, k):
    for number in range(k):
        yield f"s:t{number}"


def breaks_off(query, k):
    yield "git:log"
    raise LookupError("the index is gone")


def fails(query, k):
    raise ValueError("no\\nindex")


def times_out_itself(query, k):
    raise TimeoutError("upstream was slow")


async def fails_later(query, k):
    raise asyncio.TimeoutError("upstream was slow")


def leaves(query, k):
    raise SystemExit(3)


def nothing(query, k):
    return None


def hangs(query, k):
    if query == "hang":
        endless.wait()
    return ["git:log"]


async def hangs_later(query, k):
    if query == "hang":
        await asyncio.Event().wait()
    return ["git:log"]


class Engine:
    def search(self, query, k):
        return ["git:diff"]


engine = Engine()
number = 5
partial = functools.partial(lambda tool, query, k: [tool], "git:bound")
"""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory with the module ``searching``, of which nothing is left afterwards."""
    (tmp_path / "searching.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("searching", None)


def python(function: str, directory: Path, timeout: float = 30) -> Target:
    model = retriever_from_text(f"python:searching:{function}", directory)
    return make_retriever(model, Corpus("v1", ()), Surroundings(timeout=timeout))


def fixture(value: Any, timeout: float = 30) -> Target:
    model = retriever_from_text("fixture:mine", Path())
    return make_retriever(model, Corpus("v1", ()), Surroundings(fixtures={"mine": value}, timeout=timeout))


def ids(retriever: Target, query: str = "log", k: int = 3) -> list[str]:
    retriever.open()
    try:
        return [hit.tool_id for hit in retriever.ask({"query": query, "limit": k})]
    finally:
        retriever.close()


def error(retriever: Target, query: str = "log") -> AnswerError:
    retriever.open()
    try:
        with pytest.raises(AnswerError) as raised:
            retriever.ask({"query": query, "limit": 3})
    finally:
        retriever.close()
    return raised.value


def test_a_function_is_imported_and_called_on_one_thread(directory: Path) -> None:
    retriever = python("search", directory)
    assert retriever.name == "python:searching:search"
    retriever.open()
    assert [retriever.ask({"query": "log", "limit": 3}) for _ in range(3)] == [[Hit("git:log", 0.5)]] * 3
    threads = sys.modules["searching"].threads
    # What a module makes, such as a database connection, may belong to the thread that imported it.
    assert threads == {sys.modules["searching"].imported_on} != {threading.get_ident()}
    retriever.close()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("asynchronous", "git:log"),
        ("asks_for_a_loop", "git:log"),
        ("generates", "s:t0"),
        ("engine", "git:diff"),
        ("engine.search", "git:diff"),
        ("partial", "git:bound"),
    ],
)
def test_every_way_to_write_one(directory: Path, function: str, expected: str) -> None:
    assert ids(python(function, directory))[0] == expected


def test_async_searches_share_one_event_loop(directory: Path) -> None:
    retriever = python("asynchronous", directory)
    retriever.open()
    loops = {retriever.ask({"query": "log", "limit": 3})[1].tool_id for _ in range(3)}
    retriever.close()
    assert len(loops) == 1


@pytest.mark.parametrize(
    ("function", "reason", "message"),
    [
        ("fails", "raised", "raised ValueError: no index (at "),
        ("breaks_off", "raised", "raised LookupError: the index is gone (at "),
        ("times_out_itself", "raised", "raised TimeoutError: upstream was slow (at "),
        ("fails_later", "raised", "raised TimeoutError: upstream was slow (at "),
        ("leaves", "raised", "raised SystemExit: 3 (at "),
        ("nothing", "answer", "returned null: expected a list of tool ids"),
    ],
)
def test_what_goes_wrong_is_told(directory: Path, function: str, reason: str, message: str) -> None:
    found = error(python(function, directory))
    assert found.message.startswith(message)
    assert (found.reason, found.is_incident) == (reason, False)
    if reason == "raised":
        assert "searching.py:" in found.message


@pytest.mark.parametrize("function", ["hangs", "hangs_later"])
def test_a_search_that_hangs_is_given_up_and_the_next_one_asked(directory: Path, function: str) -> None:
    retriever = python(function, directory, timeout=0.3)
    retriever.open()
    with pytest.raises(AnswerError) as raised:
        retriever.ask({"query": "hang", "limit": 3})
    assert (raised.value.reason, raised.value.message) == ("timeout", "no answer within 0.3 s")
    assert retriever.ask({"query": "log", "limit": 3}) == [Hit("git:log")]
    sys.modules["searching"].endless.set()
    retriever.close()


def test_several_searches_at_once_have_threads_of_their_own(directory: Path) -> None:
    retriever = python("hangs", directory)
    retriever.open()
    waiting = threading.Thread(target=retriever.ask, args=({"query": "hang", "limit": 3},))
    waiting.start()
    assert retriever.ask({"query": "log", "limit": 3}) == [Hit("git:log")]
    assert waiting.is_alive()
    sys.modules["searching"].endless.set()
    waiting.join()
    retriever.close()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("nowhere:search", "ModuleNotFoundError: No module named 'nowhere'"),
        ("searching:seek", "AttributeError: module 'searching' has no attribute 'seek'"),
        (
            "searching:number",
            "expected a function search(query, k), or an object with such a method, found int",
        ),
        ("searching:Engine", "or an object with such a method, found the class Engine"),
        ("broken:search", "ZeroDivisionError: division by zero (at "),
    ],
)
def test_what_cannot_be_called_is_an_error_of_the_set_up(directory: Path, target: str, message: str) -> None:
    (directory / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    model = retriever_from_text(f"python:{target}", directory)
    retriever = make_retriever(model, Corpus("v1", ()))
    with pytest.raises(TargetError) as raised:
        retriever.open()
    retriever.close()
    assert str(raised.value).startswith(f"retriever python:{target} cannot be used: ")
    assert message in str(raised.value)


def test_a_module_of_the_same_name_from_elsewhere_is_not_taken_for_it(
    directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "searching.py").write_text("def search(query, k): return []\n", encoding="utf-8")
    assert ids(python("search", directory)) == ["git:log"]
    with pytest.raises(TargetStartError, match="is already loaded from") as raised:
        python("search", other).open()
    assert "rename one of them" in str(raised.value)


def test_a_fixture_s_function_is_called_on_the_thread_of_the_test() -> None:
    threads = []

    def search(query: str, k: int) -> list[str]:
        threads.append(threading.get_ident())
        return [f"{query}:{k}"]

    retriever = fixture(search)
    assert retriever.name == "fixture:mine"
    assert ids(retriever, "a", 7) == ["a:7"]
    assert threads == [threading.get_ident()]


def test_a_fixture_may_be_async_or_an_object() -> None:
    async def search(query: str, k: int) -> list[tuple[str, float]]:
        await asyncio.sleep(0)
        return [("git:log", 1.0)]

    class Engine:
        def search(self, query: str, k: int) -> list[str]:
            return ["git:diff"]

    before = {*threading.enumerate()}
    assert fixture(search).ask({"query": "log", "limit": 3}) == [Hit("git:log", 1.0)]
    # Fixtures are torn down with their tests: nothing stays. Threads of other tests may end meanwhile.
    assert {*threading.enumerate()} <= before
    assert ids(fixture(Engine())) == ["git:diff"]


def test_a_fixture_that_is_too_slow_is_found_out() -> None:
    late = threading.Event()

    def search(query: str, k: int) -> list[str]:
        late.wait(0.2)
        return ["git:log"]

    found = error(fixture(search, timeout=0.1))
    assert (found.reason, found.message) == ("timeout", "the answer took longer than 0.1 s")


def test_a_fixture_s_errors() -> None:
    assert error(fixture(lambda query, k: 1 / 0)).message.startswith("raised ZeroDivisionError")
    assert error(fixture(lambda query, k: "git:log")).reason == "answer"
    with pytest.raises(TargetStartError, match="found NoneType"):
        fixture(None).open()
    with pytest.raises(TargetStartError, match="a pytest fixture has a value in a test only"):
        make_retriever(retriever_from_text("fixture:mine", Path()), Corpus("v1", ()))


OUTCOMES_OF_PYTEST = """
import pytest


def skips(query, k):
    pytest.skip("too hard")


async def xfails(query, k):
    pytest.xfail("too hard")


def breaks_off(query, k):
    yield "git:log"
    pytest.fail("too hard")


async def interrupts(query, k):
    return (pytest.skip("too hard") for _ in range(k))
"""


@pytest.mark.parametrize("name", ["skips", "xfails", "breaks_off", "interrupts"])
def test_what_is_searched_cannot_set_its_query_aside(tmp_path: Path, directory: Path, name: str) -> None:
    (tmp_path / "searching.py").write_text(OUTCOMES_OF_PYTEST, encoding="utf-8")
    found = error(python(name, directory))
    given = error(fixture(getattr(sys.modules["searching"], name)))
    assert (found.reason, given.reason) == ("raised", "raised")
    assert "too hard" in found.message
    assert "too hard" in given.message


@pytest.mark.parametrize(
    "leaving", ["pytest.skip('not here', allow_module_level=True)", "raise SystemExit('not here')"]
)
def test_a_module_that_skips_or_leaves_cannot_be_used(tmp_path: Path, directory: Path, leaving: str) -> None:
    (tmp_path / "searching.py").write_text(f"import pytest\n{leaving}\n", encoding="utf-8")
    # A skip that came through would skip this test, and nobody would see it.
    with pytest.raises(BaseException, match="not here") as raised:
        python("search", directory).open()
    assert raised.type is TargetStartError


def test_ctrl_c_comes_through() -> None:
    def search(query: str, k: int) -> list[str]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fixture(search).ask({"query": "q", "limit": 1})


@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_is_no_ranked_list(kind: type) -> None:
    found = error(fixture(lambda query, k: kind(["git:log"])))
    assert found.message.startswith(f"returned a {kind.__name__}, which has no order")
    assert ids(fixture(lambda query, k: {"git:log": 1}.keys())) == ["git:log"]


def test_an_embedded_retriever_asked_through_the_same_door(directory: Path) -> None:
    found = ask(fixture(lambda query, k: ["x:y"]), "q", 3, frozenset({"x:y"}))
    assert (found.ranked, found.problems) == (["x:y"], ())
