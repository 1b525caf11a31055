"""Diagnostics: what is wrong with the input, where, and what to do. Collected, never printed here."""

from __future__ import annotations

from typing import NamedTuple


class Diagnostic(NamedTuple):
    """One row of the `diagnostics` table, in its column order."""

    stage: str
    severity: str
    code: str
    package: str
    path: str
    line: int
    message: str
    hint: str


class Problem(NamedTuple):
    """A diagnostic of whoever does not know the file it is of; lines count from 1, 0 where none can be named."""

    code: str
    line: int
    message: str
    hint: str
    severity: str = "warning"

    def at(self, stage: str, package: str, path: str) -> Diagnostic:
        """The diagnostic, with its place."""
        return Diagnostic(stage, self.severity, self.code, package, path, self.line, self.message, self.hint)
