"""Opening a published database: read only, checked, locked down."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from ..contract.errors import DatabaseError
from ..contract.published import DATABASE, PUBLISHING, Manifest, locate, log_beside, read_manifest
from ..contract.schema import META, SCHEMA_VERSION, database_tables
from ..contract.shards import STRIDE, shard_file
from .extensions import extension_path, load_extension

_ATTACHED = "knowledge"


class OutOfMemoryError(DatabaseError):
    """A question needs more memory than it was granted."""


class Shard(NamedTuple):
    """A part of a database: the `schema` its tables are found under, the numbers of its first chunk and document (both
    the same), and how many it has of each."""

    schema: str
    first: int
    chunks: int
    documents: int
    windows: int


class Database:
    """One read-only connection. `meta` holds the build's facts; `path` is the file it reads, the catalogue where the
    documents lie in shards: then its tables and those of all shards are seen as one."""

    def __init__(
        self, path: Path, *, manifest: Manifest | None = None, vss: bool = False, memory_limit: str = "1GB"
    ) -> None:
        """Open and check. Raises DatabaseError: missing, truncated, of another schema, or stale in-process."""
        self.path = path
        self.manifest = manifest
        if not path.is_file():
            raise DatabaseError(f"{path} does not exist", hint="run `syntropy build`, or name a database with --db")
        _refuse_log(path)
        expected = manifest.artifacts.get(DATABASE) if manifest else None
        self.stamp = stamp_of(path)
        """State of the file before it was opened: a replacement that comes between is newer than this."""
        size = self.stamp[1]
        if expected and size != expected[0]:
            raise DatabaseError(
                f"{path} has {size} bytes, its manifest says {expected[0]}: truncated or half copied",
                hint="copy it again, or run `syntropy build`",
            )
        try:
            self._connection = duckdb.connect(  # in memory, with the file attached: connections of one process
                # to the same path would share one view of it, and a new publication could not be opened beside it
                config={
                    "threads": 1,
                    "memory_limit": memory_limit,
                    "autoinstall_known_extensions": "false",
                    "autoload_known_extensions": "false",
                },
            )
            self.has_vss = vss and extension_path("vss") is not None
            if self.has_vss:
                load_extension(self._connection, "vss")
                self._connection.execute(f"SET GLOBAL hnsw_ef_search = {EF_SEARCH}")
            self._local = threading.local()
            self._home = _ATTACHED
            self._attach(path, _ATTACHED)
            self.notice = ""
            """What answers should say of it."""
            self.meta: dict[str, str] = self._meta(_ATTACHED)
            self.shards = self._shards()
            self._connection.execute("SET enable_external_access = false; SET lock_configuration = true")
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
        if "shards_in_all" in self.meta:
            self.close()
            raise DatabaseError(
                f"{path} is one shard of {self.meta['shards_in_all']}",
                hint=f"open {self.folder.parent / DATABASE}, which knows all of them",
            )
        if manifest and manifest.facts.get("build_id") != self.meta.get("build_id"):
            self.close()
            raise DatabaseError(
                f"{path} is not the one its manifest names: a publication was under way", hint="open it again"
            )
        self.chunk_count = int(self.meta["chunks"])

    def _attach(self, path: Path, name: str) -> None:
        self._connection.execute(f"ATTACH '{_quoted(path)}' AS {name} (READ_ONLY)")

    def _meta(self, name: str) -> dict[str, str]:
        return dict(self._connection.execute(f"SELECT key, value FROM {name}.meta").fetchall())

    def _shards(self) -> tuple[Shard, ...]:
        """Attach the shards the catalogue names, and show their tables as one; or the file itself is all there is."""
        named: list[dict[str, Any]] = json.loads(self.meta.get("shards", "[]"))
        if not named:
            counts = (int(self.meta.get(name, 0)) for name in ("chunks", "documents", "windows"))
            return (Shard(_ATTACHED, 1, *counts),)
        shards = []
        for facts in named:
            number, schema = int(facts["shard"]), f"shard{facts['shard']}"
            path = locate(self.folder, shard_file(number))
            if not path.is_file():
                raise DatabaseError(f"{path} does not exist", hint="copy the whole folder, or run `syntropy build`")
            _refuse_log(path)
            try:
                self._attach(path, schema)
                found = self._meta(schema)
            except duckdb.Error as error:
                raise DatabaseError(
                    f"{path} cannot be read: {str(error).splitlines()[0]}",
                    hint="`syntropy verify` tells which files are damaged; `syntropy build` writes them anew",
                ) from error
            if found.get("build_id") != facts["build_id"]:
                raise DatabaseError(
                    f"{path} is not the shard that {self.path.name} names",
                    hint="open it again: a publication may be under way; else copy the whole folder again, or build",
                )
            counts = (int(facts[name]) for name in ("chunks", "documents", "windows"))
            shards.append(Shard(schema, number * STRIDE + 1, *counts))
        for table in database_tables():
            if table.whole or table is META:
                source = f"FROM {_ATTACHED}.{table.name}"
            else:
                source = " UNION ALL ".join(f"SELECT * FROM {shard.schema}.{table.name}" for shard in shards)
            self._connection.execute(f"CREATE VIEW {table.name} AS {source}")
        self._home = "memory"
        return tuple(shards)

    @property
    def folder(self) -> Path:
        """The published folder around it."""
        return self.path.parent.parent if self.path.parent.name == PUBLISHING else self.path.parent

    @cached_property
    def synonym_groups(self) -> tuple[tuple[str, ...], ...]:
        """Groups of stemmed synonyms: the built-in ones and the project's, stemmed by the build."""
        return tuple(tuple(group) for group in json.loads(self.meta["synonym_groups"]))

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query; damage found while reading is a DatabaseError. Any thread may ask."""
        return self._read(sql, parameters, lambda cursor: cursor.fetchall())  # type: ignore[no-any-return]

    def by_number(self, table: str, columns: str, key: str, numbers: Sequence[int]) -> list[tuple[Any, ...]]:
        """Rows of the chunks or documents with these numbers, each looked for in its own shard only.

        Seven times as fast as all shards seen as one, where every shard looks for every number.
        """
        own: dict[int, list[int]] = {}
        for number in numbers:
            own.setdefault(int(number) // STRIDE, []).append(int(number))
        found: list[tuple[Any, ...]] = []
        for shard in self.shards:
            if wanted := own.get(shard.first // STRIDE):
                listed = ", ".join(map(str, wanted))
                found += self.rows(f"SELECT {columns} FROM {shard.schema}.{table} WHERE {key} IN ({listed})")
        return found

    def columns(self, sql: str, parameters: Sequence[object] = ()) -> dict[str, Any]:
        """All columns of a query as numpy arrays."""
        return self._read(sql, parameters, lambda cursor: cursor.fetchnumpy())  # type: ignore[no-any-return]

    def _read(self, sql: str, parameters: Sequence[object], fetch: Callable[[duckdb.DuckDBPyConnection], Any]) -> Any:
        try:
            return fetch(self._cursor().execute(sql, list(parameters)))
        except duckdb.ConnectionException as error:
            raise DatabaseError(f"{self.path} is closed", hint="open it again") from error
        except duckdb.OutOfMemoryException as error:
            raise OutOfMemoryError(
                f"the question needs more memory than reader.memory_limit grants ({str(error).splitlines()[0]})",
                hint="raise reader.memory_limit",
            ) from error
        except (duckdb.IOException, duckdb.InternalException, duckdb.SerializationException) as error:
            raise DatabaseError(
                f"{self.path} is damaged: {str(error).splitlines()[0]}",
                hint="run `syntropy verify`, then `syntropy build --full`",
            ) from error

    def without_index(self) -> None:
        """The vector index does not fit into the memory granted: from now on vectors are scanned."""
        self.has_vss = False
        self.notice = "the vector index needs more memory than reader.memory_limit grants: all vectors were scanned"

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """This thread's cursor: a connection answers one query at a time."""
        cursor: duckdb.DuckDBPyConnection | None = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = self._connection.cursor()
            cursor.execute(f"USE {self._home}")
        return cursor

    def close(self) -> None:
        """Close the connection and this thread's cursor; others end with it."""
        cursor = getattr(self._local, "cursor", None)
        if cursor is not None:
            cursor.close()
        self._connection.close()


def _refuse_log(path: Path) -> None:
    if log_beside(path).exists():
        raise DatabaseError(
            f"{log_beside(path)} lies beside the database: something opened it for writing",
            hint="run `syntropy build`, which replaces both, or delete that file if you know what wrote it",
        )


def stamp_of(path: Path) -> tuple[int, int, int]:
    """(inode, bytes, time of change in ns): what differs when a file is replaced. Raises OSError."""
    facts = path.stat()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def open_database(*, out: Path | None = None, db: Path | None = None, memory_limit: str = "1GB") -> Database:
    """A database by its published folder (`out`) or file (`db`); `vss` is loaded where it pays off.

    An index for vectors is used where `memory_limit` (as DuckDB writes sizes) has room for it. Raises DatabaseError.
    """
    folder = out if db is None else db.parent if db.name == DATABASE else None
    for _ in range(_ATTEMPTS - 1):
        manifest = read_manifest(folder) if folder else None
        try:
            return _opened(manifest, out, db, memory_limit)
        except DatabaseError:
            if folder is None or read_manifest(folder) == manifest:
                raise
    return _opened(read_manifest(folder) if folder else None, out, db, memory_limit)


def _opened(manifest: Manifest | None, out: Path | None, db: Path | None, memory_limit: str) -> Database:
    if db is not None:
        return Database(db, manifest=manifest, memory_limit=memory_limit)
    assert out is not None
    if manifest is None:
        bare = out / DATABASE
        if bare.is_file():
            raise DatabaseError(
                f"{out} holds a database without its manifest", hint=f"open the file itself: --db {bare}"
            )
        raise DatabaseError(
            f"{out} holds no published knowledge", hint="run `syntropy build`, or name a folder with --out"
        )
    windows = int(manifest.facts.get("tables", {}).get("windows", {}).get("rows", 0))
    dimension = int(manifest.facts.get("model", {}).get("dimension") or 384)
    fits = windows * (4 * dimension + HNSW_BYTES) <= HNSW_SHARE * in_bytes(memory_limit)
    hnsw = manifest.facts.get("hnsw") is True and windows >= HNSW_PAYS and fits
    return Database(locate(out, DATABASE), manifest=manifest, vss=hnsw, memory_limit=memory_limit)


def in_bytes(size: str) -> float:
    """A size as DuckDB writes it ("1GB", "512 MiB") in bytes; a share of the machine's memory ("50%") of 1 GB."""
    number, unit = re.fullmatch(r"\s*([\d.]+)\s*([a-zA-Z%]*)\s*", size).groups()  # type: ignore[union-attr]
    factors = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "%": 1e7}
    return float(number) * factors.get(unit[:1].upper(), 1.0)


HNSW_BYTES = 150
"""Of the index, for each vector besides its numbers: 1,686 with 384 dimensions (measured)."""

HNSW_SHARE = 0.8
"""Of the memory granted, at most for the index: it cannot be spilled, and the rest of a question needs some."""


_ATTEMPTS = 3
"""A publication between reading the manifest and opening the database is not an error: it is looked at again."""

EF_SEARCH = 256
"""Candidates the index keeps while it searches: recall@10 is above .99, where the default of 64 gives .98."""

HNSW_PAYS = 50_000
"""Vectors from which loading the index (0.1 s) beats an exact scan in a single process."""
