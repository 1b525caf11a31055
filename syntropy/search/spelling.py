"""The word that was meant by one that occurs nowhere: nearly the same letters, as words are written, not as stems."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..contract.text import index_terms, words
from .lexical import numbers

if TYPE_CHECKING:
    from ..store.database import Database

SHORTEST = 6
"""Letters from which a word that occurs nowhere may be a misspelt one: `flink` is not `link`, nor `helm` `help`."""

TWO_EDITS_FROM = 8
"""Letters from which two edits (a letter more, less, another, or two swapped) are a slip."""

_CANDIDATES = 12
"""Terms whose words are looked at, in ten chunks each: a stem stands for `webhook` and `webhooks`."""


class Meant(NamedTuple):
    """A word as it is written, and its term."""

    word: str
    term: str


def may_be_misspelt(word: str) -> bool:
    """Is it a plain word? Names, identifiers and short words are what they are."""
    return len(word) >= SHORTEST and word.isascii() and word.isalpha() and word.islower()


def meant(database: Database, word: str) -> Meant | None:
    """The nearest word that occurs, with the same first letter, within the edits a slip may have.

    Stems tell too little (`refund` and `redundant` share theirs but for a letter): they only say where to look.
    """
    edits = 1 if len(word) < TWO_EDITS_FROM else 2
    rows = database.rows(
        "SELECT term, sum(df)::INTEGER AS df, list_sort(flatten(list(chunk_ids[:10])))[:10] FROM postings "
        "WHERE left(term, 1) = ? AND length(term) BETWEEN 3 AND ? "
        "AND damerau_levenshtein(term, left(?, length(term))) <= 2 AND NOT regexp_matches(term, '[^a-z]') "
        "GROUP BY term "
        "ORDER BY damerau_levenshtein(term, left(?, length(term))) - length(term) / 100.0, df DESC, term LIMIT ?",
        [word[0], len(word) + edits, word, word, _CANDIDATES],
    )
    if not rows:
        return None
    terms = {term: df for term, df, _ in rows}
    texts = database.rows(
        "SELECT concat_ws(' ', title, headings, keywords, tags, path, summary, body) FROM chunks "
        f"WHERE chunk_id IN ({numbers(sorted({chunk for *_, chunks in rows for chunk in chunks}))})"
    )
    written = {
        one for (text,) in texts for one in words(text) if abs(len(one) - len(word)) <= edits and one[0] == word[0]
    }
    known = {one: found[0] for one in written if (found := index_terms(one)) and found[0] in terms}
    if not known:
        return None
    marks = ", ".join("(?)" for _ in known)
    distances = database.rows(f"SELECT damerau_levenshtein(w, ?), w FROM (VALUES {marks}) AS v(w)", [word, *known])
    near = sorted((distance, -terms[known[one]], one) for distance, one in distances if distance <= edits)
    return Meant(near[0][2], known[near[0][2]]) if near else None
