"""Inputs that once cost the square of their size, at several sizes, and how the time beyond the start grows."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from benchmarks.common import configured, save, syntropy

ROUNDS = 1


def main() -> None:
    """Three minutes. A ratio of 2 for a doubling is linear; `allowed` as the bars have it."""
    found = {name: _measured(make, sizes) for name, (make, sizes) in SHAPES.items()}
    save("growth", {"shapes": found, "allowed_for_a_doubling": 2.5})


def _entries(count: int) -> dict[str, str]:
    entries = [
        {"id": f"cmd-{n}", "type": "command", "title": f"do {n}", "content": f"Content {n}."} for n in range(count)
    ]
    return {"knowledge/entries.json": json.dumps({"entries": entries})}


def _headings(count: int) -> dict[str, str]:
    return {"docs/page.md": "".join(f"# Heading {n}\n" for n in range(count))}


def _same_headings(count: int) -> dict[str, str]:
    return {"docs/page.md": "# a\n" * count}


def _dangling(count: int) -> dict[str, str]:
    return {f"d{n}/README.md": f"# R{n}\n\nSee [x](../gone{n}/README.md).\n" for n in range(count)}


SHAPES: dict[str, tuple[Callable[[int], dict[str, str]], tuple[int, ...]]] = {
    "entries of one file": (_entries, (2_500, 5_000, 10_000)),
    "headings of one page": (_headings, (20_000, 40_000, 80_000)),
    "equal headings of one page": (_same_headings, (20_000, 40_000, 80_000)),
    "README.md files with dangling links": (_dangling, (1_000, 2_000, 4_000, 8_000)),
}


def _measured(make: Callable[[int], dict[str, str]], sizes: tuple[int, ...]) -> dict[str, object]:
    seconds = {size: statistics.median(_seconds(make(size)) for _ in range(ROUNDS)) for size in sizes}
    floor = _seconds({"docs/a.md": "# A\n"})
    beyond = {size: max(0.01, value - floor) for size, value in seconds.items()}
    doubling = [round(beyond[b] / beyond[a], 2) for a, b in pairwise(sizes)]
    print(seconds, doubling, flush=True)
    return {
        "cpu_seconds_beyond_start": {str(k): round(v, 2) for k, v in beyond.items()},
        "growth_for_a_doubling": doubling,
    }


def _seconds(files: dict[str, str]) -> float:
    """CPU seconds of a build of these files, words only."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        configured(root, "[chunk]\nmax_chunks_per_document = 1000000\n")
        return syntropy("build", "--project", str(root), "--no-embeddings", "--quiet").cpu
