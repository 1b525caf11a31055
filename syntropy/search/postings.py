"""Postings in memory: all of them where that pays, else those of the terms that were asked."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .engine import Facts
from .lexical import facts_of

if TYPE_CHECKING:
    from ..store.database import Database

MAX_POSTINGS = 50_000_000
"""Entries kept at most, of 8 bytes each: half a million chunks of documentation."""

EAGER_POSTINGS = 2_000_000
"""Up to so many all are read at once, in about 0.1 s; more only on request (`load`)."""

MAX_FACTS = 100_000
"""Terms whose frequencies are remembered while not all postings are held."""

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]
List = tuple[Ints, Floats]
"""Chunks, ascending, and the impact of the term in each."""


class _All(NamedTuple):
    """Every term's place, its list in `chunks` and `impacts` between two bounds, and its facts."""

    places: dict[str, int]
    bounds: list[int]
    chunks: Ints
    impacts: Floats
    low: list[float]
    high: list[float]


class Postings:
    """Of one database. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._all: _All | None = None
        self._terms: OrderedDict[str, List] = OrderedDict()
        self._held = 0
        self._facts: dict[str, Facts | None] = {}
        self._total = int(database.rows("SELECT coalesce(sum(df), 0) FROM postings")[0][0])
        if self._total <= EAGER_POSTINGS:
            self.load()

    def load(self) -> None:
        """Read all postings, if they fit and that was not done yet."""
        with self._lock:
            if self._all is None and self._total <= MAX_POSTINGS:
                self._all = self._read()
                self._terms.clear()
                self._facts.clear()

    def facts(self, terms: Sequence[str]) -> dict[str, Facts]:
        """Those of the terms that the index holds."""
        held = self._all
        if held is not None:
            places = {term: place for term in terms if (place := held.places.get(term)) is not None}
            return {
                term: (held.bounds[place + 1] - held.bounds[place], held.low[place], held.high[place])
                for term, place in places.items()
            }
        with self._lock:
            known = dict(self._facts)
        new = [term for term in dict.fromkeys(terms) if term not in known]
        if new:
            found = facts_of(self._database, new)
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
            place = held.places.get(term)
            first, last = (held.bounds[place], held.bounds[place + 1]) if place is not None else (0, 0)
            return held.chunks[first:last], held.impacts[first:last]
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

    def _read(self) -> _All:
        """Rows come in the order of the file for lists and facts alike."""
        terms = self._database.rows("SELECT term, df, min_impact, max_impact FROM postings ORDER BY rowid")
        lists = self._database.columns(
            "SELECT unnest(chunk_ids) AS chunk, unnest(impacts) AS impact FROM postings ORDER BY rowid"
        )
        bounds = np.concatenate([[0], np.cumsum([row[1] for row in terms], dtype=np.int64)])
        return _All(
            {row[0]: place for place, row in enumerate(terms)},
            bounds.tolist(),
            np.ascontiguousarray(lists["chunk"], np.int32),
            np.ascontiguousarray(lists["impact"], np.float32),
            [row[2] for row in terms],
            [row[3] for row in terms],
        )
