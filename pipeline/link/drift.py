"""Drift: the share of the knowledge's checkable claims that do not hold.

    score = violations / claims

Claims are: every resolved or dangling reference, every file an executed PRP says it made, every executed
PRP's being verified, and every document's key being its own. Packages belong to others and do not count.
Equal weights: a reader can recount it. 0 means no drift, 1 is nothing holds. A stale index is found by the
reader, not at build time.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from pipeline.extract.prp import DONE
from pipeline.ground.tables import from_rows
from syntropy.contract.identity import PROJECT_PACKAGE
from syntropy.contract.schema import VIOLATIONS

_FROM_DIAGNOSTICS = (
    "missing-implementation",
    "dangling-reference",
    "duplicate-key",
    "undocumented-command",
    "gone-command",
)


class Drift(NamedTuple):
    """Rounded to four decimals; `violations` in the contract's form."""

    score: float
    claims: int
    violations: pl.DataFrame


def measure_drift(documents: pl.DataFrame, diagnostics: pl.DataFrame, *, references: int) -> Drift:
    """`references` is how many mentions were checked (`Links.checked`)."""
    own = pl.col("package") == PROJECT_PACKAGE
    failing = diagnostics.filter(own & pl.col("code").is_in(_FROM_DIAGNOSTICS) & (pl.col("severity") != "info"))
    rows = [tuple(r) for r in failing.select("code", "package", "path", "line", "message").iter_rows()]
    documents = documents.filter(own)
    done = documents.filter((pl.col("kind") == "prp") & pl.col("status").is_in(list(DONE)))
    for package, path, status in (
        done.filter(~pl.col("verified").fill_null(False)).select("package", "path", "status").iter_rows()
    ):
        rows.append(("unverified-prp", package, path, 0, f"is {status}, but nothing says it was verified"))
    claims = references + done.height + documents.height
    score = round(len(rows) / claims, 4) if claims else 0.0
    return Drift(score, claims, from_rows(VIOLATIONS, dict.fromkeys(rows)))
