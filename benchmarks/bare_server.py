"""The least server the SDK allows: what `agents` compares with. One tool that answers with a constant."""

from __future__ import annotations

import anyio
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def _list(_: object, __: object) -> types.ListToolsResult:
    return types.ListToolsResult(tools=[types.Tool(name="list_contexts", input_schema={"type": "object"})])


async def _call(_: object, __: object) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text="{}")])


async def _main() -> None:
    server = Server("bare", on_list_tools=_list, on_call_tool=_call)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(_main)
