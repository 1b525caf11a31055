"""BM25F over the prebuilt postings: adding up impacts, no extension, no numpy.

A hit's score is the share of the query's information that the passage carries:

    score = Σ weight · impact(term, chunk) / Σ weight · idf(term)        0 <= score < 1

where an impact is idf times a saturation below 1, and a term that occurs nowhere counts with the
highest idf. So 0.5 is a passage in which all terms are about half saturated, or half of them fully.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..contract.text import idf
from .engine import Facts, Scores

if TYPE_CHECKING:
    from ..store.database import Database

SUM_SQL = """
SELECT chunk_id, sum(weighted) AS raw FROM (
    SELECT unnest(chunk_ids) AS chunk_id, unnest(impacts) * {weight} AS weighted FROM postings WHERE term IN ({terms})
) GROUP BY chunk_id
"""

TOP_SQL = """
WITH added AS ({sums})
SELECT chunk_id, raw FROM added JOIN chunks c USING (chunk_id) JOIN documents d USING (document_id)
WHERE {where} ORDER BY raw DESC, chunk_id LIMIT {limit}
"""
"""Filters come before ranking; `where` is a condition over `c` (chunks) and `d` (documents) with marks."""


def facts_of(database: Database, terms: Sequence[str]) -> dict[str, Facts]:
    """Those of the terms that the index holds."""
    if not terms:
        return {}
    marks = ", ".join("?" * len(terms))
    rows = database.rows(f"SELECT term, df, min_impact, max_impact FROM postings WHERE term IN ({marks})", terms)
    return {term: (df, low, high) for term, df, low, high in rows}


def top(
    database: Database, weights: Mapping[str, float], *, where: str, parameters: Sequence[object], limit: int
) -> Scores:
    """The best chunks by summed impacts."""
    if not weights:
        return []
    sums, values = _sums(weights)
    if where == "true":
        sql = f"WITH added AS ({sums}) SELECT chunk_id, raw FROM added ORDER BY raw DESC, chunk_id LIMIT {limit}"
    else:
        sql = TOP_SQL.format(sums=sums, where=where, limit=limit)
    return database.rows(sql, [*values, *parameters])


def scores_of(database: Database, weights: Mapping[str, float], chunks: Sequence[int]) -> dict[int, float]:
    """Summed impacts of given chunks; those without any are left out."""
    if not weights or not chunks:
        return {}
    sums, values = _sums(weights)
    return dict(database.rows(f"SELECT * FROM ({sums}) WHERE chunk_id IN ({numbers(chunks)})", values))


DOCUMENT_LENGTH = 0.75
"""How much a document's length counts against it: BM25's usual b (Robertson & Zaragoza 2009), lengths in chunks."""

SATURATED = 0.999
"""Impacts are stored as FLOAT32: the share of its idf that a term reaches is cut here before it is inverted."""

_OF_DOCUMENTS_SQL = """
WITH held AS (
    SELECT term, df, unnest(chunk_ids) AS chunk_id, unnest(impacts) AS impact FROM postings WHERE term IN ({terms})
), odds AS (
    SELECT term, df, document_id, sum(x / (1 - x)) AS odds
    FROM (SELECT *, least(impact / ln(1 + ({chunks} - df + .5) / (df + .5)), {most}) AS x FROM held)
    JOIN chunks USING (chunk_id) WHERE document_id IN ({documents}) GROUP BY ALL
)
SELECT term, df, document_id, odds, chunks FROM odds JOIN (
    SELECT document_id, count(*) AS chunks FROM chunks WHERE document_id IN ({documents}) GROUP BY document_id
) USING (document_id)
"""


def document_scores(database: Database, weights: Mapping[str, float], documents: Sequence[int]) -> dict[int, float]:
    """Impacts of whole documents, summed as those of chunks are; documents without any are left out.

    Each chunk's impact gives back the odds tf'/k1 it was made of; their sum over a document, divided by its length in
    chunks as BM25 does, is saturated again. Nothing more is stored for it.
    """
    if not weights or not documents:
        return {}
    sql = _OF_DOCUMENTS_SQL.format(
        chunks=database.chunk_count,
        most=SATURATED,
        terms=", ".join("?" * len(weights)),
        documents=numbers(documents),
    )
    mean = database.chunk_count / max(1, int(database.meta["documents"]))
    found: dict[int, float] = {}
    for term, frequency, document, odds, chunks in database.rows(sql, list(weights)):
        held = odds / (1 - DOCUMENT_LENGTH + DOCUMENT_LENGTH * chunks / mean)
        impact = idf(database.chunk_count, frequency) * held / (1 + held)
        found[document] = found.get(document, 0.0) + weights[term] * impact
    return found


def numbers(chunks: Sequence[int]) -> str:
    """Our own numbers as SQL: as parameters DuckDB takes 0.1 ms for each, looking for pandas."""
    return ", ".join(map(str, map(int, chunks))) or "NULL"


def _sums(weights: Mapping[str, float]) -> tuple[str, list[object]]:
    marks = ", ".join("?" * len(weights))
    if all(weight == 1.0 for weight in weights.values()):
        return SUM_SQL.format(weight="1.0", terms=marks), list(weights)
    cases = "CASE term " + " ".join("WHEN ? THEN ?::FLOAT" for _ in weights) + " END"
    return SUM_SQL.format(weight=cases, terms=marks), [*(v for pair in weights.items() for v in pair), *weights]
