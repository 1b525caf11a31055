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
    from ..contract.config import SearchConfig
    from ..store.database import Database
    from .fusion import Candidate
    from .passages import Hit, LookUp
    from .second_look import Look
    from .spelling import Meant

EngineName = Literal["auto", "sql", "memory"]

Scores = list[tuple[int, float]]
"""(chunk, score), best first; equal scores by chunk."""

Facts = tuple[int, float, float]
"""Of a term: in how many chunks it occurs, its smallest and its largest saturation."""


class Question(Protocol):
    """Terms with what each is worth (weight · idf) and a unit vector (empty: none), over one database.

    `where` is a condition over `c` (chunks) and `d` (documents), a mark for each of `parameters`; "true": no filter.
    """

    def top_lexical(self, *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """The best chunks by the sum of their terms' worth · saturation."""

    def lexical_scores(self, chunks: Sequence[int]) -> dict[int, float]:
        """The sums of given chunks; those without any are left out."""

    def document_scores(self, documents: Sequence[int]) -> dict[int, float]:
        """The sums of whole documents; see `lexical.document_scores`."""

    def top_semantic(self, *, where: str, parameters: Sequence[object], limit: int) -> Scores:
        """The chunks nearest to the vector, by their best windows' cosine."""

    def semantic_scores(self, chunks: Sequence[int]) -> dict[int, float]:
        """Cosines of given chunks' best windows; those without any are left out."""

    def passages(self, chunks: Sequence[int]) -> dict[int, int]:
        """chunk -> where in the document (characters) the window begins that is nearest to the vector."""


class Engine(Protocol):
    """Look-ups and rankings over one database, or several as one. Thread-safe."""

    name: str
    chunk_count: int

    def question(self, worth: Mapping[str, float], vector: Sequence[float]) -> Question:
        """What is asked of it now."""

    def facts(self, terms: Sequence[str]) -> dict[str, Facts]:
        """Frequencies and saturations of those terms that the index holds."""

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

    @property
    def synonym_groups(self) -> tuple[tuple[str, ...], ...]:
        """Groups of stemmed synonyms."""

    def meant(self, word: str) -> Meant | None:
        """The word that was meant by one that occurs nowhere (`spelling.meant`)."""

    def threshold(self, mode: str, settings: SearchConfig) -> float:
        """The score a best hit must reach to mean something (`absence`); 0 where that was not measured."""

    def passes(self, *, where: str, parameters: Sequence[object]) -> bool:
        """Is there a document that passes a condition over `d`?"""

    def suggestions(self, beginnings: Sequence[str]) -> list[str]:
        """A few titles that hold a word with one of these beginnings."""

    def hydrate(self, candidates: Sequence[Candidate], look_up: LookUp) -> list[Hit]:
        """Hits in the order of the candidates (`passages.hydrate`)."""

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
