"""`manifest.json`: what belongs together, with sizes, digests and versions. Written last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from syntropy.contract.published import file_sha256


def render_manifest(files: Mapping[str, Path], facts: Mapping[str, Any]) -> str:
    """JSON of `facts` and, for each artifact's path, its size in bytes and SHA-256."""
    artifacts = [
        {"path": name, "bytes": path.stat().st_size, "sha256": file_sha256(path)}
        for name, path in sorted(files.items())
    ]
    return json.dumps({**facts, "artifacts": artifacts}, indent=2, sort_keys=True) + "\n"
