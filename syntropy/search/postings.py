"""Postings of one shard in memory: all of them where that pays, else those of the terms that were asked."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .engine import Facts
from .lexical import facts_of
from .strings import Strings

if TYPE_CHECKING:
    from ..store.database import Database, Shard

MAX_POSTINGS = 50_000_000
"""Entries kept at most over all shards, of 8 bytes each: half a million chunks of documentation."""

EAGER_POSTINGS = 2_000_000
"""Up to so many all are read at once, in about 0.1 s; more only on request (`load`)."""

MAX_FACTS = 100_000
"""Terms whose frequencies are remembered while not all postings are held."""

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
List = tuple[Ints, Floats]
"""Chunks of the shard, ascending, counted from 0, and the saturation of the term in each."""


class _All(NamedTuple):
    """Terms in order; each one's list lies in `chunks` and `saturations` between two bounds."""

    terms: Strings
    bounds: NDArray[np.int64]
    chunks: Ints
    saturations: Floats
    low: Floats
    high: Floats

    def place(self, term: str) -> int:
        """Of a term; -1 where it does not occur."""
        place = self.terms.find(term)
        return place if place < len(self.terms) and self.terms[place] == term else -1


class Postings:
    """Of one shard of a database. Thread-safe."""

    def __init__(self, database: Database, shard: Shard) -> None:
        self._database, self._shard = database, shard
        self._lock = threading.Lock()
        self._all: _All | None = None
        self._terms: OrderedDict[str, List] = OrderedDict()
        self._held = 0
        self._facts: dict[str, Facts | None] = {}
        self._table = f"{shard.schema}.postings"
        self.total = int(database.rows(f"SELECT coalesce(sum(df), 0) FROM {self._table}")[0][0])

    def load(self) -> None:
        """Read all postings, if that was not done yet."""
        with self._lock:
            if self._all is None:
                self._all = self._read()
                self._terms.clear()
                self._facts.clear()

    def facts(self, terms: Sequence[str]) -> dict[str, Facts]:
        """Those of the terms that the shard holds."""
        held = self._all
        if held is not None:
            places = {term: place for term in terms if (place := held.place(term)) >= 0}
            return {
                term: (int(held.bounds[p + 1] - held.bounds[p]), float(held.low[p]), float(held.high[p]))
                for term, p in places.items()
            }
        with self._lock:
            known = dict(self._facts)
        new = [term for term in dict.fromkeys(terms) if term not in known]
        if new:
            found = facts_of(self._database, new, table=self._table)
            with self._lock:
                if len(self._facts) > MAX_FACTS:
                    self._facts.clear()
                self._facts.update({term: found.get(term) for term in new})
            known.update(found)
        return {term: facts for term in terms if (facts := known.get(term))}

    def of(self, term: str) -> List:
        """A term's list; empty for one that occurs nowhere."""
        held = self._all
        if held is not None:
            place = held.place(term)
            first, last = (held.bounds[place], held.bounds[place + 1]) if place >= 0 else (0, 0)
            return held.chunks[first:last], held.saturations[first:last]
        with self._lock:
            known = self._terms.get(term)
            if known is not None:
                self._terms.move_to_end(term)
                return known
        columns = self._database.columns(
            f"SELECT unnest(chunk_ids) AS chunk, unnest(saturations) AS saturation FROM {self._table} WHERE term = ?",
            [term],
        )
        entry = (self._places(columns["chunk"]), columns["saturation"].astype(np.float32))
        with self._lock:
            if term not in self._terms:
                self._terms[term] = entry
                self._held += len(entry[0])
            while self._held > MAX_POSTINGS and len(self._terms) > 1:
                self._held -= len(self._terms.popitem(last=False)[1][0])
        return entry

    def _read(self) -> _All:
        """Rows come in the order of the file, which is that of the terms, for lists and facts alike."""
        facts = self._database.columns(f"SELECT term, df, low, high FROM {self._table} ORDER BY rowid")
        lists = self._database.columns(
            f"SELECT unnest(chunk_ids) AS chunk, unnest(saturations) AS saturation FROM {self._table} ORDER BY rowid"
        )
        return _All(
            Strings(facts["term"]),
            np.concatenate([[0], np.cumsum(facts["df"], dtype=np.int64)]),
            self._places(lists["chunk"]),
            np.ascontiguousarray(lists["saturation"], np.float32),
            np.ascontiguousarray(facts["low"], np.float32),
            np.ascontiguousarray(facts["high"], np.float32),
        )

    def _places(self, chunks: NDArray[np.int32]) -> Ints:
        return np.ascontiguousarray(chunks, np.int32) - np.int32(self._shard.first)
