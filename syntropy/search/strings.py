"""Many texts in two arrays: a tenth of what a list of Python's own needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np


class Strings(Sequence[str]):
    """Texts in the order given. `find` needs them in the order of their UTF-8 bytes, as DuckDB sorts them."""

    def __init__(self, texts: Iterable[str]) -> None:
        parts = [text.encode() for text in texts]
        self._bytes = b"".join(parts)
        self._ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, place: int) -> str:  # type: ignore[override]
        return self._at(place).decode()

    def __iter__(self) -> Iterator[str]:
        return (self[place] for place in range(len(self)))

    def find(self, text: str) -> int:
        """Place of the first text that does not come before this one; the number of texts, if all do."""
        wanted, low, high = text.encode(), 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._at(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def _at(self, place: int) -> bytes:
        return self._bytes[self._ends[place] : self._ends[place + 1]]
