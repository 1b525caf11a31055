"""What a tool works on during one call, and how long answers are read on."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from ..contract.budget import cut, tokens
from ..contract.errors import UsageError
from ..notes.notebook import Notebook, notes_path, now_utc
from ..notes.store import NotesError
from ..read.federation import Federation
from ..read.graph import Graph
from ..read.knowledge import Knowledge, SearchOptions
from ..search.ranking import Results
from .edition import Edition

CONCISE_TOKENS = 1_500
DETAILED_TOKENS = 6_000
"""Text in one answer. With names and marks it stays below 2,000 and 8,000 tokens (design, section 6)."""


class Desk:
    """One edition of the knowledge and the notes beside it. `asked`: digest of the call, for cursors."""

    def __init__(
        self,
        edition: Edition,
        *,
        asked: str = "",
        clock: Callable[[], str] = now_utc,
        name: str = "",
        beside: Mapping[str, Knowledge] | None = None,
    ) -> None:
        self.edition, self.warming, self.asked, self.clock = edition, edition.warming, asked, clock
        self.knowledge = edition.knowledge
        self.name = name
        """What its own knowledge is called beside others."""
        self.beside = dict(beside or {})
        """Other databases by name, searched together with this one."""
        self.warnings: list[str] = []
        """What the caller should know beside the answer."""
        self.read: list[str] = []
        """Citations of what the answer quotes."""

    def search(self, query: str, **options: Unpack[SearchOptions]) -> Results:
        """The best passages here and in what is beside it."""
        if not self.beside:
            return self.knowledge.search(query, **options)
        return Federation({self.name: self.knowledge, **self.beside}).search(query, **options)

    def owner_of(self, place: str) -> tuple[Knowledge, str, str]:
        """(knowledge, its name or "" for its own, place there) of `place` or `name:place`."""
        name, _, rest = place.partition(":")
        if name in self.beside:
            return self.beside[name], name, rest
        return self.knowledge, "", place.removeprefix(f"{self.name}:") if self.beside else place

    @property
    def build(self) -> str:
        """Short name of the publication; cursors hold it."""
        return self.knowledge.meta["build_id"][:8]

    @property
    def notes_file(self) -> Path | None:
        """Where the project's notes lie; None without a project."""
        if self.knowledge.project is None:
            return None
        return notes_path(self.knowledge.config, self.knowledge.project)

    @contextlib.contextmanager
    def memory(self) -> Iterator[Notebook]:
        """The notes, for this call. Raises UsageError without a project."""
        path = self.notes_file
        if path is None:
            raise UsageError("there is no project here that could hold notes", hint="serve it with --project")
        memory = Notebook(path, self.knowledge, clock=self.clock, borrowed=True)
        try:
            yield memory
        finally:
            memory.close()

    def graph(self) -> Graph:
        """Documents, entities and, in a project, insights as they are now."""
        path = self.notes_file
        if path is None or not path.is_file():
            return self.edition.graph((), lambda: Graph(self.knowledge.database))
        files = (path, path.with_name(path.name + "-wal"))
        stamp = tuple((f.stat().st_mtime_ns, f.stat().st_size) if f.exists() else () for f in files)

        def both() -> Graph:
            with self.memory() as memory:
                return memory.graph()

        try:
            return self.edition.graph(stamp, both)
        except NotesError as error:
            self.warnings.append(f"insights were left out: {error.message}")
            return self.edition.graph(("without notes", stamp), lambda: Graph(self.knowledge.database))

    def saved_rules(self) -> list[str]:
        """Texts of the project's saved rules; none where there are no notes that can be read."""
        if self.notes_file is None:
            return []
        try:
            with self.memory() as memory:
                return memory.saved_rules()
        except NotesError as error:
            self.warnings.append(f"saved rules were left out: {error.message}")
            return []


class Page(NamedTuple):
    """A piece of a text: its offset, and the cursor of what follows ("" at the end)."""

    text: str
    start: int
    next_cursor: str


def page(text: str, desk: Desk, cursor: str, limit: int) -> Page:
    """The piece of a text from a cursor on, of at most `limit` tokens as JSON. Raises UsageError: see `position`."""
    start = position(desk, cursor)
    piece = fit(text[start:], limit)
    end = start + len(piece)
    return Page(piece, start, cursor_at(desk, end) if end < len(text) else "")


def fit(text: str, limit: int) -> str:
    """The longest beginning of at most about `limit` tokens, counted as JSON: quotes and line ends are escaped."""
    piece = cut(text, limit)
    while piece and (size := tokens(json.dumps(piece, ensure_ascii=False))) > limit + 1:
        piece = cut(piece, min(tokens(piece) - 1, tokens(piece) * limit // size))
    return piece


def fitting(
    items: Sequence[dict[str, Any]], desk: Desk, start: int, limit: int, room: int, *, listing: str = "", kept: str = ""
) -> tuple[list[dict[str, Any]], str]:
    """Items from `start` on, at most `limit` and as many as `room` tokens hold (one at least), and the cursor."""
    taken: list[dict[str, Any]] = []
    for item in items[start : start + limit]:
        room -= tokens(json.dumps(item, ensure_ascii=False))
        if room < 0 and taken:
            break
        taken.append(item)
    end = start + len(taken)
    return taken, cursor_at(desk, end, listing=listing, kept=kept) if end < len(items) else ""


def position(desk: Desk, cursor: str, *, listing: str = "") -> int:
    """Where a cursor stands; 0 for an empty one.

    Raises UsageError for a cursor of another publication, of other arguments, or of a listing that has changed.
    """
    if not cursor:
        return 0
    found = _CURSOR.fullmatch(cursor)
    if not found:
        raise UsageError(f"{cursor[:40]!r} is not a cursor", hint="give a next_cursor of an answer, or none")
    if found["build"] != desk.build:
        raise UsageError("the knowledge was published anew since that answer", hint="begin again, without the cursor")
    if found["asked"] != _digest(desk.asked, listing):
        raise UsageError(
            "that cursor belongs to other arguments, or what it lists has changed",
            hint="repeat the arguments, or begin again without the cursor",
        )
    return int(found["place"])


def kept_in(cursor: str) -> str:
    """What `cursor_at` was given to keep; "" where there is nothing."""
    found = _CURSOR.fullmatch(cursor)
    return found["kept"] or "" if found else ""


def cursor_at(desk: Desk, place: int, *, listing: str = "", kept: str = "") -> str:
    """The cursor of a place in an answer. `listing` is what may change meanwhile, `kept` a word to go on with."""
    return f"{desk.build}.{_digest(desk.asked, listing)}.{place}" + (f".{kept}" if kept else "")


def following(cursor: str) -> dict[str, str]:
    """`next_cursor`, where there is one."""
    return {"next_cursor": cursor} if cursor else {}


_CURSOR = re.compile(r"(?P<build>[0-9a-f]{8})\.(?P<asked>[0-9a-f]{6})\.(?P<place>\d{1,9})(?:\.(?P<kept>[a-z]{1,9}))?")


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:6]
