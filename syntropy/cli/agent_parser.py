"""The commands for agents, in argparse calls: `serve`, `tools`, `chat`, `context`, `cite`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

_GROUPS = "knowledge, commands, graph, notes"
_CLIENTS = ("claude", "cursor", "vscode", "zed")
_FORMATS = ("openai", "anthropic", "json-schema")

Reader = Callable[..., argparse.ArgumentParser]


def add_agent_commands(commands: argparse._SubParsersAction[Any], reader: Reader) -> None:
    """`reader` adds a command that reads published knowledge."""
    serve = reader(
        commands, "serve", "agents.serve", "Serve the knowledge to agents (MCP).", "syntropy serve --project ."
    )
    serve.add_argument(
        "--tools", default="", metavar="A,B",
        help=f"groups of tools: {_GROUPS} (default: serve.tools; without it, those there is something for)",
    )  # fmt: skip
    serve.add_argument("--http", action="store_true", help="streamable HTTP on loopback instead of standard input")
    serve.add_argument("--host", default="127.0.0.1", help="loopback address for --http")
    serve.add_argument("--port", type=int, default=8365, help="port for --http")
    serve.add_argument("--print-config", choices=_CLIENTS, help="print the configuration for a client, and end")

    tools = reader(
        commands, "tools", "agents.tools", "Print the tools as function definitions.", "syntropy tools --format openai"
    )
    tools.add_argument("--format", choices=_FORMATS, default="json-schema", help="whose function definitions")
    tools.add_argument("--tools", default="", metavar="A,B", help=f"groups of tools: {_GROUPS}")

    chat = reader(
        commands, "chat", "agents.chat", "Ask a model that looks things up here.", 'syntropy chat "How do we retry?"'
    )
    chat.add_argument("question", nargs="*", metavar="QUESTION", help="one question; without it, a conversation")
    chat.add_argument(
        "--base-url", default="", metavar="URL", help="OpenAI-compatible endpoint (default: chat.base_url)"
    )
    chat.add_argument("--model", default="", help="the model's name there (default: chat.model)")
    chat.add_argument("--tools", default="", metavar="A,B", help=f"groups of tools ({_GROUPS}), or none")
    chat.add_argument("--page", default="", help="what you are looking at, for the model to know")
    chat.add_argument("--max-iterations", type=int, help="rounds of tool calls for one question")

    context = reader(
        commands, "context", "agents.context", "Pack what to know for a task.", 'syntropy context "add a webhook"'
    )
    context.add_argument("task", nargs="+", metavar="TASK", help="what is to be done")
    context.add_argument("--tokens", type=int, default=2_000, help="size of the pack, 200 to 100000")

    cite = reader(
        commands, "cite", "agents.cite", "Say whether a citation still holds.", "syntropy cite 'docs/faq.md#L3-L9'"
    )
    cite.add_argument("citation", metavar="CITATION", help="path#L12-L17, with ~digest or without")
