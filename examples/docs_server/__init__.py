"""An example MCP server: questions about three blockchains, answered by search over written pages."""
