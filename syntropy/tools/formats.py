"""The table of tools as function definitions for models that do not speak MCP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .table import Tool

FORMATS = ("openai", "anthropic", "json-schema")


def definitions(tools: Sequence[Tool], form: str) -> list[dict[str, Any]]:
    """One definition a tool: OpenAI's function calling, Anthropic's tool use, or plain JSON schema."""
    make = {"openai": _openai, "anthropic": _anthropic, "json-schema": _json_schema}[form]
    return [make(tool) for tool in tools]


def _openai(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.about, "parameters": tool.input_schema()}
    return {"type": "function", "function": function}


def _anthropic(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.about, "input_schema": tool.input_schema()}


def _json_schema(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.about,
        "inputSchema": tool.input_schema(),
        "outputSchema": tool.output_schema(),
    }
