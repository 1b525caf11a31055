"""The MCP server: tools, resources, prompts and completions over the newest publication."""
