"""Several databases ranked as one: frequencies are added up, so that scores are comparable and one order holds for all.

A number here is the member's place times SPAN and its own number. A member whose vectors are of another model is asked
by words only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from .engine import Engine, Facts, Question, Scores
from .fusion import Candidate
from .lexical import merged_facts
from .passages import Hit, LookUp
from .second_look import Look
from .spelling import Meant

if TYPE_CHECKING:
    from ..contract.config import SearchConfig

SPAN = 2**32
"""More than any number of a chunk or document."""

Value = TypeVar("Value")


def _parted(numbers: Iterable[int]) -> dict[int, list[int]]:
    """Member -> its own numbers."""
    found: dict[int, list[int]] = {}
    for number in numbers:
        found.setdefault(number // SPAN, []).append(number % SPAN)
    return found


def _joined(member: int, values: Mapping[int, Value]) -> dict[int, Value]:
    return {member * SPAN + number: value for number, value in values.items()}


def _best(parts: Sequence[Scores], limit: int) -> Scores:
    every = [(member * SPAN + number, score) for member, scores in enumerate(parts) for number, score in scores]
    return sorted(every, key=lambda entry: (-entry[1], entry[0]))[:limit]


class UnitedQuestion:
    """A question put to all members. Methods: see `engine.Question`."""

    def __init__(self, members: Sequence[Question], by_meaning: Sequence[bool]) -> None:
        self._members, self._by_meaning = members, by_meaning

    def top_lexical(self, *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """See `engine.Question`."""
        return _best([m.top_lexical(where=where, parameters=parameters, limit=limit) for m in self._members], limit)

    def lexical_scores(self, chunks: Sequence[int]) -> dict[int, float]:
        """See `engine.Question`."""
        return self._each(chunks, lambda member, own: member.lexical_scores(own))

    def document_scores(self, documents: Sequence[int]) -> dict[int, float]:
        """See `engine.Question`."""
        return self._each(documents, lambda member, own: member.document_scores(own))

    def top_semantic(self, *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """See `engine.Question`."""
        parts = [
            member.top_semantic(where=where, parameters=parameters, limit=limit) if can else []
            for member, can in zip(self._members, self._by_meaning, strict=True)
        ]
        return _best(parts, limit)

    def semantic_scores(self, chunks: Sequence[int]) -> dict[int, float]:
        """See `engine.Question`."""
        return self._each(chunks, lambda member, own: member.semantic_scores(own), by_meaning=True)

    def passages(self, chunks: Sequence[int]) -> dict[int, int]:
        """See `engine.Question`."""
        return self._each(chunks, lambda member, own: member.passages(own), by_meaning=True)

    def _each(
        self,
        numbers: Sequence[int],
        ask: Callable[[Question, Sequence[int]], dict[int, Value]],
        *,
        by_meaning: bool = False,
    ) -> dict[int, Value]:
        found: dict[int, Value] = {}
        for member, own in _parted(numbers).items():
            if self._by_meaning[member] or not by_meaning:
                found |= _joined(member, ask(self._members[member], own))
        return found


class UnitedEngine:
    """Engines by the names of their databases. Methods: see `engine.Engine`."""

    name = "united"

    def __init__(self, members: Mapping[str, Engine], by_meaning: Sequence[bool]) -> None:
        """`by_meaning`: which members' vectors are of the query's model."""
        self._names, self._members = list(members), list(members.values())
        self._by_meaning = list(by_meaning)
        self.chunk_count = sum(member.chunk_count for member in self._members)

    def question(self, worth: Mapping[str, float], vector: Sequence[float]) -> Question:
        """See `engine.Engine`."""
        members = [
            m.question(worth, vector if can else ()) for m, can in zip(self._members, self._by_meaning, strict=True)
        ]
        return UnitedQuestion(members, [can and bool(vector) for can in self._by_meaning])

    def facts(self, terms: Sequence[str]) -> dict[str, Facts]:
        """See `engine.Engine`."""
        return merged_facts(member.facts(terms) for member in self._members)

    def named(self, name: str) -> list[tuple[str, int]]:
        """See `engine.Engine`."""
        return [(o, place * SPAN + n) for place, member in enumerate(self._members) for o, n in member.named(name)]

    def firsts(self, documents: Sequence[int], *, where: str, parameters: Sequence[object]) -> dict[int, int]:
        """See `engine.Engine`."""
        found: dict[int, int] = {}
        for place, own in _parted(documents).items():
            firsts = self._members[place].firsts(own, where=where, parameters=parameters)
            found |= _joined(place, {document: place * SPAN + chunk for document, chunk in firsts.items()})
        return found

    def originals(self) -> dict[int, int]:
        """See `engine.Engine`."""
        found: dict[int, int] = {}
        for place, member in enumerate(self._members):
            found |= _joined(place, {copy: place * SPAN + first for copy, first in member.originals().items()})
        return found

    def looks(self, chunks: Sequence[int]) -> dict[int, Look]:
        """See `engine.Engine`."""
        found: dict[int, Look] = {}
        for place, own in _parted(chunks).items():
            looks = self._members[place].looks(own)
            found |= _joined(
                place, {n: look._replace(document=place * SPAN + look.document) for n, look in looks.items()}
            )
        return found

    def owners(self, chunks: Sequence[int]) -> dict[int, tuple[int, str]]:
        """See `engine.Engine`."""
        found: dict[int, tuple[int, str]] = {}
        for place, own in _parted(chunks).items():
            owners = self._members[place].owners(own)
            found |= _joined(place, {n: (place * SPAN + document, path) for n, (document, path) in owners.items()})
        return found

    @cached_property
    def synonym_groups(self) -> tuple[tuple[str, ...], ...]:
        """Those of all members."""
        return tuple(dict.fromkeys(group for member in self._members for group in member.synonym_groups))

    def meant(self, word: str) -> Meant | None:
        """The first member's that knows one."""
        return next((found for member in self._members if (found := member.meant(word))), None)

    def threshold(self, mode: str, settings: SearchConfig) -> float:
        """The lowest one: what one member would take for an answer is one."""
        return min(member.threshold(mode, settings) for member in self._members)

    def passes(self, *, where: str, parameters: Sequence[object]) -> bool:
        """See `engine.Engine`."""
        return any(member.passes(where=where, parameters=parameters) for member in self._members)

    def suggestions(self, beginnings: Sequence[str]) -> list[str]:
        """See `engine.Engine`."""
        return list(dict.fromkeys(name for member in self._members for name in member.suggestions(beginnings)))

    def hydrate(self, candidates: Sequence[Candidate], look_up: LookUp) -> list[Hit]:
        """Hits in the order of the candidates, each with the name of its database."""
        hits: dict[int, Hit] = {}
        for place in _parted(candidate.chunk for candidate in candidates):
            own = [replace(c, chunk=c.chunk % SPAN) for c in candidates if c.chunk // SPAN == place]
            mine = look_up._replace(
                named=_own(place, look_up.named),
                starts=_own(place, look_up.starts),
                copies={n: {c % SPAN for c in copies} for n, copies in _own(place, look_up.copies).items()},
            )
            for candidate, hit in zip(own, self._members[place].hydrate(own, mine), strict=True):
                hits[place * SPAN + candidate.chunk] = replace(hit, database=self._names[place])
        return [hits[candidate.chunk] for candidate in candidates]

    def load(self, *, vectors: bool) -> None:
        """See `engine.Engine`."""
        for member in self._members:
            member.load(vectors=vectors)


def _own(place: int, values: Mapping[int, Value]) -> dict[int, Value]:
    return {number % SPAN: value for number, value in values.items() if number // SPAN == place}
