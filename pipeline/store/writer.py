"""Stage tables to one DuckDB file: complete, checkpointed and closed before anybody may see it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl

from pipeline.store.inverted_index import append, create_postings, declare_fts_index, fill_fts_index, occurrences
from syntropy.contract.config import RankingConfig, StoreConfig
from syntropy.contract.errors import BuildError
from syntropy.contract.published import log_beside
from syntropy.contract.schema import CHUNKS, META, NAMES, POSTINGS, WINDOWS, Table, create_table_sql, database_tables
from syntropy.contract.text import name_of
from syntropy.store.extensions import load_extension

HNSW_INDEX = "windows_hnsw"
HNSW_EF_CONSTRUCTION, HNSW_EF_SEARCH, HNSW_M = 128, 64, 16
"""VSS's defaults, spelled out; recall@10 is 1.0 at 100k vectors with them (benchmarks)."""


class Stored(NamedTuple):
    """Row counts and logical hashes by table, and whether the vector index was built."""

    rows: dict[str, int]
    hashes: dict[str, str]
    hnsw: bool


def build_database(
    path: Path,
    tables: Mapping[str, pl.DataFrame],
    vectors: pl.DataFrame | None,
    *,
    ranking: RankingConfig,
    store: StoreConfig,
    meta: Mapping[str, str],
) -> Stored:
    """Write the database at `path`, which must not exist.

    `tables` holds stage frames by name; `vectors` has `text_hash`, `vector` (None: no embeddings).
    Raises BuildError where DuckDB left a write-ahead log.
    """
    dimension = vectors["vector"].dtype.shape[0] if vectors is not None and vectors.height else 0  # type: ignore[attr-defined]
    connection = duckdb.connect(
        str(path),
        config={
            "memory_limit": store.memory_limit,
            "temp_directory": f"{path}.tmp",
            "storage_compatibility_version": "latest",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )
    try:
        connection.execute("SET enable_progress_bar = false")
        # FSST never wins over zstd on these texts, and trying it takes half of the checkpoint's time.
        connection.execute("SET disabled_compression_methods = 'fsst'")
        connection.execute("SET wal_autocheckpoint = '1TB'")  # one checkpoint at the end, not one a table
        load_extension(connection, "fts")
        numbered = _Numbers(tables)
        _insert(connection, WINDOWS, numbered.windows(vectors), dimension)
        # Uncompressed vectors are scanned 3.2 times faster, and ALP makes them larger anyway.
        connection.execute("SET force_compression = 'uncompressed'")
        connection.execute("CHECKPOINT")
        connection.execute("SET force_compression = 'auto'")
        for table in database_tables():
            if table not in (WINDOWS, POSTINGS, NAMES, META):
                _insert(connection, table, numbered.frame(table))
        _insert(connection, NAMES, numbered.names())
        connection.execute("CREATE INDEX names_by_name ON names (name)")
        found = occurrences(tables["terms"].sort("document", "chunk"))
        fill_fts_index(connection, found)
        connection.execute(create_table_sql(POSTINGS))
        create_postings(connection, found, ranking)
        del found
        hnsw = _hnsw_wanted(store, _count(connection, "windows") if dimension else 0)
        if hnsw:
            _create_hnsw(connection)
        connection.execute(create_table_sql(META))
        facts = {**meta, "vector_dimension": str(dimension), "hnsw": str(hnsw).lower()}
        connection.executemany("INSERT INTO meta VALUES (?, ?)", sorted(facts.items()))
        rows = {t.name: _count(connection, t.name) for t in database_tables()}
        hashes = logical_hashes(connection)
        connection.execute("CHECKPOINT")
    finally:
        connection.close()
    _check_closed(path)
    return Stored(rows, hashes, hnsw)


def add_meta(path: Path, facts: Mapping[str, str]) -> None:
    """Add rows of `meta` to a closed database, or replace them. Raises BuildError as `build_database` does."""
    connection = duckdb.connect(str(path), config={"autoload_known_extensions": "false"})
    try:
        load_extension(connection, "fts")
        if connection.execute("SELECT 1 FROM meta WHERE key = 'hnsw' AND value = 'true'").fetchone():
            load_extension(connection, "vss")  # or the index could not be written back
            connection.execute("SET hnsw_enable_experimental_persistence = true")
        connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", sorted(facts.items()))
        connection.execute("CHECKPOINT")
    finally:
        connection.close()
    _check_closed(path)


def _check_closed(path: Path) -> None:
    if log_beside(path).exists():
        raise BuildError(f"{path} was closed with a write-ahead log beside it", hint="check the disk, then build again")


def logical_hashes(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Per table an order-free digest of its rows: equal inputs, equal digests, whatever the file's bytes.

    Sums of two 64-bit hashes of each row, by DuckDB (whose version is part of every build's inputs).
    `meta` is left out: it names versions.
    """
    result = {}
    for table in database_tables():
        if table is META:
            continue
        columns = [f'"{c.name}"' for c in table.database_columns()]
        if table is WINDOWS and _has_vectors(connection):
            columns.append("vector")
        listed = ", ".join(columns)
        row = connection.execute(
            f"SELECT sum(hash({listed})), sum(hash({listed}, 'again')), count(*) FROM \"{table.name}\""
        ).fetchone()
        result[table.name] = ":".join(str(v) for v in row) if row else ""
    return result


def _has_vectors(connection: duckdb.DuckDBPyConnection) -> bool:
    found = connection.execute(
        "SELECT 1 FROM duckdb_columns() WHERE table_name = 'windows' AND column_name = 'vector'"
    ).fetchone()
    return found is not None


def _hnsw_wanted(store: StoreConfig, vectors: int) -> bool:
    if store.hnsw == "auto":
        return vectors >= store.hnsw_min_vectors
    return store.hnsw == "always" and vectors > 0


def _create_hnsw(connection: duckdb.DuckDBPyConnection) -> None:
    load_extension(connection, "vss")
    connection.execute("SET hnsw_enable_experimental_persistence = true")
    connection.execute(
        f"CREATE INDEX {HNSW_INDEX} ON windows USING HNSW (vector) WITH (metric = 'cosine', M = {HNSW_M}, "
        f"ef_construction = {HNSW_EF_CONSTRUCTION}, ef_search = {HNSW_EF_SEARCH})"
    )


def _insert(connection: duckdb.DuckDBPyConnection, table: Table, frame: pl.DataFrame, dimension: int = 0) -> None:
    connection.execute(create_table_sql(table, vector_dimension=dimension))
    if table is CHUNKS:
        declare_fts_index(connection)  # on the empty table; filled below, in a fraction of the time
    append(connection, table.name, frame.to_arrow())


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    row = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()
    return int(row[0]) if row else 0


class _Numbers:
    """Uids and ordinals to integers: documents in the order of their uids, chunks of theirs, from 1."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self._tables = tables
        self._documents = tables["documents"].select("document").sort("document").with_row_index("document_id", 1)
        self._documents = self._documents.with_columns(pl.col("document_id").cast(pl.Int32))
        chunks = tables["chunks"].select("document", "chunk").sort("document", "chunk").with_row_index("chunk_id", 1)
        self._chunks = chunks.with_columns(pl.col("chunk_id").cast(pl.Int32))

    def frame(self, table: Table) -> pl.DataFrame:
        """A stage frame in the table's database form, in key order."""
        frame = self._tables[table.name].sort(list(table.key), nulls_last=True)
        if table.name == "chunks":
            frame = frame.join(self._chunks, on=["document", "chunk"], how="left", maintain_order="left")
            return self._with_document(frame).select(c.name for c in table.database_columns())
        for column in table.columns:
            if column.type == "DOCUMENT":
                frame = self._with_document(frame, column.name)
        return frame.select(c.name for c in table.database_columns())

    def windows(self, vectors: pl.DataFrame | None) -> pl.DataFrame:
        """`windows` in database form, with vectors where there are any."""
        frame = self._tables["windows"].sort("document", "chunk", "window")
        frame = frame.join(self._chunks, on=["document", "chunk"], how="left", maintain_order="left")
        columns = [c.name for c in WINDOWS.database_columns()]
        if vectors is not None and vectors.height:
            frame = frame.join(vectors, on="text_hash", how="left", maintain_order="left")
            columns.append("vector")
        return frame.select(columns)

    def names(self) -> pl.DataFrame:
        """`names`: folded titles, aliases and file names."""
        columns = ("title", "key", "path", "aliases")
        documents = self._with_document(self._tables["documents"].select("document", *columns))
        rows = {
            (name, number, origin)
            for number, title, key, path, aliases in documents.select("document_id", *columns).iter_rows()
            for origin, text in (
                ("title", title),
                *(("alias", alias) for alias in (key, *aliases)),
                *(("file", name) for name in {path, path.rpartition("/")[2]} if "#" not in path),
            )
            if (name := name_of(text))
        }
        return pl.DataFrame(
            sorted(rows), schema={"name": pl.String, "document_id": pl.Int32, "origin": pl.String}, orient="row"
        )

    def _with_document(self, frame: pl.DataFrame, name: str = "document") -> pl.DataFrame:
        numbers = self._documents.rename({"document": name, "document_id": f"{name}_id"})
        return frame.join(numbers, on=name, how="left", maintain_order="left")
