"""What files of one kind know together, gathered before each of them is read on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pipeline.formats import console, openapi_parts

GATHERERS: Mapping[str, Callable[[Iterable[tuple[str, str]]], Any]] = {
    "console": console.gather,
    "openapi": openapi_parts.gather,
}
"""Kind of source -> what makes one thing of the (text, path) of its files."""

KINDS = frozenset(GATHERERS)
"""Kinds of which all files are read again when one of them changes."""

Shared = Mapping[tuple[str, str], Any]
"""(package, kind) -> what the kind's reader is given beside a file."""


def gather(texts: Iterable[tuple[str, str, str, str]]) -> dict[tuple[str, str], Any]:
    """From (package, kind, path, text) of files of `KINDS`."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for package, kind, path, text in texts:
        groups.setdefault((package, kind), []).append((text, path))
    return {group: GATHERERS[group[1]](sorted(files, key=lambda file: file[1])) for group, files in groups.items()}
