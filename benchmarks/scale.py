"""Growth: 1/8, 1/4, 1/2 and all of 29,153 Markdown files, without embeddings: time and peak memory."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from benchmarks.common import aws_pages, markdown_bytes, save, syntropy, written
from syntropy.contract.published import read_manifest

SHARES = (8, 4, 2, 1)
PROMISES = {
    "driver_share": 0.05,
    "driver_mb": 500,
    "worker_mb": 600,
    "mb_per_second": 2.3,
    "bytes_a_chunk": 1500,
}


def main() -> None:
    """Every n-th file by name, so that each share has the same mix."""
    curve = []
    with tempfile.TemporaryDirectory() as folder:
        pages = aws_pages(Path(folder) / "source")
        for share in SHARES:
            root = written(Path(folder) / f"share{share}", pages[::share])
            done = syntropy("build", "--project", str(root), "--json")
            report = json.loads(done.output)
            size = markdown_bytes(root) / 1e6
            manifest = read_manifest(root / "build")
            assert manifest is not None
            chunks = int(manifest.facts["tables"]["chunks"]["rows"])
            stored = sum(bytes_ for name, (bytes_, _) in manifest.artifacts.items() if name.endswith(".duckdb"))
            curve.append(
                {
                    "share": f"1/{share}",
                    "files": report["files"]["indexed"],
                    "markdown_mb": round(size, 1),
                    "chunks": chunks,
                    "seconds": round(report["seconds"], 1),
                    "mb_per_second": round(size / report["seconds"], 2),
                    "cpu_seconds": round(done.cpu, 1),
                    "driver_share": round(done.own_cpu / done.cpu, 3),
                    "driver_mb": round(done.peak_mb),
                    "worker_mb": round(done.worker_mb),
                    "all_mb": round(done.all_mb),
                    "bytes_a_chunk": round(stored / chunks),
                    "steps": report["steps"],
                }
            )
            print(curve[-1], flush=True)
            shutil.rmtree(root)
    save("scale", {"curve": curve, "promises": PROMISES})
