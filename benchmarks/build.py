"""Whole builds: the share of the embedding model, the speed of all the rest, and what a change costs."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.common import aws_docs_small, corpus, markdown_bytes, run, save, syntropy

ROUNDS = 3


def main(*names: str) -> None:
    """`dlt-docs` takes five minutes, `aws-docs-small` half an hour; without embeddings two minutes."""
    for name in names or ("dlt-docs", "aws-docs-small", "aws-docs-small-lexical"):
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / name
            root = aws_docs_small(target) if name.startswith("aws-docs-small") else corpus(name, target)
            save(f"build-{name}", measure(root, embeddings=not name.endswith("-lexical")))


def measure(root: Path, *, embeddings: bool) -> dict[str, object]:
    """First build, unchanged rebuilds, one changed file."""
    megabytes = markdown_bytes(root) / 1e6
    build = ("build", "--project", str(root), *(() if embeddings else ("--no-embeddings",)))
    first = json.loads(syntropy(*build, "--json").output)
    inside = _embedding_seconds(root) if embeddings else 0.0
    rest = first["seconds"] - inside
    floor = statistics.median(run([sys.executable, "-c", FLOOR]).cpu for _ in range(ROUNDS))
    interpreter = statistics.median(run([sys.executable, "-c", "pass"]).cpu for _ in range(ROUNDS))
    unchanged = statistics.median(syntropy(*build, "--quiet").cpu for _ in range(ROUNDS))
    page = next(p for p in sorted(root.rglob("*.md")) if p.stat().st_size > 2_000)
    changed = []
    for number in range(ROUNDS):
        page.write_text(page.read_text() + f"\n\nRevision {number}.\n")
        changed.append(syntropy(*build, "--quiet").cpu)
    return {
        "files": first["files"],
        "markdown_mb": round(megabytes, 2),
        "first_build_seconds": round(first["seconds"], 1),
        "inside_model_seconds": round(inside, 1),
        "inside_model_share": round(inside / first["seconds"], 3),
        "all_else_seconds": round(rest, 1),
        "all_else_mb_per_second": round(megabytes / rest, 2),
        "steps": first["steps"],
        "cpu_seconds": {
            "interpreter": round(interpreter, 2),
            "interpreter_and_dagster": round(floor, 2),
            "unchanged": round(unchanged, 2),
            "one_changed": round(statistics.median(changed), 2),
            "one_changed_beyond_start": round(statistics.median(changed) - floor, 2),
        },
        "promises": {
            "inside_model_share": 0.9,
            "all_else_mb_per_second": 1.5,
            "unchanged_cpu_beyond_start": 2.0,
            "one_changed_cpu_beyond_start": 6.0,
        },
    }


FLOOR = """
import dagster as dg
@dg.asset
def nothing(): return dg.MaterializeResult()
with dg.DagsterInstance.ephemeral() as instance:
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    dg.materialize([nothing], instance=instance, run_config=quiet)
"""


def _embedding_seconds(root: Path) -> float:
    record = json.loads((root / ".syntropy/stages/embeddings.json").read_text())
    return float(record["facts"]["model_seconds"])
