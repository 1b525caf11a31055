"""What the last build of a project did: written by the build, shown by `syntropy status`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..contract.files import write_text

LAST_BUILD = "last-build.json"


@dataclass(frozen=True)
class BuildState:
    """One build. `outcome`: published, up-to-date or failed; times in seconds since 1970."""

    outcome: str
    started: float
    seconds: float
    out: str
    error: str = ""
    changed: int = 0
    diagnostics: dict[str, int] = field(default_factory=dict)
    steps: dict[str, float] = field(default_factory=dict)
    published: float = 0.0
    """When artifacts were last published or found current."""

    def save(self, cache: Path) -> None:
        """Write it into the cache folder, whole or not at all."""
        cache.mkdir(parents=True, exist_ok=True)
        write_text(cache / LAST_BUILD, json.dumps(asdict(self), indent=2, sort_keys=True) + "\n")


def last_build(cache: Path) -> BuildState | None:
    """The last build's state, or None where there was none (or its note is damaged)."""
    try:
        data: dict[str, Any] = json.loads((cache / LAST_BUILD).read_text(encoding="utf-8"))
        return BuildState(**data)
    except (OSError, ValueError, TypeError):
        return None


HOLDER = ".build.holder.json"
"""Who builds: written beside the lock while it is held."""


def builder_of(folder: Path) -> int:
    """The process that is building into a cache or output folder; 0 where none is (or it is gone)."""
    try:
        process = int(json.loads((folder / HOLDER).read_text(encoding="utf-8"))["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0
    if os.name == "posix":
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return 0
        except OSError:
            return process  # another user's
    return process
