"""What a tool works on during one call, and how long answers are read on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import UsageError
from ..graph import Graph
from ..memory import Memory, notes_path, now_utc
from ..notes.store import NotesError
from ..publication import Edition
from ..tokens import cut, tokens

CONCISE_TOKENS = 1_500
DETAILED_TOKENS = 6_000
"""Text in one answer. With names and marks it stays below 2,000 and 8,000 tokens (design, section 6)."""


class Desk:
    """One edition of the knowledge and the notes beside it. `warming`: the encoder is not loaded yet."""

    def __init__(self, edition: Edition, *, warming: bool = False, clock: Callable[[], str] = now_utc) -> None:
        self.edition, self.warming, self.clock = edition, warming, clock
        self.knowledge = edition.knowledge
        self.warnings: list[str] = []
        """What the caller should know beside the answer."""

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
    def memory(self) -> Iterator[Memory]:
        """The notes, for this call. Raises UsageError without a project."""
        path = self.notes_file
        if path is None:
            raise UsageError("there is no project here that could hold notes", hint="serve it with --project")
        memory = Memory(path, self.knowledge, clock=self.clock, borrowed=True)
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
    """The piece of a text from a cursor on. Raises UsageError for cursors of other publications."""
    start = position(desk, cursor)
    piece = cut(text[start:], limit)
    end = start + len(piece)
    return Page(piece, start, cursor_at(desk, end) if end < len(text) else "")


def position(desk: Desk, cursor: str) -> int:
    """Where a cursor stands; 0 for an empty one. Raises UsageError."""
    if not cursor:
        return 0
    build, _, place = cursor.partition(".")
    if not place.isdecimal():
        raise UsageError(f"{cursor!r} is no cursor", hint="give a next_cursor of an answer, or none")
    if build != desk.build:
        raise UsageError("the knowledge was published anew since that answer", hint="begin again, without the cursor")
    return int(place)


def following(cursor: str) -> dict[str, str]:
    """`next_cursor`, where there is one."""
    return {"next_cursor": cursor} if cursor else {}


def cursor_at(desk: Desk, place: int) -> str:
    """The cursor of a place in an answer of this publication."""
    return f"{desk.build}.{place}"


def fitting(
    items: Sequence[dict[str, Any]], desk: Desk, start: int, limit: int, room: int
) -> tuple[list[dict[str, Any]], str]:
    """Items from `start` on, at most `limit` and as many as `room` tokens hold (one at least), and the cursor."""
    taken: list[dict[str, Any]] = []
    for item in items[start : start + limit]:
        room -= tokens(str(item))
        if room < 0 and taken:
            break
        taken.append(item)
    end = start + len(taken)
    return taken, cursor_at(desk, end) if end < len(items) else ""
