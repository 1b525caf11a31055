"""What a change costs, at five sizes: CPU seconds beyond the interpreter and Dagster, of a build for words only."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.build import FLOOR
from benchmarks.common import Run, aws_pages, run, save, syntropy, written

SIZES = (300, 1_822, 3_644, 7_288, 29_150)
PROMISES = {"one_of_29150": 4.0, "one_of_2757": 1.5}


def main(*sizes: str) -> None:
    """Twenty minutes, most of them the largest size."""
    floor = statistics.median(run([sys.executable, "-c", FLOOR]).cpu for _ in range(3))
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        pages = aws_pages(Path(folder) / "source")
        for size in map(int, sizes) if sizes else SIZES:
            step = max(1, len(pages) // size)
            found[str(size)] = _measured(Path(folder) / str(size), pages[::step][:size], floor)
            print(size, found[str(size)], flush=True)
            shutil.rmtree(Path(folder) / str(size))
    save("incremental", {"interpreter_and_dagster": round(floor, 2), "cpu_seconds_beyond": found, "promises": PROMISES})


def _measured(root: Path, pages: list[tuple[str, bytes]], floor: float) -> dict[str, float]:
    kept, added = pages[: len(pages) * 20 // 21], pages[len(pages) * 20 // 21 :]
    written(root, kept)

    def build() -> Run:
        return syntropy("build", "--project", str(root), "--quiet")

    def touch(paths: list[str]) -> None:
        for path in paths:
            with (root / "docs" / path).open("ab") as page:
                page.write(b"\n\nA comma, a word.\n")

    names = [path for path, _ in kept]
    figures = {"shards": 0.0, "whole": build().cpu - floor}
    figures["shards"] = float(len(list((root / "build/shards").glob("*.duckdb"))) or 1)
    build()  # remembers what it saw: files that were just written are not trusted yet
    figures["unchanged"] = build().cpu  # Dagster is not even loaded
    ones = []
    for number in (3, 5, 7):
        touch([names[len(names) * number // 11]])
        ones.append(build().cpu - floor)
    figures["one"] = statistics.median(ones)
    touch(names[::100])
    figures["1 %"] = build().cpu - floor
    for path in names[::10]:
        (root / "docs" / path).unlink()
    figures["-10 %"] = build().cpu - floor
    written(root, added)
    figures["+5 %"] = build().cpu - floor
    _package(root, kept[:100])
    figures["a package of 100"] = build().cpu - floor
    return {name: round(value, 2) for name, value in figures.items()}


def _package(root: Path, pages: list[tuple[str, bytes]]) -> None:
    """A context package from a repository beside the project."""
    source = written(root.parent / f"{root.name}-package", pages)
    (source / "syntropy.toml").unlink()
    for command in (
        ["git", "init", "-q"],
        ["git", "add", "-A"],
        ["git", "-c", "user.email=a@b.c", "-c", "user.name=a", "commit", "-qm", "pages"],
    ):
        subprocess.run(command, cwd=source, check=True)
    (root / "syntropy.toml").write_text("[embed]\nenabled = false\n[git]\nallow_file = true\n")
    syntropy("package", "add", source.as_uri(), "--alias", "pages", "--project", str(root))
