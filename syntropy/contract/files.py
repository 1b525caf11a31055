"""Files that are whole or absent: written beside, synced, renamed."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path


def write_atomically(target: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary path in the target's folder, sync it and rename it into place."""
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        write(temporary)
        sync_file(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(target.parent)


def write_text(target: Path, text: str) -> None:
    """A text file, atomically, with line feeds as they are."""
    write_atomically(target, lambda path: path.write_bytes(text.encode("utf-8")))


def sync_file(path: Path) -> None:
    """Make a file's content durable (fsync)."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Make renames in a folder durable (a no-op where folders cannot be opened)."""
    if os.name == "posix":
        sync_file(path)


def write_new(target: Path, text: str) -> bool:
    """Write a file that must not exist yet; False (and no change) where it does."""
    try:
        with target.open("x", encoding="utf-8", newline="\n") as handle:
            handle.write(text)
    except FileExistsError:
        return False
    return True
