"""What reaches the transcript of arguments: enough to understand a call, and nothing private."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mcpeval import CallRefused
from pytest_mcpeval.kinds.session.redaction import args_summary, digest, is_private_name, redacted_text
from pytest_mcpeval.servers import ServerDefinition
from tests.session.guarding import guarded, reading, sandboxed

SECRETS = [
    "sk-proj-abcdefghijklmnop1234",
    "ghp_abcdefghijklmnopqrstuvwxyz012345",
    "github_pat_11ABCDEFG0123456789_abcdef",
    "glpat-abcdefghijklmnop",
    "xoxb-1234567890-abcdefghij",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "Bearer abcdef123456",
    "Basic dXNlcjpwYXNzd29yZA==",
    "c29tZSBsb25nIHNlY3JldCB0aGF0IGlz/YmFzZTY0+A==",
    "ada.lovelace+test@example.co.uk",
    "4111 1111 1111 1111",
    "0123456789abcdef0123456789abcdef01234567",
    "key-0123456789abcdef0123456789abcdef",
    "https://hooks.example.org/s/0123456789abcdef0123456789abcdef",
    "AGE-SECRET-KEY-1QQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "dckr_pat_abcdefGHIJKL0123456789",
    "shpat_abcdefghijabcdefghijabcdefghijab",
    "gsk_abcdefghijklmnopqrstuvwx",
    "lin_api_abcdefghijklmnopqrst",
    "GOCSPX-abcdefghijklmnopqrst",
    "SG.abcdefghijkl.mnopqrstuvwxyz0123",
    "ada%40example.com",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "wJalrXUtnFEMI+K7MDENGabPxRfiCYEXAMPLEKEY",
    "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALD-saw",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("around", ["{}", "use {} for it", '{{"x": "{}"}}', "a={}"])
def test_values_that_look_like_credentials_are_replaced(secret: str, around: str) -> None:
    text = redacted_text(around.format(secret))
    assert secret not in text
    assert not any(len(part) > 5 and part in text for part in secret.replace("Bearer", "").split())


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("password=hunter2", "hunter2"),
        ("PGPASSWORD: hunter2", "hunter2"),
        ('{"api_key": "abc"}', "abc"),
        ("--token=abc --verbose", "abc"),
        ("https://user:hunter2@host/path", "hunter2"),
        ("https://host/path?access_token=abc&x=1", "abc"),
        ("client_secret = 'abc'", "abc"),
        ("redis://:hunter2@host", "hunter2"),
        ("postgres://u:p@ss@h/db", "ss@"),
        ("postgres://u:pa/ss@h/db", "pa/ss"),
        ("curl -u ada:hunter2 https://h/", "hunter2"),
        ("curl --user=ada:hunter2 https://h/", "hunter2"),
        ("mysql -phunter2 db", "hunter2"),
        ("mysql -u root -phunter db", "hunter"),
        ("the password hunter2 is old", "hunter2"),
        ("the password is swordfish", "swordfish"),
        ("pass: hunter2", "hunter2"),
        ("pass=hunter2", "hunter2"),
        ('{"pin": 4321}', "4321"),
        ("pin 4711", "4711"),
        ("the PIN is 4711", "4711"),
        ('{"pw": "hunter2", "x": 1}', "hunter2"),
        ("pat=hunter2", "hunter2"),
        ("https://h/x?se=1&sig=ab%2Fc&x=1", "ab%2Fc"),
        ("https://h/x?key=abc", "abc"),
        ("ada:hunter2@db.example.org/x", "hunter2"),
        ("connect to ada:hunter2@localhost:5432", "hunter2"),
        ("ada:hunter2@10.0.0.7/db", "hunter2"),
        ("ada:hunter2@db:5432", "hunter2"),
        ("ada:hunter2@host", "hunter2"),
    ],
)
def test_named_values_inside_texts_are_replaced(text: str, hidden: str) -> None:
    assert hidden not in redacted_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "mina/counter.md",
        "acme/eval-playground",
        "2026-11-22T01:02:03Z",
        "S1-001",
        "list all open issues that mention tokens",
        "https://example.org/a/b?page=2",
        "node_modules/@types/node",
        "/srv/mcp-eval/2026/a-folder/another-folder/notes",
        "a-long-slug-of-many-words-from-the-year-2026",
        "0b9c6e1e-7d5c-4b8e-9f43-0a1b2c3d4e5f",
        "basic examples of a token bucket",
        "a@b",
        "rules for passwords of 2026",
        "tokens 12 of 40",
        "pass the ball: 3",
        "git log -p --stat",
        "cp -u a:b",
        "key-value stores and key-performance-indicators",
        "https://example.org:8080/a?x=1",
        "http://localhost:8080/users/@ada",
        "src/components/Dashboard2/widgets/Chart/x",
        "time 12:30@noon",
        "npm:lodash@4.17.21",
        "pin the 3 posts",
        "spin 4711 times",
        "a sorted key=value list",
    ],
)
def test_ordinary_values_stay(text: str) -> None:
    assert redacted_text(text) == text


@pytest.mark.parametrize(
    "name",
    ["token", "apiKey", "API_KEY", "client_secret", "password", "Authorization", "email", "e-mail",
     "phoneNumber",
     "pass", "pin", "pw", "userPw", "pat", "github_pat", "sid", "phpSid", "private",
     "db_pass", "userPin", "passphrase", "iban", "cookie", "sessionId", "pwd", "credentials"],
)  # fmt: skip
def test_values_under_private_names_are_never_reported(name: str) -> None:
    assert is_private_name(name)
    for value in ("x", 12345, ["x"], {"a": "x"}, True):
        assert args_summary({name: value}) == f"{{{name}: <redacted>}}"
    assert args_summary({name: None}) == f"{{{name}: null}}"


@pytest.mark.parametrize("name", ["pins", "spinning", "passed", "compass", "mapping", "bypass_cache", "n"])
def test_names_that_only_contain_private_ones_are_not_private(name: str) -> None:
    assert args_summary({name: 3}) == f"{{{name}: 3}}"


def test_a_summary_tells_short_values_and_the_size_of_all_else() -> None:
    arguments = {
        "path": "mina/counter.md",
        "head": 2,
        "ratio": 0.5,
        "deep": True,
        "cursor": None,
        "content": "x" * 812,
        "edits": [1, 2, 3],
        "options": {"a": 1, "b": {"c": 2}},
    }
    assert args_summary(arguments) == (
        '{path: "mina/counter.md", head: 2, ratio: 0.5, deep: true, cursor: null, content: text[812], '
        "edits: array[3], options: object{a, b}}"
    )
    assert args_summary({}) == "{}"
    assert args_summary({f"k{n}": n for n in range(10)}).endswith("k7: 7, … 2 more}")
    assert args_summary({"ada@example.org": 1}) == "{<e-mail>: 1}"
    assert args_summary({"use": "some-server@2025.8.21"}) == '{use: "some-server@2025.8.21"}'
    assert args_summary({"text": "a\x1b[31mb"}) == '{text: "a\\\\x1b[31mb"}'
    assert len(args_summary({f"{'k' * 50}{n}": "v" * 50 for n in range(8)})) < 450


@given(st.dictionaries(st.text(max_size=10), st.sampled_from(SECRETS) | st.text(max_size=90), max_size=5))
def test_no_secret_is_in_any_summary(arguments: dict[str, Any]) -> None:
    summary = args_summary(arguments)
    assert not [secret for secret in SECRETS if secret in summary]


def test_digests_are_equal_for_equal_arguments_under_one_key_only() -> None:
    arguments = {"b": 1, "a": {"token": "sk-x"}}
    same = {"a": {"token": "sk-x"}, "b": 1}
    assert digest(arguments, "t", b"k") == digest(same, "t", b"k")
    others = [digest(arguments, "u", b"k"), digest(arguments, "t", b"l"), digest({**same, "b": 2}, "t", b"k")]
    assert len({digest(same, "t", b"k"), *others}) == 4


def test_the_raw_value_never_reaches_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES_TOKEN", "plain-words-as-secret")
    definition = ServerDefinition(
        "notes", "module", module="tests.session.tiny:server", env={"NOTES_TOKEN": "${NOTES_TOKEN}"}
    )
    values = [*SECRETS, "plain-words-as-secret"]
    with guarded(tmp_path, reading(), calls=99, definitions={"notes": definition}) as found:
        toolbox = found.toolbox("S1")
        for value in values:
            toolbox.call_now("mcp__notes__get_note", {"id": value})
            with toolbox.recorded(
                "Bash", {"command": f"echo {value}"}, justification=f"no tool: {value}"
            ) as use:
                use.result = {value: value}
            with pytest.raises(CallRefused):
                toolbox.call_now(f"mcp__notes__delete_{value}", {"id": value})
    written = (tmp_path / "transcript.jsonl").read_text("utf-8")
    assert [json.loads(line)["id"] for line in written.splitlines()][-1] == f"S1-{3 * len(values):03d}"
    for value in values:
        assert value not in written
        assert json.dumps(value)[1:-1] not in written


def test_reasons_for_refusals_tell_no_secret_either(tmp_path: Path) -> None:
    with guarded(tmp_path, sandboxed("repo: x")) as found:
        with pytest.raises(CallRefused) as caught:
            found.toolbox("S1").call_now("mcp__notes__create_note", {SECRETS[0]: "/etc/passwd"})
        assert SECRETS[0] not in caught.value.reason
        assert SECRETS[0] not in (found.lines[0].justification or "")
