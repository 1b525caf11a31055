"""The search use case: query, filters and mode to hits with their citations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from . import lexical, semantic
from .analysis import index_terms
from .errors import UsageError
from .ids import Citation, well_formed
from .schema import KINDS, SCOPES

if TYPE_CHECKING:
    from .index import Database

SOURCES = {
    "patterns": ("pattern", "example"),
    "prps": ("prp",),
    "memories": ("memory",),
    "rules": ("rule",),
    "docs": ("doc",),
}
"""The knowledge-index seed's source names, and `docs`; each means one or two kinds."""

MODES = ("fast", "semantic")
SNIPPET_LENGTH = 240
_MAX_LIMIT = 1_000


class Encoder(Protocol):
    """Turns a query into a unit vector."""

    def encode(self, query: str) -> list[float]: ...


@dataclass(frozen=True)
class Filters:
    """What hits must be; empty fields allow all. `sources` are names of SOURCES."""

    sources: Sequence[str] = ()
    kinds: Sequence[str] = ()
    scope: str = ""

    def sql(self) -> tuple[str, list[object]]:
        """(condition over `d`, parameters); ("true", []) where nothing is filtered.

        Raises UsageError for names that do not exist.
        """
        _known("source", self.sources, SOURCES)
        _known("kind", self.kinds, KINDS)
        _known("scope", [self.scope] if self.scope else [], SCOPES)
        parts: list[str] = []
        parameters: list[object] = []
        for kinds in ([k for s in self.sources for k in SOURCES[s]], list(self.kinds)):
            if kinds:
                parts.append(f"d.kind IN ({', '.join('?' * len(kinds))})")
                parameters += kinds
        if self.scope:
            parts.append("d.scope = ?")
            parameters.append(self.scope)
        return " AND ".join(parts) or "true", parameters


@dataclass(frozen=True)
class Hit:
    """One passage. `score` lies in 0-1: see `lexical` (fast) and `semantic` for its meaning."""

    score: float
    citation: Citation
    kind: str
    scope: str
    key: str
    title: str
    headings: str
    snippet: str
    tags: tuple[str, ...]
    chunk_id: int
    text: str = field(repr=False, default="")

    def as_dict(self) -> dict[str, object]:
        """Plain data for JSON output, in a fixed order of keys."""
        return {
            "score": round(self.score, 4),
            "citation": str(self.citation),
            "path": self.citation.path,
            "line_start": self.citation.line_start,
            "line_end": self.citation.line_end,
            "package": self.citation.package,
            "kind": self.kind,
            "scope": self.scope,
            "key": self.key,
            "title": self.title,
            "headings": self.headings,
            "snippet": self.snippet,
            "tags": list(self.tags),
        }


@dataclass(frozen=True)
class Results:
    """Hits, best first, and what was tried: the mode, the terms looked up, those the index lacks."""

    query: str
    mode: str
    hits: list[Hit]
    terms: list[str]
    unknown_terms: list[str]
    warning: str = ""
    """Set where the sources of a local project changed since the build."""


def search(
    database: Database,
    query: str,
    *,
    mode: str,
    filters: Filters,
    limit: int,
    threshold: float,
    hits_per_document: int,
    encoder: Callable[[], Encoder],
) -> Results:
    """The best passages. Raises UsageError for a blank query or bad filters, EncoderError (semantic)."""
    query = well_formed(query)
    if not query.strip():
        raise UsageError("the query is empty", hint='say what you look for, e.g. syntropy search "retry webhooks"')
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}", hint=f"choose one of: {', '.join(MODES)}")
    if not 1 <= limit <= _MAX_LIMIT:
        raise UsageError(f"limit {limit} is out of range", hint=f"give 1 to {_MAX_LIMIT}")
    if not 0.0 <= threshold <= 1.0:
        raise UsageError(f"threshold {threshold} is out of range", hint="give 0 to 1")
    where, parameters = filters.sql()
    terms: list[str] = []
    known: list[str] = []
    if mode == "fast":
        ranked = lexical.rank(database, query, where=where, parameters=parameters, cap=hits_per_document, limit=limit)
        scored, terms, known = ranked.hits, ranked.terms, ranked.known
    else:
        vector = encoder().encode(query)
        scored = semantic.rank_by_vector(
            database, vector, where=where, parameters=parameters, cap=hits_per_document, limit=limit
        )
    kept = [s for s in scored if s.score >= threshold]
    return Results(query, mode, _hydrate(database, kept, query), terms, [t for t in terms if t not in known])


def _hydrate(database: Database, scored: list[lexical.Scored], query: str) -> list[Hit]:
    if not scored:
        return []
    marks = ", ".join("?" * len(scored))
    rows = database.rows(
        f"SELECT c.chunk_id, d.package, d.commit, d.path, c.line_start, c.line_end, d.kind, d.scope, d.key, d.title, "
        "c.headings, c.body, d.document_id FROM chunks c JOIN documents d USING (document_id) "
        f"WHERE c.chunk_id IN ({marks})",
        [s.chunk_id for s in scored],
    )
    by_id = {row[0]: row for row in rows}
    documents = sorted({row[12] for row in rows})
    tags: dict[int, list[str]] = {}
    for document, tag in database.rows(
        f"SELECT document_id, tag FROM tags WHERE document_id IN ({', '.join('?' * len(documents))}) "
        "ORDER BY document_id, position",
        documents,
    ):
        tags.setdefault(document, []).append(tag)
    terms = set(index_terms(query))
    hits = []
    for chunk_id, score in scored:
        _, package, commit, path, start, end, kind, scope, key, title, headings, body, document = by_id[chunk_id]
        hits.append(
            Hit(
                score,
                Citation(package, commit, path, start, end),
                kind,
                scope,
                key,
                title,
                headings,
                snippet(body, terms),
                tuple(tags.get(document, ())),
                chunk_id,
                body,
            )
        )
    return hits


def snippet(body: str, terms: set[str], length: int = SNIPPET_LENGTH) -> str:
    """The stretch of about `length` characters that holds the most distinct query terms, on one line."""
    lines = [line.strip() for line in body.splitlines() if line.strip()]
    found = [terms.intersection(index_terms(line)) if terms else set() for line in lines]
    best, best_count = 0, 0
    for start in (number for number, hits in enumerate(found) if hits):
        seen: set[str] = set()
        size = 0
        for line, hits in zip(lines[start:], found[start:], strict=True):
            if size >= length:
                break
            seen |= hits
            size += len(line) + 1
        if len(seen) > best_count:
            best, best_count = start, len(seen)
        if best_count == len(terms):
            break
    text = " ".join(lines[best:])
    if len(text) <= length:
        return text
    start = _first_match(text, terms) if lines and len(lines[best]) > length else 0
    start = max(0, text.rfind(" ", 0, max(0, start - length // 3)) + 1)
    cut = text[start : start + length]
    if start + length < len(text):
        cut = (cut.rpartition(" ")[0] or cut) + "…"
    return ("…" if start else "") + cut


def _first_match(text: str, terms: set[str]) -> int:
    position = 0
    for word in text.split():
        if terms.intersection(index_terms(word)):
            return text.find(word, position)
        position += len(word)
    return 0


def _known(what: str, given: Sequence[str], known: object) -> None:
    names = list(known)  # type: ignore[call-overload]
    for name in given:
        if name not in names:
            raise UsageError(f"unknown {what} {name!r}", hint=f"choose from: {', '.join(names)}")
