"""Server definitions: read from files, variables expanded, ``MCP_URL`` applied."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_mcpeval import DataFileError, ServerConfigError
from pytest_mcpeval.loading import load
from pytest_mcpeval.servers import ServerDefinition, apply_mcp_url, expand
from pytest_mcpeval.servers.schema import ignored_keys, parse_servers
from pytest_mcpeval.text.redact import redactor


def mcp_json(directory: Path, servers: dict[str, Any], **more: Any) -> dict[str, ServerDefinition]:
    path = directory / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": servers, **more}, indent=1), encoding="utf-8")
    return parse_servers(load(path))


def project_file(directory: Path, text: str) -> dict[str, ServerDefinition]:
    path = directory / "mcpeval.yaml"
    path.write_text(text, encoding="utf-8")
    return parse_servers(load(path), "servers")


def problems(directory: Path, text: str) -> list[str]:
    with pytest.raises(DataFileError) as raised:
        project_file(directory, text)
    return [f"{problem.line}: {problem.message}" for problem in raised.value.problems]


def test_a_stdio_server(tmp_path: Path) -> None:
    entry = {"command": "python", "args": ["-m", "docs"], "env": {"A": "1"}, "cwd": "sub"}
    assert mcp_json(tmp_path, {"docs": entry}) == {
        "docs": ServerDefinition(
            "docs",
            "stdio",
            command="python",
            args=("-m", "docs"),
            env={"A": "1"},
            cwd="sub",
            directory=tmp_path,
            origin=f"{tmp_path / '.mcp.json'}:3",
        )
    }


@pytest.mark.parametrize(
    ("type_", "transport"),
    [
        (None, "http"),
        ("http", "http"),
        ("streamable-http", "http"),
        ("streamableHttp", "http"),
        ("sse", "sse"),
    ],
)
def test_an_http_server(tmp_path: Path, type_: str | None, transport: str) -> None:
    entry = {"url": "http://localhost/mcp", "headers": {"X": "y"}} | ({"type": type_} if type_ else {})
    found = mcp_json(tmp_path, {"web": entry})["web"]
    assert (found.transport, found.url, found.headers) == (transport, "http://localhost/mcp", {"X": "y"})


def test_servers_in_a_project_file(tmp_path: Path) -> None:
    text = """\
servers:
  one: {command: node, args: [--port, 80]}
  two: {module: "pkg.mod:make", start_timeout: 2}
"""
    found = project_file(tmp_path, text)
    assert found["one"].args == ("--port", "80")
    assert (found["two"].transport, found["two"].module) == ("module", "pkg.mod:make")
    assert (found["two"].start_timeout, found["two"].directory) == (2.0, tmp_path)


OF_OTHER_HOSTS = """\
{
  "$schema": "https://example.com/mcp.json",
  "inputs": [],
  "_comment": "ours",
  "mcpServers": {
    "one": {
      "_comment": "the first",
      "command": "x",
      "alwaysAllow": ["a"],
      "timeout": 5,
      "disabled": false,
      "envFile": ".env",
      "type": "Local-Process",
      "url": "",
      "headers": {}
    },
    "two": {
      "url": "http://localhost/mcp",
      "type": "streamable_http", "disabled": "yes",
      "//": "why",
      "transportType": "x",
      "env": {},
      "cwd": null
    },
    "three": {"command": "y", "disabled": true, "comand": "z"},
    "_comment": "four is to come"
  }
}
"""


def test_what_other_hosts_say_is_ignored_in_mcp_json_and_listed(tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    path.write_text(OF_OTHER_HOSTS, encoding="utf-8")
    document = load(path)
    found = parse_servers(document)
    assert {name: server.transport for name, server in found.items()} == {"one": "stdio", "two": "http"}
    assert [f"{problem.line}: {problem.message}" for problem in ignored_keys(document)] == [
        '3: ignored: "inputs"',
        '4: ignored: "_comment"',
        "7: server 'one': ignored: \"_comment\"",
        "9: server 'one': ignored: \"alwaysAllow\"",
        "10: server 'one': ignored: \"timeout\"",
        "12: server 'one': ignored: \"envFile\"",
        "13: server 'one': ignored: type \"Local-Process\"",
        "19: server 'two': ignored: disabled \"yes\", expected true or false",
        "20: server 'two': ignored: \"//\"",
        "21: server 'two': ignored: \"transportType\"",
        "25: server 'three' is disabled",
        '26: ignored: "_comment"',
    ]


def test_keys_as_other_hosts_spell_them_are_read_and_listed(tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    url = "http://localhost/mcp"
    servers = {
        "surfing": {"serverUrl": url, "transportType": "sse"},
        "both": {"httpUrl": "http://other/mcp", "url": url, "transport": "stream"},
        "twice": {"server_url": url, "httpUrl": "http://other/mcp"},
        "process": {"command": "x", "transport": "stdio", "serverUrl": ""},
    }
    path.write_text(json.dumps({"mcpServers": servers}, indent=1), encoding="utf-8")
    document = load(path)
    found = parse_servers(document)
    assert {name: (one.transport, one.url) for name, one in found.items()} == {
        "surfing": ("sse", url),
        "both": ("http", url),
        "twice": ("http", url),
        "process": ("stdio", ""),
    }
    assert [problem.message for problem in ignored_keys(document)] == [
        "server 'surfing': \"serverUrl\" is read as url",
        "server 'surfing': \"transportType\" is read as type",
        "server 'both': ignored: \"httpUrl\"",
        "server 'both': \"transport\" is read as type",
        "server 'both': ignored: type \"stream\"",
        "server 'twice': \"server_url\" is read as url",
        "server 'twice': ignored: \"httpUrl\"",
        "server 'process': \"transport\" is read as type",
        "server 'process': \"serverUrl\" is read as url",
    ]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"command": "a\0b"}, "command has a NUL character: remove it"),
        ({"command": "a", "args": ["b", "\0"]}, "args has a NUL character: remove it"),
        ({"command": "a", "env": {"A": "\0"}}, "env has a NUL character: remove it"),
        ({"command": "a", "cwd": "\0"}, "cwd has a NUL character: remove it"),
        ({"command": "a", "env": {"A=B": "c"}}, '"A=B" cannot be the name of a variable'),
        ({"url": "http://a\0b/"}, "url has a NUL character: remove it"),
        ({"url": "http://[::1"}, "url: Invalid IPv6 URL; expected a URL such as http://"),
        ({"url": "http://a:99999"}, "url: Port out of range 0-65535; expected a URL"),
        ({"url": "localhost:3000/mcp"}, "url: expected a URL such as http://"),
        ({"serverUrl": "http://[::1"}, "url: Invalid IPv6 URL; expected a URL such as http://"),
        ({"url": "http://"}, "url: expected a URL such as http://"),
        ({"url": "http://a/", "headers": {"A B": "c"}}, '"A B" cannot be sent as a header'),
        ({"url": "http://a/", "headers": {"A": "b\nc"}}, '"A" cannot be sent as a header'),
    ],
)
def test_what_no_server_can_be_reached_with_is_an_error_where_it_is_defined(
    tmp_path: Path, entry: dict[str, Any], words: str
) -> None:
    with pytest.raises(DataFileError) as raised:
        mcp_json(tmp_path, {"unused": entry})
    assert any(problem.message.startswith(f"server 'unused': {words}") for problem in raised.value.problems)
    assert all(problem.line >= 3 for problem in raised.value.problems)
    if "serverUrl" not in entry:
        told = problems(tmp_path, json.dumps({"servers": {"unused": entry}}))
        assert any(words in problem for problem in told)


def test_a_url_with_variables_is_judged_when_they_are_known(tmp_path: Path) -> None:
    assert set(mcp_json(tmp_path, {"a": {"url": "${URL}"}, "b": {"url": "http://${HOST:-[::1}/"}})) == {
        "a",
        "b",
    }


@pytest.mark.parametrize(
    ("written", "transport"),
    [
        ("StreamableHTTP", "http"),
        ("streamable http", "http"),
        ("HTTP", "http"),
        ("SSE", "sse"),
        ("ws", "http"),
    ],
)
def test_the_type_is_spelled_in_many_ways(tmp_path: Path, written: str, transport: str) -> None:
    found = mcp_json(tmp_path, {"web": {"url": "http://localhost", "type": written}})
    assert found["web"].transport == transport


@pytest.mark.parametrize(
    "key", ["comand", "commnad", "Command", "agrs", "arg", "evn", "envs", "cdw", "header", "tpye", "urls"]
)
def test_a_misspelt_key_in_mcp_json_is_a_mistake(tmp_path: Path, key: str) -> None:
    with pytest.raises(DataFileError, match=f'unknown key "{key}"'):
        mcp_json(tmp_path, {"a": {"command": "x", key: "y"}})


def test_keys_of_other_hosts_are_unknown_in_a_project_file(tmp_path: Path) -> None:
    found = problems(tmp_path, "servers:\n  a:\n    command: x\n    timeout: 5\n")
    assert len(found) == 1
    assert found[0].startswith("4: ")
    assert "timeout" in found[0]


def test_all_problems_at_once_each_at_its_line(tmp_path: Path) -> None:
    text = """\
servers:
  both:
    command: x
    url: http://localhost
  nothing: {}
  typo:
    comand: x
  foreign:
    url: http://localhost
    args: [a]
  wrong:
    type: sse
    command: x
  unknown:
    type: pigeon
    url: http://localhost
"""
    found = problems(tmp_path, text)
    assert found[:2] == [
        "4: server 'both': has command and url: expected one of them",
        "5: server 'nothing': expected one of command, url and module",
    ]
    assert found[2].startswith("7: ")
    assert "command" in found[2]
    assert found[3] == "10: server 'foreign': args goes with command, but this server has url"
    assert found[4] == "12: server 'wrong': type sse goes with url, but this server has command"
    assert found[5].startswith("15: ")
    assert len(found) == 6


@pytest.mark.parametrize(
    ("text", "line"),
    [("servers: [a]", 1), ("servers:\n  a: 5", 2), ("servers:\n  a: {command: [x]}", 2), ("others: {}", 1)],
)
def test_wrong_shapes(tmp_path: Path, text: str, line: int) -> None:
    assert problems(tmp_path, text)[0].startswith(f"{line}: ")


def test_an_unknown_key_beside_mcp_servers(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match='unknown key "mcpServer": expected "mcpServers"'):
        mcp_json(tmp_path, {}, mcpServer={})


def test_what_is_no_placeholder_is_a_problem_at_its_line(tmp_path: Path) -> None:
    text = """\
servers:
  one:
    command: run
    args:
      - --port
      - ${PORT
    env:
      KEY: ${env.KEY}
  two:
    url: https://${HOST:-x}/mcp
    headers:
      X-Key: ${A-B}
      X-Other: $${A-B}
  three:
    command: ${workspaceFolder}/run
"""
    assert problems(tmp_path, text) == [
        "6: server 'one': ${ is not a placeholder: write ${NAME}, or ${NAME:-default} without a "
        "variable in the "
        "default, or $${ for ${ itself",
        "8: server 'one': ${env.KEY} is a form of cases: write ${KEY}",
        "12: server 'two': ${A-B} is not a placeholder: write ${NAME}, or ${NAME:-default} without a "
        "variable "
        "in the default, or $${ for ${ itself",
        "15: server 'three': ${workspaceFolder} is a form of another host: write ${NAME} for an environment "
        "variable",
    ]


def test_a_form_of_another_host_matters_to_those_only_who_use_the_server(tmp_path: Path) -> None:
    found = mcp_json(
        tmp_path, {"theirs": {"command": "x", "args": ["${input:token}"]}, "ours": {"command": "y"}}
    )
    assert list(found) == ["theirs", "ours"]
    with pytest.raises(ServerConfigError, match="a form of another host"):
        expand(found["theirs"], {})


def stdio(**fields: Any) -> ServerDefinition:
    return ServerDefinition("docs", "stdio", command="run", origin="conf.yaml:3", **fields)


def test_variables_are_expanded(tmp_path: Path) -> None:
    definition = stdio(
        args=("${A}-${B:-two}", "${EMPTY:-three}", "$A $${} $${A}$ $"),
        env={"KEY": "${A}"},
        cwd="${DIR}",
        directory=tmp_path,
    )
    found = expand(definition, {"A": "one", "EMPTY": "", "DIR": "deep"})
    assert found.args == ("one-two", "three", "$A ${} ${A}$ $")
    assert found.env == {"KEY": "one"}
    assert found.cwd == str(tmp_path / "deep")
    assert expand(definition, {"A": "", "DIR": "/else"}).cwd == "/else"


def test_a_process_starts_where_it_is_defined(tmp_path: Path) -> None:
    assert expand(stdio(directory=tmp_path), {}).cwd == str(tmp_path)


def test_an_unset_variable_is_named() -> None:
    with pytest.raises(ServerConfigError) as raised:
        expand(stdio(env={"KEY": "${TOKEN}"}), {})
    assert str(raised.value) == (
        "conf.yaml:3: server 'docs' needs the environment variable TOKEN (in env.KEY), which is not set: "
        "set it, or write ${TOKEN:-default}"
    )


@pytest.mark.parametrize("form", ["${env:HOME}", "${input:key}", "${workspaceFolder}"])
def test_a_form_of_another_host_is_refused(form: str) -> None:
    with pytest.raises(ServerConfigError, match="a form of another host"):
        expand(stdio(args=(form,)), {"HOME": "/"})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x ${A-B} y", "${A-B}"),
        ("${1A}", "${1A}"),
        ("${}", "${}"),
        ("${A:-${B}}", "${A:-${B}"),
        ("${A", "${"),
        ("${A:-one", "${"),
        ("${A:=one}", "${A:=one}"),
    ],
)
def test_what_is_nearly_a_variable_is_refused(text: str, shown: str) -> None:
    for fields in ({"args": (text,)}, {"env": {"KEY": text}}, {"cwd": text}):
        with pytest.raises(ServerConfigError) as raised:
            expand(stdio(**fields), {"A": "one", "B": "two"})
        assert str(raised.value).startswith(f"conf.yaml:3: server 'docs' has {shown} (in ")
        assert "write ${NAME}, or ${NAME:-default}" in str(raised.value)


def test_what_a_definition_takes_from_the_environment_and_its_literals_are_not_shown() -> None:
    definition = stdio(
        args=(
            "${A_VALUE}",
            "${SHORT}",
            "$${OTHER}",
            "${MODE}",
            "${UNSET_KEY:-default-key}",
            "${UNSET:-plain-1}",
        ),
        env={"API": "literal-value", "LEVEL": "warning", "B": "x ${B_VALUE}"},
        public=("MODE", "LEVEL"),
    )
    environ = {
        "A_VALUE": "value-a",
        "B_VALUE": "value-b",
        "SHORT": "abcde",
        "OTHER": "others",
        "MODE": "produce",
    }
    expand(definition, environ)
    shown = "value-a value-b literal-value abcde others produce warning default-key plain-1"
    assert redactor.text(shown) == (
        "${A_VALUE} ${B_VALUE} ${API} abcde others produce warning ${UNSET_KEY} plain-1"
    )


def test_what_is_shown_of_a_definition() -> None:
    shown = stdio(args=("--token", "abc", "--api-key=abc", "--token", "${T}", "two words", "")).display()
    assert shown == "run --token *** --api-key=*** --token ${T} 'two words' ''"
    url = "https://me:pw@host:80/path?key=abc#x"
    assert ServerDefinition("web", "http", url=url).display() == "https://host:80/path"


def http(name: str, url: str = "http://old/mcp") -> ServerDefinition:
    return ServerDefinition(name, "http", url=url)


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("http://new:3000", "http://new:3000/mcp"),
        ("http://new:3000/", "http://new:3000/mcp"),
        ("http://new/api", "http://new/api/mcp"),
        ("http://new/api/mcp", "http://new/api/mcp"),
        ("http://new/mcp/", "http://new/mcp"),
    ],
)
def test_mcp_url_replaces_the_url(value: str, url: str) -> None:
    servers = {"web": http("web"), "local": stdio()}
    found = apply_mcp_url(servers, {"MCP_URL": value})
    assert found == {"web": http("web", url), "local": stdio()}


def test_mcp_url_without_any_server_defines_one() -> None:
    assert apply_mcp_url({}, {"MCP_URL": "http://new"})["default"].url == "http://new/mcp"
    assert apply_mcp_url({}, {}) == {}


def test_mcp_url_and_several_http_servers() -> None:
    with pytest.raises(ServerConfigError, match=r"several HTTP servers are defined \(a, b\)"):
        apply_mcp_url({"a": http("a"), "b": http("b")}, {"MCP_URL": "http://new"})


def test_mcp_url_named_in_the_one_meant() -> None:
    servers = {"a": http("a", "${MCP_URL}/mcp"), "b": http("b")}
    assert apply_mcp_url(servers, {"MCP_URL": "http://new"}) == servers


@pytest.mark.parametrize("value", ["localhost:3000", "ftp://host", "http://"])
def test_mcp_url_must_be_a_url(value: str) -> None:
    with pytest.raises(ServerConfigError, match="expected a URL such as"):
        apply_mcp_url({}, {"MCP_URL": value})


def test_importing_the_package_is_cheap() -> None:
    code = "import sys, pytest_mcpeval.servers; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    heavy = {"mcp", "mcp_types", "anyio", "httpx2", "pydantic", "pytest", "yaml"}
    assert heavy & set(loaded.split()) == set()
