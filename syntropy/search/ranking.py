"""The search use case: query, filters and mode to hits with their citations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ..contract.config import SearchConfig
from ..contract.errors import ConfigError, EncoderError, MissingDependencyError, UsageError
from ..contract.identity import well_formed
from ..contract.text import index_terms, name_of
from .absence import why_absent
from .filters import NO_FILTERS, SOURCES, Filters
from .fusion import FULL_SCORE, Candidate, boost, fuse, only
from .passages import Hit, LookUp
from .profiles import resolved_profile
from .query import QueryTerms, analyse, phrase_sql
from .second_look import look_again

if TYPE_CHECKING:
    from ..store.encoder import Encoder
    from .engine import Engine, Question, Scores

__all__ = ["MODES", "SOURCES", "Filters", "Hit", "Request", "Results", "run"]

MODES = ("auto", "fast", "semantic", "hybrid")

CANDIDATES = 200
"""Chunks taken from each ranking at least; more where a cap a document leaves too few hits."""

AUTO_WORDS = 3
"""`auto`: a query of up to this many words and no question mark is `fast` (Synaptic's seed, part 1)."""

MAX_LIMIT = 1_000

NOTHING_PASSES = "no document passes the filters"

ALIAS_SCORE = 0.99
"""Score of a document that has the query as its alias; 1 is left to a title that equals it."""


MOST_FILES = 3
"""Files of one name that are put first; `README.md` is not the name of one of fifty."""


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

    `mode` that answered; `terms` looked up, `unknown_terms` words, as typed, that the index lacks, `corrections` (word
    to the nearest one, searched in its place), `synonyms` added; `suggestions` what to try where nothing was
    found; `warning` what the caller should know (stale sources, no encoder). `not_here`: why the question has no answer
    here (see `absence`), empty where it seems to have one; the hits are what came nearest then.
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
    not_here: str = ""


def run(engine: Engine, request: Request, *, encoder: Callable[[], Encoder]) -> Results:
    """The best passages.

    Raises UsageError for a blank query or bad filters; EncoderError in `semantic` mode without an encoder (`hybrid`
    then says so and answers lexically).
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
    terms = analyse(engine, query, synonyms=settings.synonyms, correct=mode != "semantic")
    passing = _Passing.of(request.filters, terms)
    question = engine.question(terms.worth, vector)
    best = _best(engine, question, _Asked(query, mode, terms, bool(vector)), settings, passing)
    chunks = [candidate.chunk for candidate in best.candidates]
    starts = question.passages(chunks) if vector else {}
    looked_up = {*terms.weights, *terms.terms}
    look_up = LookUp(looked_up, terms.terms, best.named, starts, best.copies, request.neighbors)
    hits = engine.hydrate(best.candidates, look_up)
    nothing_passes = not hits and _nothing_passes(engine, request.filters)
    if nothing_passes:
        warning = "; ".join(filter(None, (warning, NOTHING_PASSES)))
    return Results(
        query,
        mode,
        hits,
        terms.terms,
        terms.unknown if mode != "semantic" else [],
        terms.corrections,
        tuple(terms.synonyms),
        () if hits else _suggestions(engine, terms),
        warning,
        NOTHING_PASSES if nothing_passes else _not_here(engine, mode, terms, settings, best, hits),
    )


def _not_here(
    engine: Engine, mode: str, terms: QueryTerms, settings: SearchConfig, best: _Best, hits: Sequence[Hit]
) -> str:
    """Why the question has no answer here. What bears the asked name is here, whatever its score."""
    if best.named:
        return ""
    limit = engine.threshold(mode, settings)
    return why_absent(hits[0].score if hits else 0.0, limit, terms.missing, terms.missing_share)


class _Asked(NamedTuple):
    """What decides the ranking besides settings and filters."""

    query: str
    mode: str
    terms: QueryTerms
    has_vector: bool


class _Passing(NamedTuple):
    """The condition that chunks must pass, and its parameters (see `engine.Question`)."""

    where: str
    parameters: list[object]

    @classmethod
    def of(cls, filters: Filters, terms: QueryTerms) -> _Passing:
        """Filters, and words that must stand next to each other."""
        where, parameters = filters.sql()
        if not terms.phrases:
            return cls(where, list(parameters))
        phrases, patterns = phrase_sql(terms.phrases)
        return cls(phrases if where == "true" else f"{where} AND {phrases}", [*parameters, *patterns])


class _Best(NamedTuple):
    """Candidates in their order; chunk -> why its document was put first; chunk -> documents it stands for."""

    candidates: list[Candidate]
    named: dict[int, str]
    copies: dict[int, set[int]]


def _best(engine: Engine, question: Question, asked: _Asked, settings: SearchConfig, passing: _Passing) -> _Best:
    """Candidates after boosts, names, threshold, cap and limit: deeper while there are too few."""
    keywords = {word.lower() for word in asked.query.split() if index_terms(word)}
    originals = engine.originals() if settings.fold_copies else {}
    depth = max(CANDIDATES, settings.limit * 2)
    while True:
        left, right = _candidates(question, asked, passing, depth)
        owners = engine.owners(list({chunk: None for side in (left, right) for chunk, _ in side}))
        found = _fused(question, asked, settings, left, right, owners)
        boost(found, {c: path for c, (_, path) in owners.items()}, keywords, settings)
        if settings.second_look:
            found = look_again(engine, found, asked.terms.terms, asked.terms.groups)
        found, named = _with_named(engine, asked, passing, found, owners)
        kept, copies = _selected(found, owners, originals, settings)
        if len(kept) >= settings.limit or (len(left) < depth and len(right) < depth):
            return _Best(kept[: settings.limit], named, copies)
        depth *= 4


def _candidates(question: Question, asked: _Asked, passing: _Passing, depth: int) -> tuple[Scores, Scores]:
    """The best of each ranking that the mode asks for."""
    where, parameters = passing
    lexical = asked.mode != "semantic"
    return (
        question.top_lexical(where=where, parameters=parameters, limit=depth) if lexical else [],
        question.top_semantic(where=where, parameters=parameters, limit=depth) if asked.has_vector else [],
    )


def _fused(
    question: Question,
    asked: _Asked,
    settings: SearchConfig,
    left: Scores,
    right: Scores,
    owners: Mapping[int, tuple[int, str]],
) -> list[Candidate]:
    """One ranking of both; each candidate gets the score that the other ranking would give it.

    The lexical score of a passage is a part of its own and a part of its whole document's: of equal passages that of
    the document on the subject is the better one.
    """
    if asked.mode == "semantic":
        return only("semantic", right)
    raw, cosines = dict(left), dict(right)
    raw |= question.lexical_scores([c for c in cosines if c not in raw])
    whole = question.document_scores(sorted({owners[chunk][0] for chunk in raw})) if settings.document_weight else {}
    most, part = asked.terms.best or 1.0, settings.document_weight
    shares = {
        chunk: min(FULL_SCORE, ((1 - part) * value + part * whole.get(owners[chunk][0], 0.0)) / most)
        for chunk, value in raw.items()
    }
    if asked.mode == "fast":
        return only("lexical", sorted(shares.items(), key=lambda entry: (-entry[1], entry[0])))
    cosines |= question.semantic_scores([c for c in raw if c not in cosines])
    cosines = {c: value for c, value in cosines.items() if value >= settings.semantic_floor or raw.get(c)}
    ranks = [{chunk: place for place, (chunk, _) in enumerate(side, 1)} for side in (left, right)]
    return fuse(shares, cosines, settings, lexical_ranks=ranks[0], semantic_ranks=ranks[1])


def _with_named(
    engine: Engine, asked: _Asked, passing: _Passing, found: list[Candidate], owners: dict[int, tuple[int, str]]
) -> tuple[list[Candidate], dict[int, str]]:
    """Documents whose title, alias or file name is the query come first, with their beginnings; `owners` grows."""
    bearers = engine.named(name_of(asked.query)) if asked.mode != "semantic" else []
    if not bearers:
        return found, {}
    firsts = engine.firsts([d for _, d in bearers], where=passing.where, parameters=passing.parameters)
    owners |= engine.owners([c for c in firsts.values() if c not in owners])
    scores = {"title": (FULL_SCORE, "title-exact"), "alias": (ALIAS_SCORE, "alias"), "file": (ALIAS_SCORE, "file")}
    files = {document for origin, document in bearers if origin == "file"}
    at = {c.chunk: c for c in found}
    named: dict[int, str] = {}
    for origin, document in bearers:
        if document not in firsts or (origin == "file" and len(files) > MOST_FILES):
            continue
        score, label = scores[origin]
        chunk = firsts[document]  # what is called by its name is shown from its beginning
        candidate = at.setdefault(chunk, Candidate(chunk))
        if candidate.score <= score:
            candidate.score = score
            named[chunk] = label
    order = sorted(
        at.values(), key=lambda c: (-c.score, named.get(c.chunk) != "title-exact", owners[c.chunk][1], c.chunk)
    )
    return order, named


def _selected(
    found: list[Candidate],
    owners: Mapping[int, tuple[int, str]],
    originals: Mapping[int, int],
    settings: SearchConfig,
) -> tuple[list[Candidate], dict[int, set[int]]]:
    """Candidates above the threshold, few a document, copies folded into the first; and what each stands for."""
    kept: list[Candidate] = []
    copies: dict[int, set[int]] = {}
    taken: dict[int, int] = {}
    shown: dict[int, tuple[int, int]] = {}  # original -> (document shown for it, its first chunk)
    for candidate in found:
        document = owners[candidate.chunk][0]
        first, chunk = shown.setdefault(originals.get(document, document), (document, candidate.chunk))
        if first != document:
            if candidate.score >= settings.threshold:
                copies.setdefault(chunk, set()).add(document)
            continue
        taken[document] = taken.get(document, 0) + 1
        if candidate.score >= settings.threshold and (
            not settings.hits_per_document or taken[document] <= settings.hits_per_document
        ):
            kept.append(candidate)
    return kept, copies


def _nothing_passes(engine: Engine, filters: Filters) -> bool:
    """Are there filters that no document passes, whatever is asked?"""
    where, parameters = filters.sql()
    return where != "true" and not engine.passes(where=where, parameters=parameters)


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


def _suggestions(engine: Engine, terms: QueryTerms) -> tuple[str, ...]:
    """Titles that hold a word beginning like one of the query's; for an answer without hits."""
    return tuple(engine.suggestions([term[: max(3, len(term) * 2 // 3)] for term in terms.terms if len(term) >= 3]))
