"""The process itself: bounded input, nothing but protocol on standard output, an end in time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syntropy.serve.stdio import LineSplitter
from tests.syntropy.serve.conftest import command

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


class Raw:
    """A server spoken to line by line."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def send(self, *messages: dict | bytes) -> None:
        for message in messages:
            raw = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def answer(self, number: int | str) -> dict:
        """The next message; it must be the answer to this request."""
        message = json.loads(self.process.stdout.readline())
        assert message["id"] == number, message
        return message

    def begin(self) -> Raw:
        self.send(HELLO)
        self.answer(1)
        self.send(READY)
        return self

    def call(self, number: int, name: str, **arguments: object) -> dict:
        self.send(request(number, name, **arguments))
        return self.answer(number)


def request(number: int, name: str, **arguments: object) -> dict:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.fixture
def raw(demo):
    started = []

    def start() -> Raw:
        started.append(Raw("--project", str(demo)))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
        for pipe in (one.process.stdin, one.process.stdout, one.process.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


def test_malformed_lines_are_survived(raw):
    server = raw().begin()
    server.send(b"", b"   ", b"{", b"[1, 2]", b"\xff\xfe\x00", b"null", b'{"jsonrpc":"2.0"}', b"{}" * 100)
    server.send({"jsonrpc": "2.0", "id": 2, "method": "nope/nope"})
    assert server.answer(2)["error"]["code"] == -32601
    assert server.call(3, "search_knowledge", query="webhook")["result"]["isError"] is False


@pytest.mark.parametrize("order", ["id first", "id last"])
def test_a_line_of_256_megabytes_is_refused_and_not_held(raw, order):
    server = raw().begin()
    before = memory(server.process.pid)
    head, tail = (
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":"', b'"}}')
        if order == "id first"
        else (b'{"method":"tools/call","params":{"x":"', b'"},"jsonrpc":"2.0","id":7}')
    )
    peak = [before]
    block = b"a" * (1 << 20)
    server.process.stdin.write(head)
    for _ in range(256):
        server.process.stdin.write(block)
        peak.append(memory(server.process.pid))
    server.send(tail)
    assert "error" in server.answer(7)
    assert max(peak) - before < 120e6  # the encoder is loaded meanwhile
    assert server.call(8, "search_knowledge", query="webhook")["result"]["isError"] is False


def test_cancelled_calls_do_no_harm(raw):
    server = raw().begin()
    for number in range(10, 60):
        server.send(request(number, "get_context", task=f"retry webhooks {number}"))
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    server.send(request(99, "list_contexts"))
    while True:
        message = json.loads(server.process.stdout.readline())
        if message["id"] == 99:
            break
    assert "result" in message


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_it_within_two_seconds(raw, sent, busy):
    server = raw().begin()
    server.call(2, "list_contexts")
    if busy:
        server.send(*(request(n, "get_context", task="retry webhooks") for n in range(100, 130)))
    began = time.monotonic()
    server.process.send_signal(sent)
    assert server.process.wait(timeout=5) == 0
    assert time.monotonic() - began < 2
    assert b"Traceback" not in server.process.stderr.read()


def test_a_signal_ends_a_server_whose_client_reads_nothing(raw):
    server = raw().begin()
    server.send(*(request(n, "get_overview", detailed=True) for n in range(100, 150)))
    time.sleep(0.5)
    began = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=5) == 0
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("how", ["input ends", "output is closed"])
def test_a_client_that_vanishes_ends_it(raw, how):
    server = raw().begin()
    server.send(*(request(n, "search_knowledge", query=f"webhook {n}") for n in range(100, 120)))
    if how == "output is closed":
        server.process.stdout.close()
    server.process.stdin.close()
    assert server.process.wait(timeout=10) == 0
    assert b"Traceback" not in server.process.stderr.read()


def test_standard_output_holds_nothing_but_protocol(raw):
    server = raw().begin()
    for number in range(2, 30):
        server.send(request(number, "search_knowledge", query=f"retry {number}"))
    time.sleep(2.5)  # the encoder is loaded meanwhile
    server.send(request(30, "search_knowledge", query="how are webhooks retried", mode="hybrid"))
    threading.Timer(5, server.process.stdin.close).start()
    lines = server.process.stdout.read().splitlines()
    assert {json.loads(line)["id"] for line in lines} == set(range(2, 31))


def test_no_published_knowledge_is_an_error_before_anything_is_served(project):
    done = subprocess.run(command("--project", str(project({"a.md": "# A"}))), capture_output=True, check=False)
    assert done.returncode == 3
    assert done.stdout == b""
    assert b"syntropy build" in done.stderr


@given(st.lists(st.binary(max_size=60)), st.integers(1, 40))
def test_blocks_of_any_size_give_the_same_lines(lines, size):
    lines = [line.replace(b"\n", b"") for line in lines]
    whole = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter(1_000)
    found = [line for start in range(0, len(whole), size) for line in splitter.feed(whole[start : start + size])]
    assert found == [line.decode("utf-8", "replace") for line in lines if line.strip()]


@given(st.integers(30, 200), st.integers(1, 50))
def test_long_lines_become_a_refusal_with_their_id(length, size):
    splitter = LineSplitter(64)
    line = b'{"jsonrpc":"2.0","id":"a-1","method":"x","params":"' + b"y" * length + b'"}\nnext\n'
    found = [one for start in range(0, len(line), size) for one in splitter.feed(line[start : start + size])]
    assert found[-1] == "next"
    assert json.loads(found[0])["id"] == "a-1"
    assert ("refused" in found[0]) == (len(line) - 6 > 64)


def memory(pid: int) -> int:
    """Resident bytes."""
    with open(f"/proc/{pid}/statm") as handle:
        return int(handle.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_many_calls_at_once_are_all_answered(connect, demo):
    async def run() -> None:
        calls = [
            ("search_knowledge", {"query": "retry webhooks", "mode": "fast"}),
            ("get_document", {"path": "docs/faq.md"}),
            ("get_section", {"path": "docs/guides/retries.md", "heading": "What is retried"}),
            ("get_command", {"name": "helios gw users list"}),
            ("get_neighbors", {"name": "RF-004", "depth": 2}),
            ("get_entity", {"name": "RF-999"}),
        ]
        answers: dict[str, set[str]] = {}
        async with connect("--project", str(demo)) as client:

            async def one(number: int) -> None:
                name, arguments = calls[number % len(calls)]
                answer = await client.call_tool(name, arguments)
                answers.setdefault(name, set()).add(answer.content[0].text)

            async with anyio.create_task_group() as tasks:
                for number in range(120):
                    tasks.start_soon(one, number)
        assert {name: len(texts) for name, texts in answers.items()} == {name: 1 for name, _ in calls}

    anyio.run(run)
