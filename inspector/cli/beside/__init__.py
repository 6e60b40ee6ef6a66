"""Commands that agents' clients run: the status line, the hook and the MCP server; also the desktop entry."""
