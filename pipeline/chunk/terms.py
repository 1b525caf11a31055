"""Terms of each chunk with their counts by field: what the full-text index and the postings are made of.

No term spans white space, so each distinct word of a project is analysed once and a chunk's terms are
sums over its words (four times as fast as analysing the text, with the same result).
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import pyarrow as pa

from syntropy.contract.schema import TERMS
from syntropy.contract.text import expanded_word, stems
from syntropy.contract.vocabulary import SEARCH_FIELDS

MAX_WORDS = 1_000_000
"""Words remembered with their terms (about 200 MB) before the memory is emptied."""

_MARKS = string.punctuation.replace("_", "")
"""What stands around words and is never part of a term."""

_BODY = SEARCH_FIELDS.index("body")
_IDENTIFIERS = SEARCH_FIELDS.index("identifiers")


class Terms:
    """Rows of `terms` as flat columns: a list a chunk would cost more than counting does."""

    def __init__(self) -> None:
        self._documents: list[str] = []
        self._ordinals: list[int] = []
        self._ends: list[int] = [0]
        self._terms: list[str] = []
        self._fields: list[int] = []
        self._counts: list[int] = []

    def add(self, document: str, ordinal: int, counts: Sequence[Mapping[str, int]]) -> None:
        """A chunk's counts by field, in the contract's order."""
        self._documents.append(document)
        self._ordinals.append(ordinal)
        for number, terms in enumerate(counts):
            self._terms.extend(terms)
            self._counts.extend(terms.values())
            self._fields.extend([number] * len(terms))
        self._ends.append(len(self._terms))

    def table(self) -> pa.Table:
        """Columns as in the contract."""
        offsets = pa.array(self._ends, pa.int32())
        lists = (
            pa.ListArray.from_arrays(offsets, pa.array(values, kind))
            for values, kind in (
                (self._terms, pa.string()),
                (self._fields, pa.int32()),
                (self._counts, pa.int32()),
            )
        )
        names = [column.name for column in TERMS.stage_columns()]
        columns = [pa.array(self._documents, pa.string()), pa.array(self._ordinals, pa.int32()), *lists]
        return pa.table(dict(zip(names, columns, strict=True)))


@lru_cache(maxsize=1)
def term_counter() -> TermCounter:
    """One a process, so that its words stay learned."""
    return TermCounter()


class TermCounter:
    """Counts terms; remembers the words it has met."""

    def __init__(self) -> None:
        self._terms: dict[str, tuple[str, ...]] = {}
        self._expansions: dict[str, str] = {}
        self._expanded: dict[str, tuple[str, ...]] = {}
        self._of_text = lru_cache(maxsize=4_096)(self._short_text)

    def count(self, short_fields: Sequence[str], body: str) -> tuple[list[dict[str, int]], str]:
        """A chunk's terms with their counts by field, and the text of its `identifiers` field.

        `short_fields`: texts of the fields but `body` and `identifiers`, in the contract's order.
        """
        counts = self._learned(body.split())
        expansions = self._expansions
        expanded = {word: times for word, times in counts.items() if word in expansions}
        found = [self._of_text(text) for text in short_fields]
        found.insert(_BODY, _added(self._terms, counts))
        found.insert(_IDENTIFIERS, _added(self._expanded, expanded))
        return found, " ".join([expansions[word] for word, times in expanded.items() for _ in range(times)])

    def _short_text(self, text: str) -> dict[str, int]:
        return _added(self._terms, self._learned(text.split()))

    def _learned(self, words: list[str]) -> Counter[str]:
        """How often each word occurs; all of them are known afterwards."""
        if len(self._terms) > MAX_WORDS:
            self._terms.clear()
            self._expansions.clear()
            self._expanded.clear()
        counts = Counter(words)
        terms, expansions, expanded = self._terms, self._expansions, self._expanded
        for word in set(counts).difference(terms):  # (`-` would walk all known words)
            core = word.strip(_MARKS)  # `foo`, `foo,` and `(foo)` have the same terms
            if core not in terms:
                terms[core] = tuple(stems(core))
                if expansion := expanded_word(core):
                    expansions[core] = expansion
                    expanded[core] = tuple(stems(expansion))
            terms[word] = terms[core]
            if core in expansions:
                expansions[word], expanded[word] = expansions[core], expanded[core]
        return counts


def _added(terms_of: Mapping[str, tuple[str, ...]], counts: Mapping[str, int]) -> dict[str, int]:
    total: dict[str, int] = {}
    for word, times in counts.items():
        for term in terms_of[word]:
            total[term] = total.get(term, 0) + times
    return total
