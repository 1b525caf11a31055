"""Search by vectors: an exact scan, or the HNSW index where it pays and nothing is filtered.

A filter and HNSW do not go together: DuckDB filters after the index and silently loses hits. A hit's
score is the cosine between query and the chunk's best window, cut at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..store.database import HNSW_PAYS, OutOfMemoryError
from .engine import Scores
from .lexical import numbers

if TYPE_CHECKING:
    from ..store.database import Database

_EXACT_SQL = """
SELECT chunk_id, max(array_inner_product(vector, ?::VARCHAR::FLOAT[{dimension}])) AS cosine
FROM windows {narrowed} GROUP BY chunk_id ORDER BY cosine DESC, chunk_id LIMIT {limit}
"""

_NARROWED = "WHERE chunk_id IN (SELECT chunk_id FROM chunks c JOIN documents d USING (document_id) WHERE {where})"

_HNSW_SQL = """
SELECT chunk_id, max(1 - distance) AS cosine FROM ({nearest})
GROUP BY chunk_id ORDER BY cosine DESC, chunk_id LIMIT {limit}
"""

_NEAREST_SQL = """(
    SELECT chunk_id, array_cosine_distance(vector, ?::VARCHAR::FLOAT[{dimension}]) AS distance
    FROM {schema}.windows ORDER BY distance LIMIT {windows}
)"""

_PASSAGE_SQL = """
SELECT chunk_id, arg_max(char_start, array_inner_product(vector, ?::VARCHAR::FLOAT[{dimension}]))
FROM windows WHERE chunk_id IN ({chunks}) GROUP BY chunk_id
"""


def top(database: Database, vector: Sequence[float], *, where: str, parameters: Sequence[object], limit: int) -> Scores:
    """The chunks nearest to a unit vector. `where` as in `lexical.top`; "true" means no filter."""
    dimension = int(database.meta["vector_dimension"])
    hnsw = database.has_vss and database.meta.get("hnsw") == "true" and int(database.meta["windows"]) >= HNSW_PAYS
    if where == "true" and hnsw:
        # a chunk may hold many of the nearest windows
        nearest = " UNION ALL ".join(
            _NEAREST_SQL.format(dimension=dimension, schema=shard.schema, windows=limit * 8)
            for shard in database.shards
        )
        try:
            return database.rows(
                _HNSW_SQL.format(nearest=nearest, limit=limit), [as_text(vector)] * len(database.shards)
            )
        except OutOfMemoryError:
            database.without_index()
    narrowed = "" if where == "true" else _NARROWED.format(where=where)
    sql = _EXACT_SQL.format(dimension=dimension, narrowed=narrowed, limit=limit)
    return database.rows(sql, [as_text(vector), *parameters])


def scores_of(database: Database, vector: Sequence[float], chunks: Sequence[int]) -> dict[int, float]:
    """Cosines of given chunks' best windows."""
    if not chunks:
        return {}
    sql = _EXACT_SQL.format(
        dimension=int(database.meta["vector_dimension"]),
        narrowed=f"WHERE chunk_id IN ({numbers(chunks)})",
        limit=len(chunks),
    )
    return dict(database.rows(sql, [as_text(vector)]))


def passages(database: Database, vector: Sequence[float], chunks: Sequence[int]) -> dict[int, int]:
    """Where in the document the window of each chunk that is nearest to the vector begins."""
    if not chunks:
        return {}
    sql = _PASSAGE_SQL.format(dimension=int(database.meta["vector_dimension"]), chunks=numbers(chunks))
    return dict(database.rows(sql, [as_text(vector)]))


def as_text(vector: Sequence[float]) -> str:
    """A vector as DuckDB reads it from a string: 3.6 ms of CPU against 36 as a list parameter."""
    return "[" + ",".join(map(repr, vector)) + "]"
