"""A query taken apart: what is looked up, with which weight, and what was done for words found nowhere."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..contract.text import identifier_text, idf, index_terms, is_unspaced, words
from ..contract.vocabulary import QUERY_STOP_WORDS
from .absence import is_common
from .spelling import may_be_misspelt

if TYPE_CHECKING:
    from .engine import Engine, Facts

SYNONYM_SHARE = 0.9
"""All synonyms of a word together weigh less than the weakest hit of the word itself, by this factor."""

LONE_SYNONYM_WEIGHT = 0.5
"""Weight of synonyms of a word that occurs nowhere."""

CORRECTED_WEIGHT = 0.8
"""Weight of the term searched in place of a misspelt one."""

LONGEST_PHRASE = 50
"""Words of a phrase; longer quotations are taken for words (a pattern of 800 is refused by DuckDB)."""

_PHRASE = re.compile(r'"([^"]{2,})"')
_PHRASE_FIELDS = ("title", "headings", "body")
_WORD_BREAK = r"[^\p{L}\p{N}_]+"


@dataclass
class QueryTerms:
    """`weights`: term to weight; `best`: the highest score the query's own words could reach; `worth`: weight · idf.

    `terms` are the query's own; `unknown` words, as typed, that the index lacks; `corrections` (word, nearest one):
    such a word stays among the unknown ones; `synonyms` terms that were added, `groups` term to its synonyms;
    `phrases` as typed; `missing` the unknown words that say what the query is about (no common words, none that was
    corrected), `missing_share` (0-1) what they hold of its information.
    """

    weights: dict[str, float] = field(default_factory=dict)
    terms: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    corrections: dict[str, str] = field(default_factory=dict)
    synonyms: list[str] = field(default_factory=list)
    phrases: list[str] = field(default_factory=list)
    best: float = 0.0
    groups: dict[str, list[str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    missing_share: float = 0.0
    worth: dict[str, float] = field(default_factory=dict)


def analyse(engine: Engine, query: str, *, synonyms: bool, correct: bool) -> QueryTerms:
    """Terms of a query with their weights. A word counts as often as it is written (as BM25 has it)."""
    # Pairs of characters stand for a longer run, whose neighbours in the text are not spaces.
    typed = [word for part in told(query).split() if (word := part.strip(_MARKS))]
    plain = {word: _terms(word) for word in typed}
    parts = {word: index_terms(identifier_text(word)) for word in plain}
    own = Counter(term for word in typed for term in plain[word])
    for term in (term for word in typed for term in parts[word]):
        own.setdefault(term, 1)
    found = QueryTerms(phrases=_phrases(query))
    found.groups = groups = {term: _synonyms_of(term, engine.synonym_groups) for term in own} if synonyms else {}
    facts = engine.facts([*own, *(s for group in groups.values() for s in group)])
    chunks = engine.chunk_count
    found.unknown = [word for word in plain if _is_unknown(plain[word], parts[word], facts)]
    for term in {term for word in found.unknown for term in parts[word] if len(term) == 1 or term.isdigit()}:
        if not any(term in plain[word] for word in plain):  # `xk7q2` is not a question about 7
            del own[term]
    found.terms = list(own)
    for term, times in own.items():
        if term in facts:
            found.weights[term] = float(times)
        frequency = facts[term][0] if term in facts else 0
        found.best += times * idf(chunks, frequency)
        added = [s for s in groups.get(term, ()) if s in facts and s not in own]
        if not added:
            continue
        strongest = sum(idf(chunks, facts[s][0]) * facts[s][2] for s in added)
        weight = (
            times * min(LONE_SYNONYM_WEIGHT, SYNONYM_SHARE * idf(chunks, frequency) * facts[term][1] / strongest)
            if term in facts
            else LONE_SYNONYM_WEIGHT
        )
        for synonym in added:
            found.weights[synonym] = max(found.weights.get(synonym, 0.0), weight)
            found.synonyms.append(synonym)
    if correct:
        for word in found.unknown:
            if may_be_misspelt(word) and (nearest := engine.meant(word)):
                found.corrections[word] = nearest.word
                found.weights.setdefault(nearest.term, CORRECTED_WEIGHT)
                facts |= engine.facts([nearest.term])
                held = facts[nearest.term][0]  # what it would be worth, spelled right
                found.best -= own.get(plain[word][0], 0) * (idf(chunks, 0) - idf(chunks, held))
    gone = {word: [t for t in plain[word] if t not in facts and not is_common(t)] for word in found.unknown}
    found.missing = [word for word, terms in gone.items() if terms and word not in found.corrections]
    lost = {term for word in found.missing for term in gone[word] if term in own}
    if found.best:
        found.missing_share = sum(own[t] for t in lost) * idf(chunks, 0) / found.best
    found.worth = {term: weight * idf(chunks, facts[term][0]) for term, weight in found.weights.items()}
    return found


_MARKS = string.punctuation.replace("_", "") + "“”‘’«»…"
"""What stands around words as people type them."""


def _terms(word: str) -> list[str]:
    """Terms of a typed word. Pairs of characters stand for a longer run, whose neighbours are not spaces."""
    return [term for term in index_terms(word) if not (len(term) > 2 and is_unspaced(term))]


def _is_unknown(plain: Sequence[str], parts: Sequence[str], facts: Mapping[str, Facts]) -> bool:
    """Does the index lack a typed word? Of one with parts: its joined form, and one of the parts."""
    lacking = sum(term not in facts for term in plain)
    if not lacking:
        return False
    if is_unspaced(plain[0]):  # a whole sentence may be one run: it is unknown where most of it is
        return 4 * lacking > 3 * len(plain)
    return not (parts and len(plain) > 1 and parts[0] in facts)


_STOP = frozenset(QUERY_STOP_WORDS)
_QUOTED_OR_WORD = re.compile(r'"[^"]*"|\S+')


def told(query: str) -> str:
    """The query without the words of asking; as it is where nothing else remains. Quoted words stay."""
    parts = _QUOTED_OR_WORD.findall(query)
    shorter = " ".join(part for part in parts if part.startswith('"') or not _STOP.issuperset(words(part)))
    return shorter if index_terms(shorter) else query


def _phrases(query: str) -> list[str]:
    """Quoted words that must stand together: those that make at least half of a query.

    A question of many words that quotes two of them (CISI has such) does not ask for these two only.
    """
    found = [one for one in _PHRASE.findall(query) if index_terms(one) and len(words(one)) <= LONGEST_PHRASE]
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
