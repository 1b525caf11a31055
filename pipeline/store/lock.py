"""One build at a time for a project's cache and an output folder; the second is told who holds it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from syntropy.contract.errors import LockHeldError
from syntropy.store.last_build import HOLDER


@contextmanager
def build_lock(folder: Path) -> Iterator[None]:
    """Hold `<folder>/.build.lock`. Raises LockHeldError with the holder's process at once."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".build.lock", timeout=0)
    holder = folder / HOLDER
    try:
        lock.acquire()
    except Timeout as error:
        raise LockHeldError(
            f"another build holds {folder}: {_described(holder)}", hint="wait for it, or end that process"
        ) from error
    try:
        holder.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}), encoding="utf-8")
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _described(holder: Path) -> str:
    try:
        facts = json.loads(holder.read_text(encoding="utf-8"))
        return f"process {facts['pid']} on {facts['host']}"
    except (OSError, ValueError, KeyError):
        return "a process that has not said its name yet"
