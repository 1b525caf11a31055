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
