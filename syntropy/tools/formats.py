"""The table of tools as function definitions for models that do not speak MCP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .table import Tool

FORMATS = ("openai", "anthropic", "json-schema")

_NOT_STRICT = ("default", "minLength", "maxLength")
"""Keywords that strict function schemas refuse."""


def definitions(tools: Sequence[Tool], form: str, *, strict: bool = False) -> list[dict[str, Any]]:
    """One definition a tool: OpenAI's function calling, Anthropic's tool use, or plain JSON schema.

    `strict`: every argument is required and may be null, nothing else is allowed, objects have no free keys (pairs of
    key and value instead): what constrained decoding takes. The tools understand both.
    """
    make = {"openai": _openai, "anthropic": _anthropic, "json-schema": _json_schema}[form]
    return [make(tool, _strict(tool) if strict else tool.input_schema(), strict) for tool in tools]


def _openai(tool: Tool, schema: dict[str, Any], strict: bool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.about, "parameters": schema}
    return {"type": "function", "function": {**function, **({"strict": True} if strict else {})}}


def _anthropic(tool: Tool, schema: dict[str, Any], strict: bool) -> dict[str, Any]:
    found = {"name": tool.name, "description": tool.about, "input_schema": schema}
    return {**found, **({"strict": True} if strict else {})}


def _json_schema(tool: Tool, schema: dict[str, Any], strict: bool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.about,
        "inputSchema": schema,
        "outputSchema": tool.output_schema(),
    }


def _strict(tool: Tool) -> dict[str, Any]:
    properties = {p.name: _closed(p.json_schema(), optional=not p.required) for p in tool.parameters}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_PAIRS = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"key": {"type": "string"}, "value": {"type": "string"}},
        "required": ["key", "value"],
        "additionalProperties": False,
    },
}


def _closed(schema: Mapping[str, Any], *, optional: bool) -> dict[str, Any]:
    found = {key: value for key, value in schema.items() if key not in _NOT_STRICT}
    if "anyOf" in found:
        options = [_closed(option, optional=False) for option in found["anyOf"]]
        return {**found, "anyOf": [*options, *([{"type": "null"}] if optional else [])]}
    if found.get("type") == "object":
        found = {**_PAIRS, "description": "pairs of key and value"}
    if optional:
        found["type"] = [found["type"], "null"]
        if "enum" in found:
            found["enum"] = [*found["enum"], None]
    return found
