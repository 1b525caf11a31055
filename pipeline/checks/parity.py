"""Three ways to say what a text's terms are must agree: DuckDB's full-text index, the postings, the reader."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import duckdb

from pipeline.checks.integrity import checked_connection, count
from pipeline.checks.result import CheckResult, Subject
from pipeline.store.inverted_index import FTS_SCHEMA, Lengths
from syntropy.contract.config import RankingConfig
from syntropy.contract.text import UNSPACED, index_terms
from syntropy.contract.vocabulary import SEARCH_FIELDS, STEMMER, TOKEN_BREAK

ANALYSED = 100
"""Chunks whose terms are counted again by DuckDB."""

QUERIES = 2
"""Queries compared with `match_bm25`, which takes 50 ms each at 20k chunks."""

TERMS = 100
"""Terms whose saturations are computed again."""

MAX_ERROR = 1e-5

SHOWN = 5
"""Words that a failure names."""


def full_text_parity(subject: Subject) -> CheckResult:
    """DuckDB's full-text index, the fast postings and our own text analysis say the same.

    Saturations of sampled terms are computed again in SQL from the index's tables; sampled chunks are
    analysed by DuckDB; all terms are folded by DuckDB; sampled queries find the same chunks through
    `match_bm25` as through the postings. A difference is shown with its word and document.
    """
    ranking = subject.config.ranking
    with checked_connection(subject.path, "fts") as connection:
        connection.execute(f"""
            CREATE TEMP TABLE sampled AS SELECT termid, docid, fieldid, count(*) AS tf FROM {FTS_SCHEMA}.terms
            WHERE termid IN (SELECT termid FROM {FTS_SCHEMA}.dict ORDER BY hash(term) LIMIT {TERMS}) GROUP BY ALL""")
        empty = connection.execute(f"SELECT termid FROM {FTS_SCHEMA}.dict WHERE term = ''").fetchone()
        real = f"termid <> {int(empty[0])}" if empty else "true"  # a constant: an anti-join takes twice as long
        connection.execute(f"""
            CREATE TEMP TABLE field_lengths AS SELECT docid, fieldid, count(*) AS len FROM {FTS_SCHEMA}.terms
            WHERE {real} GROUP BY ALL""")
        lengths = _lengths(connection)
        about = dict(connection.execute("SELECT key, value FROM meta").fetchall())
        known, averages = Lengths.stored(about["lengths"]), json.loads(about["averages"])
        connection.execute(f"CREATE TEMP TABLE again AS {_weighted_terms_sql(ranking, averages)}")
        saturations = count(
            connection,
            f"""
            SELECT count(*) FROM again FULL JOIN
                (SELECT term, unnest(chunk_ids) AS chunk_id, unnest(saturations) AS saturation FROM postings
                 WHERE term IN (SELECT term FROM {FTS_SCHEMA}.dict JOIN sampled USING (termid))) p
                USING (term, chunk_id)
            WHERE coalesce(abs(p.saturation - again.saturation), 1) > {MAX_ERROR}""",
        )
        analysis = _analysis_differences(connection)
        queries = _query_differences(connection)
        unfolded = _unfolded_terms(connection)
    figures: dict[str, Any] = {
        "saturations that differ": saturations,
        "fields of other lengths": sum(a != b for a, b in zip(lengths.fields, known.fields, strict=True)),
        "words analysed differently": len(analysis),
        "terms folded differently": len(unfolded),
        "queries answered differently": queries,
    }
    passed = not any(figures.values())
    if differing := [*analysis, *unfolded]:
        figures["first"] = "; ".join(f"{term!r} in {path}" for path, term in differing[:SHOWN])
    return CheckResult(passed, figures)


def _lengths(connection: duckdb.DuckDBPyConnection) -> Lengths:
    sums = dict(connection.execute("SELECT fieldid, sum(len) FROM field_lengths GROUP BY fieldid").fetchall())
    chunks = count(connection, f"SELECT count(*) FROM {FTS_SCHEMA}.docs")
    return Lengths(chunks, tuple(int(sums.get(number, 0)) for number in range(len(SEARCH_FIELDS))))


def _weighted_terms_sql(ranking: RankingConfig, averages: Sequence[float]) -> str:
    """SELECT term, chunk_id, saturation from `sampled` (termid, docid, fieldid, tf) and `field_lengths`."""
    parts = [
        f"coalesce(sum(tf / norm) FILTER (fieldid = {number}), 0.0) * {float(getattr(ranking, name))!r}"
        for number, name in enumerate(SEARCH_FIELDS)
    ]
    k1, b = float(ranking.k1), float(ranking.b)
    lengths = ", ".join(f"({number}, {float(average)!r}::DOUBLE)" for number, average in enumerate(averages))
    return f"""
        WITH averages AS (SELECT * FROM (VALUES {lengths}) AS v(fieldid, average)),
        normal AS (
            SELECT docid, fieldid, {1.0 - b!r} + {b!r} * len / average AS norm
            FROM field_lengths JOIN averages USING (fieldid)
        ),
        weighted AS (
            SELECT termid, docid, {" + ".join(parts)} AS weighted
            FROM sampled JOIN normal USING (docid, fieldid) GROUP BY termid, docid
        )
        SELECT d.term, o.name::INTEGER AS chunk_id, (weighted / ({k1!r} + weighted))::FLOAT AS saturation
        FROM weighted JOIN {FTS_SCHEMA}.dict d USING (termid) JOIN {FTS_SCHEMA}.docs o USING (docid)
        WHERE weighted > 0 AND d.term <> ''
    """


def _analysis_differences(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """(path, term) of sampled chunks whose stored terms are not those that DuckDB's own text functions give.

    The sample is chosen by content, so that a change of one document does not pick other chunks of the rest.
    """
    connection.execute(
        "CREATE TEMP TABLE looked_at AS SELECT rowid AS docid, * FROM chunks "
        f"ORDER BY hash(title, headings) LIMIT {ANALYSED}"
    )
    texts = " UNION ALL ".join(
        f'SELECT docid, {number} AS fieldid, "{name}" AS text FROM looked_at'
        for number, name in enumerate(SEARCH_FIELDS)
    )
    theirs = f"""
        SELECT docid, fieldid, stem(word, '{STEMMER}') AS term, count(*) AS tf FROM (
            SELECT docid, fieldid, unnest(string_split(
                regexp_replace(lower(strip_accents(text)), '{TOKEN_BREAK}', ' ', 'g'), ' ')) AS word FROM ({texts})
        ) WHERE word <> '' AND word NOT IN (SELECT sw FROM {FTS_SCHEMA}.stopwords) GROUP BY ALL"""
    ours = f"""
        SELECT docid, fieldid, term, count(*) AS tf FROM {FTS_SCHEMA}.terms JOIN {FTS_SCHEMA}.dict USING (termid)
        WHERE docid IN (SELECT docid FROM looked_at) GROUP BY ALL"""
    spaced = f"WHERE NOT regexp_matches(term, '[{UNSPACED}]')"  # pairs of such characters are ours alone
    return connection.execute(
        f"""SELECT DISTINCT documents.path, term FROM (
            (FROM ({ours}) {spaced} EXCEPT FROM ({theirs})) UNION ALL
            (FROM ({theirs}) {spaced} EXCEPT FROM ({ours})))
            JOIN looked_at USING (docid) JOIN documents USING (document_id) ORDER BY ALL"""
    ).fetchall()


def _unfolded_terms(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """(path, term) of all terms that DuckDB would write in another way: no query of its own could find them."""
    connection.execute(
        f"""CREATE TEMP TABLE unfolded AS SELECT termid, term FROM {FTS_SCHEMA}.dict
            WHERE strlen(term) > length(term)
              AND term <> regexp_replace(lower(strip_accents(term)), '{TOKEN_BREAK}', ' ', 'g')"""
    )
    if not count(connection, "SELECT count(*) FROM unfolded"):
        return []
    return connection.execute(
        f"""SELECT any_value(documents.path), term FROM unfolded JOIN {FTS_SCHEMA}.terms USING (termid)
            JOIN chunks ON chunks.rowid = docid JOIN documents USING (document_id) GROUP BY term ORDER BY term"""
    ).fetchall()


def _query_differences(connection: duckdb.DuckDBPyConnection) -> int:
    words = [
        w
        for (w,) in connection.execute(
            "SELECT DISTINCT lower(word) AS w FROM "
            "(SELECT unnest(regexp_extract_all(title, '[A-Za-z]{4,}')) AS word FROM chunks) ORDER BY w"
        ).fetchall()
        if index_terms(w)  # stop words are in DuckDB's index where they are a part of something longer
    ]
    chooser = random.Random(0)  # noqa: S311 (a sample, not a secret)
    wrong = 0
    for _ in range(min(QUERIES, len(words) // 2)):
        query = " ".join(chooser.sample(words, 2))
        terms = list(dict.fromkeys(index_terms(query)))
        if not terms:
            continue
        marks = ", ".join("?" * len(terms))
        ours = {
            c
            for (c,) in connection.execute(
                f"SELECT DISTINCT unnest(chunk_ids) FROM postings WHERE term IN ({marks})", terms
            ).fetchall()
        }
        theirs = {
            c
            for (c,) in connection.execute(
                f"SELECT chunk_id FROM chunks WHERE {FTS_SCHEMA}.match_bm25(chunk_id, ?) IS NOT NULL", [query]
            ).fetchall()
        }
        wrong += ours != theirs
    return wrong
