"""The engine in memory, for readers that answer more than one query.

The same sums as `lexical` and `semantic` compute in SQL, by numpy: three words at 100k chunks take
well under a millisecond. A one-shot command never comes here, so it loads neither numpy nor the vectors.
"""

from __future__ import annotations

import bisect
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contract.text import idf
from .engine import Facts, Question, Scores
from .lexical import DOCUMENT_LENGTH, SATURATED
from .postings import Floats, Postings
from .second_look import Look, looks
from .sql_engine import SqlEngine, SqlQuestion

if TYPE_CHECKING:
    from ..store.database import Database

MAX_VECTOR_BYTES = 1_000_000_000
"""Larger matrices stay on disk and are scanned there."""

_MAX_FILTERS = 32

MAX_LOOKS = 20_000
"""Chunks whose texts are looked at when everything is loaded, in about a second, and remembered (20 MB)."""

Mask = NDArray[np.bool_]


class _Vectors(NamedTuple):
    """`matrix` [windows, dimension] by chunk; chunks that have windows and where each one's begin;
    each window's offset in its document."""

    matrix: Floats
    owners: NDArray[np.int32]
    starts: NDArray[np.int64]
    offsets: NDArray[np.int32]


class MemoryEngine(SqlEngine):
    """Of one database; what is not held (filters, vectors that are too many) is asked by SQL."""

    name = "memory"

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._size = database.chunk_count + 1  # chunks are numbered from 1
        self._postings = Postings(database)
        self._masks: OrderedDict[tuple[str, tuple[object, ...]], Mask] = OrderedDict()
        self._vectors: _Vectors | None = None
        self._owners: tuple[list[int], list[str]] | None = None
        self._looks: dict[int, Look] = {}
        self._lengths: tuple[NDArray[np.int32], NDArray[np.float64]] | None = None
        self._names: dict[str, list[tuple[str, int]]] | None = None
        self._originals: dict[int, int] | None = None
        self._lock = threading.Lock()

    def question(self, weights: Mapping[str, float], vector: Sequence[float]) -> Question:
        """See `engine.Engine`."""
        return MemoryQuestion(self, weights, vector)

    def load(self, *, vectors: bool) -> None:
        """All postings, if they fit into memory, and all vectors, if those are wanted and do."""
        self._postings.load()
        if not self._looks and self.database.chunk_count <= MAX_LOOKS:
            found = looks(self.database)
            with self._lock:
                self._looks = found
        if vectors and self.holds_vectors:
            self._matrix()

    def facts(self, terms: Sequence[str]) -> dict[str, Facts]:
        """As `lexical.facts_of`."""
        return self._postings.facts(terms)

    @property
    def holds_vectors(self) -> bool:
        """Whether the vectors fit into memory; else they are scanned on disk."""
        facts = self.database.meta
        return int(facts["windows"]) * int(facts["vector_dimension"]) * 4 <= MAX_VECTOR_BYTES

    def named(self, name: str) -> list[tuple[str, int]]:
        """As `SqlEngine.named`."""
        with self._lock:
            if self._names is None:
                self._names = {}
                for known, origin, document in self.database.rows(
                    "SELECT name, origin, document_id FROM names ORDER BY name, origin, document_id"
                ):
                    self._names.setdefault(known, []).append((origin, document))
        return self._names.get(name, [])

    def firsts(self, documents: Sequence[int], *, where: str, parameters: Sequence[object]) -> dict[int, int]:
        """As `SqlEngine.firsts`."""
        if where != "true":
            return super().firsts(documents, where=where, parameters=parameters)
        of_chunks = self._documents_and_paths()[0]  # ascending, as chunks are numbered by document
        places = {document: bisect.bisect_left(of_chunks, document) for document in documents}
        return {d: place for d, place in places.items() if place < len(of_chunks) and of_chunks[place] == d}

    def originals(self) -> dict[int, int]:
        """As `SqlEngine.originals`."""
        with self._lock:
            if self._originals is None:
                self._originals = super().originals()
        return self._originals

    def looks(self, chunks: Sequence[int]) -> dict[int, Look]:
        """As `SqlEngine.looks`, remembered."""
        with self._lock:
            known = {chunk: look for chunk in chunks if (look := self._looks.get(chunk))}
        if lacking := [chunk for chunk in chunks if chunk not in known]:
            found = looks(self.database, lacking)
            known |= found
            with self._lock:
                if len(self._looks) < MAX_LOOKS:
                    self._looks.update(found)
        return known

    def owners(self, chunks: Sequence[int]) -> dict[int, tuple[int, str]]:
        """chunk -> (document, path)."""
        documents, paths = self._documents_and_paths()
        return {chunk: (documents[chunk], paths[chunk]) for chunk in chunks}

    def _documents_and_paths(self) -> tuple[list[int], list[str]]:
        """By chunk; place 0 is not a chunk's."""
        with self._lock:
            if self._owners is None:
                rows = self.database.rows("SELECT document_id, path FROM chunks ORDER BY chunk_id")
                self._owners = ([0, *(d for d, _ in rows)], ["", *(p for _, p in rows)])
            return self._owners

    def impacts(self, weights: Mapping[str, float]) -> Floats:
        """Summed impacts of all chunks, FLOAT32 [chunks + 1]."""
        total = np.zeros(self._size, np.float32)
        for term, weight in weights.items():
            chunks, impacts = self._postings.of(term)
            total[chunks] += impacts if weight == 1.0 else impacts * np.float32(weight)
        return total

    def document_impacts(self, weights: Mapping[str, float]) -> Floats:
        """Impacts of all documents, FLOAT32 [documents + 1]; see `lexical.document_scores`."""
        owners, norm = self._owners_and_norms()
        total = np.zeros(len(norm), np.float32)
        for term, weight in weights.items():
            chunks, impacts = self._postings.of(term)
            if len(chunks):
                most = idf(self.database.chunk_count, len(chunks))
                share = np.minimum(impacts / most, SATURATED)
                held = np.bincount(owners[chunks], weights=share / (1 - share), minlength=len(norm)) / norm
                total += (weight * most * held / (1 + held)).astype(np.float32)
        return total

    def _owners_and_norms(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The document of each chunk, and how much each document's length counts; places 0 are nobody's."""
        documents = self._documents_and_paths()[0]
        with self._lock:
            if self._lengths is None:
                owners = np.asarray(documents, np.int32)
                total = int(self.database.meta["documents"])
                chunks = np.bincount(owners[1:], minlength=total + 1)
                mean = self.database.chunk_count / max(1, total)
                norms: NDArray[np.float64] = np.asarray(
                    1 - DOCUMENT_LENGTH + DOCUMENT_LENGTH * chunks / mean, np.float64
                )
                self._lengths = (owners, norms)
            return self._lengths

    def cosines(self, vector: Sequence[float]) -> Floats:
        """Cosines of all chunks' best windows, FLOAT32 [chunks + 1]; -3 where a chunk has none."""
        held = self._matrix()
        cosines = np.full(self._size, -3.0, np.float32)
        if len(held.starts):
            cosines[held.owners] = np.maximum.reduceat(held.matrix @ np.asarray(vector, np.float32), held.starts)
        return cosines

    def nearest_windows(self, vector: Sequence[float], chunks: Sequence[int]) -> dict[int, int]:
        """chunk -> where its window begins that is nearest to the vector."""
        held = self._matrix()
        query = np.asarray(vector, np.float32)
        found = {}
        for chunk in chunks:
            place = int(np.searchsorted(held.owners, chunk))
            if place < len(held.owners) and held.owners[place] == chunk:
                first = held.starts[place]
                last = held.starts[place + 1] if place + 1 < len(held.starts) else len(held.matrix)
                found[chunk] = int(held.offsets[first + int(np.argmax(held.matrix[first:last] @ query))])
        return found

    def best(self, scores: Floats, above: float, where: str, parameters: Sequence[object], limit: int) -> Scores:
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

    def _mask(self, where: str, parameters: Sequence[object]) -> Mask:
        key = (where, tuple(parameters))
        with self._lock:
            if key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key]
        columns = self.database.columns(
            f"SELECT chunk_id FROM chunks c JOIN documents d USING (document_id) WHERE {where}", list(parameters)
        )
        mask = np.zeros(self._size, bool)
        mask[columns["chunk_id"]] = True
        with self._lock:
            self._masks[key] = mask
            while len(self._masks) > _MAX_FILTERS:
                self._masks.popitem(last=False)
        return mask

    def _matrix(self) -> _Vectors:
        with self._lock:
            if self._vectors is None:
                self._vectors = self._read_vectors()
            return self._vectors

    def _read_vectors(self) -> _Vectors:
        dimension, windows = int(self.database.meta["vector_dimension"]), int(self.database.meta["windows"])
        matrix = np.empty((windows, dimension), np.float32)
        owners, offsets = np.empty(windows, np.int32), np.empty(windows, np.int32)
        for start in range(0, windows, _BLOCK):
            block = f"FROM windows WHERE rowid >= {start} AND rowid < {start + _BLOCK} ORDER BY rowid"
            values: dict[str, Any] = self.database.columns(f"SELECT unnest(vector) AS x FROM (SELECT vector {block})")
            matrix[start : start + _BLOCK] = values["x"].reshape(-1, dimension)
            rows = self.database.columns(f"SELECT chunk_id, char_start {block}")
            owners[start : start + _BLOCK] = rows["chunk_id"]
            offsets[start : start + _BLOCK] = rows["char_start"]
        starts = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]])) if windows else np.empty(0, int)
        return _Vectors(matrix, owners[starts], starts.astype(np.int64), offsets)


class MemoryQuestion(SqlQuestion):
    """A question whose sums over all chunks are made once, however often it is put."""

    def __init__(self, engine: MemoryEngine, weights: Mapping[str, float], vector: Sequence[float]) -> None:
        super().__init__(engine.database, weights, vector)
        self._engine = engine

    def top_lexical(self, *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """As `lexical.top`."""
        return self._engine.best(self._impacts, 0.0, where, parameters, limit)

    def lexical_scores(self, chunks: Sequence[int]) -> dict[int, float]:
        """As `lexical.scores_of`."""
        return {chunk: float(self._impacts[chunk]) for chunk in chunks if self._impacts[chunk] > 0}

    def document_scores(self, documents: Sequence[int]) -> dict[int, float]:
        """As `lexical.document_scores`."""
        return {d: float(self._documents[d]) for d in documents if self._documents[d] > 0}

    def top_semantic(self, *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """As `semantic.top`, always exact."""
        if not self._engine.holds_vectors:
            return super().top_semantic(where=where, parameters=parameters, limit=limit)
        return self._engine.best(self._cosines, -2.0, where, parameters, limit)

    def semantic_scores(self, chunks: Sequence[int]) -> dict[int, float]:
        """As `semantic.scores_of`."""
        if not self._engine.holds_vectors:
            return super().semantic_scores(chunks)
        return {chunk: float(self._cosines[chunk]) for chunk in chunks if self._cosines[chunk] > -2}

    def passages(self, chunks: Sequence[int]) -> dict[int, int]:
        """As `semantic.passages`."""
        if not self._engine.holds_vectors:
            return super().passages(chunks)
        return self._engine.nearest_windows(self._vector, chunks)

    @cached_property
    def _impacts(self) -> Floats:
        return self._engine.impacts(self._weights)

    @cached_property
    def _documents(self) -> Floats:
        return self._engine.document_impacts(self._weights)

    @cached_property
    def _cosines(self) -> Floats:
        return self._engine.cosines(self._vector)


_BLOCK = 8_192
"""Windows read at a time, so that reading needs little more than the matrix itself."""
