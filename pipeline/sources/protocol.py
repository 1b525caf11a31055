"""What a connector promises: a scan (names and hashes, cheap) and texts on demand (only what changed)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from pipeline.ground.diagnostics import Diagnostic

CHANGED = "changed-while-building"
"""Code of the diagnostic of a file that was there when the project was looked at and cannot be read any more."""


class SourceFile(NamedTuple):
    """One row of the `sources` table, in its column order."""

    package: str
    path: str
    status: str
    reason: str
    kind: str
    scope: str
    bytes: int
    content_hash: str


class SourceText(NamedTuple):
    """A document as a connector hands it to `extract`.

    `text` is decoded, without a byte order mark, line ends as in the file.
    """

    package: str
    path: str
    commit: str
    kind: str
    scope: str
    content_hash: str
    text: str
    metadata: str = "{}"
    """JSON of what another file says of this one."""


class Scan(NamedTuple):
    """Everything a connector met, indexed or not, and what was wrong with it."""

    files: list[SourceFile]
    diagnostics: list[Diagnostic]


class Connector(Protocol):
    """A source of documents."""

    package: str

    def scan(self) -> Scan:
        """List every file with its fate and the SHA-256 of those to be indexed."""
        ...

    def read(self, paths: Iterable[str]) -> Iterator[SourceText | Diagnostic]:
        """The texts of files the scan called indexed, or a diagnostic for those gone since."""
        ...
