"""The engine in memory, for readers that answer more than one query.

The same sums as `lexical` and `semantic` compute in SQL, by numpy: three words at 100k chunks take
well under a millisecond. A one-shot command never comes here, so it loads neither numpy nor the vectors.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contract.shards import STRIDE
from .engine import Facts, Question, Scores
from .lexical import DOCUMENT_LENGTH, SATURATED, merged_facts
from .postings import EAGER_POSTINGS, MAX_POSTINGS, Floats, Postings
from .second_look import Look, looks
from .sql_engine import SqlEngine, SqlQuestion
from .strings import Strings

if TYPE_CHECKING:
    from ..store.database import Database

MAX_VECTOR_BYTES = 1_000_000_000
"""Larger matrices stay on disk and are scanned there."""

_MAX_FILTERS = 32

MAX_LOOKS = 20_000
"""Chunks whose texts are looked at when everything is loaded, in about a second, and remembered (20 MB)."""

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]


class _Places:
    """Numbers of chunks (or documents), which leave room between shards, to places in arrays, from 0, and back."""

    def __init__(self, counts: Sequence[int], shards: Sequence[int]) -> None:
        """`counts` of each shard, by the shards' numbers."""
        self.starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self._shards = np.asarray(shards, np.int64)
        self._shift = np.zeros(int(self._shards.max()) + 1, np.int64)
        self._shift[self._shards] = self._shards * STRIDE + 1 - self.starts[:-1]

    def of(self, numbers: Any) -> Ints:
        """Places of numbers."""
        given = np.asarray(numbers, np.int64)
        return given - self._shift[given // STRIDE]

    def numbers(self, places: Any) -> Ints:
        """Numbers of places."""
        shard = np.searchsorted(self.starts, places, side="right") - 1
        return np.asarray(places + self._shift[self._shards[shard]], np.int64)


class _Owners(NamedTuple):
    """By place: each chunk's document; where each document's chunks begin; paths of documents."""

    documents: NDArray[np.int32]
    starts: Ints
    paths: Strings


class _Names(NamedTuple):
    """Sorted names, and the (origin, document) of each."""

    names: Strings
    origins: list[str]
    documents: NDArray[np.int32]


class _Vectors(NamedTuple):
    """`matrix` [windows, dimension] by chunk; places of chunks that have windows and where each one's begin;
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
        shards = [shard.first // STRIDE for shard in database.shards]
        self._chunks = _Places([shard.chunks for shard in database.shards], shards)
        self._documents = _Places([shard.documents for shard in database.shards], shards)
        self._size = int(self._chunks.starts[-1])
        self._postings = [Postings(database, shard) for shard in database.shards]
        self._total = sum(part.total for part in self._postings)
        if self._total <= EAGER_POSTINGS:
            self._load_postings()
        self._masks: OrderedDict[tuple[str, tuple[object, ...]], Mask] = OrderedDict()
        self._vectors: _Vectors | None = None
        self._owners: _Owners | None = None
        self._looks: dict[int, Look] = {}
        self._norms: NDArray[np.float64] | None = None
        self._names: _Names | None = None
        self._originals: dict[int, int] | None = None
        self._lock = threading.Lock()

    def question(self, worth: Mapping[str, float], vector: Sequence[float]) -> Question:
        """See `engine.Engine`."""
        return MemoryQuestion(self, worth, vector)

    def load(self, *, vectors: bool) -> None:
        """All postings, if they fit into memory, and all vectors, if those are wanted and do."""
        self._load_postings()
        if not self._looks and self.database.chunk_count <= MAX_LOOKS:
            found = looks(self.database)
            with self._lock:
                self._looks = found
        if vectors and self.holds_vectors:
            self._matrix()

    def facts(self, terms: Sequence[str]) -> dict[str, Facts]:
        """As `lexical.facts_of`."""
        return merged_facts(part.facts(terms) for part in self._postings)

    def _load_postings(self) -> None:
        if self._total <= MAX_POSTINGS:
            for part in self._postings:
                part.load()

    @property
    def holds_vectors(self) -> bool:
        """Whether the vectors fit into memory; else they are scanned on disk."""
        facts = self.database.meta
        return int(facts["windows"]) * int(facts["vector_dimension"]) * 4 <= MAX_VECTOR_BYTES

    def named(self, name: str) -> list[tuple[str, int]]:
        """As `SqlEngine.named`."""
        with self._lock:
            if self._names is None:
                rows = self.database.columns(
                    "SELECT name, origin, document_id FROM names ORDER BY name, origin, document_id"
                )
                self._names = _Names(Strings(rows["name"]), list(rows["origin"]), rows["document_id"])
            held = self._names
        place, found = held.names.find(name), []
        while place < len(held.names) and held.names[place] == name:
            found.append((held.origins[place], int(held.documents[place])))
            place += 1
        return found

    def firsts(self, documents: Sequence[int], *, where: str, parameters: Sequence[object]) -> dict[int, int]:
        """As `SqlEngine.firsts`."""
        if where != "true":
            return super().firsts(documents, where=where, parameters=parameters)
        held = self._owned()
        places = self._documents.of(documents)
        has_chunks = held.starts[places + 1] > held.starts[places]
        chunks = self._chunks.numbers(held.starts[places])
        return {d: int(chunk) for d, chunk, has in zip(documents, chunks, has_chunks, strict=True) if has}

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
        held = self._owned()
        places = held.documents[self._chunks.of(chunks)]
        documents = self._documents.numbers(places)
        return {
            chunk: (int(document), held.paths[place])
            for chunk, document, place in zip(chunks, documents, places, strict=True)
        }

    def _owned(self) -> _Owners:
        with self._lock:
            if self._owners is None:
                rows = self.database.columns(
                    "SELECT d.document_id, coalesce(any_value(c.path), '') AS path, count(c.chunk_id) AS chunks "
                    "FROM documents d LEFT JOIN chunks c USING (document_id) GROUP BY ALL ORDER BY d.document_id"
                )
                counts = rows["chunks"].astype(np.int64)
                self._owners = _Owners(
                    np.repeat(np.arange(len(counts), dtype=np.int32), counts),
                    np.concatenate([[0], np.cumsum(counts)]),
                    Strings(rows["path"]),
                )
            return self._owners

    def sums(self, worth: Mapping[str, float]) -> Floats:
        """Scores of all chunks, FLOAT32 [chunks]."""
        total = np.zeros(self._size, np.float32)
        for start, end, part in zip(self._chunks.starts, self._chunks.starts[1:], self._postings, strict=False):
            own = total[start:end]
            for term, value in worth.items():
                chunks, saturations = part.of(term)
                own[chunks] += saturations * np.float32(value)
        return total

    def document_sums(self, worth: Mapping[str, float]) -> NDArray[np.float64]:
        """Scores of all documents, FLOAT64 [documents]; see `lexical.document_scores`."""
        held, norms = self._owned(), self._document_norms()
        total = np.zeros(len(norms), np.float64)
        for number, part in enumerate(self._postings):
            first, last = self._documents.starts[number : number + 2]
            owners = held.documents[self._chunks.starts[number] : self._chunks.starts[number + 1]] - np.int32(first)
            own, norm = total[first:last], norms[first:last]
            for term in sorted(worth):
                chunks, saturations = part.of(term)
                if len(chunks):
                    share = np.minimum(saturations, np.float32(SATURATED)).astype(np.float64)
                    odds = np.bincount(owners[chunks], weights=share / (1 - share), minlength=len(norm)) / norm
                    own += worth[term] * odds / (1 + odds)
        return total

    def _document_norms(self) -> NDArray[np.float64]:
        """How much each document's length counts."""
        held = self._owned()
        with self._lock:
            if self._norms is None:
                mean = self.database.chunk_count / max(1, int(self.database.meta["documents"]))
                lengths = np.diff(held.starts)
                self._norms = np.asarray(1 - DOCUMENT_LENGTH + DOCUMENT_LENGTH * lengths / mean, np.float64)
            return self._norms

    def cosines(self, vector: Sequence[float]) -> Floats:
        """Cosines of all chunks' best windows, FLOAT32 [chunks]; -3 where a chunk has none."""
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
        for chunk, of_chunk in zip(chunks, self._chunks.of(chunks), strict=True):
            place = int(np.searchsorted(held.owners, of_chunk))
            if place < len(held.owners) and held.owners[place] == of_chunk:
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
        return list(zip(self._chunks.numbers(chunks[order]).tolist(), found[order].tolist(), strict=True))

    def at(self, scores: Any, chunks: Sequence[int], above: float) -> dict[int, float]:
        """Scores of given chunks, those above a floor."""
        return _above(chunks, scores[self._chunks.of(chunks)], above)

    def at_documents(self, scores: Any, documents: Sequence[int]) -> dict[int, float]:
        """Scores of given documents, those above 0."""
        return _above(documents, scores[self._documents.of(documents)], 0.0)

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
        mask[self._chunks.of(columns["chunk_id"])] = True
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
        done = 0
        for shard in self.database.shards:
            for start in range(0, shard.windows, _BLOCK):
                rowids = f"rowid >= {start} AND rowid < {start + _BLOCK}"
                block = f"FROM {shard.schema}.windows WHERE {rowids} ORDER BY rowid"
                values = self.database.columns(f"SELECT unnest(vector) AS x FROM (SELECT vector {block})")
                rows = self.database.columns(f"SELECT chunk_id, char_start {block}")
                end = done + len(rows["chunk_id"])
                matrix[done:end] = values["x"].reshape(-1, dimension)
                owners[done:end] = self._chunks.of(rows["chunk_id"])
                offsets[done:end] = rows["char_start"]
                done = end
        starts = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]])) if windows else np.empty(0, int)
        return _Vectors(matrix, owners[starts], starts.astype(np.int64), offsets)


class MemoryQuestion(SqlQuestion):
    """A question whose sums over all chunks are made once, however often it is put."""

    def __init__(self, engine: MemoryEngine, worth: Mapping[str, float], vector: Sequence[float]) -> None:
        super().__init__(engine, worth, vector)
        self._engine = engine

    def top_lexical(self, *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """As `lexical.top`."""
        return self._engine.best(self._sums, 0.0, where, parameters, limit)

    def lexical_scores(self, chunks: Sequence[int]) -> dict[int, float]:
        """As `lexical.scores_of`."""
        return self._engine.at(self._sums, chunks, 0.0)

    def document_scores(self, documents: Sequence[int]) -> dict[int, float]:
        """As `lexical.document_scores`."""
        return self._engine.at_documents(self._documents, documents)

    def top_semantic(self, *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """As `semantic.top`, always exact."""
        if not self._engine.holds_vectors:
            return super().top_semantic(where=where, parameters=parameters, limit=limit)
        return self._engine.best(self._cosines, -2.0, where, parameters, limit)

    def semantic_scores(self, chunks: Sequence[int]) -> dict[int, float]:
        """As `semantic.scores_of`."""
        if not self._engine.holds_vectors:
            return super().semantic_scores(chunks)
        return self._engine.at(self._cosines, chunks, -2.0)

    def passages(self, chunks: Sequence[int]) -> dict[int, int]:
        """As `semantic.passages`."""
        if not self._engine.holds_vectors:
            return super().passages(chunks)
        return self._engine.nearest_windows(self._vector, chunks)

    @cached_property
    def _sums(self) -> Floats:
        return self._engine.sums(self._worth)

    @cached_property
    def _documents(self) -> NDArray[np.float64]:
        return self._engine.document_sums(self._worth)

    @cached_property
    def _cosines(self) -> Floats:
        return self._engine.cosines(self._vector)


def _above(numbers: Sequence[int], scores: Any, floor: float) -> dict[int, float]:
    return {n: float(score) for n, score in zip(numbers, scores.tolist(), strict=True) if score > floor}


_BLOCK = 8_192
"""Windows read at a time, so that reading needs little more than the matrix itself."""
