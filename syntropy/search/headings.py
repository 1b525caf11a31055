"""How much a name and a question are the same words; which heading of a passage is the one that was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..contract.text import index_terms

HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*)$", re.MULTILINE)

HEADING_LIKE = 0.5
"""Likeness from which a passage is shown from a heading on."""


def heading_asked(body: str, terms: Iterable[str]) -> int:
    """Offset of the heading within a passage that is most like the query, if it is like it at all; else -1."""
    asked = {term: {term} for term in terms}
    scored = [(likeness_of(found[1], asked), -found.start()) for found in HEADING.finditer(body)]
    best = max(scored, default=(0.0, 1))
    return -best[1] if best[0] >= HEADING_LIKE else -1


def likeness_of(name: str, asked: Mapping[str, set[str]]) -> float:
    """How much a name and the query are the same words (0-1): harmonic mean of the shares each has of the other."""
    own = set(index_terms(name))
    if not own:
        return 0.0
    held = sum(bool(own & meant) for meant in asked.values())
    said = sum(any(term in meant for meant in asked.values()) for term in own)
    return 2 * held * said / (held * len(own) + said * len(asked)) if held else 0.0
