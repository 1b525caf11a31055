"""Streamable HTTP: loopback only, Host and Origin checked, both eras."""

from __future__ import annotations

import socket

import anyio
import httpx
import pytest
from mcp import Client

from syntropy.cli.main import main

PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
def test_both_eras_over_http(http_server, demo, era):
    address = http_server(demo)

    async def run() -> None:
        async with Client(address, mode=era) as client:
            answer = await client.call_tool("search_knowledge", {"query": "retry webhooks", "mode": "fast"})
            assert "docs/guides/retries.md#L" in answer.structured_content["answer"]
            assert len((await client.list_tools()).tools) == 11

    anyio.run(run)


def test_pages_of_the_web_are_refused(http_server, demo):
    address = http_server(demo)
    for headers, status in [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:80"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
    ]:
        assert httpx.post(address, json=PING, headers=HEADERS | headers).status_code == status
    assert httpx.post(address, content=b"x" * (5 << 20), headers=HEADERS).status_code == 413


def test_a_port_that_cannot_be_used_is_one_line(demo, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for port in (str(taken.getsockname()[1]), "99999"):
            assert main(["serve", "--project", str(demo), "--http", "--port", port]) == 2
            said = capsys.readouterr().err
            assert "cannot be used" in said
            assert "serving" not in said


def test_only_loopback_is_served(demo, capsys):
    assert main(["serve", "--project", str(demo), "--http", "--host", "0.0.0.0"]) == 2
    assert "reached from outside" in capsys.readouterr().err
