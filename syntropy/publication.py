"""The newest published knowledge, for processes that live longer than one publication.

Each question is answered from one edition from its first to its last row. When a new one is published,
it is opened and warmed up in the background, then taken; the former one is closed when its last question
is answered.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from .artifacts import DATABASE, locate
from .commands import Commands
from .errors import SyntropyError
from .graph import Graph
from .index import Database
from .knowledge import Knowledge

RETRY_SECONDS = 5.0
"""How long a publication that could not be opened is left alone."""


class Edition:
    """One publication, open, with what is made from it once."""

    def __init__(self, knowledge: Knowledge, stamp: tuple[int, ...]) -> None:
        self.knowledge, self.stamp, self.users = knowledge, stamp, 0
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
    """Opens what `opener` names, and again when the file it found is replaced. A context manager."""

    def __init__(self, opener: Callable[[], Knowledge]) -> None:
        """Raises what the opener raises: there must be something published to begin with."""
        self._opener = opener
        self._lock = threading.Lock()
        self._edition = self._opened()
        self._following: threading.Thread | None = None
        self._retry_at = 0.0
        self.warming = False
        """Is the encoder about to be loaded in the background? No answer waits for it."""
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
            self._release(edition)

    def warm(self) -> None:
        """Load encoder, postings and vectors in the background."""

        def load() -> None:
            try:
                self._edition.knowledge.prewarm()
            finally:
                self.warming = False

        self.warming = True
        threading.Thread(target=load, name="warm", daemon=True).start()

    def close(self) -> None:
        """Close the knowledge; questions under way fail."""
        if self._following is not None:
            self._following.join()
        self._edition.knowledge.close()

    def _opened(self) -> Edition:
        knowledge = self._opener()
        try:
            return Edition(knowledge, _stamp(knowledge.database))
        except OSError:
            return Edition(knowledge, ())

    def _follow(self) -> None:
        """Begin to open a newer publication, if there is one."""
        try:
            stamp = _stamp(self._edition.knowledge.database)
        except OSError:
            return  # a folder that is gone, or in the middle of a publication: the open one still answers
        with self._lock:
            busy = self._following is not None and self._following.is_alive()
            if stamp == self._edition.stamp or busy or time.monotonic() < self._retry_at:
                return
            self._following = threading.Thread(target=self._take_newer, name="follow", daemon=True)
            self._following.start()

    def _take_newer(self) -> None:
        former = self._edition
        try:
            edition = self._opened()
            edition.knowledge.inherit(former.knowledge)
            if former.knowledge.has_encoder:
                edition.knowledge.prewarm()
        except SyntropyError as error:
            self.problem = f"a newer publication could not be opened: {error.message}"
            self._retry_at = time.monotonic() + RETRY_SECONDS
            return
        with self._lock:
            self._edition = edition
            self.problem = ""
        self._release(None, former)

    def _release(self, used: Edition | None, former: Edition | None = None) -> None:
        """One question less; an edition that is not the current one and has none is closed."""
        edition = used or former
        assert edition is not None
        with self._lock:
            edition.users -= used is not None
            done = edition is not self._edition and edition.users == 0
        if done:
            edition.knowledge.close()


def _stamp(database: Database) -> tuple[int, ...]:
    """What changes when the file is replaced; a publication may still lie in `.publish/`."""
    named = database.path.name == DATABASE
    facts = (locate(database.folder, DATABASE) if named else database.path).stat()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns
