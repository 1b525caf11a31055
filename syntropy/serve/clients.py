"""Configuration for the clients of agents, ready to be pasted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..setup.launcher import program

PATH = "/mcp"

CLIENTS = {
    "claude": ".mcp.json in the project, or claude_desktop_config.json",
    "cursor": ".cursor/mcp.json in the project, or ~/.cursor/mcp.json",
    "vscode": ".vscode/mcp.json in the project",
    "zed": "settings.json of Zed",
}
"""Client: the file its configuration belongs in."""


def client_config(client: str, arguments: Sequence[str]) -> dict[str, Any]:
    """JSON for a client; `arguments` are those of `syntropy serve`, with absolute paths."""
    command = [*program(), "serve", *arguments]
    launch = {"command": command[0], "args": command[1:]}
    return _entry(client, launch)


def address_of(host: str, port: int) -> str:
    """Where a server on loopback is reached."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


def remote_config(client: str, address: str) -> dict[str, Any]:
    """JSON for a client of a server that is running (`--http`)."""
    return _entry(client, {"type": "http", "url": address} if client in ("claude", "vscode") else {"url": address})


def _entry(client: str, server: dict[str, Any]) -> dict[str, Any]:
    if client == "vscode":
        return {"servers": {"syntropy": {"type": "stdio"} | server}}
    if client == "zed":
        return {"context_servers": {"syntropy": {"source": "custom"} | server}}
    return {"mcpServers": {"syntropy": server}}
