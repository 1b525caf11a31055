"""The tables of a database as its file has them: every question is one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from . import lexical, semantic
from .lexical import Facts, Scores, numbers

if TYPE_CHECKING:
    from ..store.database import Database


class Cold:
    """Rankings and look-ups by SQL; `warm.Warm` answers the same from memory."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def facts(self, terms: Sequence[str]) -> dict[str, Facts]:
        """Frequencies and impacts of those terms that the index holds."""
        return lexical.facts_of(self.database, terms)

    def top_lexical(
        self, weights: Mapping[str, float], *, where: str, parameters: Sequence[object], limit: int
    ) -> Scores:
        """The best chunks by summed impacts. `where`: see `lexical.TOP_SQL`."""
        return lexical.top(self.database, weights, where=where, parameters=parameters, limit=limit)

    def lexical_scores(self, weights: Mapping[str, float], chunks: Sequence[int]) -> dict[int, float]:
        """Summed impacts of given chunks; those without any are left out."""
        return lexical.scores_of(self.database, weights, chunks)

    def top_semantic(self, vector: Sequence[float], *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """The chunks nearest to a unit vector."""
        return semantic.top(self.database, vector, where=where, parameters=parameters, limit=limit)

    def semantic_scores(self, vector: Sequence[float], chunks: Sequence[int]) -> dict[int, float]:
        """Cosines of given chunks' best windows."""
        return semantic.scores_of(self.database, vector, chunks)

    def passages(self, vector: Sequence[float], chunks: Sequence[int]) -> dict[int, int]:
        """Where in the document the window of each chunk that is nearest to the vector begins."""
        return semantic.passages(self.database, vector, chunks)

    def named(self, name: str) -> list[tuple[str, int]]:
        """(origin, document) of the documents that have this name (`analysis.name_of`)."""
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

    def owners(self, chunks: Sequence[int]) -> dict[int, tuple[int, str]]:
        """chunk -> (document, path)."""
        if not chunks:
            return {}
        rows = self.database.rows(
            f"SELECT chunk_id, document_id, path FROM chunks WHERE chunk_id IN ({numbers(chunks)})"
        )
        return {chunk: (document, path) for chunk, document, path in rows}
