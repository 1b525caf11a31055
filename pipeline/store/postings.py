"""The full-text index, and from its tables the postings the fast reader uses.

DuckDB's `match_bm25` scans one row per token occurrence (23 ms at 10k chunks, 189 at 100k); a list per
term, found by its primary key, takes 1.6 and 4 ms. Impacts hold the whole BM25F contribution, so a
query only adds them up:

    tf' = Σ_field w_f · tf_f / (1 - b + b · len_f / avg_f);  impact = idf · tf' / (k1 + tf')
    idf = ln(1 + (N - df + ½) / (df + ½))

(Robertson & Zaragoza, The Probabilistic Relevance Framework, 2009, §3.6; Lucene's non-negative idf.)
"""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from syntropy.config import RankingConfig
from syntropy.schema import SEARCH_FIELDS, STEMMER, STOP_WORDS, TOKEN_BREAK

FTS_SCHEMA = "fts_main_chunks"

_COUNTS = "term_counts"
"""Temporary table of the build: termid, docid, fieldid, tf."""


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


def fill_fts_index(connection: duckdb.DuckDBPyConnection) -> None:
    """Fill the declared index from `chunks`, row for row what `create_fts_index` itself would write.

    It stems each occurrence of each word; stemming each distinct word once makes this 2.5 times as
    fast (benchmarks/build.py). A test compares all tables with those of the extension's own run.
    """
    union = " UNION ALL ".join(
        f'SELECT rowid AS docid, {number} AS fieldid, "{name}" AS text FROM chunks'
        for number, name in enumerate(SEARCH_FIELDS)
    )
    connection.execute(f"""
        CREATE TEMP TABLE word_counts AS
        SELECT docid, fieldid, word, count(*)::INTEGER AS tf FROM (
            SELECT docid, fieldid, unnest(string_split(
                regexp_replace(lower(strip_accents(text)), '{TOKEN_BREAK}', ' ', 'g'), ' ')) AS word
            FROM ({union})
        ) WHERE word <> '' GROUP BY ALL""")
    connection.execute(f"""
        CREATE TEMP TABLE vocabulary AS
        SELECT word, stem(word, '{STEMMER}') AS term FROM (SELECT DISTINCT word FROM word_counts)
        WHERE word NOT IN (SELECT sw FROM {FTS_SCHEMA}.stopwords)""")
    connection.execute("""
        CREATE TEMP TABLE numbered AS
        SELECT term, row_number() OVER (ORDER BY term) - 1 AS termid FROM (SELECT DISTINCT term FROM vocabulary)""")
    connection.execute(f"""
        CREATE TEMP TABLE {_COUNTS} AS
        SELECT termid, docid, fieldid, sum(tf)::INTEGER AS tf
        FROM word_counts JOIN vocabulary USING (word) JOIN numbered USING (term) GROUP BY ALL""")
    connection.execute("DROP TABLE word_counts")
    connection.execute(f"""
        INSERT INTO {FTS_SCHEMA}.dict SELECT termid, term, count(DISTINCT docid)
        FROM {_COUNTS} JOIN numbered USING (termid) GROUP BY ALL ORDER BY termid""")
    connection.execute(f"""
        INSERT INTO {FTS_SCHEMA}.docs SELECT rowid, chunk_id, coalesce(len, 0) FROM chunks
        LEFT JOIN (SELECT docid, sum(tf) AS len FROM {_COUNTS} GROUP BY docid) ON docid = rowid ORDER BY rowid""")
    connection.execute(f"""
        INSERT INTO {FTS_SCHEMA}.terms SELECT docid, fieldid, termid FROM {_COUNTS}, range(tf) ORDER BY termid""")
    connection.execute(f"DELETE FROM {FTS_SCHEMA}.stats")
    connection.execute(
        f"INSERT INTO {FTS_SCHEMA}.stats SELECT count(*), sum(len) / count(*)::DOUBLE FROM {FTS_SCHEMA}.docs"
    )
    connection.execute("DROP TABLE vocabulary; DROP TABLE numbered")


def weighted_terms_sql(ranking: RankingConfig, counts: str, lengths: str) -> str:
    """SELECT term, chunk_id, impact.

    `counts` gives (termid, docid, fieldid, tf), `lengths` (docid, fieldid, len); both are relations. The
    index holds an empty term (what `s` stems to); it is none. Each field is a sum of its own with at
    most one addend, and fields are added in a fixed order, so that threads cannot change the last bit.
    """
    parts = [
        f"coalesce(sum(tf / norm) FILTER (fieldid = {number}), 0.0) * {float(getattr(ranking, name))!r}"
        for number, name in enumerate(SEARCH_FIELDS)
    ]
    k1, b = float(ranking.k1), float(ranking.b)
    return f"""
        WITH total AS (SELECT count(*)::DOUBLE AS n FROM {FTS_SCHEMA}.docs),
        averages AS (SELECT fieldid, sum(len)::DOUBLE / any_value(n) AS average FROM {lengths}, total GROUP BY fieldid),
        normal AS (
            SELECT docid, fieldid, {1.0 - b!r} + {b!r} * len / average AS norm
            FROM {lengths} JOIN averages USING (fieldid)
        ),
        saturated AS (
            SELECT termid, docid, {" + ".join(parts)} AS weighted
            FROM {counts} JOIN normal USING (docid, fieldid) GROUP BY termid, docid
        ),
        frequent AS (SELECT termid, count(*)::DOUBLE AS df FROM saturated WHERE weighted > 0 GROUP BY termid)
        SELECT d.term, o.name::INTEGER AS chunk_id,
               (ln(1.0 + (n - f.df + 0.5) / (f.df + 0.5)) * weighted / ({k1!r} + weighted))::FLOAT AS impact
        FROM saturated s JOIN frequent f USING (termid) JOIN {FTS_SCHEMA}.dict d USING (termid)
             JOIN {FTS_SCHEMA}.docs o USING (docid), total
        WHERE weighted > 0 AND d.term <> ''
    """


def create_postings(connection: duckdb.DuckDBPyConnection, ranking: RankingConfig) -> None:
    """Fill `postings`. Lists are made by Arrow offsets: SQL's list() takes ten times as long."""
    connection.execute(f"""
        CREATE TEMP TABLE field_lengths AS
        SELECT docid, fieldid, sum(tf) AS len FROM {_COUNTS} JOIN {FTS_SCHEMA}.dict USING (termid)
        WHERE term <> '' GROUP BY ALL""")
    sql = weighted_terms_sql(ranking, _COUNTS, "field_lengths")
    rows = connection.execute(f"{sql} ORDER BY s.termid, chunk_id").to_arrow_table()
    connection.execute(f"DROP TABLE field_lengths; DROP TABLE {_COUNTS}")
    if not rows.num_rows:
        return
    encoded = rows["term"].combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy()
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    ends = np.append(starts, len(codes))
    offsets = pa.array(ends.astype(np.int32))
    table = pa.table(
        {
            "term": encoded.dictionary.take(pa.array(codes[starts])),
            "df": pa.array(np.diff(ends).astype(np.int32)),
            "chunk_ids": pa.ListArray.from_arrays(offsets, rows["chunk_id"].combine_chunks()),
            "impacts": pa.ListArray.from_arrays(offsets, rows["impact"].combine_chunks()),
        }
    )
    connection.register("new_postings", table)
    connection.execute("INSERT INTO postings SELECT term, df, chunk_ids, impacts FROM new_postings")
    connection.unregister("new_postings")
