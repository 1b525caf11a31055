"""Words of insights and notes: stemmed as in the search database, pairs of characters where nothing separates words."""

from __future__ import annotations

import array
import json
import operator
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..contract.text import idf, index_terms

if TYPE_CHECKING:
    from .store import NotesStore

MAX_ASKED = 8
"""Rarest terms of a query that candidates are looked up by; all of them count in the score."""

COMMON = 0.25
"""A term in a larger share of all rows (and more than `CANDIDATES`) finds no candidates, unless there is no other."""

NEAR = 0.3
"""Cosine from which the bundled model's vectors mean something like the same (its see-also threshold is higher)."""

CANDIDATES = 200
"""Hits of the full-text index that are looked at."""


def lexical_shares(store: NotesStore, kind: str, query: str) -> dict[str, float]:
    """key -> share (0-1) of the query's information in its terms; any text is a safe query."""
    terms = [term for term in dict.fromkeys(index_terms(query)) if '"' not in term][:64]
    if not terms:
        return {}
    # rows, not their numbers: each edit makes a new number, and would move the scores of all that was not edited
    total = int(store.rows("SELECT (SELECT count(*) FROM user_entities) + (SELECT count(*) FROM entries)")[0][0])
    marks = ", ".join("?" * len(terms))
    counted = store.rows(f"SELECT term, doc FROM syntropy_vocabulary WHERE term IN ({marks})", terms)
    frequency = {row[0]: row[1] for row in counted}
    weights = {term: idf(max(total, frequency.get(term, 0)), frequency.get(term, 0)) for term in terms}
    rare = sorted((term for term in terms if term in frequency), key=lambda term: (frequency[term], term))
    asked = [term for term in rare if frequency[term] <= max(CANDIDATES, total * COMMON)] or rare[:1]
    if not asked:
        return {}
    rows = store.rows(
        "SELECT key, terms FROM syntropy_terms WHERE syntropy_terms MATCH ? AND kind = ? ORDER BY rank LIMIT ?",
        ("terms : (" + " OR ".join(f'"{term}"' for term in asked[:MAX_ASKED]) + ")", kind, CANDIDATES),
    )
    best = sum(weights.values())
    shares = {}
    for row in rows:
        own = set(row["terms"].split())
        shares[row["key"]] = min(1.0, sum(weight for term, weight in weights.items() if term in own) / best)
    return shares


def cosines(rows: Iterable[Sequence[Any]], vector: Sequence[float]) -> dict[str, float]:
    """key -> likeness (-1 to 1) of the query's vector and a row's, from rows of (key, float32 bytes)."""
    if not vector:
        return {}
    found = {}
    for key, embedding in rows:
        other = array.array("f")
        other.frombytes(embedding[: len(embedding) // 4 * 4])
        if len(other) == len(vector):
            found[str(key)] = sum(map(operator.mul, vector, other))
    return found


def blended(shares: Mapping[str, float], near: Mapping[str, float]) -> dict[str, float]:
    """Words and meaning, half each; what shares no word must be at least `NEAR`."""
    scores = {key: share / 2 for key, share in shares.items()}
    for key, cosine in near.items():
        if cosine >= NEAR or key in scores:
            scores[key] = min(1.0, scores.get(key, 0.0) + max(0.0, cosine) / 2)
    return scores


def index_entry(connection: Any, kind: str, key: str, text: str, tags: Sequence[str]) -> None:
    """Replace the terms of an insight or entry."""
    connection.execute("DELETE FROM syntropy_terms WHERE kind = ? AND key = ?", (kind, key))
    terms = " ".join(index_terms(f"{text} {' '.join(tags)}"))
    connection.execute("INSERT INTO syntropy_terms (kind, key, terms) VALUES (?, ?, ?)", (kind, key, terms))


def index_missing(connection: sqlite3.Connection) -> None:
    """Terms of rows that another program wrote."""
    for kind, table in (("insight", "user_entities"), ("note", "entries")):
        rows = connection.execute(
            f"SELECT id, content, tags FROM {table} WHERE CAST(id AS TEXT) NOT IN "
            "(SELECT key FROM syntropy_terms WHERE kind = ?)",
            (kind,),
        ).fetchall()
        for row in rows:
            try:
                tags = json.loads(row[2] or "[]")
            except ValueError:
                tags = str(row[2]).split(",")
            index_entry(connection, kind, str(row[0]), row[1] or "", tags if isinstance(tags, list) else [])
