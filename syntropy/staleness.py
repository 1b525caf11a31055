"""Is the database behind its sources? Asked of a local project only, and only once it is old enough.

The build leaves a note of each file's size, time and hash and each folder's time. A reader compares
those (a `stat` a file), and only a file that looks touched is read and hashed: a `touch` is no change.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOTE = "sources.json"
MAX_NAMED = 5


@dataclass(frozen=True)
class Staleness:
    """`age` in seconds since the build looked at the sources; `changed` names files, a few at most."""

    age: float
    changed: tuple[str, ...]
    count: int

    @property
    def stale(self) -> bool:
        return self.count > 0

    def message(self) -> str:
        """What to tell the user, or an empty string."""
        if not self.stale:
            return ""
        more = f" and {self.count - len(self.changed)} more" if self.count > len(self.changed) else ""
        return (
            f"the index is {_duration(self.age)} old and {self.count} source file(s) changed since "
            f"({', '.join(self.changed)}{more}); run `syntropy build`"
        )


def check_staleness(project: Path, cache: Path, *, now: float, stale_after: int) -> Staleness | None:
    """Compare with the note; None where it is too fresh to ask, switched off, or there is no note."""
    if stale_after < 0:
        return None
    note = read_note(cache)
    if note is None:
        return None
    age = max(0.0, now - float(note["checked_at"]))
    if age <= stale_after:
        return None
    changed = sorted(set(_changed_files(project, note)) | set(_new_files(project, note)))
    return Staleness(age, tuple(changed[:MAX_NAMED]), len(changed))


def read_note(cache: Path) -> dict[str, Any] | None:
    """The build's note, or None where there is none (or it is damaged: then nothing is known)."""
    try:
        note = json.loads((cache / NOTE).read_text(encoding="utf-8"))
        return note if isinstance(note, dict) and "files" in note and "checked_at" in note else None
    except (OSError, ValueError):
        return None


def make_note(project: Path, files: dict[str, str], others: list[str], *, now: float) -> str:
    """The note's JSON. `files`: path -> SHA-256 of the indexed ones; `others`: known, not indexed."""
    noted: dict[str, list[Any]] = {}
    for path, digest in sorted(files.items()):
        try:
            info = os.stat(project / path)
            noted[path] = [info.st_size, info.st_mtime_ns, digest]
        except OSError:
            noted[path] = [-1, -1, digest]
    folders = {""} | {path.rpartition("/")[0] for path in files}
    times = {}
    for folder in sorted(folders):
        try:
            times[folder] = os.stat(project / folder).st_mtime_ns
        except OSError:
            times[folder] = -1
    return json.dumps({"checked_at": now, "files": noted, "folders": times, "others": sorted(others)})


def _changed_files(project: Path, note: dict[str, Any]) -> list[str]:
    changed = []
    for path, (size, mtime, digest) in note["files"].items():
        try:
            info = os.stat(project / path)
        except OSError:
            changed.append(path)
            continue
        same = info.st_size == size and info.st_mtime_ns == mtime
        if not same and (info.st_size != size or _sha256(project / path) != digest):
            changed.append(path)
    return changed


def _new_files(project: Path, note: dict[str, Any]) -> list[str]:
    """Files that appeared in noted folders and have an ending that the build indexed."""
    known = set(note["files"]) | set(note["others"])
    suffixes = {os.path.splitext(path)[1].lower() for path in note["files"]}
    found = []
    for folder, mtime in note["folders"].items():
        try:
            if os.stat(project / folder).st_mtime_ns == mtime:
                continue
            names = os.listdir(project / folder)
        except OSError:
            continue
        for name in names:
            path = f"{folder}/{name}" if folder else name
            if path not in known and os.path.splitext(name)[1].lower() in suffixes and (project / path).is_file():
                found.append(path)
    return found


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _duration(seconds: float) -> str:
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count > 1 else ''}"
    return f"{int(seconds)} seconds"
