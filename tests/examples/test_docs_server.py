"""The example docs server: its pages, its search, and its tools over stdio and HTTP."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
import tree_sitter_go
import tree_sitter_rust
import tree_sitter_typescript
from anyio.from_thread import start_blocking_portal
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import CallToolResult, TextContent
from tree_sitter import Language, Parser

from examples.docs_server.pages import PAGES, PageError, Section, load_sections, read_page
from examples.docs_server.search import SectionIndex
from examples.docs_server.server import build_server
from examples.docs_server.words import stem, terms

ROOT = Path(__file__).parents[2]
METADATA = re.compile(r"<response_metadata>\s*```json\s*([\s\S]*?)\s*```\s*</response_metadata>\Z")
GRAMMARS = {
    "typescript": Language(tree_sitter_typescript.language_typescript()),
    "rust": Language(tree_sitter_rust.language()),
    "go": Language(tree_sitter_go.language()),
}
OTHER_LANGUAGES = {"bash", "proto"}
FOREIGN_WORDS = {
    "mina": ["solana", "cosmos", "anchor"],
    "solana": ["mina", "zkapp", "cosmos", "o1js", "smartcontract", "proof verification"],
    "cosmos": ["mina", "zkapp", "solana", "o1js", "smartcontract", "anchor"],
}

SECTIONS = load_sections()
PAGE_FILES = sorted(PAGES.glob("*/*.md"))
CODE = [
    pytest.param(block.language, block.code, id=f"{section.path}-{number}")
    for sections in SECTIONS.values()
    for section in sections
    for number, block in enumerate(section.code)
]

Call = Callable[..., CallToolResult]


@pytest.fixture(scope="module")
def call() -> Iterator[Call]:
    """Calls a tool of one server process over stdio; the prefix of its name may be left out."""
    server = StdioServerParameters(command=sys.executable, args=["-m", "examples.docs_server"], cwd=ROOT)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server, read_timeout_seconds=60)) as client,
    ):
        yield lambda tool, **arguments: portal.call(partial(client.call_tool, f"crypto_{tool}", arguments))


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def structured(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, text_of(result)
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def metadata(result: CallToolResult) -> dict[str, int]:
    match = METADATA.search(text_of(result))
    assert match is not None
    read: dict[str, int] = json.loads(match[1])
    return read


def without_time(result: CallToolResult) -> str:
    return re.sub(r'"processingTimeMs": \d+', "", text_of(result))


# The pages


@pytest.mark.parametrize("path", PAGE_FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_page_names_no_other_project(path: Path) -> None:
    text = path.read_text(encoding="utf-8").lower()
    assert [word for word in FOREIGN_WORDS[path.parent.name] if word in text] == []


@pytest.mark.parametrize(("language", "code"), CODE)
def test_every_code_block_parses(language: str, code: str) -> None:
    if language not in GRAMMARS:
        assert language in OTHER_LANGUAGES
        return
    tree = Parser(GRAMMARS[language]).parse(code.encode())
    assert not tree.root_node.has_error, code


def test_every_fence_of_a_page_is_read() -> None:
    fences = sum(path.read_text(encoding="utf-8").count("```") for path in PAGE_FILES)
    assert fences == 2 * len(CODE)


def test_section_paths_are_unique() -> None:
    paths = [section.path for sections in SECTIONS.values() for section in sections]
    assert len(paths) == len(set(paths)) > 90


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## Heading\n\nText.\n", "expected YAML front matter"),
        ("---\ntopics: [a]\n---\n\n## Heading\n", "needs a title"),
        ("---\n- a list\n---\n\n## Heading\n", "needs a title"),
        ("---\ntitle: Empty\n---\n\nText without a heading.\n", "expected at least one '## ' heading"),
    ],
)
def test_a_malformed_page_is_an_error_that_names_it(tmp_path: Path, text: str, expected: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(PageError, match=re.escape(expected)) as caught:
        read_page(page)
    assert str(page) in str(caught.value)


# Words and search


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("deploys", "deploy"),
        ("deploying", "deploy"),
        ("delegation", "deleg"),
        ("delegates", "deleg"),
        ("implementation", "implement"),
        ("states", "stat"),
        ("state", "stat"),
        ("queries", "query"),
        ("address", "address"),
        ("status", "status"),
        ("0x1s", "0x1s"),
        ("use", "use"),
    ],
)
def test_endings_are_cut_off(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_a_camel_case_name_is_found_by_its_parts() -> None:
    assert terms("MerkleTree") == [stem("merkletree"), stem("merkle"), stem("tree")]
    assert terms("What is the 0x1 of SPL?") == ["0x1", "spl"]


def section(heading: str, text: str) -> Section:
    return Section("p", f"p/page.md#{heading}", "Page", heading, (), False, (text,), ())


def test_confidence_falls_with_each_term_no_section_has() -> None:
    index = SectionIndex(
        [section("Tokens", "mint tokens"), section("Fees", "gas"), section("Keys", "sign"), section("X", "y")]
    )
    all_known, one_unknown, mostly_unknown, unknown = (
        index.search(query).confidence
        for query in ("mint tokens", "mint tokens sourdough", "mint sourdough bread flour", "sourdough")
    )
    assert all_known == 100
    assert all_known > one_unknown > mostly_unknown > unknown == 0


def test_confidence_falls_when_no_section_stands_out() -> None:
    alike = SectionIndex([section(heading, "mint tokens") for heading in ("Keys", "Gas", "Fees")])
    assert 0 < alike.search("mint tokens").confidence < 70


def test_equal_scores_keep_the_order_of_the_pages() -> None:
    index = SectionIndex([section(heading, "mint tokens") for heading in ("Keys", "Gas", "Fees")])
    assert [hit.section.heading for hit in index.search("mint").hits] == ["Keys", "Gas", "Fees"]


# The tools


def test_the_five_tools_declare_what_they_answer() -> None:
    tools = {tool.name: tool for tool in anyio.run(build_server().list_tools)}
    assert sorted(tools) == [
        "crypto_ask_docs",
        "crypto_explain_error",
        "crypto_get_working_example",
        "crypto_list_projects",
        "crypto_search_docs",
    ]
    assert all(tool.description and tool.output_schema for tool in tools.values())
    assert tools["crypto_explain_error"].input_schema["required"] == ["error", "project"]
    assert tools["crypto_search_docs"].input_schema["properties"]["limit"]["default"] == 5


def test_an_answer_cites_its_sources(call: Call) -> None:
    result = call("ask_docs", question="How do reducers fold actions?", project="mina")
    answer = structured(result)
    assert answer["sources"][0]["path"].startswith("mina/actions.md#")
    numbers = {int(number) for number in re.findall(r"\[Source (\d+)\]", answer["answer"])}
    assert numbers == {source["number"] for source in answer["sources"]}
    assert text_of(result).startswith(answer["answer"])


def test_an_answer_says_only_what_a_page_says(call: Call) -> None:
    answer = structured(call("ask_docs", question="What is IBC and who relays packets?", project="cosmos"))
    pages = "\n".join(path.read_text(encoding="utf-8") for path in PAGE_FILES if path.parent.name == "cosmos")
    body = answer["answer"].split("\n\n## Sources\n\n")[0]
    lines = [
        re.sub(r" \[Source \d+\]$", "", line) for line in body.splitlines() if not line.startswith("## ")
    ]
    assert len(lines) > 5
    assert [line for line in lines if line not in pages] == []


def test_metadata_is_the_last_block_and_agrees_with_the_structure(call: Call) -> None:
    result = call("ask_docs", question="What is a program derived address?", project="solana")
    answer = structured(result)
    read = metadata(result)
    assert list(read) == ["confidence", "sourcesUsed", "processingTimeMs"]
    assert all(type(value) is int for value in read.values())
    assert (read["confidence"], read["sourcesUsed"]) == (answer["confidence"], len(answer["sources"]))
    assert 50 <= read["confidence"] <= 100


def test_examples_hold_code(call: Call) -> None:
    result = call("get_working_example", task="send SOL to another wallet", project="solana")
    assert "```typescript\n" in text_of(result)
    assert "SystemProgram.transfer" in text_of(result)


def test_an_error_is_explained_and_its_context_used(call: Call) -> None:
    error = "custom program error: 0x1"
    alone = structured(call("explain_error", error=error, project="solana"))
    with_context = structured(
        call("explain_error", error=error, context="burn tokens and close the account", project="solana")
    )
    assert alone["sources"][0]["path"] == "solana/errors-tokens.md#token-error-0x1-insufficient-funds"
    assert all("/errors-" in source["path"] for source in alone["sources"])
    assert with_context["sources"][-1]["path"].startswith("solana/token-examples.md#burn-tokens")
    assert with_context["confidence"] == alone["confidence"]


def test_a_search_is_ranked_and_limited(call: Call) -> None:
    result = call("search_docs", query="Merkle witness", limit=3, project="mina")
    found = structured(result)["results"]
    scores = [row["score"] for row in found]
    assert len(found) == metadata(result)["sourcesUsed"] == 3
    assert scores == sorted(scores, reverse=True)
    assert set(found[0]) == {"title", "path", "section", "score", "excerpt"}
    assert "witness" in found[0]["excerpt"].lower()


def test_projects_are_listed_with_their_pages(call: Call) -> None:
    projects = structured(call("list_projects"))["projects"]
    assert [project["name"] for project in projects] == ["cosmos", "mina", "solana"]
    assert all(len(project["pages"]) >= 8 for project in projects)


@pytest.mark.parametrize("project", ["mina", "solana", "cosmos"])
@pytest.mark.parametrize(
    ("tool", "argument"),
    [("ask_docs", "question"), ("get_working_example", "task"), ("explain_error", "error")],
)
@pytest.mark.parametrize("nonsense", ["best flour for sourdough bread", "xyzzy plugh", "", "what is it"])
def test_nonsense_finds_nothing(call: Call, tool: str, argument: str, nonsense: str, project: str) -> None:
    result = call(tool, **{argument: nonsense}, project=project)
    assert metadata(result)["confidence"] < 20
    assert metadata(result)["sourcesUsed"] == 0
    assert structured(result)["sources"] == []
    assert "nothing on this" in text_of(result)


@pytest.mark.parametrize(
    ("tool", "argument"),
    [
        ("ask_docs", "question"),
        ("get_working_example", "task"),
        ("explain_error", "error"),
        ("search_docs", "query"),
    ],
)
def test_an_unknown_project_is_a_tool_error(call: Call, tool: str, argument: str) -> None:
    result = call(tool, **{argument: "tokens"}, project="dogecoin")
    assert result.is_error
    assert "unknown project 'dogecoin'; known projects: cosmos, mina, solana" in text_of(result)


@pytest.mark.parametrize("limit", [0, 21])
def test_a_limit_out_of_range_is_a_tool_error(call: Call, limit: int) -> None:
    assert call("search_docs", query="token", project="mina", limit=limit).is_error


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ask_docs", {"question": "What is staking?", "project": "cosmos"}),
        ("get_working_example", {"task": "increment a counter", "project": "mina"}),
        ("explain_error", {"error": "Blockhash not found", "project": "solana"}),
        ("search_docs", {"query": "accounts", "project": "solana"}),
        ("list_projects", {}),
    ],
)
def test_the_same_request_gives_the_same_answer_in_every_process(
    call: Call, tool: str, arguments: dict[str, str]
) -> None:
    first = call(tool, **arguments)
    again = call(tool, **arguments)
    here = anyio.run(build_server().call_tool, f"crypto_{tool}", arguments)
    assert isinstance(here, CallToolResult)
    assert without_time(first) == without_time(again) == without_time(here)
    assert structured(first) == structured(again) == structured(here)


def test_answers_come_from_the_pages_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "bakery").mkdir()
    (tmp_path / "bakery" / "bread.md").write_text(
        "---\ntitle: Bread\n---\n\n## Sourdough\n\nSourdough rises overnight.\n\n"
        "## Rolls\n\nRolls are small.\n\n## Cakes\n\nCakes are sweet.\n",
        encoding="utf-8",
    )
    server = build_server(tmp_path)
    result = anyio.run(server.call_tool, "crypto_ask_docs", {"question": "sourdough", "project": "bakery"})
    assert isinstance(result, CallToolResult)
    assert "Sourdough rises overnight. [Source 1]" in text_of(result)
    assert structured(result)["sources"] == [
        {"number": 1, "title": "Bread", "section": "Sourdough", "path": "bakery/bread.md#sourdough"}
    ]


# HTTP


def free_port() -> int:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def projects_over_http(url: str, server: subprocess.Popen[bytes]) -> list[str]:
    """The names of the projects, as soon as the server answers."""
    with anyio.fail_after(60):
        while True:
            assert server.poll() is None
            try:
                async with Client(url) as client:
                    result = await client.call_tool("crypto_list_projects", {})
            except (MCPError, OSError, ExceptionGroup):
                await anyio.sleep(0.05)
                continue
            return [project["name"] for project in structured(result)["projects"]]


def test_the_server_speaks_http() -> None:
    port = free_port()
    command = [sys.executable, "-m", "examples.docs_server", "--http", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as server:
        try:
            names = anyio.run(projects_over_http, f"http://127.0.0.1:{port}/mcp", server)
        finally:
            server.terminate()
    assert names == ["cosmos", "mina", "solana"]
