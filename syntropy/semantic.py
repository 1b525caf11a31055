"""Search by vectors: an exact scan, or the HNSW index where it pays and nothing is filtered.

A filter and HNSW do not go together: DuckDB filters after the index and silently loses hits. A hit's
score is the cosine between query and the chunk's best window, cut at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .index import HNSW_PAYS
from .lexical import NO_CAP, Scored

if TYPE_CHECKING:
    from .index import Database

_EXACT_SQL = """
WITH scored AS (
    SELECT chunk_id, max(array_inner_product(vector, ?::VARCHAR::FLOAT[{dimension}])) AS cosine
    FROM windows {narrowed} GROUP BY chunk_id
), allowed AS (
    SELECT chunk_id, cosine, row_number() OVER (PARTITION BY document_id ORDER BY cosine DESC, chunk_id) AS place
    FROM scored JOIN chunks USING (chunk_id)
)
SELECT chunk_id, cosine FROM allowed WHERE place <= {cap} ORDER BY cosine DESC, chunk_id LIMIT {limit}
"""

_NARROWED = "WHERE chunk_id IN (SELECT chunk_id FROM chunks JOIN documents d USING (document_id) WHERE {where})"

_HNSW_SQL = """
SELECT chunk_id, max(1 - distance) AS cosine FROM (
    SELECT chunk_id, array_cosine_distance(vector, ?::VARCHAR::FLOAT[{dimension}]) AS distance
    FROM windows ORDER BY distance LIMIT {windows}
) GROUP BY chunk_id ORDER BY cosine DESC, chunk_id
"""


def rank_by_vector(
    database: Database, vector: Sequence[float], *, where: str, parameters: Sequence[object], cap: int, limit: int
) -> list[Scored]:
    """The chunks nearest to a unit vector. `where` as in `lexical.rank`; "true" means no filter."""
    dimension = int(database.meta["vector_dimension"])
    text = "[" + ",".join(map(repr, vector)) + "]"  # as text: 3.6 ms of CPU against 36 as a list
    hnsw = database.has_vss and database.meta.get("hnsw") == "true" and int(database.meta["windows"]) >= HNSW_PAYS
    if where == "true" and hnsw:
        found = database.rows(_HNSW_SQL.format(dimension=dimension, windows=max(100, limit * 8)), [text])
        return _capped(database, found, cap)[:limit]
    narrowed = "" if where == "true" else _NARROWED.format(where=where)
    sql = _EXACT_SQL.format(dimension=dimension, narrowed=narrowed, cap=cap or NO_CAP, limit=limit)
    return [Scored(chunk, max(0.0, min(1.0, cosine))) for chunk, cosine in database.rows(sql, [text, *parameters])]


def _capped(database: Database, found: list[tuple[int, float]], cap: int) -> list[Scored]:
    """At most `cap` chunks of a document, in order."""
    marks = ", ".join("?" * len(found))
    owner = (
        dict(
            database.rows(
                f"SELECT chunk_id, document_id FROM chunks WHERE chunk_id IN ({marks})", [chunk for chunk, _ in found]
            )
        )
        if found
        else {}
    )
    taken: dict[int, int] = {}
    kept = []
    for chunk, cosine in found:
        document = owner[chunk]
        taken[document] = taken.get(document, 0) + 1
        if not cap or taken[document] <= cap:
            kept.append(Scored(chunk, max(0.0, min(1.0, cosine))))
    return kept
