"""Streamable HTTP on loopback. Host and Origin are checked: no page of the web may ask through a browser."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from ..errors import UsageError
from .server import Adapter
from .signals import on_signal

LOOPBACK = ("127.0.0.1", "localhost", "::1")
PATH = "/mcp"


async def serve_http(adapter: Adapter, *, host: str, port: int) -> None:
    """Serve until SIGINT or SIGTERM. Raises UsageError for a host that others can reach."""
    if host not in LOOPBACK:
        raise UsageError(f"{host} can be reached from outside", hint=f"use one of: {', '.join(LOOPBACK)}")
    names = [f"[{name}]" if ":" in name else name for name in LOOPBACK]
    checks = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{name}:{port}" for name in names],
        allowed_origins=[f"http://{name}:{port}" for name in names],
    )
    app = adapter.server().streamable_http_app(streamable_http_path=PATH, host=host, transport_security=checks)
    # h11, not httptools: the strict parser refuses white space behind header values as the protocol demands
    config = uvicorn.Config(
        app, host=host, port=port, http="h11", ws="none", log_level="warning", timeout_graceful_shutdown=1
    )
    server = _Server(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(on_signal, lambda: setattr(server, "should_exit", True))
        tasks.start_soon(adapter.warm)
        await server.serve()
        tasks.cancel_scope.cancel()


class _Server(uvicorn.Server):
    """Leaves signals to `on_signal`: uvicorn raises them again when it has ended, and the process would die of them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
