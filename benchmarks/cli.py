"""One-shot `syntropy search` (fast, hybrid) against a Python process that imports duckdb and selects one row."""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.common import corpus, run, save, syntropy

ROUNDS = 15


def main() -> None:
    """At most twice the wall time is the promise."""
    with tempfile.TemporaryDirectory() as folder:
        root = corpus("dlt-docs", Path(folder) / "dlt-docs")
        syntropy("build", "--project", str(root), "--quiet", "--wait")
        database = root / "build" / "syntropy.duckdb"
        bare = (
            f"import duckdb; connection = duckdb.connect({str(database)!r}, read_only=True); "
            "print(connection.execute('SELECT title FROM documents LIMIT 1').fetchone())"
        )
        times: dict[str, list[float]] = {"baseline": [], "search": [], "hybrid": [], "script": []}
        peak = 0.0
        for _ in range(ROUNDS):  # in alternation: what disturbs one disturbs all
            times["baseline"].append(run([sys.executable, "-c", bare]).wall)
            times["search"].append(
                syntropy("search", "incremental loading cursor", "--mode", "fast", "--out", str(root / "build")).wall
            )
            hybrid = syntropy("search", "incremental loading cursor", "--mode", "hybrid", "--out", str(root / "build"))
            times["hybrid"].append(hybrid.wall)
            peak = max(peak, hybrid.peak_mb)
            times["script"].append(
                run([sys.executable, str(root / "build/query.py"), "incremental loading cursor"]).wall
            )
        middle = {name: round(statistics.median(values) * 1000, 1) for name, values in times.items()}
        save(
            "cli",
            {
                "milliseconds": middle,
                "rounds": ROUNDS,
                "search_to_baseline": round(middle["search"] / middle["baseline"], 2),
                "hybrid_to_baseline": round(middle["hybrid"] / middle["baseline"], 2),
                "hybrid_peak_mb": round(peak),
                "script_to_baseline": round(middle["script"] / middle["baseline"], 2),
                "promise": 2.0,
                "hybrid_promises": {"to_baseline": 4.0, "peak_mb": 250},
            },
        )
