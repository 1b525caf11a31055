"""Diagnostics of a whole build: worst first, counted, without those that are known."""

from __future__ import annotations

from typing import Any

import polars as pl

from syntropy.contract.vocabulary import SEVERITIES
from syntropy.read.problems import DIAGNOSTIC_STAGES, Ignored

MAX_SHOWN = 1_000
"""Diagnostics that the record repeats for the command line; the table holds all."""


def problem_figures(diagnostics: pl.DataFrame, ignore: tuple[str, ...]) -> dict[str, Any]:
    """`severities`: how many of each; `counts` and the worst `diagnostics` as rows without what `ignore` names."""
    ignored = Ignored(ignore)
    ordered = worst_first(diagnostics)
    kept = [not ignored.holds(code, path) for code, path in ordered.select("code", "path").iter_rows()]
    ordered = ordered.filter(pl.Series(kept, dtype=pl.Boolean))
    shown = ordered.filter(pl.col("severity") != "info").head(MAX_SHOWN)
    return {
        "severities": {severity: int((diagnostics["severity"] == severity).sum()) for severity in SEVERITIES},
        "counts": {severity: int((ordered["severity"] == severity).sum()) for severity in SEVERITIES},
        "diagnostics": [list(row) for row in shown.iter_rows()],
    }


def worst_first(diagnostics: pl.DataFrame) -> pl.DataFrame:
    """Diagnostics by severity, then by stage: what keeps a file out comes before what a text says wrongly."""
    severity = pl.col("severity").replace_strict({name: n for n, name in enumerate(SEVERITIES)}, return_dtype=pl.Int8)
    stages = {name: n for n, name in enumerate(DIAGNOSTIC_STAGES)}
    stage = pl.col("stage").replace_strict(stages, default=len(stages), return_dtype=pl.Int8)
    return diagnostics.sort(severity, stage, "code", "package", "path", "line", "message")
