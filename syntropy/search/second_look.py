"""The best candidates looked at again, with their texts: what they are called, what they are, what they hold.

Scores of words and meaning do not know that a command is called what was asked, that the answering section was merged
under another heading, or that a passage only lists links. Each tells by a factor; the order follows from the products.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..contract.text import words
from ..contract.vocabulary import ENTITY_KINDS, ENTRY_KINDS
from .fusion import FULL_SCORE, Candidate
from .headings import HEADING, likeness_of
from .passages import rows_by_id

if TYPE_CHECKING:
    from ..store.database import Database

LOOKED_AT = 40
"""Candidates looked at; what lies behind them keeps its order."""

NAMED_WEIGHT = 0.3
"""Most that is added for the name of an entry, entity or term: what is asked for by its name is what is meant."""

LEAD = 0.8
"""Share of a hollow leader's score (a table of contents, "See also", a heading with hardly a word under it) from which
another passage is put before it. A factor on all of them cost .003 nDCG@10: sometimes the contents are the answer."""

FEWEST_WORDS = 4
"""Words besides headings that make a passage more than a stub."""

NAMED_KINDS = (*ENTRY_KINDS, *ENTITY_KINDS, "term")
SHORT_KINDS = (*NAMED_KINDS, "rule")
"""Kinds whose texts may be short."""

_PLACEHOLDER = re.compile(r"<[^>]*>|\[[^\]]*\]|\{[^}]*\}|(?<!\S)--?[A-Za-z]\S*")
_LEADS_ON = re.compile(
    r"(?:table of )?contents|toc|see also|related(?: \w+)?|further (?:reading|information)|references|links|next steps|"
    r"resources|more",
    re.IGNORECASE,
)
_LINK_LINE = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])?\s*\[[^\]]+\]\([^)]*\)\W*$|^\s*[-*+]\s*<?https?://\S+>?\s*$")


def look_again(
    database: Database, candidates: list[Candidate], terms: Iterable[str], synonyms: Mapping[str, Sequence[str]]
) -> list[Candidate]:
    """The candidates with the factors of the first ones in their scores, best first.

    `terms` are the query's own, `synonyms` what each may be called as well.
    """
    asked = {term: {term, *synonyms.get(term, ())} for term in dict.fromkeys(terms)}
    first, rest = candidates[:LOOKED_AT], candidates[LOOKED_AT:]
    if not first or not asked:
        return candidates
    chunks = rows_by_id(database, "chunks", ("chunk_id", "document_id", "title", "body"), [c.chunk for c in first])
    owners = sorted({row["document_id"] for row in chunks.values()})
    kinds = {n: row["kind"] for n, row in rows_by_id(database, "documents", ("document_id", "kind"), owners).items()}
    of_kind = {chunk: kinds[row["document_id"]] for chunk, row in chunks.items()}
    for candidate in first:
        if of_kind[candidate.chunk] in NAMED_KINDS:
            likeness = likeness_of(_PLACEHOLDER.sub(" ", chunks[candidate.chunk]["title"]), asked)
            if likeness:
                candidate.boosts["name"] = 1 + NAMED_WEIGHT * likeness
                candidate.score = min(FULL_SCORE, candidate.score * candidate.boosts["name"])
    first.sort(key=lambda c: (-c.score, c.chunk))
    if is_hollow(chunks[first[0].chunk]["body"], of_kind[first[0].chunk]):
        better = next((c for c in first if not is_hollow(chunks[c.chunk]["body"], of_kind[c.chunk])), first[0])
        if better is not first[0] and better.score >= LEAD * first[0].score:
            better.boosts["leads"] = first[0].score / better.score
            better.score = first[0].score
            first.remove(better)
            first.insert(0, better)
    return first + rest


def is_hollow(body: str, kind: str) -> bool:
    """Does a passage only lead on: links without words of their own, or a heading and hardly anything else?"""
    lines = [line for line in HEADING.sub("", body).split("\n") if line.strip()]
    if kind in SHORT_KINDS:
        return False
    if sum(len(words(line)) for line in lines) < FEWEST_WORDS:
        return True
    headings = HEADING.findall(body)
    links = sum(bool(_LINK_LINE.match(line)) for line in lines)
    return bool(headings) and _LEADS_ON.fullmatch(headings[-1].strip()) is not None and links >= 0.6 * len(lines)
