"""What a scan saw of each file, so that the next one need only ask whether it is still the same file.

A file of the same size, times and inode, below the same ignore rules, is not read again. One that changed in the two
seconds before it was looked at is not remembered: a second change may leave its times as they are. Files with a
diagnostic, and those of which another file says something, are always looked at.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline.sources.protocol import SourceFile
from syntropy.contract.files import write_text

FILE = "scan.json"

MARGIN_NS = 2_000_000_000
"""The coarsest clock of a file system in use (FAT's) has two seconds."""

Row = list[Any]
"""[*stamp of the file, digest of the ignore rules, fields of the row]"""


class SeenFiles:
    """Rows of one project's scans, kept in `folder`. `method`: digest of the code and settings that make them."""

    def __init__(self, folder: Path | None = None, method: str = "", clock: Callable[[], int] = time.time_ns) -> None:
        """Without a folder nothing is remembered."""
        self._folder, self._method, self._clock = folder, method, clock
        self._known: dict[str, Row] = {}
        self._now: dict[str, Row] = {}
        if folder is not None:
            try:
                stored = json.loads((folder / FILE).read_text(encoding="utf-8"))
                self._known = stored["files"] if stored["method"] == method else {}
            except (OSError, ValueError, KeyError, TypeError):
                self._known = {}

    def get(self, package: str, path: str, info: os.stat_result, rules: str) -> SourceFile | None:
        """The row of a file that is as it was; None where it has to be looked at."""
        known = self._known.get(f"{package}:{path}")
        if known is None or known[:-1] != [*_stamp(info), rules]:
            return None
        self._now[f"{package}:{path}"] = known
        return SourceFile(package, path, *known[-1])

    def put(self, file: SourceFile, info: os.stat_result, rules: str) -> None:
        """Remember a row that depends on nothing but the file, its path, the settings and the ignore rules."""
        if self._folder is not None and max(info.st_mtime_ns, info.st_ctime_ns) < self._clock() - MARGIN_NS:
            self._now[f"{file.package}:{file.path}"] = [*_stamp(info), rules, list(file[2:])]

    def save(self) -> None:
        """Keep what this scan saw, where that is not what was known."""
        if self._folder is None or self._now == self._known:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"method": self._method, "files": self._now}, separators=(",", ":"))
        write_text(self._folder / FILE, text)
        self._known = self._now


def _stamp(info: os.stat_result) -> list[int]:
    """What differs when a file is another one or was written to, also where somebody set its time back."""
    return [info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino]


def rules_digest(former: str, folder: str, text: bytes) -> str:
    """A short name for the rules of an ignore file and of those above it."""
    return hashlib.sha256(f"{former} {folder} ".encode() + text).hexdigest()[:16]
