"""The best candidates looked at again, with their texts: what they are called, what they are, what they hold.

Scores of words and meaning do not know that a command is called what was asked, that the answering section was merged
under another heading, or that a passage only lists links. Each tells by a factor; the order follows from the products.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..contract.text import bare, index_terms, words
from ..contract.vocabulary import ENTITY_KINDS, ENTRY_KINDS
from .fusion import FULL_SCORE, Candidate
from .headings import HEADING, HEADING_SAME, likeness_of

if TYPE_CHECKING:
    from ..store.database import Database
    from .engine import Engine

LOOKED_AT = 40
"""Candidates looked at; those behind them keep their scores."""

NAMED_WEIGHT = 0.3
"""Most that is added for the name of an entry, entity or term: what is asked for by its name is what is meant."""

LEAD = 0.8
"""Share of a hollow leader's score (a table of contents, "See also", a heading with hardly a word under it) from which
another passage is put before it. A factor on all of them cost .003 nDCG@10: sometimes the contents are the answer."""

HOLLOW = 0.8
"""Factor of a hollow passage where another one of its document is a candidate, too."""

HEADING_WEIGHT = 0.3
"""Most that is added for a heading within a passage that is the query (`HEADING_SAME`): a section may have been merged
under another one. Less likeness tells nothing (-.005 nDCG@10 on our own sets)."""

FEWEST_WORDS = 4
"""Words besides headings that make a passage more than a stub."""

_SHORT = 400
"""Characters from which a passage has that many words."""

NAMED_KINDS = (*ENTRY_KINDS, *ENTITY_KINDS, "term")
SHORT_KINDS = (*NAMED_KINDS, "rule")
"""Kinds whose texts may be short."""

_LEADS_ON = re.compile(
    r"(?:table of )?contents|toc|see also|related(?: \w+)?|further (?:reading|information)|references|links|next steps|"
    r"resources|more",
    re.IGNORECASE,
)
_LINK_LINE = re.compile(r"\[[^\]]+\]\([^)]*\)|<?https?://\S+>?\s*$")


class Look(NamedTuple):
    """What the texts of a chunk say: its document; terms of its name, where that is what is asked for (entries,
    entities, terms); terms of each heading below the title; does it only lead on?"""

    document: int
    name: frozenset[str]
    headings: tuple[frozenset[str], ...]
    hollow: bool


def looks(database: Database, chunks: Sequence[int] | None = None) -> dict[int, Look]:
    """Of some chunks, or of all."""
    columns = "chunk_id, document_id, title, body"
    if chunks is None:
        rows = database.rows(f"SELECT {columns} FROM chunks")
        kinds = dict(database.rows("SELECT document_id, kind FROM documents"))
    else:
        rows = database.by_number("chunks", columns, "chunk_id", chunks)
        owners = sorted({row[1] for row in rows})
        kinds = dict(database.by_number("documents", "document_id, kind", "document_id", owners))
    return {chunk: _look(document, kinds[document], title, body) for chunk, document, title, body in rows}


def look_again(
    engine: Engine, candidates: list[Candidate], terms: Iterable[str], synonyms: Mapping[str, Sequence[str]]
) -> list[Candidate]:
    """The candidates with the factors of the first ones in their scores, best first.

    `terms` are the query's own, `synonyms` what each may be called as well.
    """
    asked = {term: {term, *synonyms.get(term, ())} for term in dict.fromkeys(terms)}
    first = candidates[:LOOKED_AT]
    if not first or not asked:
        return candidates
    known = engine.looks([c.chunk for c in first])
    full = {look.document for look in known.values() if not look.hollow}
    for candidate in first:
        look = known[candidate.chunk]
        if look.hollow and look.document in full:
            candidate.boosts["hollow"] = HOLLOW  # another passage of the document speaks for it
        if look.name:
            if likeness := likeness_of(look.name, asked):
                candidate.boosts["name"] = 1 + NAMED_WEIGHT * likeness
        elif (likeness := max((likeness_of(own, asked) for own in look.headings), default=0.0)) >= HEADING_SAME:
            candidate.boosts["heading"] = 1 + HEADING_WEIGHT * likeness
        for name in ("hollow", "name", "heading"):
            candidate.score = min(FULL_SCORE, candidate.score * candidate.boosts.get(name, 1.0))
    candidates.sort(key=lambda c: (-c.score, c.chunk))
    leader = candidates[0]
    if leader.chunk in known and known[leader.chunk].hollow:
        better = next((c for c in candidates if c.chunk in known and not known[c.chunk].hollow), leader)
        if better is not leader and better.score >= LEAD * leader.score:
            better.boosts["leads"] = leader.score / better.score
            better.score = leader.score
            candidates.remove(better)
            candidates.insert(0, better)
    return candidates


def _look(document: int, kind: str, title: str, body: str) -> Look:
    if kind in NAMED_KINDS:
        return Look(document, frozenset(index_terms(bare(title))), (), False)
    inner = (found[1] for found in HEADING.finditer(body) if not found[0].lstrip().startswith("# "))
    headings = tuple(own for heading in inner if (own := frozenset(index_terms(heading))))
    return Look(document, frozenset(), headings, kind not in SHORT_KINDS and is_hollow(body))


def is_hollow(body: str) -> bool:
    """Does a passage only lead on: links without words of their own, or a heading and hardly anything else?"""
    plain = HEADING.sub("", body)
    if len(plain) < _SHORT and len(words(plain)) < FEWEST_WORDS:
        return True
    headings = HEADING.findall(body)
    if not headings or not _LEADS_ON.fullmatch(headings[-1].strip()):
        return False
    lines = [line for line in plain.split("\n") if line.strip()]
    return sum(bool(_LINK_LINE.search(line)) for line in lines) >= 0.6 * len(lines)
