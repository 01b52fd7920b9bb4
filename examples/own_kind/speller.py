"""An MCP server whose tool corrects the spelling of a word: it takes the nearest word that it knows."""

from difflib import get_close_matches

from mcp.server import MCPServer

KNOWN = ("accommodate", "committee", "definitely", "necessary", "receive", "separate")

server = MCPServer("speller", log_level="ERROR")


@server.tool(structured_output=False)
def correct(word: str) -> str:
    """Return the word as it is spelled right."""
    return next(iter(get_close_matches(word, KNOWN, n=1)), word)


if __name__ == "__main__":
    server.run()
