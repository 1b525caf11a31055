"""Which canonical entities a text is about: the Episteme seed's two phases.

1. Words without stop words, stemmed (pairs of characters for scripts without spaces): an entity that shares
none with its names and tags is out. 2. A composite score of what is shared, each word weighing its rarity
among the entities:

    score = 0.7 · best share of a name + 0.2 · share of the tags + 0.1 · share of the summary

An entity's id or whole name in the text scores 1.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..contract.text import index_terms, name_of

AUTO_LINK = 0.5
"""From this score on a link is made; below it is suggested (the seed)."""

SUGGEST = 0.25
MAX_LINKS = 5
_NAME, _TAGS, _SUMMARY = 0.7, 0.2, 0.1


COMMON_WORD = 0.45
"""At most, where all that is shared is a name of one common word, written as any word: suggested, not linked."""


def _is_a_name(name: str, text: str) -> bool:
    """Does a text that holds a name mean it as one? One word must be an id, be spelled as a name, or be no English."""
    if " " in name.strip() or any(c.isdigit() or c in "-_." for c in name) or not name.isascii():
        return True
    word = re.escape(name.strip())
    if re.search(rf"\b{word}\s+(?:pattern|smell|principle|law|refactoring|method)\b", text, re.IGNORECASE):
        return True
    # a capital that no beginning of a sentence demands
    return re.search(rf"(?<=[\w,;:)] ){word.capitalize()}\b", text) is not None


class Link(NamedTuple):
    """An entity, how sure the link is (0-1), and the words it rests on."""

    entity: str
    title: str
    score: float
    words: tuple[str, ...]


@dataclass(frozen=True)
class Entity:
    """What linking needs of a canonical entity."""

    id: str
    title: str
    names: tuple[str, ...]
    tags: tuple[str, ...] = ()
    summary: str = ""


@dataclass
class Linker:
    """An index over all entities; made once for many texts."""

    entities: Sequence[Entity]
    _by_term: dict[str, list[int]] = field(default_factory=dict)
    _names: list[list[frozenset[str]]] = field(default_factory=list)
    _tags: list[frozenset[str]] = field(default_factory=list)
    _summaries: list[frozenset[str]] = field(default_factory=list)
    _weights: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        frequency: Counter[str] = Counter()
        for number, entity in enumerate(self.entities):
            names = [terms for name in (entity.title, *entity.names) if (terms := frozenset(index_terms(name)))]
            tags = frozenset(term for tag in entity.tags for term in index_terms(tag))
            self._names.append(names)
            self._tags.append(tags)
            self._summaries.append(frozenset(index_terms(entity.summary)))
            own = tags.union(*names) if names else tags
            frequency.update(own)
            for term in own:
                self._by_term.setdefault(term, []).append(number)
        total = len(self.entities) or 1
        self._weights = {term: math.log(1 + total / count) for term, count in frequency.items()}

    def links(self, text: str) -> list[Link]:
        """Entities by score, best first, down to `SUGGEST`."""
        terms = frozenset(index_terms(text))
        spelled = f" {name_of(text)} "
        candidates = {number for term in terms for number in self._by_term.get(term, ())}
        found = []
        for number in candidates:
            entity = self.entities[number]
            names = {n: name_of(n) for n in (entity.id, entity.title, *entity.names)}
            said = [n for n, name in names.items() if name and f" {name} " in spelled]
            sure = any(_is_a_name(n, text) for n in said)
            score = 1.0 if sure else max(self._score(number, terms), SUGGEST) if said else self._score(number, terms)
            score = min(score, COMMON_WORD) if said and not sure else score
            if score >= SUGGEST:
                own = self._tags[number].union(*self._names[number])
                found.append(Link(entity.id, entity.title, round(score, 4), tuple(sorted(terms & own))))
        found.sort(key=lambda link: (-link.score, link.entity))
        return found[:MAX_LINKS]

    def _score(self, number: int, terms: frozenset[str]) -> float:
        name = max((self._share(names, terms) for names in self._names[number]), default=0.0)
        tags, summary = self._share(self._tags[number], terms), self._share(self._summaries[number], terms)
        return _NAME * name + _TAGS * tags + _SUMMARY * summary

    def _share(self, wanted: frozenset[str], terms: frozenset[str]) -> float:
        total = sum(self._weights.get(term, 1.0) for term in wanted)
        return sum(self._weights.get(term, 1.0) for term in wanted & terms) / total if total else 0.0
