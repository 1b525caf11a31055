"""How much a name and a question are the same words; which heading of a passage is the one that was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..contract.text import index_terms

HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*)$", re.MULTILINE)

HEADING_LIKE, HEADING_SAME = 0.5, 0.75
"""Likeness from which a heading says where to look in a passage, and from which its section is what was asked for."""


class Asked(NamedTuple):
    """The heading within a passage that is most like the query. `start`: its offset; -1 where none is like it."""

    start: int
    text: str
    likeness: float


def heading_asked(body: str, terms: Iterable[str]) -> Asked:
    """That heading, if it is like the query at all."""
    asked = {term: {term} for term in terms}
    best = Asked(-1, "", 0.0)
    for found in HEADING.finditer(body):
        likeness = likeness_of(frozenset(index_terms(found[1])), asked)
        if likeness >= HEADING_LIKE and likeness > best.likeness:
            best = Asked(found.start(), found[1].strip(), likeness)
    return best


def likeness_of(own: frozenset[str], asked: Mapping[str, set[str]]) -> float:
    """How much a name (its terms) and the query are the same words (0-1): harmonic mean of the shares each has of the
    other. `asked`: each of the query's terms with all that it may be called."""
    if not own:
        return 0.0
    held = sum(not own.isdisjoint(meant) for meant in asked.values())
    if not held:
        return 0.0
    said = len(own.intersection(set().union(*asked.values())))
    return 2 * held * said / (held * len(own) + said * len(asked))
