"""Digests: of strings, of rows, of our own code, and of large files (taken once)."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from syntropy.contract.files import write_text
from syntropy.contract.published import file_sha256

_LIBRARIES = (
    "duckdb",
    "polars",
    "pyarrow",
    "pyromark",
    "python-frontmatter",
    "PyYAML",
    "tokenizers",
    "griffelib",
    "jinja2",
    "pathspec",
    "numpy",
)


def digest(*parts: str) -> str:
    """SHA-256 of strings, each with its length, so that no two lists look alike."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()


def digest_rows(rows: Iterable[tuple[Any, ...]]) -> str:
    """Digest of rows of plain values, in their order."""
    return digest(json.dumps(list(rows), ensure_ascii=True, separators=(",", ":")))


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Digest of our own code and of the libraries that shape the tables: new code, new tables."""
    import pipeline
    import syntropy

    parts = []
    for package in (pipeline, syntropy):
        root = Path(package.__file__ or "").parent
        for path in sorted(p for p in root.rglob("*") if p.suffix in (".py", ".jinja") and "cli" not in p.parts):
            if "_location" not in path.relative_to(root).parts:
                parts += [f"{root.name}/{path.relative_to(root).as_posix()}", path.read_text(encoding="utf-8")]
    for library in _LIBRARIES:
        parts.append(f"{library} {importlib.metadata.version(library)}")
    return digest(*parts)


_FILE = "digests.json"


def known_sha256(path: Path, cache: Path) -> str:
    """SHA-256 of a file; read again only where the file is not the one that was read last. Raises OSError."""
    facts = path.stat()
    stamp = [facts.st_ino, facts.st_size, facts.st_mtime_ns]
    remembered = _remembered(cache)
    name = f"{facts.st_dev}:{facts.st_ino}"
    former = remembered.get(name)
    if former and former[:3] == stamp:
        return str(former[3])
    found = file_sha256(path)
    kept = dict(list(remembered.items())[-_KEPT:])
    cache.mkdir(parents=True, exist_ok=True)
    write_text(cache / _FILE, json.dumps({**kept, name: [*stamp, found]}))
    return found


_KEPT = 511
"""Files remembered beside a new one: two publications of eight artifacts and 127 shards, nearly twice."""


def _remembered(cache: Path) -> dict[str, list[int | str]]:
    try:
        found = json.loads((cache / _FILE).read_text(encoding="utf-8"))
        return {name: entry for name, entry in found.items() if isinstance(entry, list) and len(entry) == 4}
    except (OSError, ValueError, AttributeError):
        return {}
