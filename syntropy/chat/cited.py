"""Citations in an answer as it comes: those that were read and hold stay as they are, others are marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..contract.identity import CITED_LINES

_AROUND = r"\s\"'`<>()\[\]{},;*→（）「」、。：；"

CITED = re.compile(rf"[^{_AROUND}]+#L\d+(?:-L?\d+)?(?:~[0-9a-f]{{8}})?")

NOT_READ = " [not read]"
NOT_CURRENT = " [changed since the build]"

_BREAK = re.compile(rf"[{_AROUND}]")


class _Lines(NamedTuple):
    path: str
    first: int
    last: int


class Marker:
    """Text goes in by pieces and comes out by pieces, at most a word later. `cited`: what was read and holds."""

    def __init__(self, holds: Callable[[str], bool]) -> None:
        """`holds` says whether a citation still says what it said."""
        self._holds, self._read, self._rest = holds, set[_Lines](), ""
        self.cited: list[str] = []

    def read(self, citations: Iterable[str]) -> None:
        """These passages were shown to the model."""
        self._read.update(_lines(citation) for citation in citations if CITED_LINES.search(citation))

    def put(self, piece: str) -> str:
        """What can be shown now: a citation that may go on is held back."""
        text = self._rest + piece
        broken = [match.end() for match in _BREAK.finditer(text)]
        at = broken[-1] if broken else 0
        self._rest = text[at:]
        return self._marked(text[:at])

    def end(self) -> str:
        """What was held back."""
        text, self._rest = self._rest, ""
        return self._marked(text)

    def _marked(self, text: str) -> str:
        return CITED.sub(lambda found: found[0] + self._mark(found[0]), text)

    def _mark(self, citation: str) -> str:
        wanted = _lines(citation)
        if not any(
            one.path == wanted.path and one.first <= wanted.first <= wanted.last <= one.last for one in self._read
        ):
            return NOT_READ
        if not self._holds(citation):
            return NOT_CURRENT
        if citation not in self.cited:
            self.cited.append(citation)
        return ""


def _lines(citation: str) -> _Lines:
    span = CITED_LINES.search(citation)
    if span is None:
        return _Lines(citation, 0, 0)
    first = int(span["start"])
    return _Lines(citation[: span.start()], first, int(span["end"] or first))
