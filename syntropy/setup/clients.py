"""The clients of agents: the files their configuration lies in, where in them servers are listed, and an entry each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..contract.identity import slugify

PATH = "/mcp"

_KEY_LENGTH = 24


@dataclass(frozen=True)
class Client:
    """`file`: below the project's root, or below the home folder (`home`); `servers`: keys that lead to the list.

    `entry` makes an entry of the command line's words; `remote` of an address.
    """

    name: str
    title: str
    file: str
    servers: tuple[str, ...]
    entry: Callable[[Sequence[str]], dict[str, Any]]
    remote: Callable[[str], dict[str, Any]]
    home: bool = False

    def where(self) -> str:
        """The file, in words."""
        return f"{'~/' if self.home else ''}{self.file}{'' if self.home else ' in the project'}"


def _plain(command: Sequence[str]) -> dict[str, Any]:
    return {"command": command[0], "args": list(command[1:])}


def _address(address: str) -> dict[str, Any]:
    return {"url": address}


def _typed_address(address: str) -> dict[str, Any]:
    return {"type": "http", "url": address}


CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client("claude", "Claude Code", ".mcp.json", ("mcpServers",), _plain, _typed_address),
        Client("codex", "Codex", ".codex/config.toml", ("mcp_servers",), _plain, _address),
        Client("gemini", "Gemini CLI", ".gemini/settings.json", ("mcpServers",), _plain,
               lambda address: {"httpUrl": address}),
        Client("cursor", "Cursor", ".cursor/mcp.json", ("mcpServers",), _plain, _address),
        Client("vscode", "VS Code", ".vscode/mcp.json", ("servers",),
               lambda command: {"type": "stdio", **_plain(command)}, _typed_address),
        Client("zed", "Zed", ".zed/settings.json", ("context_servers",),
               lambda command: {"source": "custom", **_plain(command)}, _address),
        Client("windsurf", "Windsurf", ".codeium/windsurf/mcp_config.json", ("mcpServers",), _plain,
               lambda address: {"serverUrl": address}, home=True),
        Client("opencode", "opencode", "opencode.json", ("mcp",),
               lambda command: {"type": "local", "command": list(command), "enabled": True},
               lambda address: {"type": "remote", "url": address, "enabled": True}),
    )
}  # fmt: skip
"""By name. Windsurf has no file of a project, so its key must say which project it is."""


def server_key(place: Path) -> str:
    """The name of a project's server, in every client: no two folders have the same one."""
    where = str(place.resolve())
    digest = hashlib.sha256(where.encode("utf-8", "surrogateescape")).hexdigest()[:6]
    name = slugify(place.resolve().name, max_length=_KEY_LENGTH) or "project"
    return f"syntropy-{name}-{digest}"


def client_config(client: str, key: str, command: Sequence[str]) -> dict[str, Any]:
    """What a client's file holds for a server that is started by a command line with absolute paths."""
    return _under(client, key, CLIENTS[client].entry(command))


def remote_config(client: str, key: str, address: str) -> dict[str, Any]:
    """What a client's file holds for a server that is running (`--http`)."""
    return _under(client, key, CLIENTS[client].remote(address))


def address_of(host: str, port: int) -> str:
    """Where a server on loopback is reached."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


def _under(client: str, key: str, entry: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {key: entry}
    for name in reversed(CLIENTS[client].servers):
        found = {name: found}
    return found
