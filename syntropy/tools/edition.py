"""The newest published knowledge, for processes that live longer than one publication.

Each question is answered from one edition from its first to its last row. When a new one is published,
it is opened in the background and taken (the question that noticed waits a moment for it), then warmed up;
the former one is closed when its last question is answered.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from ..contract.errors import SyntropyError
from ..contract.published import DATABASE, locate
from ..read.commands import Commands
from ..read.graph import Graph
from ..read.knowledge import Knowledge
from ..store.database import Database, stamp_of

OPENING_SECONDS = 0.3
"""How long the question that notices a new publication waits for it to be opened; then the former one answers."""

RETRY_SECONDS = 0.5
"""How long a publication that could not be opened is left alone."""


class Edition:
    """One publication, open, with what is made from it once. `warming`: its encoder is about to be loaded."""

    def __init__(self, knowledge: Knowledge, stamp: tuple[int, ...] = ()) -> None:
        self.knowledge, self.stamp, self.users, self.warming = knowledge, stamp, 0, False
        self._lock = threading.Lock()
        self._commands: Commands | None = None
        self._graph: tuple[object, Graph] | None = None

    @property
    def commands(self) -> Commands:
        """Its commands by name."""
        with self._lock:
            if self._commands is None:
                self._commands = Commands(self.knowledge.database)
            return self._commands

    def graph(self, stamp: object, make: Callable[[], Graph]) -> Graph:
        """The graph; made again when `stamp`, the state of the notes in it, is another one."""
        with self._lock:
            if self._graph is None or self._graph[0] != stamp:
                self._graph = (stamp, make())
            return self._graph[1]


class Publication:
    """Opens what `opener` names, and again when the file it found is replaced. A context manager.

    `warms`: somebody will call `warm`; until the encoder is there, answers need not wait for it.
    """

    def __init__(self, opener: Callable[[], Knowledge], *, warms: bool = False) -> None:
        """Raises what the opener raises: there must be something published to begin with."""
        self._opener, self._warms = opener, warms
        self._lock = threading.Lock()
        self._edition = self._opened()
        self._edition.warming = warms
        self._following: threading.Thread | None = None
        self._taken = threading.Event()
        self._retry_at = 0.0
        self.problem = ""
        """Why a newer publication is not in use; empty where there is none."""

    def __enter__(self) -> Publication:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def current(self) -> Iterator[Edition]:
        """The edition to answer one question from."""
        self._follow()
        with self._lock:
            edition = self._edition
            edition.users += 1
        try:
            yield edition
        finally:
            with self._lock:
                edition.users -= 1
            self._close_if_unused(edition)

    def warm(self) -> None:
        """Load encoder, postings and vectors in the background."""
        threading.Thread(target=self._warm, name="warm", daemon=True).start()

    def close(self) -> None:
        """Close the knowledge; questions under way fail."""
        if self._following is not None:
            self._following.join()
        self._edition.knowledge.close()

    def _warm(self) -> None:
        with self.current() as edition:
            try:
                edition.knowledge.prewarm()
            finally:
                edition.warming = False

    def _opened(self) -> Edition:
        knowledge = self._opener()
        return Edition(knowledge, knowledge.database.stamp)

    def _follow(self) -> None:
        """Begin to open a newer publication, if there is one."""
        stamp = _stamp(self._edition.knowledge.database)
        with self._lock:
            if stamp == self._edition.stamp:
                self.problem = ""
                return
            busy = self._following is not None and self._following.is_alive()
            if not stamp or busy or time.monotonic() < self._retry_at:
                return  # no stamp: a folder that is gone, or between two; the open one still answers
            self._taken.clear()
            self._following = threading.Thread(target=self._take_newer, name="follow", daemon=True)
            self._following.start()
        self._taken.wait(OPENING_SECONDS)

    def _take_newer(self) -> None:
        former = self._edition
        try:
            edition = self._opened()
        except (SyntropyError, OSError) as error:
            self.problem = f"a newer publication could not be opened: {getattr(error, 'message', error)}"
            self._retry_at = time.monotonic() + RETRY_SECONDS
            self._taken.set()
            return
        edition.knowledge.inherit(former.knowledge)
        edition.warming = self._warms and not edition.knowledge.has_encoder
        with self._lock:
            self._edition = edition
            self.problem = ""
        self._taken.set()
        self._close_if_unused(former)
        if self._warms or edition.knowledge.has_encoder:
            self._warm()

    def _close_if_unused(self, edition: Edition) -> None:
        with self._lock:
            unused = edition is not self._edition and edition.users == 0
        if unused:
            edition.knowledge.close()


def _stamp(database: Database) -> tuple[int, ...]:
    """The state of its file now (a publication may still lie in `.publish/`); () where there is none."""
    named = database.path.name == DATABASE
    try:
        return stamp_of(locate(database.folder, DATABASE) if named else database.path)
    except OSError:
        return ()
