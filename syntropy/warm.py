"""Postings and vectors in memory, for readers that answer more than one query.

The same sums as `lexical` and `semantic` compute in SQL, by numpy: three words at 100k chunks take
well under a millisecond. A one-shot command never comes here, so it loads neither numpy nor the vectors.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .lexical import Scores

if TYPE_CHECKING:
    from .index import Database

MAX_POSTINGS = 20_000_000
"""Entries of postings kept (8 bytes each) before the least recently used terms go."""

MAX_VECTOR_BYTES = 1_000_000_000
"""Larger matrices stay on disk and are scanned there."""

_MAX_FILTERS = 32

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


class Warm:
    """Of one database; made on its second query. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._size = database.chunk_count + 1  # chunks are numbered from 1
        self._terms: OrderedDict[str, tuple[NDArray[np.int32], Floats]] = OrderedDict()
        self._held = 0
        self._masks: OrderedDict[tuple[str, tuple[object, ...]], Mask] = OrderedDict()
        self._vectors: tuple[Floats, NDArray[np.int32], NDArray[np.int64]] | None = None
        self._lock = threading.Lock()

    def top_lexical(
        self, weights: Mapping[str, float], *, where: str, parameters: Sequence[object], limit: int
    ) -> Scores:
        """As `lexical.top`."""
        return self._best(self._added(weights), 0.0, where, parameters, limit)

    def lexical_scores(self, weights: Mapping[str, float], chunks: Sequence[int]) -> dict[int, float]:
        """As `lexical.scores_of`."""
        added = self._added(weights)
        return {chunk: float(added[chunk]) for chunk in chunks if added[chunk] > 0}

    @property
    def holds_vectors(self) -> bool:
        """Whether the vectors fit into memory; else they are scanned on disk."""
        facts = self._database.meta
        return int(facts["windows"]) * int(facts["vector_dimension"]) * 4 <= MAX_VECTOR_BYTES

    def load_vectors(self) -> None:
        """Read the vectors, if that was not done yet."""
        self._matrix()

    def top_semantic(self, vector: Sequence[float], *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """As `semantic.top`, always exact."""
        return self._best(self._cosines(vector), -2.0, where, parameters, limit)

    def semantic_scores(self, vector: Sequence[float], chunks: Sequence[int]) -> dict[int, float]:
        """As `semantic.scores_of`."""
        cosines = self._cosines(vector)
        return {chunk: float(cosines[chunk]) for chunk in chunks if cosines[chunk] > -2}

    def _added(self, weights: Mapping[str, float]) -> Floats:
        total = np.zeros(self._size, np.float32)
        for term, weight in weights.items():
            chunks, impacts = self._postings(term)
            total[chunks] += impacts if weight == 1.0 else impacts * np.float32(weight)
        return total

    def _cosines(self, vector: Sequence[float]) -> Floats:
        matrix, owners, starts = self._matrix()
        cosines = np.full(self._size, -3.0, np.float32)
        if len(starts):
            cosines[owners] = np.maximum.reduceat(matrix @ np.asarray(vector, np.float32), starts)
        return cosines

    def _best(self, scores: Floats, above: float, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """The highest scores above a floor, equal ones by chunk."""
        wanted = scores > above
        if where != "true":
            wanted &= self._mask(where, parameters)
        chunks = np.flatnonzero(wanted)
        found = scores[chunks]
        if len(chunks) > limit:
            # all that are as good as the last one, so that equal scores are cut by chunk
            last = np.partition(found, len(found) - limit)[len(found) - limit]
            keep = found >= last
            chunks, found = chunks[keep], found[keep]
        order = np.lexsort((chunks, -found))[:limit]
        return list(zip(chunks[order].tolist(), found[order].tolist(), strict=True))

    def _postings(self, term: str) -> tuple[NDArray[np.int32], Floats]:
        with self._lock:
            known = self._terms.get(term)
            if known is not None:
                self._terms.move_to_end(term)
                return known
        columns = self._database.columns(
            "SELECT unnest(chunk_ids) AS chunk, unnest(impacts) AS impact FROM postings WHERE term = ?", [term]
        )
        entry = (columns["chunk"].astype(np.int32), columns["impact"].astype(np.float32))
        with self._lock:
            if term not in self._terms:
                self._terms[term] = entry
                self._held += len(entry[0])
            while self._held > MAX_POSTINGS and len(self._terms) > 1:
                self._held -= len(self._terms.popitem(last=False)[1][0])
        return entry

    def _mask(self, where: str, parameters: Sequence[object]) -> Mask:
        key = (where, tuple(parameters))
        with self._lock:
            if key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key]
        columns = self._database.columns(
            f"SELECT chunk_id FROM chunks c JOIN documents d USING (document_id) WHERE {where}", list(parameters)
        )
        mask = np.zeros(self._size, bool)
        mask[columns["chunk_id"]] = True
        with self._lock:
            self._masks[key] = mask
            while len(self._masks) > _MAX_FILTERS:
                self._masks.popitem(last=False)
        return mask

    def _matrix(self) -> tuple[Floats, NDArray[np.int32], NDArray[np.int64]]:
        """[windows, dimension] by chunk; the chunks that have windows; where each one's begin."""
        with self._lock:
            if self._vectors is None:
                self._vectors = self._read_matrix()
            return self._vectors

    def _read_matrix(self) -> tuple[Floats, NDArray[np.int32], NDArray[np.int64]]:
        dimension, windows = int(self._database.meta["vector_dimension"]), int(self._database.meta["windows"])
        matrix = np.empty((windows, dimension), np.float32)
        owners = np.empty(windows, np.int32)
        for start in range(0, windows, _BLOCK):
            block: dict[str, Any] = self._database.columns(
                f"SELECT unnest(vector) AS x FROM (SELECT vector FROM windows WHERE rowid >= {start} "
                f"AND rowid < {start + _BLOCK} ORDER BY rowid)"
            )
            matrix[start : start + _BLOCK] = block["x"].reshape(-1, dimension)
            rows = self._database.columns(
                f"SELECT chunk_id FROM windows WHERE rowid >= {start} AND rowid < {start + _BLOCK} ORDER BY rowid"
            )
            owners[start : start + _BLOCK] = rows["chunk_id"]
        starts = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]])) if windows else np.empty(0, int)
        return matrix, owners[starts], starts.astype(np.int64)


_BLOCK = 8_192
"""Windows read at a time, so that reading needs little more than the matrix itself."""
