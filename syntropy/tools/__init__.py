"""The tools of agents: one table, from which MCP, function definitions and the chat derive."""
