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


def create_fts_index(connection: duckdb.DuckDBPyConnection) -> None:
    """DuckDB's own index over all search fields of `chunks`, for anybody's SQL."""
    words = ", ".join(f"('{w}')" for w in STOP_WORDS)
    connection.execute(f"CREATE TABLE stop_words AS SELECT * FROM (VALUES {words}) AS t(sw)")
    fields = ", ".join(f"'{name}'" for name in SEARCH_FIELDS)
    connection.execute(
        f"PRAGMA create_fts_index('chunks', 'chunk_id', {fields}, stemmer='{STEMMER}', "
        f"stopwords='main.stop_words', ignore='{TOKEN_BREAK}', strip_accents=1, lower=1)"
    )
    connection.execute("DROP TABLE stop_words")  # the index keeps its own copy


def weighted_terms_sql(ranking: RankingConfig) -> str:
    """SELECT term, chunk_id, impact from the full-text index's tables.

    The index holds an empty term (what `s` stems to); it is none. Each field is a sum of its own with at
    most one addend, and fields are added in a fixed order, so that threads cannot change the last bit.
    """
    fields = ", ".join(f"'{name}'" for name in SEARCH_FIELDS)
    parts = [
        f"coalesce(sum(x) FILTER (field = '{name}'), 0.0) * {float(getattr(ranking, name))!r}" for name in SEARCH_FIELDS
    ]
    return f"""
        WITH counts AS (
            SELECT termid, docid, fieldid, count(*)::DOUBLE AS tf FROM {FTS_SCHEMA}.terms
            WHERE termid NOT IN (SELECT termid FROM {FTS_SCHEMA}.dict WHERE term = '') GROUP BY ALL
        ),
        lengths AS (SELECT docid, fieldid, sum(tf) AS len FROM counts GROUP BY ALL),
        total AS (SELECT count(*)::DOUBLE AS n FROM {FTS_SCHEMA}.docs),
        averages AS (SELECT fieldid, sum(len) / any_value(n) AS avg FROM lengths, total GROUP BY fieldid),
        names AS (SELECT fieldid, field FROM {FTS_SCHEMA}.fields WHERE field IN ({fields})),
        normal AS (
            SELECT docid, fieldid, field, 1.0 - {ranking.b!r} + {ranking.b!r} * len / avg AS norm
            FROM lengths JOIN averages USING (fieldid) JOIN names USING (fieldid)
        ),
        saturated AS (
            SELECT termid, docid, {" + ".join(parts)} AS tf
            FROM (SELECT termid, docid, field, tf / norm AS x FROM counts JOIN normal USING (docid, fieldid))
            GROUP BY termid, docid
        ),
        frequent AS (SELECT termid, count(*)::DOUBLE AS df FROM saturated WHERE tf > 0 GROUP BY termid)
        SELECT d.term, o.name::INTEGER AS chunk_id,
               (ln(1.0 + (n - f.df + 0.5) / (f.df + 0.5)) * tf / ({ranking.k1!r} + tf))::FLOAT AS impact
        FROM saturated s JOIN frequent f USING (termid) JOIN {FTS_SCHEMA}.dict d USING (termid)
             JOIN {FTS_SCHEMA}.docs o USING (docid), total
        WHERE tf > 0
    """


def create_postings(connection: duckdb.DuckDBPyConnection, ranking: RankingConfig) -> None:
    """Fill `postings`. Lists are made by Arrow offsets: SQL's list() takes ten times as long."""
    rows = connection.execute(f"{weighted_terms_sql(ranking)} ORDER BY term, chunk_id").to_arrow_table()
    rows = rows.combine_chunks()
    if not rows.num_rows:
        return
    terms = rows["term"].combine_chunks() if isinstance(rows["term"], pa.ChunkedArray) else rows["term"]
    encoded = terms.dictionary_encode()
    codes = encoded.indices.to_numpy()
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
    offsets = pa.array(np.append(starts, len(codes)).astype(np.int32))
    table = pa.table(
        {
            "term": encoded.dictionary.take(pa.array(codes[starts])),
            "df": pa.array(np.diff(np.append(starts, len(codes))).astype(np.int32)),
            "chunk_ids": pa.ListArray.from_arrays(offsets, rows["chunk_id"].combine_chunks()),
            "impacts": pa.ListArray.from_arrays(offsets, rows["impact"].combine_chunks()),
        }
    )
    connection.register("new_postings", table)
    connection.execute("INSERT INTO postings SELECT term, df, chunk_ids, impacts FROM new_postings ORDER BY term")
    connection.unregister("new_postings")
