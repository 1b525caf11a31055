"""Opening a published database: read only, checked, locked down."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

from .artifacts import DATABASE, Manifest, locate, read_manifest
from .errors import DatabaseError
from .extensions import extension_path, load_extension
from .schema import SCHEMA_VERSION
from .terms import synonym_groups


class Database:
    """One read-only connection. `meta` holds the build's facts; `path` is the file it reads."""

    def __init__(self, path: Path, *, manifest: Manifest | None = None, vss: bool = False) -> None:
        """Open and check. Raises DatabaseError: missing, truncated, of another schema, or stale in-process."""
        self.path = path
        self.manifest = manifest
        if not path.is_file():
            raise DatabaseError(f"{path} does not exist", hint="run `syntropy build`, or name a database with --db")
        expected = manifest.artifacts.get(DATABASE) if manifest else None
        size = path.stat().st_size
        if expected and size != expected[0]:
            raise DatabaseError(
                f"{path} has {size} bytes, its manifest says {expected[0]}: truncated or half copied",
                hint="copy it again, or run `syntropy build`",
            )
        try:
            self._connection = duckdb.connect(
                str(path),
                read_only=True,
                config={
                    "threads": 1,
                    "memory_limit": "1GB",
                    "autoinstall_known_extensions": "false",
                    "autoload_known_extensions": "false",
                },
            )
            self.has_vss = vss and extension_path("vss") is not None
            if self.has_vss:
                load_extension(self._connection, "vss")
                self._connection.execute(f"SET GLOBAL hnsw_ef_search = {EF_SEARCH}")
            self._lock_down()
            self._local = threading.local()
            self.meta: dict[str, str] = dict(self._connection.execute("SELECT key, value FROM meta").fetchall())
        except duckdb.Error as error:
            raise DatabaseError(
                f"{path} cannot be read as a Syntropy database: {str(error).splitlines()[0]}",
                hint="run `syntropy build`; `syntropy verify` tells which file is damaged",
            ) from error
        if self.meta.get("schema_version") != str(SCHEMA_VERSION):
            found = self.meta.get("schema_version", "none")
            self.close()
            raise DatabaseError(
                f"{path} has schema version {found}, this reader knows {SCHEMA_VERSION}",
                hint="build it again with this version, or install the version that built it",
            )
        if manifest and manifest.facts.get("build_id") != self.meta.get("build_id"):
            self.close()
            raise DatabaseError(
                f"{path} was replaced while this process still has the former one open",
                hint="close the former database before opening the new one",
            )
        self.chunk_count = int(self.meta["chunks"])

    def _lock_down(self) -> None:
        """Nothing but this file from here on. Connections of one process share the settings of the first."""
        locked = self._connection.execute("SELECT current_setting('lock_configuration')").fetchone()
        if locked != (True,):
            self._connection.execute("SET enable_external_access = false; SET lock_configuration = true")

    @cached_property
    def synonym_groups(self) -> tuple[tuple[str, ...], ...]:
        """Groups of stemmed synonyms: the built-in ones and the project's."""
        return synonym_groups(json.loads(self.meta.get("synonyms", "{}")))

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query; damage found while reading is a DatabaseError. Any thread may ask."""
        return self._read(sql, parameters, lambda cursor: cursor.fetchall())  # type: ignore[no-any-return]

    def columns(self, sql: str, parameters: Sequence[object] = ()) -> dict[str, Any]:
        """All columns of a query as numpy arrays."""
        return self._read(sql, parameters, lambda cursor: cursor.fetchnumpy())  # type: ignore[no-any-return]

    def _read(self, sql: str, parameters: Sequence[object], fetch: Callable[[duckdb.DuckDBPyConnection], Any]) -> Any:
        try:
            return fetch(self._cursor().execute(sql, list(parameters)))
        except duckdb.ConnectionException as error:
            raise DatabaseError(f"{self.path} is closed", hint="open it again") from error
        except (duckdb.IOException, duckdb.InternalException, duckdb.SerializationException) as error:
            raise DatabaseError(
                f"{self.path} is damaged: {str(error).splitlines()[0]}",
                hint="run `syntropy verify`, then `syntropy build --full`",
            ) from error

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """This thread's cursor: a connection answers one query at a time."""
        cursor: duckdb.DuckDBPyConnection | None = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = self._connection.cursor()
        return cursor

    def close(self) -> None:
        """Close the connection and this thread's cursor; others end with it."""
        cursor = getattr(self._local, "cursor", None)
        if cursor is not None:
            cursor.close()
        self._connection.close()


def open_database(*, out: Path | None = None, db: Path | None = None) -> Database:
    """A database by its published folder (`out`) or file (`db`); `vss` is loaded where it pays off."""
    if db is not None:
        folder = db.parent if db.name == DATABASE else None
        manifest = read_manifest(folder) if folder else None
        return Database(db, manifest=manifest)
    assert out is not None
    manifest = read_manifest(out)
    if manifest is None:
        bare = out / DATABASE
        if bare.is_file():
            raise DatabaseError(
                f"{out} holds a database without its manifest", hint=f"open the file itself: --db {bare}"
            )
        raise DatabaseError(
            f"{out} holds no published knowledge", hint="run `syntropy build`, or name a folder with --out"
        )
    hnsw = (
        manifest.facts.get("hnsw") is True
        and int(manifest.facts.get("tables", {}).get("windows", {}).get("rows", 0)) >= HNSW_PAYS
    )
    return Database(locate(out, DATABASE), manifest=manifest, vss=hnsw)


EF_SEARCH = 256
"""Candidates the index keeps while it searches: recall@10 is above .99, where the default of 64 gives .98."""

HNSW_PAYS = 50_000
"""Vectors from which loading the index (0.1 s) beats an exact scan in a single process."""
