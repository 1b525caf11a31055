"""Several published databases asked as one: ranks are fused, and each hit says where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from ..contract.errors import UsageError
from ..search.passages import Hit
from .knowledge import Knowledge

RANK_CONSTANT = 60
"""k of reciprocal rank fusion (Cormack et al. 2009): scores of different databases cannot be compared."""


@dataclass(frozen=True)
class FederatedResults:
    """Hits of all databases, best rank first; a hit's `score` is that in its own database.

    `modes`, `warnings` and `not_here` (why a database has no answer) by name of the database.
    """

    query: str
    hits: list[Hit]
    modes: dict[str, str]
    warnings: dict[str, str]
    not_here: dict[str, str]


class Federation:
    """Open databases by name. A context manager; closing closes all of them."""

    def __init__(self, members: Mapping[str, Knowledge]) -> None:
        """Raises UsageError for none at all."""
        if not members:
            raise UsageError("no database was given", hint="give at least one")
        self._members = dict(members)

    def __enter__(self) -> Federation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def search(self, query: str, *, limit: int = 10, **options: Any) -> FederatedResults:
        """The best of each database in turn, as `Knowledge.search` with the same options finds them.

        A database that has no answer gives its hits after those of the others that have one.
        """
        found = {name: member.search(query, limit=limit, **options) for name, member in self._members.items()}
        ranked = [
            (not results.not_here, 1 / (RANK_CONSTANT + rank), hit.score, name, replace(hit, database=name))
            for name, results in found.items()
            for rank, hit in enumerate(results.hits, 1)
        ]
        ranked.sort(key=lambda entry: (not entry[0], -entry[1], -entry[2], entry[3]))
        return FederatedResults(
            query,
            [hit for *_, hit in ranked[:limit]],
            {name: results.mode for name, results in found.items()},
            {name: results.warning for name, results in found.items() if results.warning},
            {name: results.not_here for name, results in found.items() if results.not_here},
        )

    def close(self) -> None:
        """Close every database."""
        for member in self._members.values():
            member.close()
