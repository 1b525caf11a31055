"""The engine that asks the file: every look-up is one statement."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from . import lexical, semantic
from .absence import threshold_of
from .engine import Facts, Question, Scores
from .fusion import Candidate
from .lexical import numbers
from .passages import Hit, LookUp, hydrate
from .second_look import Look, looks
from .spelling import Meant, meant

if TYPE_CHECKING:
    from ..contract.config import SearchConfig
    from ..store.database import Database


SUGGESTED = 5
"""Titles suggested where nothing was found."""

_HELD = "asked"

MOST_HELD = 64
"""Terms whose postings are held at a time: a question and its synonyms."""


class SqlQuestion:
    """A question answered by statements. Methods: see `engine.Question`."""

    def __init__(self, engine: SqlEngine, worth: Mapping[str, float], vector: Sequence[float]) -> None:
        self._of, self._database, self._worth, self._vector = engine, engine.database, worth, vector

    def top_lexical(self, *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """See `engine.Question`."""
        table = self._of.held(list(self._worth))
        return lexical.top(self._database, self._worth, where=where, parameters=parameters, limit=limit, table=table)

    def lexical_scores(self, chunks: Sequence[int]) -> dict[int, float]:
        """See `engine.Question`."""
        return lexical.scores_of(self._database, self._worth, chunks, table=self._of.held(list(self._worth)))

    def document_scores(self, documents: Sequence[int]) -> dict[int, float]:
        """See `engine.Question`."""
        return lexical.document_scores(self._database, self._worth, documents, table=self._of.held(list(self._worth)))

    def top_semantic(self, *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """See `engine.Question`."""
        return semantic.top(self._database, self._vector, where=where, parameters=parameters, limit=limit)

    def semantic_scores(self, chunks: Sequence[int]) -> dict[int, float]:
        """See `engine.Question`."""
        return semantic.scores_of(self._database, self._vector, chunks)

    def passages(self, chunks: Sequence[int]) -> dict[int, int]:
        """See `engine.Question`."""
        return semantic.passages(self._database, self._vector, chunks)


class SqlEngine:
    """Rankings and look-ups by SQL. Methods: see `engine.Engine`."""

    name = "sql"

    def __init__(self, database: Database) -> None:
        self.database = database
        self.chunk_count = database.chunk_count
        self._held = threading.local()

    def question(self, worth: Mapping[str, float], vector: Sequence[float]) -> Question:
        """See `engine.Engine`."""
        return SqlQuestion(self, worth, vector)

    def load(self, *, vectors: bool) -> None:
        """Nothing: the file is all it needs."""

    def facts(self, terms: Sequence[str]) -> dict[str, Facts]:
        """Frequencies and saturations of those terms that the index holds."""
        return lexical.facts_of(self.database, terms, table=self.held(terms))

    def held(self, terms: Sequence[str]) -> str:
        """A table of this thread that holds the postings of these terms, read once for all that is asked of them."""
        known: set[str] = getattr(self._held, "terms", set())
        new = [term for term in dict.fromkeys(terms) if term not in known]
        if new or not known:
            kept = bool(known) and len(known) + len(new) <= MOST_HELD
            wanted = new if kept else list(dict.fromkeys(terms))
            begin = f"INSERT INTO {_HELD}" if kept else f"CREATE OR REPLACE TEMP TABLE {_HELD} AS"
            marks = ", ".join("?" * len(wanted)) or "NULL"
            self.database.rows(f"{begin} SELECT * FROM postings WHERE term IN ({marks})", wanted)
            self._held.terms = (known if kept else set()) | set(wanted)
        return _HELD

    def named(self, name: str) -> list[tuple[str, int]]:
        """(origin, document) of the documents that have this name (`contract.text.name_of`)."""
        return self.database.rows("SELECT origin, document_id FROM names WHERE name = ? ORDER BY origin", [name])

    def firsts(self, documents: Sequence[int], *, where: str, parameters: Sequence[object]) -> dict[int, int]:
        """document -> its first chunk, of those with a chunk that passes the filter."""
        if not documents:
            return {}
        return dict(
            self.database.rows(
                "SELECT document_id, min(c.chunk_id) FROM chunks c JOIN documents d USING (document_id) "
                f"WHERE document_id IN ({numbers(documents)}) AND {where} GROUP BY document_id",
                parameters,
            )
        )

    def originals(self) -> dict[int, int]:
        """document -> the one it is a copy of, or nearly."""
        found = dict(
            self.database.rows(
                "SELECT from_id, to_id FROM relations WHERE type IN ('duplicate_of', 'near_duplicate_of') "
                "AND to_id IS NOT NULL ORDER BY from_id, type DESC, to_id"
            )
        )
        for document in found:
            while found[document] in found:  # a copy of a copy; originals come first, so this ends
                found[document] = found[found[document]]
        return found

    def looks(self, chunks: Sequence[int]) -> dict[int, Look]:
        """See `engine.Engine`."""
        return looks(self.database, chunks)

    @property
    def synonym_groups(self) -> tuple[tuple[str, ...], ...]:
        """See `engine.Engine`."""
        return self.database.synonym_groups

    def meant(self, word: str) -> Meant | None:
        """See `engine.Engine`."""
        return meant(self.database, word)

    def threshold(self, mode: str, settings: SearchConfig) -> float:
        """See `engine.Engine`."""
        return threshold_of(self.database.meta, mode, settings)

    def passes(self, *, where: str, parameters: Sequence[object]) -> bool:
        """See `engine.Engine`."""
        return bool(self.database.rows(f"SELECT 1 FROM documents d WHERE {where} LIMIT 1", parameters))

    def suggestions(self, beginnings: Sequence[str]) -> list[str]:
        """See `engine.Engine`."""
        condition = " OR ".join("contains(' ' || name, ' ' || ?)" for _ in beginnings)
        sql = (
            f"SELECT DISTINCT name FROM names WHERE origin <> 'file' AND ({condition}) ORDER BY name LIMIT {SUGGESTED}"
        )
        return [name for (name,) in self.database.rows(sql, beginnings)] if beginnings else []

    def hydrate(self, candidates: Sequence[Candidate], look_up: LookUp) -> list[Hit]:
        """See `engine.Engine`."""
        return hydrate(self.database, candidates, look_up)

    def owners(self, chunks: Sequence[int]) -> dict[int, tuple[int, str]]:
        """chunk -> (document, path)."""
        if not chunks:
            return {}
        rows = self.database.by_number("chunks", "chunk_id, document_id, path", "chunk_id", chunks)
        return {chunk: (document, path) for chunk, document, path in rows}
