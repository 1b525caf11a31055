"""The living layer: 10,000 insights, eight processes that write, paths in a large graph, session start."""

from __future__ import annotations

import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.common import save
from benchmarks.common import syntropy as command
from syntropy.notes.notebook import Notebook
from syntropy.read.graph import Edge, Graph, Node

INSIGHTS = 10_000
WRITERS, WRITES = 8, 500
NODES, EDGES = 20_000, 100_000
QUERIES = 100
WORDS = 5_000


def main() -> None:
    """Three minutes."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        found = {"insights": insights(place / "a.sqlite"), "writers": writers(place / "b.sqlite")}
        found |= {"graph": graph(), "session_start": session_start(place / "a.sqlite")}
    save("notes", found)


def insights(path: Path) -> dict[str, object]:
    """Median milliseconds of adding to, and searching in, 10,000 insights."""
    chooser = random.Random(1)
    vocabulary = [f"word{n}" for n in range(WORDS)]

    def text(length: int) -> str:
        return " ".join(vocabulary[min(WORDS - 1, int(chooser.paretovariate(0.6)) - 1)] for _ in range(length))

    with Notebook(path, None) as memory:
        added = [_timed(lambda t=t: memory.add_insight(t)) for t in [text(20) for _ in range(INSIGHTS)]]
        asked = [text(4) for _ in range(QUERIES)]
        searched = [_timed(lambda q=q: memory.insights().search(q)) for q in asked]
        for number in range(50):
            memory.notes(write=True).save("issue", f"note {number} {text(10)}", now="2026-11-22T00:00:00Z")
            memory.rules(write=True).save(f"rule-{number % 8}", f"Never {text(5)}", now="2026-11-22T00:00:00Z")
    return {
        "count": INSIGHTS,
        "add_ms_p50_of_the_last_1000": round(statistics.median(added[-1000:]), 2),
        "search_ms_p50": round(statistics.median(searched), 2),
    }


def writers(path: Path) -> dict[str, object]:
    """Mixed writes of eight processes, and what is there afterwards."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write, args=(path, n)) for n in range(WRITERS)]
    started = time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    seconds = time.perf_counter() - started
    with Notebook(path, None) as memory:
        ids = [i.id for i in memory.insights().all()]
        rows = len(ids) + len(memory.rules().all()) + len(memory.notes().all(limit=100_000))
    return {
        "processes": WRITERS,
        "writes": WRITERS * WRITES,
        "rows": rows,
        "distinct_ids": len(set(ids)) == len(ids),
        "failed_processes": sum(p.exitcode != 0 for p in processes),
        "seconds": round(seconds, 1),
    }


def _write(path: Path, worker: int) -> None:
    with Notebook(path, None) as memory:
        for number in range(WRITES):
            if number % 3 == 0:
                memory.rules(write=True).save(f"r-{worker}-{number}", "Never x", now="2026-11-22T00:00:00Z")
            elif number % 3 == 1:
                memory.notes(write=True).save("issue", f"note {worker} {number}", now="2026-11-22T00:00:00Z")
            else:
                memory.add_insight(f"insight {worker} {number}")


def graph() -> dict[str, object]:
    """Median milliseconds of a shortest path among 100,000 edges."""
    chooser = random.Random(1)
    made = Graph(None)
    for n in range(NODES):
        made._nodes[f"n{n}"] = Node(f"n{n}", "", "doc", "canonical", "")
    for _ in range(EDGES):
        a, b = chooser.sample(range(NODES), 2)
        made._add(Edge(f"n{a}", "references", f"n{b}", "id", 1.0, ""))
    ends = [[f"n{x}" for x in chooser.sample(range(NODES), 2)] for _ in range(QUERIES)]
    for a, b in ends[:20]:
        made.path(a, b, max_depth=10)
    times = [_timed(lambda a=a, b=b: made.path(a, b, max_depth=10)) for a, b in ends]
    return {"edges": EDGES, "path_ms_p50": round(statistics.median(times), 2)}


def session_start(path: Path) -> dict[str, object]:
    """Whole processes, and one that is running."""
    runs = [command("session-start", "--notes", str(path)).wall * 1000 for _ in range(7)]
    from datetime import UTC, datetime

    with Notebook(path, None) as memory:
        now = datetime(2026, 11, 22, 1, tzinfo=UTC)
        warm = [_timed(lambda: memory.session(budget=800, now=now)) for _ in range(20)]
    return {"cold_ms": round(statistics.median(runs)), "warm_ms": round(statistics.median(warm), 1)}


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000
