"""What ranks: an engine over one database, and a question that it was asked. Two answer alike.

`SqlEngine` asks the file, one statement a look-up: a command that asks once loads nothing else. `MemoryEngine` holds
postings, names and vectors: a server or a notebook asks it again and again. `open()` chooses by name.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from ..contract.errors import MissingDependencyError, UsageError

if TYPE_CHECKING:
    from ..store.database import Database
    from .second_look import Look

EngineName = Literal["auto", "sql", "memory"]

Scores = list[tuple[int, float]]
"""(chunk, score), best first; equal scores by chunk."""

Facts = tuple[int, float, float]
"""Of a term: in how many chunks it occurs, its smallest and its largest impact."""


class Question(Protocol):
    """Terms with their weights and a unit vector (empty: none), over one database.

    `where` is a condition over `c` (chunks) and `d` (documents), a mark for each of `parameters`; "true": no filter.
    """

    def top_lexical(self, *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """The best chunks by summed impacts."""

    def lexical_scores(self, chunks: Sequence[int]) -> dict[int, float]:
        """Summed impacts of given chunks; those without any are left out."""

    def document_scores(self, documents: Sequence[int]) -> dict[int, float]:
        """Summed impacts of whole documents; see `lexical.document_scores`."""

    def top_semantic(self, *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """The chunks nearest to the vector, by their best windows' cosine."""

    def semantic_scores(self, chunks: Sequence[int]) -> dict[int, float]:
        """Cosines of given chunks' best windows; those without any are left out."""

    def passages(self, chunks: Sequence[int]) -> dict[int, int]:
        """chunk -> where in the document (characters) the window begins that is nearest to the vector."""


class Engine(Protocol):
    """Look-ups and rankings over one database. Thread-safe."""

    name: str
    database: Database

    def question(self, weights: Mapping[str, float], vector: Sequence[float]) -> Question:
        """What is asked of it now."""

    def facts(self, terms: Sequence[str]) -> dict[str, Facts]:
        """Frequencies and impacts of those terms that the index holds."""

    def named(self, name: str) -> list[tuple[str, int]]:
        """(origin, document) of the documents that have this name (`contract.text.name_of`)."""

    def firsts(self, documents: Sequence[int], *, where: str, parameters: Sequence[object]) -> dict[int, int]:
        """document -> its first chunk, of those with a chunk that passes the filter."""

    def originals(self) -> dict[int, int]:
        """document -> the one it is a copy of, or nearly."""

    def looks(self, chunks: Sequence[int]) -> dict[int, Look]:
        """What the chunks' texts say (`second_look`)."""

    def owners(self, chunks: Sequence[int]) -> dict[int, tuple[int, str]]:
        """chunk -> (document, path)."""

    def load(self, *, vectors: bool) -> None:
        """Read now what queries will need, if that was not done yet."""


def make_engine(name: EngineName, database: Database) -> Engine:
    """The engine of this name; auto: in memory where numpy is installed. Raises UsageError, MissingDependencyError."""
    if name not in ("auto", "sql", "memory"):
        raise UsageError(f"unknown engine {name!r}", hint="choose one of: auto, sql, memory")
    has_numpy = importlib.util.find_spec("numpy") is not None
    if name == "sql" or (name == "auto" and not has_numpy):
        from .sql_engine import SqlEngine

        return SqlEngine(database)
    if not has_numpy:
        raise MissingDependencyError("the engine in memory needs numpy", hint="install numpy, or use engine='sql'")
    from .memory_engine import MemoryEngine

    return MemoryEngine(database)
