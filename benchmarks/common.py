"""What the benchmarks share: the machine's description, corpora, processes measured from outside."""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
RESULTS = Path(__file__).resolve().parent / "results"


class Run(NamedTuple):
    """One process: wall and CPU seconds (children included), peak resident memory in MB, its output."""

    wall: float
    cpu: float
    peak_mb: float
    output: str


def run(arguments: list[str], **env: str) -> Run:
    """Run a process to its end and measure it; raises where it fails."""
    started = time.perf_counter()
    process = subprocess.Popen(
        arguments, cwd=ROOT, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    output, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise RuntimeError(f"{arguments}: {errors[-800:]}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output)


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
