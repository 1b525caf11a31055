"""A real server in a process of its own, spoken to by the SDK's own client."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


@pytest.fixture
def served(demo: Path, tmp_path: Path) -> Path:
    """A copy of the built demo that may be written to."""
    target = tmp_path / "acme"
    shutil.copytree(demo, target, symlinks=True, ignore=shutil.ignore_patterns("embeddings", "models"))
    return target


def command(*arguments: str) -> list[str]:
    """The command line of `syntropy serve`."""
    return [sys.executable, "-m", "syntropy", "serve", *arguments]


@pytest.fixture
def connect() -> Callable[..., contextlib.AbstractAsyncContextManager[Client]]:
    """`async with connect("--project", path) as client`, in either era."""

    @contextlib.asynccontextmanager
    async def connected(*arguments: str, era: str = "legacy") -> AsyncIterator[Client]:
        program, *rest = command(*arguments)
        parameters = StdioServerParameters(command=program, args=rest)
        async with Client(stdio_client(parameters), mode=era) as client:
            yield client

    return connected


@pytest.fixture
def http_server() -> Iterator[Callable[..., str]]:
    """`http_server(project)` starts one on a free port of loopback and gives its address; it must end in time."""
    running: list[subprocess.Popen[bytes]] = []

    def start(project: Path, *arguments: str) -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        line = command("--project", str(project), "--http", "--port", str(port), *arguments)
        running.append(subprocess.Popen(line, stderr=subprocess.DEVNULL))
        for _ in range(400):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.05)
        return f"http://127.0.0.1:{port}/mcp"

    yield start
    for process in running:
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=5) == 0
        assert time.monotonic() - began < 2
