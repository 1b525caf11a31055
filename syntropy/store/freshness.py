"""Is the database behind its sources? Asked of a local project only, and only once it is old enough.

The publication leaves a note of the size, time and hash of each file, setting and lock, and of each
folder's time. A reader compares those (a `stat` a file), and only a file that looks touched is read and
hashed: a `touch` is not a change.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..contract.published import MANIFEST

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
        """Has anything changed since the build?"""
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


def check_staleness(
    project: Path, cache: Path, *, now: float, stale_after: int, out: Path | None = None
) -> Staleness | None:
    """Compare with the note; None where it is too fresh to ask, switched off, or of no use.

    That is where there is none, and where the last build of this project went to another folder than `out`.
    """
    if stale_after < 0:
        return None
    note = read_note(cache)
    if note is None or (out is not None and "out" in note and Path(note["out"]) != out.resolve()):
        return None
    age = max(0.0, now - float(note["checked_at"]))
    if age <= stale_after:
        return None
    changed = sorted(
        {
            *_changed_files(project, note["files"]),
            *_changed_files(project, note.get("watched", {})),
            *_new_files(project, note),
        }
    )
    return Staleness(age, tuple(changed[:MAX_NAMED]), len(changed))


def read_note(cache: Path) -> dict[str, Any] | None:
    """The build's note, or None where there is none (or it is damaged: then nothing is known)."""
    try:
        note = json.loads((cache / NOTE).read_text(encoding="utf-8"))
        return note if isinstance(note, dict) and {"files", "checked_at", "folders", "others"} <= note.keys() else None
    except (OSError, ValueError):
        return None


@dataclass(frozen=True)
class Seen:
    """What a publication was made from, as it goes into the note.

    `files`: indexed path -> SHA-256 ("" to take it now); `others`: known, not indexed (a folder left out whole
    ends in `/`); `own`: our outputs; `watched`: settings, locks, golden queries, `.gitignore` files and the like;
    `rejected`: files that could not be read, and may be better by now; `published`: digest of all that decided the
    publication, which is `build_id` in the folder `out`.
    """

    files: dict[str, str]
    others: list[str]
    own: list[str]
    watched: list[str]
    rejected: list[str]
    published: str
    out: str
    build_id: str


def make_note(project: Path, seen: Seen, *, started: float, now: float) -> str:
    """The note's JSON. A file that changed after the build had `started` counts as touched, to be read again."""
    since = int(started * 1e9)
    noted: dict[str, list[Any]] = {}
    for path, digest in sorted(seen.files.items()):
        size, mtime = _stat(f"{project}/{path}")  # a Path a file would cost as much as all the rest
        known = digest or _sha256(project / path)
        noted[path] = [size, mtime, known] if mtime < since else [-1, -1, known]
    folders = {""}
    for path in (*seen.files, *seen.others):
        folder = path.rstrip("/").rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    folders = {folder for folder in folders if not (project / folder).is_symlink()}
    return json.dumps(
        {
            "checked_at": now,
            "files": noted,
            "folders": {
                folder: mtime if (mtime := _stat(project / folder)[1]) < since else -1 for folder in sorted(folders)
            },
            "others": sorted({*seen.others, *seen.own}),
            "watched": {
                **{path: [*_stat(project / path), ""] for path in seen.rejected},
                **{path: [*_stat(project / path), _sha256(project / path)] for path in seen.watched},
            },
            "published": seen.published,
            "out": seen.out,
            "build_id": seen.build_id,
        }
    )


def is_untouched(project: Path, note: dict[str, Any]) -> bool:
    """Are size and time of every noted file, folder and setting as noted? Reads nothing but those."""
    return (
        all(_stat(f"{project}/{path}") == (size, mtime) for path, (size, mtime, _) in note["files"].items())
        and all(_stat(project / folder)[1] == mtime for folder, mtime in note["folders"].items())
        and all(_stat(project / path) == (size, mtime) for path, (size, mtime, _) in note.get("watched", {}).items())
    )


def _stat(path: Path | str) -> tuple[int, int]:
    """(bytes, time of change in ns); -1 where there is nothing."""
    try:
        info = os.stat(path)
    except OSError:
        return -1, -1
    return info.st_size, info.st_mtime_ns


def _changed_files(project: Path, noted: dict[str, list[Any]]) -> list[str]:
    changed = []
    for path, (size, mtime, digest) in noted.items():
        now = _stat(f"{project}/{path}")
        if now == (size, mtime):
            continue
        if (now[0] != size and size >= 0) or not digest or _sha256(project / path) != digest:
            changed.append(path)
    return changed


def _new_files(project: Path, note: dict[str, Any]) -> list[str]:
    """Files that appeared in noted folders, or in new folders there, and have an ending that the build indexed."""
    known = {*note["files"], *(path.rstrip("/") for path in note["others"]), *note["folders"]}
    suffixes = {os.path.splitext(path)[1].lower() for path in note["files"]}
    found: list[str] = []
    for folder, mtime in note["folders"].items():
        if _stat(project / folder)[1] == mtime:
            continue
        try:
            names = os.listdir(project / folder)
        except OSError:
            continue
        for path in (f"{folder}/{name}" if folder else name for name in names):
            if path not in known:
                found += [p for p in _below(project, path) if os.path.splitext(p)[1].lower() in suffixes]
    return found


MAX_NEW = 5_000
"""Files of a new folder that are looked at: more are surely told by the first ones."""

_NO_SOURCES = frozenset({"node_modules", "venv", "dist", "target", "__pycache__"})
"""Folders that tools make; whether a new one is ignored only a build can tell."""


def _below(project: Path, path: str) -> list[str]:
    """A new file, or the files of a new folder."""
    if (project / path).is_file():
        return [path]
    found: list[str] = []
    for folder, names, files in os.walk(project / path):
        names[:] = sorted(n for n in names if not n.startswith(".") and n not in _NO_SOURCES)
        if os.path.basename(folder).startswith(".") or os.path.basename(folder) in _NO_SOURCES or MANIFEST in files:
            names.clear()
            continue
        found += [os.path.relpath(os.path.join(folder, name), project).replace(os.sep, "/") for name in files]
        if len(found) > MAX_NEW:
            break
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
