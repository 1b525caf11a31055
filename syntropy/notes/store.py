"""The SQLite file: opening, numbered migrations with a backup first, one writer at a time.

Tables and columns of insights are those of the Episteme seed (`user_entities`, `user_relations`,
`user_embeddings`, `user_entities_fts`, `insight_seq`), of notes and rules those of Synaptic (`entries`), so
a file of either can be opened. WAL: readers never wait. Every write is one `BEGIN IMMEDIATE` transaction
(deferred ones that read first lost 49 of 1,200 updates of concurrent writers).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..contract.errors import SyntropyError
from .identities import identify_missing
from .lookup import index_missing

VERSION = 3
"""Number of the last migration; `PRAGMA user_version` of a current file."""

BUSY_SECONDS = 30.0
"""How long a writer waits for others before it gives up."""

_SEED = """
CREATE TABLE IF NOT EXISTS user_entities (
    id TEXT PRIMARY KEY, title TEXT NOT NULL, content TEXT NOT NULL, author TEXT NOT NULL DEFAULT 'user',
    confidence REAL NOT NULL DEFAULT 0.5, evidence_count INTEGER NOT NULL DEFAULT 0,
    last_validated TEXT NOT NULL DEFAULT '', tags TEXT NOT NULL DEFAULT '[]', relations TEXT NOT NULL DEFAULT '{}',
    created_at TEXT NOT NULL DEFAULT '', updated_at TEXT NOT NULL DEFAULT '', link_provenance TEXT NOT NULL DEFAULT '{}'
);
CREATE TABLE IF NOT EXISTS user_relations (
    id INTEGER PRIMARY KEY AUTOINCREMENT, from_id TEXT NOT NULL, relation_type TEXT NOT NULL, to_id TEXT NOT NULL,
    UNIQUE(from_id, relation_type, to_id)
);
CREATE TABLE IF NOT EXISTS user_embeddings (entity_id TEXT PRIMARY KEY, embedding BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS insight_seq (key TEXT PRIMARY KEY, val INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, content TEXT NOT NULL, project TEXT NOT NULL DEFAULT '',
    tags TEXT NOT NULL DEFAULT '[]', tier TEXT NOT NULL DEFAULT 'working', pinned INTEGER NOT NULL DEFAULT 0,
    access_count INTEGER NOT NULL DEFAULT 0, last_accessed TEXT NOT NULL DEFAULT '',
    archived INTEGER NOT NULL DEFAULT 0, created_at TEXT NOT NULL DEFAULT '', updated_at TEXT NOT NULL DEFAULT '',
    label TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_entries_rule_label ON entries(label) WHERE type = 'rule';
CREATE TABLE IF NOT EXISTS syntropy_state (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""

_SEARCH = """
CREATE VIRTUAL TABLE IF NOT EXISTS user_entities_fts USING fts5(
    title, content, tags, content=user_entities, content_rowid=rowid
);
CREATE VIRTUAL TABLE IF NOT EXISTS syntropy_terms USING fts5(kind UNINDEXED, key UNINDEXED, terms, tokenize='ascii');
CREATE VIRTUAL TABLE IF NOT EXISTS syntropy_vocabulary USING fts5vocab(syntropy_terms, 'row');
CREATE TRIGGER IF NOT EXISTS user_entities_added AFTER INSERT ON user_entities BEGIN
    INSERT INTO user_entities_fts(rowid, title, content, tags) VALUES (new.rowid, new.title, new.content, new.tags);
END;
CREATE TRIGGER IF NOT EXISTS user_entities_gone AFTER DELETE ON user_entities BEGIN
    INSERT INTO user_entities_fts(user_entities_fts, rowid, title, content, tags)
    VALUES ('delete', old.rowid, old.title, old.content, old.tags);
END;
CREATE TRIGGER IF NOT EXISTS user_entities_changed AFTER UPDATE OF title, content, tags ON user_entities BEGIN
    INSERT INTO user_entities_fts(user_entities_fts, rowid, title, content, tags)
    VALUES ('delete', old.rowid, old.title, old.content, old.tags);
    INSERT INTO user_entities_fts(rowid, title, content, tags) VALUES (new.rowid, new.title, new.content, new.tags);
END;
INSERT INTO user_entities_fts(user_entities_fts) VALUES ('rebuild');
"""

_MERGE = """
CREATE TABLE IF NOT EXISTS syntropy_identity (
    kind TEXT NOT NULL, key TEXT NOT NULL, uid TEXT NOT NULL UNIQUE, PRIMARY KEY (kind, key)
);
CREATE TABLE IF NOT EXISTS syntropy_gone (uid TEXT PRIMARY KEY, kind TEXT NOT NULL, deleted_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS syntropy_note_vectors (entry_id INTEGER PRIMARY KEY, embedding BLOB NOT NULL);
"""
"""Identities that hold across files, what was deleted, vectors of notes."""

MIGRATIONS: tuple[str, ...] = (_SEED, _SEARCH, _MERGE)
"""Applied in order, each with its number in one transaction."""


class NotesError(SyntropyError):
    """The notes cannot be read or written; the canonical database is untouched."""

    exit_code = 11


class NotesStore:
    """One file. Any thread may use it; processes take turns at writing."""

    def __init__(self, path: Path, *, write: bool = False) -> None:
        """Open, and for writing create and migrate. Raises NotesError: missing, damaged, newer, not writable."""
        self.path = path = own_file(path)
        self._lock = threading.RLock()
        if not write and not path.is_file():
            raise NotesError(f"there are no notes at {path}", hint='write the first: syntropy insight add "…"')
        if path.exists() and not path.is_file():
            raise NotesError(f"{path} is not a file", hint="set notes.path, or name a file with --notes")
        try:
            if write:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._open(path, write=write)
        except sqlite3.DatabaseError as error:
            raise self._damaged(error, write=write) from error
        except OSError as error:
            raise NotesError(f"{path} cannot be written: {error.strerror}", hint="check its folder") from error

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """All rows of a query. Raises NotesError."""
        try:
            with self._lock:
                return self._connection.execute(sql, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            raise NotesError(f"{self.path} cannot be read: {error}", hint="see `syntropy notes list`") from error

    @contextlib.contextmanager
    def writing(self, *, wait: float = BUSY_SECONDS) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it or nothing. Raises NotesError where others do not let go within `wait` s."""
        with self._lock:
            try:
                self._connection.execute(f"PRAGMA busy_timeout = {int(wait * 1000)}")
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                raise NotesError(
                    f"{self.path} is locked or read only: {error}", hint="try again when other writers are done"
                ) from error
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> NotesStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, path: Path, *, write: bool) -> sqlite3.Connection:
        mode = "rwc" if write else "rw"
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            mode = "ro"
        # without a journal beside it a file in a read-only folder can only be read as one that nobody changes
        journal = path.with_name(f"{path.name}-wal")
        frozen = mode == "ro" and not os.access(path.parent, os.W_OK) and not journal.exists()
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}{'&immutable=1' if frozen else ''}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.row_factory = sqlite3.Row
        try:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if version > VERSION:
                raise NotesError(
                    f"{path} has version {version}, this program knows {VERSION}", hint="install a newer syntropy"
                )
            if write:
                if mode == "ro":
                    raise NotesError(f"{path} is read only", hint="make it writable, or set notes.path")
                _log_ahead(connection)
                connection.execute("PRAGMA synchronous = NORMAL")
                if version < VERSION:
                    _migrate(connection, path)
            elif version < VERSION:
                connection.close()
                with NotesStore(path, write=True):  # a seed's file, or one of an older version
                    pass
                return self._open(path, write=False)
        except BaseException:
            connection.close()
            raise
        return connection

    def _damaged(self, error: sqlite3.DatabaseError, *, write: bool) -> NotesError:
        """A damaged file is set aside by the first writer, never deleted."""
        if "locked" in str(error) or "busy" in str(error):
            return NotesError(f"{self.path} is locked by another program", hint="try again in a moment")
        is_damage = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        if not self.path.exists() or not is_damage:
            return NotesError(f"{self.path} cannot be opened: {error}", hint="check its permissions and its folder's")
        if not write:
            return NotesError(f"{self.path} is damaged: {error}", hint="the next writing command sets it aside")
        aside = self.path.with_name(f"{self.path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
        self.path.replace(aside)
        for suffix in ("-wal", "-shm"):
            extra = self.path.with_name(self.path.name + suffix)
            if extra.exists():
                extra.replace(aside.with_name(aside.name + suffix))
        return NotesError(
            f"{self.path} was damaged ({error}) and set aside as {aside.name}",
            hint="run the command again; `sqlite3 FILE .recover` may save what the old file held",
        )


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switch the file to write-ahead logging.

    SQLite asks for the file alone for that, and does not wait for it as it does for other locks.
    """
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.01)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a file up to date, a copy of it made first if it holds anything."""
    connection.execute("BEGIN IMMEDIATE")  # two processes that open a new file take turns
    try:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        holds = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    finally:
        connection.execute("ROLLBACK")
    if holds and version < VERSION:
        backup = path.with_name(f"{path.name}.before-{VERSION}")
        if not backup.exists():
            with contextlib.closing(sqlite3.connect(f"{backup}.tmp")) as copy:
                connection.backup(copy)
            Path(f"{backup}.tmp").replace(backup)
    while True:
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if version >= VERSION:
                connection.execute("COMMIT")
                return
            if version == 0:
                _add_missing_columns(connection)
            for statement in _statements(MIGRATIONS[version]):
                connection.execute(statement)
            if version + 1 == VERSION:
                index_missing(connection)
                identify_missing(connection)
            connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


OWN_SUFFIX = ".syntropy"
"""Ending of the copy that is worked on where a path names another program's file."""


def own_file(path: Path) -> Path:
    """The file to work on: the path itself, or, where another program made that, a copy beside it made once.

    Raises NotesError where no copy can be made.
    """
    if path.name.endswith(OWN_SUFFIX):
        return path
    own = path.with_name(f"{path.name}{OWN_SUFFIX}")
    if own.is_file() or not path.is_file() or not _is_foreign(path):
        return own if own.is_file() else path
    if not os.access(path.parent, os.W_OK):
        raise NotesError(f"{path} is another program's file, and its folder is read only", hint="copy it elsewhere")
    fresh = own.with_name(f"{own.name}.tmp-{os.getpid()}")
    with (
        contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
        contextlib.closing(sqlite3.connect(fresh)) as copy,
    ):
        source.backup(copy)
    fresh.replace(own)
    return own


def _is_foreign(path: Path) -> bool:
    """Does a file hold tables of the seeds' programs, and nothing of ours?"""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return not _has(connection, "syntropy_state") and (
                _has(connection, "entries") or _has(connection, "user_entities")
            )
    except sqlite3.DatabaseError:
        return False  # damaged, or locked: told when it is opened


def _has(connection: sqlite3.Connection, table: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
    return found.fetchone() is not None


_COLUMNS = {
    "entries": (
        ("label", "TEXT"), ("project", "TEXT NOT NULL DEFAULT ''"), ("tier", "TEXT NOT NULL DEFAULT 'working'"),
        ("pinned", "INTEGER NOT NULL DEFAULT 0"), ("access_count", "INTEGER NOT NULL DEFAULT 0"),
        ("last_accessed", "TEXT NOT NULL DEFAULT ''"), ("archived", "INTEGER NOT NULL DEFAULT 0"),
        ("updated_at", "TEXT NOT NULL DEFAULT ''"), ("created_at", "TEXT NOT NULL DEFAULT ''"),
        ("tags", "TEXT NOT NULL DEFAULT '[]'"),
    ),
    "user_entities": (
        ("author", "TEXT NOT NULL DEFAULT 'user'"), ("confidence", "REAL NOT NULL DEFAULT 0.5"),
        ("evidence_count", "INTEGER NOT NULL DEFAULT 0"), ("last_validated", "TEXT NOT NULL DEFAULT ''"),
        ("tags", "TEXT NOT NULL DEFAULT '[]'"), ("relations", "TEXT NOT NULL DEFAULT '{}'"),
        ("created_at", "TEXT NOT NULL DEFAULT ''"), ("updated_at", "TEXT NOT NULL DEFAULT ''"),
        ("link_provenance", "TEXT NOT NULL DEFAULT '{}'"),
    ),
}  # fmt: skip
"""Columns that files of the seeds' programs, or of older versions of them, may lack."""


def _add_missing_columns(connection: sqlite3.Connection) -> None:
    for table, wanted in _COLUMNS.items():
        columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        for name, kind in wanted:
            if columns and name not in columns:
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")
    if _has(connection, "user_entities"):
        for name, value in (("tags", "[]"), ("relations", "{}"), ("link_provenance", "{}"), ("last_validated", "")):
            connection.execute(f"UPDATE user_entities SET {name} = ? WHERE {name} IS NULL", (value,))
    kept = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE name = 'user_entities_fts'")]
    if kept:  # another program's full-text index has columns of its own; ours is made from the table
        connection.execute("DROP TABLE user_entities_fts")
    for (trigger,) in connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'user_entities'"
    ).fetchall():
        connection.execute(f'DROP TRIGGER "{trigger}"')


def _statements(script: str) -> Iterator[str]:
    """The script's statements; triggers hold semicolons of their own."""
    current = ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            yield current
            current = ""
