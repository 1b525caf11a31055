"""The published folder: which files it holds, where each is right now, and whether they are whole.

Publishing is one rename: a complete set of new files becomes `.publish/`, and from that moment it lies
over the old files. Moving its files down into place comes after and may be cut short at any point: a
file is read from `.publish/` where it is still there, else from the folder itself. Either way a reader
sees one whole set.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import DatabaseError
from .shards import FOLDER as SHARDS

DATABASE = "syntropy.duckdb"
INDEX_JSON = "syntropy-index.json"
INDEX_MD = "INDEX.md"
MANIFEST = "manifest.json"
QUERY_SCRIPT = "query.py"
ENCODER = "encoder"
SKILL = ".claude/skills/syntropy/SKILL.md"
"""What `init --agent` writes for agents, below the project's root: ours, and not indexed."""
PUBLISHING = ".publish"


def artifact_of(path: str) -> str:
    """The artifact that a published file belongs to: itself, or what lies in a folder."""
    folder = path.partition("/")[0]
    return {ENCODER: ENCODER, SHARDS: DATABASE}.get(folder, path)


@dataclass(frozen=True)
class Manifest:
    """manifest.json: what belongs together. `artifacts` maps a path to (bytes, SHA-256)."""

    artifacts: dict[str, tuple[int, str]]
    facts: dict[str, Any]


def locate(out: Path, name: str) -> Path:
    """Where an artifact is now; the path may not exist."""
    newer = out / PUBLISHING / name
    return newer if newer.exists() else out / name


def log_beside(database: Path) -> Path:
    """Where DuckDB would look for a write-ahead log; a published database has none."""
    return database.with_name(f"{database.name}.wal")


def logs_in(out: Path) -> list[Path]:
    """Write-ahead logs beside a published database and its shards, which something else wrote."""
    folders = (out, out / PUBLISHING)
    found = [log_beside(folder / DATABASE) for folder in folders]
    return [path for path in found if path.exists()] + [p for f in folders for p in sorted((f / SHARDS).glob("*.wal"))]


def read_manifest(out: Path) -> Manifest | None:
    """The manifest of a published folder, or None where nothing was published.

    Raises DatabaseError where it is damaged.
    """
    for _ in range(2):  # a publication may move the file between looking and reading
        path = locate(out, MANIFEST)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            artifacts = {a["path"]: (int(a["bytes"]), str(a["sha256"])) for a in data["artifacts"]}
            return Manifest(artifacts, data)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DatabaseError(f"{path} cannot be read: {error}", hint="run `syntropy build --full`") from error
    return None


def verify_files(out: Path) -> list[str]:
    """Problems of a published folder: missing, resized or changed files. Empty if all is well.

    Raises DatabaseError where there is no manifest.
    """
    manifest = read_manifest(out)
    if manifest is None:
        raise DatabaseError(f"{out} holds no {MANIFEST}", hint="run `syntropy build`, or name the folder with --out")
    problems = []
    for name, (size, digest) in sorted(manifest.artifacts.items()):
        path = locate(out, name)
        if not path.is_file():
            problems.append(f"{name}: missing")
        elif path.stat().st_size != size:
            problems.append(f"{name}: {path.stat().st_size} bytes instead of {size}")
        elif file_sha256(path) != digest:
            problems.append(f"{name}: SHA-256 differs from the manifest")
    logs = [log.relative_to(out).as_posix() for log in logs_in(out)]
    return [*problems, *(f"{name}: a write-ahead log, which is not part of a publication" for name in logs)]


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, as hexadecimal digits."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
