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
from .headings import HEADING, HEADING_SAME, likeness_of
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

HOLLOW = 0.8
"""Factor of a hollow passage where another one of its document is a candidate, too."""

HEADING_WEIGHT = 0.3
"""Most that is added for a heading within a passage that is the query (`HEADING_SAME`): a section may have been merged
under another one. Less likeness tells nothing (-.005 nDCG@10 on our own sets)."""

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
_LINK_LINE = re.compile(r"\[[^\]]+\]\([^)]*\)|<?https?://\S+>?\s*$")


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
    hollow = {chunk for chunk, row in chunks.items() if is_hollow(row["body"], of_kind[chunk])}
    full = {row["document_id"] for chunk, row in chunks.items() if chunk not in hollow}
    for candidate in first:
        row = chunks[candidate.chunk]
        if candidate.chunk in hollow and row["document_id"] in full:
            candidate.boosts["hollow"] = HOLLOW  # another passage of the document speaks for it
        if of_kind[candidate.chunk] in NAMED_KINDS:
            if likeness := likeness_of(_PLACEHOLDER.sub(" ", row["title"]), asked):
                candidate.boosts["name"] = 1 + NAMED_WEIGHT * likeness
        elif (likeness := _inner_heading(row["body"], asked)) >= HEADING_SAME:
            candidate.boosts["heading"] = 1 + HEADING_WEIGHT * likeness
        for name in ("hollow", "name", "heading"):
            candidate.score = min(FULL_SCORE, candidate.score * candidate.boosts.get(name, 1.0))
    first.sort(key=lambda c: (-c.score, c.chunk))
    if first[0].chunk in hollow:
        better = next((c for c in first if c.chunk not in hollow), first[0])
        if better is not first[0] and better.score >= LEAD * first[0].score:
            better.boosts["leads"] = first[0].score / better.score
            better.score = first[0].score
            first.remove(better)
            first.insert(0, better)
    return first + rest


def _inner_heading(body: str, asked: Mapping[str, set[str]]) -> float:
    """Likeness of the heading most like the query, of those below the title."""
    found = (match[1] for match in HEADING.finditer(body) if not match[0].lstrip().startswith("# "))
    return max((likeness_of(heading, asked) for heading in found), default=0.0)


def is_hollow(body: str, kind: str) -> bool:
    """Does a passage only lead on: links without words of their own, or a heading and hardly anything else?"""
    lines = [line for line in HEADING.sub("", body).split("\n") if line.strip()]
    if kind in SHORT_KINDS:
        return False
    if sum(len(words(line)) for line in lines) < FEWEST_WORDS:
        return True
    headings = HEADING.findall(body)
    links = sum(bool(_LINK_LINE.search(line)) for line in lines)
    return bool(headings) and _LEADS_ON.fullmatch(headings[-1].strip()) is not None and links >= 0.6 * len(lines)
