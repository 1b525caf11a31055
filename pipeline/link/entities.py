"""What follows from the relations that canonical entities declare: the other direction, and enforced laws.

The Episteme seed's transitive rule: what solves a smell that violates a law enforces that law.
"""

from __future__ import annotations

import polars as pl

from pipeline.ground.tables import from_rows
from syntropy.contract.schema import RELATIONS
from syntropy.contract.vocabulary import ENTITY_KINDS, INVERSE_RELATIONS

INFERRED_SCORE = 0.5
"""Score of an inferred relation; declared ones have 1."""


def follow(documents: pl.DataFrame, relations: pl.DataFrame) -> pl.DataFrame:
    """Inferred and inverse relations that are not declared themselves."""
    entities = documents.filter(pl.col("kind").is_in(list(ENTITY_KINDS))).select("document", "kind", "path")
    about = {uid: (kind, path) for uid, kind, path in entities.iter_rows()}
    declared = relations.filter((pl.col("origin") == "entry") & pl.col("to").is_not_null())
    edges = [
        (start, kind, end, line)
        for start, kind, end, line in declared.select("from", "type", "to", "line").iter_rows()
        if start in about and end in about
    ]
    known = {(start, kind, end) for start, kind, end, _ in edges}
    found: list[tuple[object, ...]] = []

    def add(start: str, kind: str, end: str, origin: str, score: float, evidence: str) -> None:
        if start != end and (start, kind, end) not in known:
            known.add((start, kind, end))
            found.append((start, kind, end, about[end][1], origin, score, 0, evidence))

    violates: dict[str, list[str]] = {}
    for start, kind, end, _ in edges:
        if kind == "violates":
            violates.setdefault(start, []).append(end)
    for start, kind, smell, _ in sorted(edges):
        if kind == "solves" and about[start][0] in ("refactoring", "design-pattern"):
            for law in sorted(violates.get(smell, [])):
                add(start, "enforces", law, "inferred", INFERRED_SCORE, f"solves {about[smell][1]}, which violates it")
    for start, kind, end in sorted(known):
        if inverse := INVERSE_RELATIONS.get(kind):
            add(end, inverse, start, "inverse", 1.0, "")
    return from_rows(RELATIONS, found)
