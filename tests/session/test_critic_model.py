"""A language model as the critic, offline."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_mcpeval import TargetError
from pytest_mcpeval.kinds.session.critic.asking import INSTRUCTIONS, CriticRequest, ask_critic
from pytest_mcpeval.kinds.session.critic.settings import CriticModel


def asked(path: Path, model: str, timeout: float = 10.0) -> str:
    (path / "transcript.jsonl").write_text('{"id": "S1-001"}\n', "utf-8")
    request = CriticRequest("Find friction.", path / "transcript.jsonl", path / "state.json")
    return ask_critic(CriticModel(model=model, timeout=timeout), request, {})


def made(name: str) -> str:
    return f"python:tests.session.models:{name}"


def test_it_is_given_the_request_and_the_files_it_cannot_read(tmp_path: Path) -> None:
    instructions, _, request = asked(tmp_path, made("reviews")).partition("\n--\n")
    assert instructions == INSTRUCTIONS.strip()
    assert request.startswith("Find friction.")
    assert '<transcript.jsonl>\n{"id": "S1-001"}\n' in request
    assert "<state.json>\n\n</state.json>" in request


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (made("is_refused"), "401"),
        (made("hangs"), "no output within 0.3 s"),
        (made("nobody"), "has no attribute 'nobody'"),
        (made("not_a_model"), "expected a model of pydantic-ai or a function that makes one, found str"),
        ("no-such-provider:x", "no-such-provider"),
    ],
)
def test_one_that_cannot_be_asked_is_an_error_of_the_run(tmp_path: Path, model: str, words: str) -> None:
    with pytest.raises(TargetError) as caught:
        asked(tmp_path, model, timeout=0.3 if "hangs" in model else 30.0)
    assert str(caught.value).startswith(f"critic model:{model}: ")
    assert words in str(caught.value)


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.models", None)
    with pytest.raises(TargetError, match=r"pip install 'pytest-mcpeval\[model\]'"):
        asked(tmp_path, "test")
