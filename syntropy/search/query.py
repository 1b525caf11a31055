"""A query taken apart: what is looked up, with which weight, and what was done for words found nowhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..contract.text import identifier_text, idf, index_terms, is_unspaced, words

if TYPE_CHECKING:
    from ..store.database import Database
    from .engine import Engine

SYNONYM_SHARE = 0.9
"""All synonyms of a word together weigh less than the weakest hit of the word itself, by this factor."""

LONE_SYNONYM_WEIGHT = 0.5
"""Weight of synonyms of a word that occurs nowhere."""

CORRECTED_WEIGHT = 0.8
"""Weight of the term searched in place of a misspelt one."""

_PHRASE = re.compile(r'"([^"]{2,})"')
_PHRASE_FIELDS = ("title", "headings", "body")
_WORD_BREAK = r"[^\p{L}\p{N}_]+"


@dataclass
class QueryTerms:
    """`weights`: term to weight; `best`: the highest score the query's own words could reach.

    `terms` are the query's own, `unknown` those the index lacks; `corrections` (word, nearest term);
    `synonyms` terms that were added; `phrases` as typed.
    """

    weights: dict[str, float] = field(default_factory=dict)
    terms: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    corrections: dict[str, str] = field(default_factory=dict)
    synonyms: list[str] = field(default_factory=list)
    phrases: list[str] = field(default_factory=list)
    best: float = 0.0


def analyse(engine: Engine, query: str, *, synonyms: bool, correct: bool) -> QueryTerms:
    """Terms of a query with their weights. A word counts as often as it is written (as BM25 has it)."""
    # Pairs of characters stand for a longer run, whose neighbours in the text are not spaces.
    own = Counter(term for term in index_terms(query) if not (len(term) > 2 and is_unspaced(term)))
    for term in index_terms(identifier_text(query)):
        own.setdefault(term, 1)
    found = QueryTerms(terms=list(own), phrases=_phrases(query))
    groups = {term: _synonyms_of(term, engine.database.synonym_groups) for term in own} if synonyms else {}
    facts = engine.facts([*own, *(s for group in groups.values() for s in group)])
    misspelt = [term for term in own if term not in facts]
    for term, times in own.items():
        if term in facts:
            found.weights[term] = float(times)
        else:
            found.unknown.append(term)
        frequency = facts[term][0] if term in facts else 0
        found.best += times * idf(engine.database.chunk_count, frequency)
        added = [s for s in groups.get(term, ()) if s in facts and s not in own]
        if not added:
            continue
        strongest = sum(facts[s][2] for s in added)
        weight = (
            times * min(LONE_SYNONYM_WEIGHT, SYNONYM_SHARE * facts[term][1] / strongest)
            if term in facts
            else LONE_SYNONYM_WEIGHT
        )
        for synonym in added:
            found.weights[synonym] = max(found.weights.get(synonym, 0.0), weight)
            found.synonyms.append(synonym)
        if term in misspelt:
            misspelt.remove(term)
    if correct:
        for term in misspelt:
            if nearest := _nearest(engine.database, term):
                found.corrections[term] = nearest
                found.weights.setdefault(nearest, CORRECTED_WEIGHT)
    return found


def _phrases(query: str) -> list[str]:
    """Quoted words that must stand together: those that make at least half of a query.

    A question of many words that quotes two of them (CISI has such) does not ask for these two only.
    """
    found = [phrase for phrase in _PHRASE.findall(query) if index_terms(phrase)]
    return found if 2 * sum(len(words(phrase)) for phrase in found) >= len(words(query)) else []


def phrase_sql(phrases: Sequence[str]) -> tuple[str, list[object]]:
    """(condition over `c`, parameters): each phrase's words stand next to each other in title, headings or text."""
    patterns = [_pattern(words(phrase)) for phrase in phrases]
    anywhere = " OR ".join(f"regexp_matches(lower(strip_accents(c.{name})), ?)" for name in _PHRASE_FIELDS)
    condition = " AND ".join(f"({anywhere})" for _ in patterns) or "true"
    return condition, [pattern for pattern in patterns for _ in _PHRASE_FIELDS]


def _pattern(phrase: Sequence[str]) -> str:
    """Words with something between them and around them; scripts without spaces have nothing around a word."""
    before = "" if is_unspaced(phrase[0][0]) else rf"(^|{_WORD_BREAK})"
    behind = "" if is_unspaced(phrase[-1][-1]) else rf"($|{_WORD_BREAK})"
    return before + _WORD_BREAK.join(map(re.escape, phrase)) + behind


def _synonyms_of(term: str, groups: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(s for group in groups if term in group for s in group if s != term))


def _nearest(database: Database, term: str) -> str:
    """The term nearest to one that occurs nowhere: one edit from 4 letters on, two from 8."""
    if len(term) < 4 or not term.isalpha():
        return ""
    edits = 1 if len(term) < 8 else 2
    rows = database.rows(
        # A word keeps its first or its last letter; comparing all words takes ten times as long.
        "SELECT term FROM postings WHERE (left(term, 1) = ? OR right(term, 1) = ?) AND length(term) BETWEEN ? AND ? "
        "AND damerau_levenshtein(term, ?) <= ? AND NOT regexp_matches(term, '[0-9_]') "
        "ORDER BY damerau_levenshtein(term, ?), term[1] = ? DESC, df DESC, term LIMIT 1",
        [term[0], term[-1], len(term) - edits, len(term) + edits, term, edits, term, term[0]],
    )
    return str(rows[0][0]) if rows else ""
