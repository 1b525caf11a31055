"""Standard input and output for the protocol alone: bounded lines in, whole lines out.

The SDK reads a line whole before it looks at it, in a thread that nothing can interrupt. Here blocks are
read when they have come: a line beyond the limit is refused and never held, the process ends without
waiting for input, and a message costs no hop to a thread.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread
from mcp.server.stdio import stdio_server

from .signals import on_signal

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from .server import Adapter

MAX_LINE = 4 * 1024 * 1024
"""Bytes of one message; the SDK has the same limit for HTTP bodies."""

_BLOCK = 64 * 1024
_KEPT = 512
_ID_FIRST = re.compile(rb'^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")')
_ID_LAST = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")\s*\}\s*$')


class BoundedLines:
    """Lines of a file descriptor as text; iterated asynchronously, once."""

    def __init__(self, descriptor: int, *, limit: int = MAX_LINE) -> None:
        self._descriptor, self._limit = descriptor, limit

    async def __aiter__(self) -> AsyncIterator[str]:
        splitter = LineSplitter(self._limit)
        while block := await self._block():
            for line in splitter.feed(block):
                yield line

    async def _block(self) -> bytes:
        """What has come, without a thread where the system can say that something has."""
        if sys.platform == "win32":
            return await anyio.to_thread.run_sync(os.read, self._descriptor, _BLOCK, abandon_on_cancel=True)
        with contextlib.suppress(PermissionError):  # a regular file is always readable, and cannot be waited for
            await anyio.wait_readable(self._descriptor)
        return os.read(self._descriptor, _BLOCK)


class LineSplitter:
    """Blocks of bytes to lines. One that is too long becomes a request for a method nobody has, with its id."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._refused = b""
        self._long = False

    def feed(self, block: bytes) -> list[str]:
        """The lines that end in this block."""
        *ended, rest = block.split(b"\n")
        lines = []
        for piece in ended:
            self._add(piece)
            if line := self._line():
                lines.append(line)
        self._add(rest)
        return lines

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._limit:
            self._parts.append(piece)
            return
        if not self._long:
            self._long, self._refused = True, b"".join([*self._parts, piece[:_KEPT]])[:_KEPT]
        self._parts = [(b"".join(self._parts) + piece)[-_KEPT:]]

    def _line(self) -> str:
        raw, refused, too_long = b"".join(self._parts), self._refused, self._long
        size, self._parts, self._size, self._refused, self._long = self._size, [], 0, b"", False
        if not too_long:
            return raw.decode("utf-8", "replace") if raw.strip() else ""
        print(f"syntropy: a message of {size} bytes was refused (at most {self._limit})", file=sys.stderr)
        found = _ID_FIRST.search(refused) or _ID_LAST.search(raw)
        if not found:
            return ""
        number = json.loads(found.group(1))
        return json.dumps({"jsonrpc": "2.0", "id": number, "method": "refused/message-too-long"})


class Wire:
    """Lines to a file descriptor: at once while the client reads, in a thread where it does not.

    The SDK's own takes two hops to a thread for each message, 0.2 ms.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._waiting = descriptor, b""

    async def write(self, text: str) -> None:
        """Keep the text for `flush`."""
        self._waiting += text.encode("utf-8")

    async def flush(self) -> None:
        """Write what was kept. Raises BrokenPipeError where nobody reads any more."""
        waiting, self._waiting = self._waiting, b""
        while waiting and select.select([], [self._descriptor], [], 0)[1]:
            waiting = waiting[os.write(self._descriptor, waiting[: select.PIPE_BUF]) :]  # so much does not block
        if waiting:
            await anyio.to_thread.run_sync(self._write, waiting, abandon_on_cancel=True)

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]


async def serve_stdio(adapter: Adapter) -> None:
    """Serve until the input ends, the client is gone, or SIGINT or SIGTERM."""
    server: Server[Any] = adapter.server()
    lines, wire = BoundedLines(os.dup(0)), Wire(os.dup(1))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what a library reads or prints by mistake is not protocol
    os.dup2(2, 1)
    streams = (cast("anyio.AsyncFile[str]", lines), cast("anyio.AsyncFile[str]", wire))
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(on_signal, tasks.cancel_scope.cancel)
            tasks.start_soon(adapter.warm)
            async with stdio_server(*streams) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()
    except* (BrokenPipeError, anyio.BrokenResourceError):
        print("syntropy: the client is gone", file=sys.stderr)
