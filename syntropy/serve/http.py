"""Streamable HTTP on loopback. Host and Origin are checked: no page of the web may ask through a browser."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from ..contract.errors import UsageError
from ..contract.settings import LOOPBACK
from ..setup.clients import PATH, address_of
from .server import Adapter
from .signals import on_signal


async def serve_http(adapter: Adapter, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is told the address.

    Raises UsageError for a host that others can reach, and for a port that cannot be used.
    """
    if host not in LOOPBACK:
        raise UsageError(f"{host} can be reached from outside", hint=f"use one of: {', '.join(LOOPBACK)}")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise UsageError(f"port {port} cannot be used: {error}", hint="give another --port") from error
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
    ready(address_of(host, port))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(on_signal, lambda: setattr(server, "should_exit", True))
        tasks.start_soon(adapter.warm)
        await server.serve(sockets=[listening])
        tasks.cancel_scope.cancel()


class _Server(uvicorn.Server):
    """Leaves signals to `on_signal`: uvicorn raises them again when it has ended, and the process would die of them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
