"""The server for agents: start, overhead, 10,000 calls, 20 publications under load, the whole path of a question."""

from __future__ import annotations

import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

import syntropy
from benchmarks.common import ROOT, save
from syntropy.contract.budget import tokens
from syntropy.tools.edition import Publication
from syntropy.tools.toolbox import Toolbox

DEMO = ROOT / "examples" / "acme"
STARTS, WARM, ROUNDS, CALLS, CONCURRENCY, PUBLICATIONS = 15, 1_000, 10, 10_000, 10, 20
PATH_CALLS, PATH_TOKENS = 3, 4_000
"""A question's passage should be reached within so many calls and tokens of answers."""

_NAMED = re.compile(r"^\[\d+\] (\S+#L\d+-L\d+)", re.MULTILINE)

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
MIXED: list[tuple[str, dict[str, Any]]] = [
    ("search_knowledge", {"query": "retry failed webhooks", "mode": "fast"}),
    ("search_knowledge", {"query": "how are duplicates recognised?"}),
    ("get_document", {"path": "docs/faq.md"}),
    ("get_section", {"path": "docs/guides/retries.md", "heading": "What is retried"}),
    ("get_command", {"name": "helios gw users list"}),
    ("list_commands", {}),
    ("get_entity", {"name": "RF-004"}),
    ("get_neighbors", {"name": "RF-004", "depth": 2}),
    ("find_path", {"start": "RF-004", "end": "SMELL-002"}),
    ("get_context", {"task": "add a carrier", "budget": 1000}),
]


def main() -> None:
    """Four minutes."""
    if not (DEMO / "build/manifest.json").exists():
        subprocess.run([*_program(), "build", "--project", str(DEMO), "--quiet"], check=True)
    found: dict[str, Any] = {"start": start(), "definitions": definitions(), "questions": questions()}
    found |= anyio.run(_running)
    save("agents", {**found, "publications": anyio.run(publications)})


def start() -> dict[str, float]:
    """Seconds from the start of a process to the first tool answer, ours and the bare server's in turn."""
    ours, bare = [], []
    for _ in range(STARTS):
        bare.append(_first_answer([sys.executable, "-m", "benchmarks.bare_server"]))
        ours.append(_first_answer([*_program(), "serve", "--project", str(DEMO)]))
    one, other = statistics.median(ours), statistics.median(bare)
    return {"ours_s": round(one, 3), "bare_s": round(other, 3), "ratio": round(one / other, 2)}


def definitions() -> dict[str, int]:
    """Size of the listing for the default groups."""
    line = [*_program(), "tools", "--project", str(DEMO)]
    listed = json.loads(subprocess.run(line, capture_output=True, check=True, text=True).stdout)
    return {"tools": len(listed), "tokens": tokens(json.dumps(listed, separators=(",", ":")))}


def questions() -> dict[str, Any]:
    """A scripted agent: search, and where that shows no relevant passage, the cited lines, until one was read.

    It takes the hits in their order and knows nothing else; the golden file only says when it has arrived.
    """
    golden = [json.loads(line) for line in (DEMO / "questions.jsonl").read_text().splitlines() if line.strip()]
    golden = [one for one in golden if one.get("relevant")]
    reached, calls_used, tokens_used = 0, [], []
    missed = []
    with Publication(lambda: syntropy.open(project=DEMO)) as publication:
        box = Toolbox(publication)
        for one in golden:
            calls, spent, arrived = 1, 0, False
            answer = box.call("search_knowledge", {"query": one["query"]})
            spent += tokens(answer.text)
            opened = {citation.partition("#L")[0] for citation in answer.read}
            arrived = any(_relevant(citation, one["relevant"]) for citation in answer.read)
            for citation in [] if arrived else _NAMED.findall(answer.structured["answer"]):
                path = citation.partition("#L")[0]
                if path in opened or calls == PATH_CALLS:
                    continue
                opened.add(path)
                read = box.call("get_document", {"path": citation})
                calls, spent = calls + 1, spent + tokens(read.text)
                if _relevant(read.structured["citation"], one["relevant"]):
                    arrived = True
                    break
            ok = arrived and spent <= PATH_TOKENS
            reached += ok
            calls_used.append(calls)
            tokens_used.append(spent)
            if not ok:
                missed.append(one["query"])
    return {
        "questions": len(golden),
        "reached": reached,
        "share": round(reached / len(golden), 3),
        "calls_mean": round(statistics.mean(calls_used), 2),
        "tokens_p50": statistics.median(tokens_used),
        "tokens_max": max(tokens_used),
        "missed": missed,
    }


async def _running() -> dict[str, Any]:
    async with _connected("serve", "--project", str(DEMO)) as (client, pid):
        await _warm(client)
        return {"overhead": await overhead(client), "load": await load(client, pid)}


async def overhead(client: Client) -> dict[str, float]:
    """Median milliseconds of a warm fast search through the server, and of the engine itself, in turn.

    In rounds: the host's other work comes and goes. The quietest round, by the engine's own time, and the middle one.
    """
    queries = [f"retry {word}" for word in ("webhooks", "parcels", "carrier events", "labels", "tracking")]
    rounds = []
    with syntropy.open(project=DEMO) as knowledge:
        knowledge.prewarm()
        for _ in range(ROUNDS):
            through, engine = [], []
            for number in range(WARM // ROUNDS):
                query = queries[number % len(queries)]
                began = time.perf_counter()
                await client.call_tool("search_knowledge", {"query": query, "mode": "fast"})
                middle = time.perf_counter()
                knowledge.search(query, mode="fast", limit=6)
                engine.append(time.perf_counter() - middle)
                through.append(middle - began)
            rounds.append((statistics.median(engine) * 1000, statistics.median(through) * 1000))
    own, served = min(rounds)
    return {
        "served_ms": round(served, 2),
        "engine_ms": round(own, 2),
        "difference_ms": round(served - own, 2),
        "difference_ms_in_the_middle_round": round(sorted(b - a for a, b in rounds)[ROUNDS // 2], 2),
    }


async def load(client: Client, pid: int) -> dict[str, Any]:
    """10,000 mixed calls, ten at a time: errors, seconds, growth of resident memory after the first tenth."""
    errors, sizes = 0, []
    numbers = iter(range(CALLS))

    async def work() -> None:
        nonlocal errors
        for number in numbers:
            name, arguments = MIXED[number % len(MIXED)]
            errors += (await client.call_tool(name, arguments)).is_error
            if number % (CALLS // 20) == 0:
                sizes.append(_resident_mb(pid))

    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for _ in range(CONCURRENCY):
            tasks.start_soon(work)
    sizes.append(_resident_mb(pid))
    grown = sizes[-1] - sizes[2]
    return {
        "calls": CALLS,
        "concurrency": CONCURRENCY,
        "errors": errors,
        "seconds": round(time.perf_counter() - began, 1),
        "memory_mb_at_first_tenth": round(sizes[2]),
        "memory_mb_grown": round(grown, 1),
        "memory_mb_in_the_second_half": round(sizes[-1] - sizes[len(sizes) // 2], 1),
    }


async def publications() -> dict[str, Any]:
    """20 publications while four clients ask: failed answers, answers from two editions, how long a switch takes."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        (root / "docs").mkdir(parents=True)
        (root / "syntropy.toml").write_text("[embed]\nenabled = false\n")
        _edition(root, 0)
        failed = mixed = asked = 0
        seen: set[str] = set()
        async with _connected("serve", "--project", str(root)) as (client, _):
            done = anyio.Event()

            async def ask() -> None:
                nonlocal failed, mixed, asked
                while not done.is_set():
                    answer = await client.call_tool("search_knowledge", {"query": "lighthouse", "limit": 5})
                    asked += 1
                    failed += answer.is_error
                    texts = answer.content[0].text  # type: ignore[union-attr]
                    editions = set(re.findall(r"Edition (\d+)", texts))
                    mixed += len(editions) != 1
                    seen.update(editions)

            waits = []
            async with anyio.create_task_group() as tasks:
                for _ in range(4):
                    tasks.start_soon(ask)
                for number in range(1, PUBLICATIONS + 1):
                    await anyio.to_thread.run_sync(_edition, root, number)
                    began = time.perf_counter()
                    while str(number) not in seen:
                        await anyio.sleep(0.005)
                    waits.append(time.perf_counter() - began)
                done.set()
    return {
        "publications": PUBLICATIONS,
        "answers": asked,
        "failed": failed,
        "from_two_editions": mixed,
        "switch_s_max": round(max(waits), 2),
    }


def _edition(root: Path, number: int) -> None:
    for name in ("lamp", "lens", "tower"):
        (root / f"docs/{name}.md").write_text(f"# The {name}\n\nEdition {number} of the lighthouse's {name}.\n")
    subprocess.run([*_program(), "build", "--project", str(root), "--quiet"], check=True, capture_output=True)


@contextlib.asynccontextmanager
async def _connected(*arguments: str) -> AsyncIterator[tuple[Client, int]]:
    """A client of a server in a process of its own, and that process's id."""
    program, *rest = _program()
    before = _children()
    async with Client(
        stdio_client(StdioServerParameters(command=program, args=[*rest, *arguments])), mode="legacy"
    ) as c:
        (pid,) = _children() - before
        yield c, pid


async def _warm(client: Client) -> None:
    while True:
        answer = await client.call_tool("search_knowledge", {"query": "how are duplicates recognised?"})
        if answer.structured_content["mode"] == "hybrid":
            return
        await anyio.sleep(0.1)


def _first_answer(line: list[str]) -> float:
    began = time.perf_counter()
    with subprocess.Popen(line, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        for message in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_contexts", "arguments": {}}},
        ):
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            if message.get("id"):
                assert json.loads(process.stdout.readline())["id"] == message["id"]
        taken = time.perf_counter() - began
        process.stdin.close()
    return taken


def _program() -> list[str]:
    return [sys.executable, "-m", "syntropy"]


def _children() -> set[int]:
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def _resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _relevant(citation: str, relevant: list[str]) -> bool:
    path = citation.partition("#L")[0]
    return any(path == one or path == one.partition("#L")[0] for one in relevant)
