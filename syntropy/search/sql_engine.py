"""The engine that asks the file: every look-up is one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from . import lexical, semantic
from .engine import Facts, Question, Scores
from .lexical import numbers
from .second_look import Look, looks

if TYPE_CHECKING:
    from ..store.database import Database


class SqlQuestion:
    """A question answered by statements. Methods: see `engine.Question`."""

    def __init__(self, database: Database, weights: Mapping[str, float], vector: Sequence[float]) -> None:
        self._database, self._weights, self._vector = database, weights, vector

    def top_lexical(self, *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """See `engine.Question`."""
        return lexical.top(self._database, self._weights, where=where, parameters=parameters, limit=limit)

    def lexical_scores(self, chunks: Sequence[int]) -> dict[int, float]:
        """See `engine.Question`."""
        return lexical.scores_of(self._database, self._weights, chunks)

    def document_scores(self, documents: Sequence[int]) -> dict[int, float]:
        """See `engine.Question`."""
        return lexical.document_scores(self._database, self._weights, documents)

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

    def question(self, weights: Mapping[str, float], vector: Sequence[float]) -> Question:
        """See `engine.Engine`."""
        return SqlQuestion(self.database, weights, vector)

    def load(self, *, vectors: bool) -> None:
        """Nothing: the file is all it needs."""

    def facts(self, terms: Sequence[str]) -> dict[str, Facts]:
        """Frequencies and impacts of those terms that the index holds."""
        return lexical.facts_of(self.database, terms)

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

    def owners(self, chunks: Sequence[int]) -> dict[int, tuple[int, str]]:
        """chunk -> (document, path)."""
        if not chunks:
            return {}
        rows = self.database.rows(
            f"SELECT chunk_id, document_id, path FROM chunks WHERE chunk_id IN ({numbers(chunks)})"
        )
        return {chunk: (document, path) for chunk, document, path in rows}
