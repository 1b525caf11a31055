"""The full-text index and the postings of the fast reader, both from the chunks' counted terms.

DuckDB's `match_bm25` scans one row per token occurrence (23 ms at 10k chunks, 189 at 100k); a list per
term, found by its primary key, takes 1.6 and 4 ms. Saturations hold what of BM25F's contribution is the
chunk's own; a query multiplies each term's by its idf and adds them up:

    tf' = Σ_field w_f · tf_f / (1 - b + b · len_f / avg_f);  score = Σ idf · saturation;  saturation = tf' / (k1 + tf')
    idf = ln(1 + (N - df + ½) / (df + ½))

(Robertson & Zaragoza, The Probabilistic Relevance Framework, 2009, §3.6; Lucene's non-negative idf.)
N and df are sums over all shards, taken when the query is asked. Averages are those of all shards, on a grid: a
changed document moves them hardly ever, and then the postings of other shards stay as they are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from syntropy.contract.config import RankingConfig
from syntropy.contract.vocabulary import SEARCH_FIELDS, STEMMER, STOP_WORDS, TOKEN_BREAK

FTS_SCHEMA = "fts_main_chunks"

Ints = NDArray[np.int32]

GRID = 1.05
"""Average lengths are powers of it: against exact ones the first hit is the same for 399 of 400 questions."""


class Lengths(NamedTuple):
    """How many `chunks` there are, and how many terms their fields hold together, in the order of SEARCH_FIELDS."""

    chunks: int
    fields: tuple[int, ...]

    @classmethod
    def stored(cls, text: str) -> Lengths:
        """From JSON, as `meta` keeps them."""
        chunks, fields = json.loads(text)
        return cls(chunks, tuple(fields))


def lengths_of(terms: pl.DataFrame) -> Lengths:
    """Of the chunks of `terms`. The index's empty term (what `s` stems to) is not a term."""
    each = terms.lazy().select("terms", "fields", "counts").explode("terms", "fields", "counts", empty_as_null=False)
    sums = dict(each.filter(pl.col("terms") != "").group_by("fields").agg(pl.col("counts").sum()).collect().iter_rows())
    return Lengths(terms.height, tuple(sums.get(number, 0) for number in range(len(SEARCH_FIELDS))))


def averages_of(parts: Iterable[Lengths]) -> tuple[float, ...]:
    """Average length of each field over all parts, on the grid; 1 for fields that hold nothing."""
    parts = list(parts)
    chunks = sum(part.chunks for part in parts)
    sums = [sum(part.fields[number] for part in parts) for number in range(len(SEARCH_FIELDS))]
    return tuple(GRID ** round(math.log(total / chunks, GRID)) if total else 1.0 for total in sums)


class Occurrences(NamedTuple):
    """All (term, chunk, field) with their counts, by term, then chunk, then field; terms sorted."""

    vocabulary: pl.Series
    term: Ints
    """Position in `vocabulary`."""
    row: Ints
    """Row of the chunk in `chunks`, from 0."""
    field: Ints
    times: Ints
    chunks: int


def occurrences(terms: pl.DataFrame) -> Occurrences:
    """From `terms` in the order of the chunks' numbers (one row a chunk)."""
    lengths = terms["terms"].list.len().to_numpy()
    words = terms["terms"].explode(empty_as_null=False)
    vocabulary = words.unique().sort()
    term = words.cast(pl.Enum(vocabulary)).to_physical().to_numpy().astype(np.int32)
    by_term = np.argsort(term, kind="stable")  # rows come by chunk and field, and stay so
    return Occurrences(
        vocabulary,
        term[by_term],
        np.repeat(np.arange(terms.height, dtype=np.int32), lengths)[by_term],
        terms["fields"].explode(empty_as_null=False).to_numpy()[by_term],
        terms["counts"].explode(empty_as_null=False).to_numpy()[by_term],
        terms.height,
    )


def declare_fts_index(connection: duckdb.DuckDBPyConnection) -> None:
    """`create_fts_index` over all search fields of the still empty `chunks`: schema, macros, settings."""
    words = ", ".join(f"('{w}')" for w in STOP_WORDS)
    connection.execute(f"CREATE TABLE stop_words AS SELECT * FROM (VALUES {words}) AS t(sw)")
    fields = ", ".join(f"'{name}'" for name in SEARCH_FIELDS)
    connection.execute(
        f"PRAGMA create_fts_index('chunks', 'chunk_id', {fields}, stemmer='{STEMMER}', "
        f"stopwords='main.stop_words', ignore='{TOKEN_BREAK}', strip_accents=1, lower=1)"
    )
    connection.execute("DROP TABLE stop_words")  # the index keeps its own copy


def fill_fts_index(connection: duckdb.DuckDBPyConnection, found: Occurrences) -> None:
    """Fill the declared index, row for row what `create_fts_index` itself would write.

    It reads and stems all texts in every build; here only new texts were read, by the chunk stage. A
    test compares all tables with those of the extension's own run.
    """
    with_chunk = _group_starts(found.term, found.row)
    frequency = np.bincount(found.term[with_chunk], minlength=len(found.vocabulary))
    _insert(
        connection,
        f"{FTS_SCHEMA}.dict",
        termid=pa.array(np.arange(len(found.vocabulary), dtype=np.int64)),
        term=found.vocabulary.to_arrow(),
        df=pa.array(frequency.astype(np.int64)),
    )
    lengths = np.bincount(found.row, weights=found.times, minlength=found.chunks).astype(np.int64)
    connection.register("lengths", pa.table({"len": lengths, "docid": np.arange(found.chunks, dtype=np.int64)}))
    connection.execute(
        f"INSERT INTO {FTS_SCHEMA}.docs SELECT rowid, chunk_id, len FROM chunks JOIN lengths ON docid = rowid "
        "ORDER BY rowid"
    )
    connection.unregister("lengths")
    _insert(
        connection,
        f"{FTS_SCHEMA}.terms",
        docid=pa.array(np.repeat(found.row, found.times).astype(np.int64)),
        fieldid=pa.array(np.repeat(found.field, found.times).astype(np.int64)),
        termid=pa.array(np.repeat(found.term, found.times).astype(np.int64)),
    )
    connection.execute(f"DELETE FROM {FTS_SCHEMA}.stats")
    connection.execute(
        f"INSERT INTO {FTS_SCHEMA}.stats SELECT count(*), sum(len) / count(*)::DOUBLE FROM {FTS_SCHEMA}.docs"
    )


def create_postings(
    connection: duckdb.DuckDBPyConnection,
    found: Occurrences,
    ranking: RankingConfig,
    averages: Sequence[float],
    *,
    first: int,
) -> None:
    """Fill `postings`; `first` is the number of the first chunk, `averages` are those of `averages_of`."""
    if len(found.vocabulary) and found.vocabulary[0] == "":
        behind = int(np.searchsorted(found.term, 1))
        found = found._replace(
            vocabulary=found.vocabulary[1:],
            term=found.term[behind:] - 1,
            row=found.row[behind:],
            field=found.field[behind:],
            times=found.times[behind:],
        )
    if not len(found.term):
        return
    fields = len(SEARCH_FIELDS)
    place = found.row.astype(np.int64) * fields + found.field
    lengths = np.bincount(place, weights=found.times, minlength=found.chunks * fields).reshape(-1, fields)
    norm = 1.0 - ranking.b + ranking.b * lengths / np.asarray(averages)
    weights = np.array([float(getattr(ranking, name)) for name in SEARCH_FIELDS])
    weighted = weights[found.field] * found.times / norm.reshape(-1)[place]
    pairs = _group_starts(found.term, found.row)
    tf = np.add.reduceat(weighted, pairs)
    term, row = found.term[pairs], found.row[pairs]
    counted = tf > 0  # a field of weight 0 finds nothing
    tf, term, row = tf[counted], term[counted], row[counted]
    starts, ends = _groups(term)
    df = ends - starts
    saturation = (tf / (ranking.k1 + tf)).astype(np.float32)
    offsets = pa.array(np.append(starts, len(term)).astype(np.int32))
    _insert(
        connection,
        "postings",
        term=found.vocabulary.gather(term[starts]).to_arrow(),
        df=pa.array(df.astype(np.int32)),
        low=pa.array(np.minimum.reduceat(saturation, starts)),
        high=pa.array(np.maximum.reduceat(saturation, starts)),
        chunk_ids=pa.ListArray.from_arrays(offsets, pa.array(row + np.int32(first))),
        saturations=pa.ListArray.from_arrays(offsets, pa.array(saturation)),
    )


def _group_starts(*sorted_keys: Ints) -> NDArray[np.int64]:
    """Where a new combination of keys begins."""
    if not len(sorted_keys[0]):
        return np.empty(0, np.int64)
    changed = np.zeros(len(sorted_keys[0]), bool)
    changed[0] = True
    for key in sorted_keys:
        changed[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(changed)


def _groups(sorted_key: Ints) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First positions of the groups, and the positions behind them."""
    starts = _group_starts(sorted_key)
    return starts, np.append(starts[1:], len(sorted_key))


def append(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Append rows by the names of their columns."""
    connection.register("incoming", rows)
    names = ", ".join(f'"{name}"' for name in rows.column_names)
    connection.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM incoming")
    connection.unregister("incoming")


def _insert(connection: duckdb.DuckDBPyConnection, table: str, **columns: Any) -> None:
    append(connection, table, pa.table(columns))
