"""Stage tables to DuckDB files: complete, checkpointed and closed before anybody may see it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl

from pipeline.store.inverted_index import (
    append,
    create_postings,
    declare_fts_index,
    fill_fts_index,
    lengths_of,
    occurrences,
)
from pipeline.store.numbers import Numbered
from syntropy.contract.config import RankingConfig, StoreConfig
from syntropy.contract.errors import BuildError
from syntropy.contract.published import log_beside
from syntropy.contract.schema import CHUNKS, META, NAMES, POSTINGS, WINDOWS, Table, create_table_sql, database_tables
from syntropy.store.extensions import load_extension

HNSW_INDEX = "windows_hnsw"
HNSW_EF_CONSTRUCTION, HNSW_EF_SEARCH, HNSW_M = 128, 64, 16
"""VSS's defaults, spelled out; recall@10 is 1.0 at 100k vectors with them (benchmarks)."""


class Stored(NamedTuple):
    """Row counts and logical hashes by table, whether the vector index was built, and the vectors' length (0: none)."""

    rows: dict[str, int]
    hashes: dict[str, str]
    hnsw: bool
    dimension: int


def write_database(
    path: Path,
    tables: Mapping[str, pl.DataFrame],
    documents: pl.DataFrame,
    *,
    vectors: pl.DataFrame | None = None,
    averages: Sequence[float],
    shard: int = 0,
    ranking: RankingConfig,
    store: StoreConfig,
    meta: Mapping[str, str],
) -> Stored:
    """Write the database of a shard, or of all there is, at `path`, which must not exist.

    `tables` holds stage frames by name: those that are about all documents (`Table.whole`) are written where they are
    among them. `documents`: rows of `number_documents`, of the shard; of all, where relations are among the tables.
    `vectors` has `text_hash`, `vector` (None: no embeddings); `averages` are those of `averages_of`.
    Raises BuildError where DuckDB left a write-ahead log.
    """
    dimension = vectors["vector"].dtype.shape[0] if vectors is not None else 0  # type: ignore[attr-defined]
    with _new_database(path, store.memory_limit) as connection:
        load_extension(connection, "fts")
        numbered = Numbered(tables, documents, shard=shard)
        _insert(connection, WINDOWS, numbered.windows(vectors), dimension)
        # Uncompressed vectors are scanned 3.2 times faster, and ALP makes them larger anyway.
        connection.execute("SET force_compression = 'uncompressed'")
        connection.execute("CHECKPOINT")
        connection.execute("SET force_compression = 'auto'")
        for table in database_tables():
            if table not in (WINDOWS, POSTINGS, NAMES, META) and table.name in tables:
                _insert(connection, table, numbered.frame(table))
        _insert(connection, NAMES, numbered.names())
        connection.execute("CREATE INDEX names_by_name ON names (name)")
        found = occurrences(numbered.ordered("terms"))
        fill_fts_index(connection, found)
        connection.execute(create_table_sql(POSTINGS))
        create_postings(connection, found, ranking, averages, first=numbered.first)
        del found
        hnsw = _hnsw_wanted(store, _count(connection, "windows") if dimension else 0)
        if hnsw:
            _create_hnsw(connection)
        facts = {
            **meta,
            "vector_dimension": str(dimension),
            "hnsw": str(hnsw).lower(),
            "lengths": json.dumps(lengths_of(tables["terms"])),
            "averages": json.dumps(averages),
        }
        return _finished(connection, None, facts, hnsw=hnsw, dimension=dimension)


def write_catalogue(
    path: Path,
    tables: Mapping[str, pl.DataFrame],
    documents: pl.DataFrame,
    *,
    store: StoreConfig,
    meta: Mapping[str, str],
) -> Stored:
    """Write what is about all documents together, where they lie in shards; `documents` as above, of all shards."""
    with _new_database(path, store.memory_limit) as connection:
        numbered = Numbered(tables, documents)
        for table in database_tables():
            if table.whole:
                _insert(connection, table, numbered.frame(table))
        return _finished(connection, documents, meta, hnsw=False, dimension=0)


@contextmanager
def _new_database(path: Path, memory_limit: str) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(
        str(path),
        config={
            "memory_limit": memory_limit,
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
        yield connection
    finally:
        connection.close()
    _check_closed(path)


def _finished(
    connection: duckdb.DuckDBPyConnection,
    documents: pl.DataFrame | None,
    meta: Mapping[str, str],
    *,
    hnsw: bool,
    dimension: int,
) -> Stored:
    connection.execute(create_table_sql(META))
    connection.executemany("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))
    hashes = logical_hashes(connection, documents)
    rows = {name: _count(connection, name) for name in [*hashes, META.name]}
    connection.execute("CHECKPOINT")
    return Stored(rows, hashes, hnsw, dimension)


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


def logical_hashes(connection: duckdb.DuckDBPyConnection, documents: pl.DataFrame | None = None) -> dict[str, str]:
    """Per table an order-free digest of its rows: equal inputs, equal digests, whatever the files' bytes and number.

    Sums of two 64-bit hashes of each row, by DuckDB (whose version is part of every build's inputs). Numbers stand
    for uids: those in `documents` (`document`, `document_id`), or the database's own. So the hash of a set is the sum
    of its shards' (`added`). `meta` is left out: it names versions.
    """
    if documents is None:
        homes = "SELECT document_id, package || ':' || path AS document FROM documents"
    else:
        homes = "FROM homes"
        connection.register("homes", documents.select("document_id", "document").to_arrow())
    connection.execute(f"CREATE TEMP TABLE home AS SELECT document_id, hash(document) AS home FROM ({homes})")
    present = {name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    tables = [table for table in database_tables() if table is not META and table.name in present]
    if CHUNKS in tables:
        connection.execute(
            "CREATE TEMP TABLE place AS SELECT chunk_id, hash(home, chunk_id - min(chunk_id) OVER "
            "(PARTITION BY document_id)) AS place FROM chunks JOIN home USING (document_id)"
        )
    result = {}
    for table in tables:
        source, columns = _hashed(table, has_vectors=table is WINDOWS and _has_vectors(connection))
        sums = f"coalesce(sum(hash({columns})), 0), coalesce(sum(hash({columns}, 'again')), 0)"
        row = connection.execute(f"SELECT {sums}, count(*) FROM {source}").fetchone()
        result[table.name] = ":".join(str(v) for v in row) if row else ""
    connection.execute("DROP TABLE home; DROP TABLE IF EXISTS place")
    return result


def added(hashes: Iterable[str]) -> str:
    """The logical hash of a table in several shards."""
    return ":".join(str(sum(numbers)) for numbers in zip(*(map(int, one.split(":")) for one in hashes), strict=True))


def _hashed(table: Table, *, has_vectors: bool) -> tuple[str, str]:
    """(FROM, columns) of a table with places in the order of names for numbers; lists of postings row by row."""
    if table is POSTINGS:
        rows = "SELECT term, unnest(chunk_ids) AS chunk_id, unnest(saturations) AS saturation FROM postings"
        return f"({rows}) JOIN place USING (chunk_id)", "term, place, saturation"
    source, columns = f'"{table.name}" t', []
    for column in table.database_columns():
        if column.name == "chunk_id":
            source += " JOIN place p USING (chunk_id)"
            columns.append("p.place")
        elif column.name.endswith("_id"):
            alias = column.name.removesuffix("_id")
            source += f' LEFT JOIN home "{alias}" ON "{alias}".document_id = t."{column.name}"'
            columns.append(f'"{alias}".home')
        else:
            columns.append(f't."{column.name}"')
    return source, ", ".join([*columns, *(["t.vector"] if has_vectors else [])])


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
