"""BM25F over the prebuilt postings: adding up impacts, no extension, no numpy.

A hit's score is the share of the query's information that the passage carries:

    score = Σ impact(term, chunk) / Σ idf(term)        0 <= score < 1

where an impact is idf times a saturation below 1, and a term that occurs nowhere counts with the
highest idf. So 0.5 is a passage in which all terms are about half saturated, or half of them fully.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .analysis import query_terms

if TYPE_CHECKING:
    from .index import Database

TOP_SQL = """
WITH added AS (
    SELECT chunk_id, sum(impact) AS raw
    FROM (SELECT unnest(chunk_ids) AS chunk_id, unnest(impacts) AS impact FROM postings WHERE term IN ({terms}))
    GROUP BY chunk_id
), allowed AS (
    SELECT chunk_id, raw, row_number() OVER (PARTITION BY document_id ORDER BY raw DESC, chunk_id) AS place
    FROM added JOIN chunks USING (chunk_id) JOIN documents d USING (document_id)
    WHERE {where}
)
SELECT chunk_id, raw FROM allowed WHERE place <= {cap} ORDER BY raw DESC, chunk_id LIMIT {limit}
"""
"""`terms` and `where` hold parameter marks, `cap` and `limit` are integers. Filters come before ranking."""

NO_CAP = 1_000_000_000


class Scored(NamedTuple):
    """A chunk and its score (0-1)."""

    chunk_id: int
    score: float


class Ranked(NamedTuple):
    """Hits, best first, with the terms that were looked up and those the index holds."""

    hits: list[Scored]
    terms: list[str]
    known: list[str]


def rank(database: Database, query: str, *, where: str, parameters: Sequence[object], cap: int, limit: int) -> Ranked:
    """The best chunks of a query. `where` is SQL over `d` (documents) with marks for `parameters`."""
    terms = query_terms(query)
    if not terms:
        return Ranked([], [], [])
    marks = ", ".join("?" * len(terms))
    frequencies = dict(database.rows(f"SELECT term, df FROM postings WHERE term IN ({marks})", terms))
    if not frequencies:
        return Ranked([], terms, [])
    sql = TOP_SQL.format(terms=marks, where=where, cap=cap or NO_CAP, limit=limit)
    best = sum(idf(database.chunk_count, frequencies.get(term, 0)) for term in terms)
    hits = [Scored(chunk, min(1.0, raw / best)) for chunk, raw in database.rows(sql, [*terms, *parameters])]
    return Ranked(hits, terms, [t for t in terms if t in frequencies])


def idf(chunks: int, frequency: int) -> float:
    """Lucene's non-negative inverse document frequency."""
    return math.log(1 + (chunks - frequency + 0.5) / (frequency + 0.5))
