"""Checks of a staged database and overview. Any failure keeps a build from being published."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from pipeline.render.index_md import estimate_tokens
from pipeline.store.postings import FTS_SCHEMA, weighted_terms_sql
from syntropy.analysis import index_terms
from syntropy.config import RankingConfig
from syntropy.extensions import load_extension
from syntropy.index import Database
from syntropy.lexical import NO_CAP, TOP_SQL, rank
from syntropy.schema import SEARCH_FIELDS, database_tables

SAMPLE = 200
"""Rows a sampling check looks at; chosen by a fixed seed."""

QUERIES = 5
"""Queries compared with `match_bm25`, which takes 50 ms each at 20k chunks."""

MAX_NORM_ERROR = 1e-4
MAX_IMPACT_ERROR = 1e-5


class CheckResult(NamedTuple):
    """`figures` are shown with the result, whichever it is."""

    passed: bool
    figures: dict[str, Any]


def unique_ids(path: Path) -> CheckResult:
    """Documents, chunks, windows and rules have unique ids and keys."""
    sql = {
        "documents": "SELECT count(*) - count(DISTINCT (package, path)) FROM documents",
        "document keys": "SELECT count(*) - count(DISTINCT (scope, kind, key)) FROM documents",
        "chunks": "SELECT count(*) - count(DISTINCT chunk_id) FROM chunks",
        "windows": 'SELECT count(*) - count(DISTINCT (chunk_id, "window")) FROM windows',
        "rule labels": "SELECT count(*) - count(DISTINCT label) FROM rules",
    }
    return _counts(path, sql)


def referential_integrity(path: Path) -> CheckResult:
    """Every reference to a document or chunk finds one."""
    sql = {}
    for table in database_tables():
        for column in table.database_columns():
            target = {
                "chunk_id": "chunks",
                "document_id": "documents",
                "from_id": "documents",
                "to_id": "documents",
            }.get(column.name)
            if target and target != table.name:
                key = f"{target[:-1]}_id"
                sql[f"{table.name}.{column.name}"] = (
                    f'SELECT count(*) FROM "{table.name}" WHERE {column.name} IS NOT NULL '
                    f"AND {column.name} NOT IN (SELECT {key} FROM {target})"
                )
    sql["postings.chunk_ids"] = (
        "SELECT count(*) FROM (SELECT DISTINCT unnest(chunk_ids) AS chunk_id FROM postings) "
        "WHERE chunk_id NOT IN (SELECT chunk_id FROM chunks)"
    )
    return _counts(path, sql)


def spans_re_read(path: Path) -> CheckResult:
    """Each chunk's span, read again from its document, gives its text; its lines hold it."""
    with _connection(path) as connection:
        wrong = _one(
            connection,
            "SELECT count(*) FROM chunks c JOIN documents d USING (document_id) "
            "WHERE substring(d.text, c.char_start + 1, c.char_end - c.char_start) <> c.body",
        )
        rows = connection.execute(
            "SELECT c.body, c.line_start, c.line_end, d.text FROM chunks c "
            "JOIN documents d USING (document_id) ORDER BY hash(c.chunk_id) LIMIT ?",
            [SAMPLE],
        ).fetchall()
    outside = sum(body not in "\n".join(text.split("\n")[start - 1 : end]) for body, start, end, text in rows)
    return CheckResult(wrong == 0 and outside == 0, {"spans that differ": wrong, "lines that differ (sample)": outside})


def full_text_parity(path: Path, ranking: RankingConfig) -> CheckResult:
    """DuckDB's full-text index, the fast postings and the reader's own text analysis say the same.

    Impacts are computed again in SQL from the index's tables; sampled chunks are analysed in Python;
    sampled queries find the same chunks through `match_bm25` as through the postings.
    """
    with _connection(path, "fts") as connection:
        connection.execute(f"""
            CREATE TEMP TABLE sampled AS SELECT termid, docid, fieldid, count(*) AS tf FROM {FTS_SCHEMA}.terms
            WHERE termid IN (SELECT termid FROM {FTS_SCHEMA}.dict ORDER BY hash(term) LIMIT {SAMPLE}) GROUP BY ALL""")
        connection.execute(f"""
            CREATE TEMP TABLE field_lengths AS SELECT docid, fieldid, count(*) AS len FROM {FTS_SCHEMA}.terms
            WHERE termid NOT IN (SELECT termid FROM {FTS_SCHEMA}.dict WHERE term = '') GROUP BY ALL""")
        connection.execute(f"CREATE TEMP TABLE again AS {weighted_terms_sql(ranking, 'sampled', 'field_lengths')}")
        impacts = _one(
            connection,
            f"""
            SELECT count(*) FROM again FULL JOIN
                (SELECT term, unnest(chunk_ids) AS chunk_id, unnest(impacts) AS impact FROM postings
                 WHERE term IN (SELECT term FROM {FTS_SCHEMA}.dict JOIN sampled USING (termid))) p
                USING (term, chunk_id)
            WHERE p.impact IS NULL OR again.impact IS NULL OR abs(p.impact - again.impact) > {MAX_IMPACT_ERROR}""",
        )
        analysis = _analysis_differences(connection)
        queries = _query_differences(connection)
    figures = {
        "impacts that differ": impacts,
        "chunks analysed differently": analysis,
        "queries answered differently": queries,
    }
    return CheckResult(not any(figures.values()), figures)


def vector_norms(path: Path) -> CheckResult:
    """Every vector has unit length; every window has one (or none has)."""
    with _connection(path) as connection:
        dimension = int(_one(connection, "SELECT value::INTEGER FROM meta WHERE key = 'vector_dimension'"))
        if not dimension:
            return CheckResult(True, {"vectors": 0})
        total = _one(connection, "SELECT count(*) FROM windows")
        wrong = _one(
            connection,
            f"SELECT count(*) FROM windows WHERE abs(array_inner_product(vector, vector) - 1) > {MAX_NORM_ERROR}",
        )
        bare = _one(connection, "SELECT count(*) FROM chunks WHERE chunk_id NOT IN (SELECT chunk_id FROM windows)")
    return CheckResult(
        wrong == 0 and bare == 0, {"vectors": total, "not of unit length": wrong, "chunks without": bare}
    )


def search_smoke(path: Path) -> CheckResult:
    """The reader opens the file and finds documents by their own titles."""
    database = Database(path)
    try:
        rows = database.rows(
            "SELECT document_id, title FROM documents WHERE document_id IN (SELECT document_id FROM chunks) "
            "ORDER BY hash(document_id) LIMIT 20"
        )
        missed = []
        for document, title in rows:
            if not index_terms(title):
                continue
            # copies and namesakes share a title: the document must be among those that hold all its words
            found = rank(database, title, where="d.title = ?", parameters=[title], cap=1, limit=NO_CAP)
            owners = {
                d
                for (d,) in database.rows(
                    f"SELECT document_id FROM chunks WHERE chunk_id IN ({', '.join('?' * len(found.hits)) or 'NULL'})",
                    [h.chunk_id for h in found.hits],
                )
            }
            if document not in owners:
                missed.append(title)
    finally:
        database.close()
    return CheckResult(not missed, {"titles searched": len(rows), "missed": ", ".join(missed)})


def overview_budget(path: Path, budget: int) -> CheckResult:
    """INDEX.md keeps its token budget."""
    tokens = estimate_tokens(path.read_text(encoding="utf-8"))
    return CheckResult(tokens <= budget, {"estimated tokens": tokens, "budget": budget})


DATABASE_CHECKS: dict[str, Callable[[Path], CheckResult]] = {
    "unique_ids": unique_ids,
    "referential_integrity": referential_integrity,
    "spans_re_read": spans_re_read,
    "vector_norms": vector_norms,
    "search_smoke": search_smoke,
}
"""Checks that need only the file; `full_text_parity` also needs the ranking configuration."""


def _analysis_differences(connection: duckdb.DuckDBPyConnection) -> int:
    """Sampled chunks whose terms the index and the reader's analysis count differently."""
    connection.execute(
        f"CREATE TEMP TABLE looked_at AS SELECT chunk_id FROM chunks ORDER BY hash(chunk_id) LIMIT {SAMPLE}"
    )
    stored: dict[int, dict[str, int]] = {}
    for chunk_id, term, count in connection.execute(
        f"SELECT o.name, d.term, count(*) FROM {FTS_SCHEMA}.terms t JOIN {FTS_SCHEMA}.docs o USING (docid) "
        f"JOIN looked_at l ON l.chunk_id = o.name JOIN {FTS_SCHEMA}.dict d USING (termid) "
        "WHERE d.term <> '' GROUP BY ALL"
    ).fetchall():
        stored.setdefault(chunk_id, {})[term] = count
    fields = ", ".join(f'"{name}"' for name in SEARCH_FIELDS)
    wrong = 0
    for chunk_id, *texts in connection.execute(
        f"SELECT chunk_id, {fields} FROM chunks JOIN looked_at USING (chunk_id)"
    ).fetchall():
        wrong += stored.get(chunk_id, {}) != Counter(term for text in texts for term in index_terms(text))
    return wrong


def _query_differences(connection: duckdb.DuckDBPyConnection) -> int:
    words = [
        w
        for (w,) in connection.execute(
            "SELECT DISTINCT lower(word) AS w FROM "
            "(SELECT unnest(regexp_extract_all(title, '[A-Za-z]{4,}')) AS word FROM chunks) ORDER BY w"
        ).fetchall()
    ]
    chooser = random.Random(0)  # noqa: S311 (a sample, not a secret)
    wrong = 0
    for _ in range(min(QUERIES, len(words) // 2)):
        query = " ".join(chooser.sample(words, 2))
        terms = list(dict.fromkeys(index_terms(query)))
        if not terms:
            continue
        sql = TOP_SQL.format(terms=", ".join("?" * len(terms)), where="true", cap=NO_CAP, limit=NO_CAP)
        ours = {c for c, _ in connection.execute(sql, terms).fetchall()}
        theirs = {
            c
            for (c,) in connection.execute(
                f"SELECT chunk_id FROM chunks WHERE {FTS_SCHEMA}.match_bm25(chunk_id, ?) IS NOT NULL", [query]
            ).fetchall()
        }
        wrong += ours != theirs
    return wrong


class _connection:  # noqa: N801 (a context manager used like a function)
    def __init__(self, path: Path, *extensions: str) -> None:
        self._connection = duckdb.connect(
            str(path),
            read_only=True,
            config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"},
        )
        for name in extensions:
            load_extension(self._connection, name)

    def __enter__(self) -> duckdb.DuckDBPyConnection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _one(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = connection.execute(sql).fetchone()
    return int(row[0]) if row else 0


def _counts(path: Path, sql: dict[str, str]) -> CheckResult:
    """Each query counts offenders; all must count none."""
    with _connection(path) as connection:
        figures = {name: _one(connection, query) for name, query in sql.items()}
    return CheckResult(not any(figures.values()), figures)
