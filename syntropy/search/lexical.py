"""BM25F over the prebuilt postings: adding up saturations, no extension, no numpy.

A hit's score is the share of the query's information that the passage carries:

    score = Σ weight · idf(term) · saturation(term, chunk) / Σ weight · idf(term)        0 <= score < 1

where a saturation is below 1, and a term that occurs nowhere counts with the highest idf. So 0.5 is a passage in which
all terms are about half saturated, or half of them fully. A term's `worth` is its weight · idf.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from .engine import Facts, Scores

if TYPE_CHECKING:
    from ..store.database import Database

SUM_SQL = """
SELECT chunk_id, sum(weighted) AS raw FROM (
    SELECT unnest(chunk_ids) AS chunk_id, unnest(saturations) * {worth} AS weighted
    FROM {table} WHERE term IN ({terms})
) GROUP BY chunk_id
"""

TOP_SQL = """
WITH added AS ({sums})
SELECT chunk_id, raw FROM added JOIN chunks c USING (chunk_id) JOIN documents d USING (document_id)
WHERE {where} ORDER BY raw DESC, chunk_id LIMIT {limit}
"""
"""Filters come before ranking; `where` is a condition over `c` (chunks) and `d` (documents) with marks."""


def facts_of(database: Database, terms: Sequence[str], *, table: str = "postings") -> dict[str, Facts]:
    """Those of the terms that the index holds, added up over all shards; or that one shard's `table` does."""
    if not terms:
        return {}
    marks = ", ".join("?" * len(terms))
    rows = database.rows(f"SELECT term, df, low, high FROM {table} WHERE term IN ({marks})", terms)
    return merged_facts({term: (df, low, high)} for term, df, low, high in rows)


def merged_facts(parts: Iterable[Mapping[str, Facts]]) -> dict[str, Facts]:
    """Facts over several shards or databases."""
    found: dict[str, Facts] = {}
    for part in parts:
        for term, (df, low, high) in part.items():
            known = found.get(term)
            found[term] = (known[0] + df, min(known[1], low), max(known[2], high)) if known else (df, low, high)
    return found


def top(
    database: Database,
    worth: Mapping[str, float],
    *,
    where: str,
    parameters: Sequence[object],
    limit: int,
    table: str = "postings",
) -> Scores:
    """The best chunks by their sums."""
    if not worth:
        return []
    sums, values = _sums(worth, table)
    if where == "true":
        sql = f"WITH added AS ({sums}) SELECT chunk_id, raw FROM added ORDER BY raw DESC, chunk_id LIMIT {limit}"
    else:
        sql = TOP_SQL.format(sums=sums, where=where, limit=limit)
    return database.rows(sql, [*values, *parameters])


def scores_of(
    database: Database, worth: Mapping[str, float], chunks: Sequence[int], *, table: str = "postings"
) -> dict[int, float]:
    """The sums of given chunks; those without any are left out."""
    if not worth or not chunks:
        return {}
    sums, values = _sums(worth, table)
    return dict(database.rows(f"SELECT * FROM ({sums}) WHERE chunk_id IN ({numbers(chunks)})", values))


DOCUMENT_LENGTH = 0.75
"""How much a document's length counts against it: BM25's usual b (Robertson & Zaragoza 2009), lengths in chunks."""

SATURATED = 0.999
"""Saturations are stored as FLOAT32: they are cut here before they are inverted."""

_OF_DOCUMENTS_SQL = """
WITH held AS (
    SELECT term, unnest(chunk_ids) AS chunk_id, unnest(saturations) AS saturation FROM {table} WHERE term IN ({terms})
), odds AS (
    SELECT term, document_id, sum(x / (1 - x)) AS odds
    FROM (SELECT term, chunk_id, least(saturation, {most}::FLOAT)::DOUBLE AS x FROM held)
    JOIN chunks USING (chunk_id) WHERE document_id IN ({documents}) GROUP BY ALL
)
SELECT term, document_id, odds, chunks FROM odds JOIN (
    SELECT document_id, count(*) AS chunks FROM chunks WHERE document_id IN ({documents}) GROUP BY document_id
) USING (document_id)
"""


def document_scores(
    database: Database, worth: Mapping[str, float], documents: Sequence[int], *, table: str = "postings"
) -> dict[int, float]:
    """Scores of whole documents, summed as those of chunks are; documents without any are left out.

    Each chunk's saturation gives back the odds tf'/k1 it was made of; their sum over a document, divided by its length
    in chunks as BM25 does, is saturated again. Nothing more is stored for it.
    """
    if not worth or not documents:
        return {}
    sql = _OF_DOCUMENTS_SQL.format(
        most=SATURATED,
        table=table,
        terms=", ".join("?" * len(worth)),
        documents=numbers(documents),
    )
    mean = database.chunk_count / max(1, int(database.meta["documents"]))
    found: dict[int, float] = {}
    for term, document, odds, chunks in sorted(database.rows(sql, list(worth))):
        held = odds / (1 - DOCUMENT_LENGTH + DOCUMENT_LENGTH * chunks / mean)
        found[document] = found.get(document, 0.0) + worth[term] * held / (1 + held)
    return found


def numbers(chunks: Sequence[int]) -> str:
    """Our own numbers as SQL: as parameters DuckDB takes 0.1 ms for each, looking for pandas."""
    return ", ".join(map(str, map(int, chunks))) or "NULL"


def _sums(worth: Mapping[str, float], table: str) -> tuple[str, list[object]]:
    cases = "CASE term " + " ".join("WHEN ? THEN ?::FLOAT" for _ in worth) + " END"
    marks = ", ".join("?" * len(worth))
    return SUM_SQL.format(worth=cases, table=table, terms=marks), [*(v for pair in worth.items() for v in pair), *worth]
