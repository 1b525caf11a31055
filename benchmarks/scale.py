"""Growth: 1/8, 1/4, 1/2 and all of 29,153 Markdown files, without embeddings: time and peak memory."""

from __future__ import annotations

import json
import tarfile
import tempfile
from pathlib import Path

from benchmarks.common import DATA, configured, markdown_bytes, save, syntropy

SHARES = (8, 4, 2, 1)


def main() -> None:
    """Every n-th file by name, so that each share has the same mix."""
    curve = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        with tarfile.open(DATA / "corpora/aws-documentation.tar.xz") as archive:
            archive.extractall(source, filter="data")
        pages = sorted(p for p in source.rglob("*.md") if p.is_file())
        for share in SHARES:
            root = Path(folder) / f"share{share}"
            for page in pages[::share]:
                target = root / "docs" / page.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(page.read_bytes())
            configured(root)
            done = syntropy("build", "--project", str(root), "--no-embeddings", "--json")
            report = json.loads(done.output)
            size = markdown_bytes(root) / 1e6
            curve.append(
                {
                    "share": f"1/{share}",
                    "files": report["files"]["indexed"],
                    "markdown_mb": round(size, 1),
                    "seconds": round(report["seconds"], 1),
                    "mb_per_second": round(size / report["seconds"], 2),
                    "peak_mb": round(done.peak_mb),
                    "steps": report["steps"],
                }
            )
            print(curve[-1], flush=True)
    save("scale", {"curve": curve, "promises": {"peak_mb": 2000}})
