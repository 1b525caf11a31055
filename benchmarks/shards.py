"""Engines and numbers of shards over an eighth of AWS's documentation: equal hashes, equal answers, what each costs.

And a cluster of processes of its own (a dask scheduler and two workers), of which one is killed on the way.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common import DATA, aws_pages, run, save, syntropy, written
from syntropy.contract.published import read_manifest
from syntropy.read.knowledge import open_knowledge

SHARE = 8
QUESTIONS = 300
CASES = (("serial", 1), ("serial", 8), ("processes", 8), ("dask", 8), ("processes", 3), ("ray", 8))


def main(share: str = "") -> None:
    """Ten minutes; `1`: all pages."""
    with tempfile.TemporaryDirectory() as folder:
        pages = aws_pages(Path(folder) / "source")[:: int(share or SHARE)]
        questions = _questions(pages)
        found: dict[str, Any] = {"pages": len(pages), "questions": len(questions)}
        first: tuple[dict[str, str], list[Any]] | None = None
        for engine, shards in CASES:
            if engine == "ray" and not _has("ray"):
                found["ray"] = "not installed here"
                continue
            root = written(Path(folder) / f"{engine}-{shards}", pages, _config(engine, shards))
            done = syntropy("build", "--project", str(root), "--quiet")
            made = _hashes(root), _answers(root, questions)
            first = first or made
            found[f"{engine}, {shards}"] = {**_figures(done), **_compared(first, made)}
            print(engine, shards, found[f"{engine}, {shards}"], flush=True)
            if (engine, shards) not in (("serial", 1), ("serial", 8)):
                shutil.rmtree(root)
        assert first is not None
        found["one-shot"] = _one_shot(Path(folder) / "serial-1", Path(folder) / "serial-8")
        found["warm"] = {name: _warm(Path(folder) / name, questions) for name in ("serial-1", "serial-8")}
        with _cluster(Path(folder)) as (address, workers):
            root = written(Path(folder) / "cluster", pages, _config("dask", 8, address))
            killer = threading.Thread(target=_kill_one, args=(root, workers))
            killer.start()
            done = syntropy("build", "--project", str(root), "--quiet")
            killer.join()
            made = _hashes(root), _answers(root, questions)
        found["dask cluster, one worker killed"] = {
            "wall_seconds": round(done.wall, 1),
            "driver_cpu_seconds": round(done.own_cpu, 1),
            **_compared(first, made),
        }
    save("shards" if not share else f"shards-{share}", found)


def _config(engine: str, shards: int, address: str = "") -> str:
    lines = ["[embed]", "enabled = false", "[build]", f'engine = "{engine}"', f"shards = {shards}", "workers = 2"]
    return "\n".join([*lines, f'address = "{address}"', ""])


def _figures(done: Any) -> dict[str, float]:
    return {
        "wall_seconds": round(done.wall, 1),
        "cpu_seconds": round(done.cpu, 1),
        "driver_share": round(done.own_cpu / done.cpu, 3),
        "driver_mb": round(done.peak_mb),
        "worker_mb": round(done.worker_mb),
        "all_mb": round(done.all_mb),
    }


def _compared(first: tuple[dict[str, str], list[Any]], made: tuple[dict[str, str], list[Any]]) -> dict[str, int]:
    return {
        "tables_that_differ": sum(first[0][name] != made[0][name] for name in first[0]),
        "answers_that_differ": sum(a != b for a, b in zip(first[1], made[1], strict=True)),
    }


def _hashes(root: Path) -> dict[str, str]:
    manifest = read_manifest(root / "build")
    assert manifest is not None
    return {name: str(facts["hash"]) for name, facts in manifest.facts["tables"].items()}


def _questions(pages: list[tuple[str, bytes]]) -> list[str]:
    """Real questions, titles, chance mixes of words, and misspelt ones."""
    chooser = random.Random(16)
    real = [json.loads(line)["text"] for line in (DATA / "retrieval/aws-docs-small/queries.jsonl").open()]
    texts = [text.decode("utf-8", "replace") for _, text in chooser.sample(pages, 200)]
    titles = [text.split("\n", 1)[0].lstrip("# ")[:80] for text in texts]
    words = sorted({word for text in texts for word in re.findall(r"[a-z]{5,12}", text)})
    mixed = [" ".join(chooser.sample(words, 3)) for _ in range(75)]
    typos = [f"{word[:3]}{word[4:]} {chooser.choice(words)}" for word in chooser.sample(words, 50)]
    return [*real[:100], *mixed, *typos, *(title for title in titles if title.strip())][:QUESTIONS]


def _answers(root: Path, questions: list[str]) -> list[Any]:
    with open_knowledge(out=root / "build", engine="memory") as knowledge:
        return [
            [(hit.score, str(hit.citation)) for hit in knowledge.search(question, mode="fast", limit=100).hits]
            for question in questions
        ]


def _one_shot(one: Path, eight: Path) -> dict[str, float]:
    """CPU milliseconds of a command that asks once, words only."""

    def cost(root: Path) -> float:
        asked = ("search", "configure lambda function memory", "--mode", "fast", "--out", str(root / "build"))
        return statistics.median(syntropy(*asked).cpu for _ in range(9)) * 1000

    found = {"one": cost(one), "eight": cost(eight)}
    return {**{name: round(value) for name, value in found.items()}, "ratio": round(found["eight"] / found["one"], 2)}


def _warm(root: Path, questions: list[str]) -> dict[str, float]:
    """Milliseconds of a whole answer (10 hits), and the memory that loading took, in a process of its own."""
    code = f"""
import json, statistics, time, resource
from syntropy.read.knowledge import open_knowledge
def mb(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
knowledge = open_knowledge(out={str(root / "build")!r}, engine="memory")
knowledge.search("warm up", mode="fast"); before = mb(); started = time.perf_counter()
knowledge.engine.load(vectors=False)
loaded, seconds = mb(), time.perf_counter() - started
questions = {questions!r}
for question in questions[:50]: knowledge.search(question, mode="fast")
times = []
for question in questions:
    begun = time.perf_counter(); knowledge.search(question, mode="fast", limit=10)
    times.append(time.perf_counter() - begun)
print(json.dumps({{"median_ms": round(statistics.median(times) * 1000, 1), "load_seconds": round(seconds, 2),
                  "peak_mb": round(mb()), "load_mb": round(loaded - before)}}))
"""
    return dict(json.loads(run([sys.executable, "-c", code]).output))


@contextlib.contextmanager
def _cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers as people start them: processes that know nothing of the build."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    dask = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--port",
        address.rpartition(":")[2],
        "--no-dashboard",
    ]
    worker = [
        sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny",
    ]  # fmt: skip
    started = [subprocess.Popen([*dask, "--host", "127.0.0.1"], **quiet)]  # type: ignore[call-overload]
    time.sleep(3)
    started += [subprocess.Popen(worker, **quiet) for _ in range(2)]  # type: ignore[call-overload]
    try:
        yield address, started[1:]
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _kill_one(root: Path, workers: list[subprocess.Popen[bytes]]) -> None:
    """Once the first shard is chunked, or after two minutes."""
    for _ in range(1200):
        if list((root / ".syntropy/stages").glob("chunks.*.receipt")):
            break
        time.sleep(0.1)
    workers[0].send_signal(signal.SIGKILL)


def _has(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None
