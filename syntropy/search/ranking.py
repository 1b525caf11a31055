"""The search use case: query, filters and mode to hits with their citations."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..contract.config import SearchConfig
from ..contract.errors import ConfigError, EncoderError, MissingDependencyError, UsageError
from ..contract.identity import well_formed
from ..contract.text import index_terms, name_of
from .filters import NO_FILTERS, SOURCES, Filters
from .fusion import FULL_SCORE, Candidate, boost, fuse, only
from .passages import Hit, hydrate
from .profiles import resolved_profile
from .query import QueryTerms, analyse, phrase_sql

if TYPE_CHECKING:
    from ..store.database import Database
    from ..store.encoder import Encoder
    from .sql_engine import Cold

__all__ = ["MODES", "SOURCES", "Filters", "Hit", "Request", "Results", "run"]

MODES = ("auto", "fast", "semantic", "hybrid")

CANDIDATES = 200
"""Chunks taken from each ranking at least; more where a cap a document leaves too few hits."""

AUTO_WORDS = 3
"""`auto`: a query of up to this many words and no question mark is `fast` (Synaptic's seed, part 1)."""

MAX_LIMIT = 1_000

ALIAS_SCORE = 0.99
"""Score of a document that has the query as its alias; 1 is left to a title that equals it."""


@dataclass(frozen=True)
class Request:
    """A query with all that decides its answer."""

    query: str
    settings: SearchConfig
    filters: Filters = NO_FILTERS
    neighbors: int = 0


@dataclass(frozen=True)
class Results:
    """Hits, best first, and what was tried.

    `mode` that answered; `terms` looked up, `unknown_terms` the index lacks, `corrections` (term to the
    nearest one, searched in its place), `synonyms` added; `suggestions` what to try where nothing was
    found; `warning` what the caller should know (stale sources, no encoder).
    """

    query: str
    mode: str
    hits: list[Hit]
    terms: list[str]
    unknown_terms: list[str]
    corrections: Mapping[str, str] = field(default_factory=dict)
    synonyms: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    warning: str = ""


def run(database: Database, request: Request, *, encoder: Callable[[], Encoder], tables: Callable[[], Cold]) -> Results:
    """The best passages.

    `tables` answers from the file or from memory. Raises UsageError for a blank query
    or bad filters; EncoderError in `semantic` mode without an encoder (`hybrid` then says so and answers
    lexically).
    """
    query = well_formed(request.query)
    settings = resolved_profile(request.settings)
    _check(query, settings, request.neighbors)
    mode, warning = _mode(query, settings.mode), ""
    vector: list[float] = []
    if mode in ("semantic", "hybrid"):
        try:
            vector = encoder().encode(query)
        except (EncoderError, MissingDependencyError, ConfigError) as error:
            if mode == "semantic":
                raise
            mode, warning = "fast", f"answered lexically: {error.message}"
    ranking = _Ranking(database, query, vector, mode, settings, request.filters, tables())
    candidates = ranking.best()
    hits = hydrate(
        database,
        candidates,
        terms=ranking.looked_up,
        named=ranking.named,
        starts=ranking.passages([c.chunk for c in candidates]),
        neighbors=request.neighbors,
        copies=ranking.copies,
    )
    if not hits and ranking.nothing_passes():
        warning = "; ".join(filter(None, (warning, "no document passes the filters")))
    terms = ranking.terms
    return Results(
        query,
        mode,
        hits,
        terms.terms,
        terms.unknown if mode != "semantic" else [],
        _as_written(terms.corrections, hits),
        tuple(terms.synonyms),
        () if hits else _suggestions(database, terms),
        warning,
    )


class _Ranking:
    """One query's way from terms and vector to the chunks shown."""

    def __init__(
        self,
        database: Database,
        query: str,
        vector: Sequence[float],
        mode: str,
        settings: SearchConfig,
        filters: Filters,
        tables: Cold,
    ) -> None:
        self._database, self._vector, self._settings, self._tables = database, vector, settings, tables
        self._query = query
        self._mode = mode
        self.terms: QueryTerms = analyse(tables, query, synonyms=settings.synonyms, correct=mode != "semantic")
        self.looked_up = {*self.terms.weights, *self.terms.terms}
        self._where, self._parameters = self._filters = filters.sql()
        if self.terms.phrases:
            phrases, patterns = phrase_sql(self.terms.phrases)
            self._where = phrases if self._where == "true" else f"{self._where} AND {phrases}"
            self._parameters = [*self._parameters, *patterns]
        self.named: dict[int, str] = {}
        self.copies: dict[int, set[int]] = {}

    def best(self) -> list[Candidate]:
        """Candidates after boosts, names, threshold, cap and limit."""
        settings = self._settings
        depth = max(CANDIDATES, settings.limit * 2)
        while True:
            found, complete = self._fused(depth)
            owners = self._tables.owners([c.chunk for c in found])
            boost(found, {c: path for c, (_, path) in owners.items()}, self._keywords(), settings)
            found = self._with_named(found, owners)
            kept: list[Candidate] = []
            taken: dict[int, int] = {}
            shown: dict[int, tuple[int, int]] = {}  # original -> (document shown for it, its first chunk)
            originals = self._tables.originals() if settings.fold_copies else {}
            self.copies = {}
            for candidate in found:
                document = owners[candidate.chunk][0]
                first, chunk = shown.setdefault(originals.get(document, document), (document, candidate.chunk))
                if first != document:
                    if candidate.score >= settings.threshold:
                        self.copies.setdefault(chunk, set()).add(document)
                    continue
                taken[document] = taken.get(document, 0) + 1
                if candidate.score >= settings.threshold and (
                    not settings.hits_per_document or taken[document] <= settings.hits_per_document
                ):
                    kept.append(candidate)
            if len(kept) >= settings.limit or complete:
                return kept[: settings.limit]
            depth *= 4

    def _fused(self, depth: int) -> tuple[list[Candidate], bool]:
        """Candidates of both rankings, and whether there are no others."""
        weights, where, parameters = self.terms.weights, self._where, self._parameters
        left = (
            self._tables.top_lexical(weights, where=where, parameters=parameters, limit=depth)
            if self._mode != "semantic"
            else []
        )
        right = (
            self._tables.top_semantic(self._vector, where=where, parameters=parameters, limit=depth)
            if self._vector
            else []
        )
        complete = len(left) < depth and len(right) < depth
        if self._mode == "semantic":
            return only("semantic", right), complete
        best = self.terms.best or 1.0
        if self._mode == "fast":
            return only("lexical", [(chunk, min(FULL_SCORE, value / best)) for chunk, value in left]), complete
        raw, cosines = dict(left), dict(right)
        raw |= self._tables.lexical_scores(weights, [c for c in cosines if c not in raw])
        cosines |= self._tables.semantic_scores(self._vector, [c for c in raw if c not in cosines])
        floor = self._settings.semantic_floor
        cosines = {c: value for c, value in cosines.items() if value >= floor or raw.get(c)}
        shares = {chunk: min(FULL_SCORE, value / best) for chunk, value in raw.items()}
        ranks = [{chunk: place for place, (chunk, _) in enumerate(side, 1)} for side in (left, right)]
        found = fuse(shares, cosines, self._settings, lexical_ranks=ranks[0], semantic_ranks=ranks[1])
        return found, complete

    def _with_named(self, found: list[Candidate], owners: dict[int, tuple[int, str]]) -> list[Candidate]:
        """Documents whose title or alias is the query come first, by their best (or first) chunk."""
        if self._mode == "semantic":
            return found
        bearers = self._tables.named(name_of(self._query))
        if not bearers:
            return found
        firsts = self._tables.firsts([d for _, d in bearers], where=self._where, parameters=self._parameters)
        owners |= self._tables.owners([c for c in firsts.values() if c not in owners])
        scores = {"title": (FULL_SCORE, "title-exact"), "alias": (ALIAS_SCORE, "alias")}
        at = {c.chunk: c for c in found}
        for origin, document in bearers:
            if document not in firsts:
                continue
            score, label = scores[origin]
            chunk = next((c.chunk for c in found if owners[c.chunk][0] == document), firsts[document])
            candidate = at.setdefault(chunk, Candidate(chunk))
            if candidate.score <= score:
                candidate.score = score
                self.named[chunk] = label
        return sorted(at.values(), key=lambda c: (-c.score, self.named.get(c.chunk) != "title-exact", c.chunk))

    def nothing_passes(self) -> bool:
        """Are there filters that no document passes, whatever is asked?"""
        where, parameters = self._filters
        return where != "true" and not self._database.rows(
            f"SELECT 1 FROM documents d WHERE {where} LIMIT 1", parameters
        )

    def passages(self, chunks: list[int]) -> dict[int, int]:
        """Where the window of each chunk that is nearest to the query begins; empty without a vector."""
        return self._tables.passages(self._vector, chunks) if self._vector else {}

    def _keywords(self) -> set[str]:
        return {word.lower() for word in self._query.split() if index_terms(word)}


def _check(query: str, settings: SearchConfig, neighbors: int) -> None:
    if not query.strip():
        raise UsageError("the query is empty", hint='say what you look for, e.g. syntropy search "retry webhooks"')
    if settings.mode not in MODES:
        raise UsageError(f"unknown mode {settings.mode!r}", hint=f"choose one of: {', '.join(MODES)}")
    if not 1 <= settings.limit <= MAX_LIMIT:
        raise UsageError(f"limit {settings.limit} is out of range", hint=f"give 1 to {MAX_LIMIT}")
    if settings.hits_per_document < 0:
        raise UsageError(
            f"{settings.hits_per_document} hits a document are out of range", hint="give 0 (no cap) or more"
        )
    if not 0.0 <= settings.threshold <= 1.0:
        raise UsageError(f"threshold {settings.threshold} is out of range", hint="give 0 to 1")
    if not 0 <= neighbors <= 10:
        raise UsageError(f"{neighbors} neighbours are out of range", hint="give 0 to 10")


def _mode(query: str, mode: str) -> str:
    if mode != "auto":
        return mode
    return "fast" if len(query.split()) <= AUTO_WORDS and "?" not in query else "hybrid"


def _as_written(corrections: Mapping[str, str], hits: Sequence[Hit]) -> dict[str, str]:
    """Corrections with a word as it stands in a hit instead of its stem."""
    shown = {}
    for term, nearest in corrections.items():
        words = (word for hit in hits for word in f"{hit.title} {hit.text}".split())
        shown[term] = next((w.strip(string.punctuation).lower() for w in words if index_terms(w) == [nearest]), nearest)
    return shown


def _suggestions(database: Database, terms: QueryTerms) -> tuple[str, ...]:
    """Titles that hold a word beginning like one of the query's; for an answer without hits."""
    stems = [term[: max(3, len(term) * 2 // 3)] for term in terms.terms if len(term) >= 3]
    if not stems:
        return ()
    condition = " OR ".join("contains(' ' || name, ' ' || ?)" for _ in stems)
    rows = database.rows(f"SELECT DISTINCT name FROM names WHERE {condition} ORDER BY name LIMIT 5", stems)
    return tuple(name for (name,) in rows)
