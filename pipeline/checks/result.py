"""What a check is given, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from syntropy.contract.config import Config


@dataclass(frozen=True)
class Subject:
    """What a check looks at: the artifact at `path`, and the project it is of."""

    path: Path
    config: Config = field(default_factory=Config)
    root: Path = Path()
    query_encoder: Callable[[], Any] | None = None


class CheckResult(NamedTuple):
    """`figures` are shown with the result, whichever it is."""

    passed: bool
    figures: dict[str, Any]
