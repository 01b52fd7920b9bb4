"""Credentials and storage states, before a browser sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mcpeval.browser.artifacts import RunFolder
from pytest_mcpeval.browser.control import PageError
from pytest_mcpeval.browser.directive import BasicAuth, BearerAuth, Directive
from pytest_mcpeval.browser.login import authorization_of, origin_of, storage_state_of
from pytest_mcpeval.text.redact import redactor

ENVIRONMENT = {"AGENT_USER": "ada", "AGENT_TOKEN": "s3cr3t-token"}


def directive(url: str = "https://agent.example/chat", **fields: object) -> Directive:
    folder = RunFolder(Path("runs/agent/run")).case("case")
    return Directive("agent", "run", "case", url, "hello", folder, **fields)  # type: ignore[arg-type]


def test_a_token_and_a_user_become_a_header_for_the_origin() -> None:
    bearer = authorization_of(directive(auth=BearerAuth(type="bearer", token_env="AGENT_TOKEN")), ENVIRONMENT)
    basic = authorization_of(
        directive(auth=BasicAuth(type="basic", username_env="AGENT_USER", password_env="AGENT_TOKEN")),
        ENVIRONMENT,
    )
    assert bearer is not None
    assert basic is not None
    assert (bearer.origin, bearer.value) == ("https://agent.example", "Bearer s3cr3t-token")
    assert basic.value == "Basic YWRhOnMzY3IzdC10b2tlbg=="
    assert "s3cr3t" not in repr(bearer)
    shown = redactor.text("ada, s3cr3t-token, YWRhOnMzY3IzdC10b2tlbg==, YWRhOnMzY3IzdC10b2tlbg%3D%3D")
    assert shown == "ada, ${AGENT_TOKEN}, ${AGENT_TOKEN}, ${AGENT_TOKEN}"
    assert authorization_of(directive(), ENVIRONMENT) is None


def test_a_credential_that_cannot_be_used() -> None:
    with pytest.raises(PageError, match="a credential from AGENT_OTHER, which is not set"):
        authorization_of(directive(auth=BearerAuth(type="bearer", token_env="AGENT_OTHER")), ENVIRONMENT)
    with pytest.raises(PageError, match="AGENT_TOKEN, which holds control characters"):
        authorization_of(
            directive(auth=BearerAuth(type="bearer", token_env="AGENT_TOKEN")),
            {"AGENT_TOKEN": "a\r\nX-Other: b"},
        )


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://agent.example/chat?x=1#y", "https://agent.example"),
        ("https://agent.example:443/", "https://agent.example"),
        ("http://agent.example:443/", "http://agent.example:443"),
        ("http://Agent.Example:8080", "http://agent.example:8080"),
        ("http://[::1]:80/", "http://[::1]"),
    ],
)
def test_origins_are_written_as_browsers_write_them(url: str, origin: str) -> None:
    assert origin_of(url) == origin


def test_a_storage_state_is_data_or_a_file(tmp_path: Path) -> None:
    state: dict[str, list[str]] = {"cookies": [], "origins": []}
    path = tmp_path / "state.json"
    path.write_text('{"cookies": [], "origins": []}', encoding="utf-8")
    assert storage_state_of(directive(storage_state=state)) == state
    assert storage_state_of(directive(storage_state=str(path))) == state
    assert storage_state_of(directive()) is None
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(PageError, match="is not a storage state of Playwright: expected"):
        storage_state_of(directive(storage_state=str(path)))
    with pytest.raises(PageError, match=r"the storage state .*gone\.json cannot be read"):
        storage_state_of(directive(storage_state=str(tmp_path / "gone.json")))


@pytest.mark.parametrize(
    ("state", "found"),
    [
        ({"cookie": [{"value": "s3cr3t"}]}, "found 'cookie'"),
        ({"cookies": [], "session": []}, "found 'cookies', 'session'"),
        ({"cookies": {"name": "s3cr3t"}}, "found no list at cookies"),
        ({}, "found neither"),
    ],
)
def test_data_that_would_log_nobody_in_is_no_storage_state(state: dict[str, object], found: str) -> None:
    with pytest.raises(PageError, match="is not a storage state of Playwright: expected") as caught:
        storage_state_of(directive(storage_state=state))
    assert str(caught.value).endswith(found)
