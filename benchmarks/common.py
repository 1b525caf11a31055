"""What the benchmarks share: the machine's description, corpora, processes measured from outside."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
RESULTS = Path(__file__).resolve().parent / "results"


class Run(NamedTuple):
    """One process: wall seconds; CPU seconds with all it started, and its own; peak resident memory in MB of itself, of
    its largest worker, and of all at once; its output."""

    wall: float
    cpu: float
    own_cpu: float
    peak_mb: float
    worker_mb: float
    all_mb: float
    output: str


def run(arguments: list[str], **env: str) -> Run:
    """Run a process to its end, and whatever it started, and measure them; raises where it fails."""
    _adopt_orphans()
    started = time.perf_counter()
    process = subprocess.Popen(
        arguments,
        cwd=ROOT,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    peaks = _Peaks(process.pid)
    output, errors = _read(process)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    own = cpu = usage.ru_utime + usage.ru_stime
    for pid in iter(lambda: _orphan_of(process.pid), 0):  # workers whose parent is gone are ours now
        theirs = os.wait4(pid, 0)[2]
        cpu += theirs.ru_utime + theirs.ru_stime
    peaks.stop()
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise RuntimeError(f"{arguments}: {errors[-800:]}")
    return Run(wall, cpu, own, usage.ru_maxrss / 1024, peaks.worker, peaks.all, output)


def _read(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Both outputs, read side by side."""
    errors: list[str] = []
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read() if process.stderr else ""))
    reader.start()
    output = process.stdout.read() if process.stdout else ""
    reader.join()
    return output, "".join(errors)


def _adopt_orphans() -> None:
    """Processes whose parent ends become children of this one (Linux), so that their time can be told."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def _orphan_of(session: int) -> int:
    """A child of ours in the session of a process that has ended; 0 where there is none."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and int(fields[3]) == session:
            return int(place.name)
    return 0


class _Peaks:
    """Resident memory of a session's processes, looked at five times a second."""

    def __init__(self, session: int) -> None:
        self._session, self._done = session, threading.Event()
        self.worker = self.all = 0.0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No more looks."""
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE") / 2**20
        while not self._done.wait(0.2):
            sizes = []
            for place in Path("/proc").glob("[0-9]*"):
                try:
                    fields = (place / "stat").read_text().rpartition(")")[2].split()
                    if int(fields[3]) == self._session:
                        sizes.append((int(place.name) == self._session, int(fields[21]) * page))
                except (OSError, IndexError, ValueError):
                    continue
            self.all = max(self.all, sum(size for _, size in sizes))
            self.worker = max([self.worker, *(size for is_main, size in sizes if not is_main)])


def syntropy(*arguments: str, **env: str) -> Run:
    """The command line as a process of its own."""
    return run([sys.executable, "-m", "syntropy", *arguments], **env)


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    cpu = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "?",
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gib": round(memory),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        **{name: version(name) for name in ("duckdb", "polars", "onnxruntime", "dagster")},
    }


def save(name: str, result: dict[str, Any]) -> None:
    """Write a result with the machine's description."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"machine": machine(), **result}, indent=2) + "\n"
    (RESULTS / f"{name}.json").write_text(text)
    print(name, json.dumps(result, indent=2))


def aws_pages(folder: Path) -> list[tuple[str, bytes]]:
    """(path, text) of all 29,152 pages of AWS's documentation, by name."""
    with tarfile.open(DATA / "corpora/aws-documentation.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    pages = sorted(path for path in folder.rglob("*.md") if path.is_file())
    return [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in pages]


def written(root: Path, pages: Iterable[tuple[str, bytes]], config: str = "[embed]\nenabled = false\n") -> Path:
    """A project of these pages, for words only."""
    for path, text in pages:
        target = root / "docs" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)
    return configured(root, config)


def aws_docs_small(target: Path) -> Path:
    """The corpus of aws-docs-small written out as files: 2,757 Markdown pages."""
    for line in (DATA / "retrieval/aws-docs-small/corpus.jsonl").open():
        page = json.loads(line)
        path = target / "docs" / page["_id"]
        path = path if path.suffix == ".md" else path.with_name(path.name + ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page["text"], encoding="utf-8")
    return configured(target)


def corpus(name: str, target: Path) -> Path:
    """A writable copy of one of the real corpora."""
    shutil.copytree(DATA / "corpora" / name, target)
    for path in target.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return configured(target)


def configured(root: Path, text: str = "") -> Path:
    """A project with that configuration."""
    (root / "syntropy.toml").write_text(text)
    return root


def markdown_bytes(root: Path) -> int:
    """Size of the Markdown below a project, its outputs left out."""
    return sum(
        p.stat().st_size
        for p in root.rglob("*")
        if p.suffix in (".md", ".mdx") and p.is_file() and "build" not in p.parts
    )


def own_cpu() -> float:
    """CPU seconds of this process so far."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
