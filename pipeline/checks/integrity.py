"""Checks of a staged database and overview. Any failure keeps a build from being published."""

from __future__ import annotations

from pathlib import Path

import duckdb

from pipeline.checks.result import CheckResult, Subject
from pipeline.render.index_md import estimate_tokens
from syntropy.contract.schema import database_tables
from syntropy.contract.text import index_terms
from syntropy.search.lexical import top
from syntropy.store.database import Database
from syntropy.store.extensions import load_extension

SPANS = 500
"""Chunks read again; all of a small project's. They take .05 s in every build."""

TITLES = 4
"""Documents looked for by their titles."""

MAX_NORM_ERROR = 1e-4


def unique_ids(subject: Subject) -> CheckResult:
    """Documents, chunks and windows have unique ids."""
    sql = {
        "documents": "SELECT count(*) - count(DISTINCT (package, path)) FROM documents",
        "chunks": "SELECT count(*) - count(DISTINCT chunk_id) FROM chunks",
        "windows": 'SELECT count(*) - count(DISTINCT (chunk_id, "window")) FROM windows',
    }
    return _counts(subject.path, sql)


def referential_integrity(subject: Subject) -> CheckResult:
    """Every reference to a document or chunk within a database file finds one."""
    sql = {}
    for table in database_tables():
        if table.whole:
            continue
        for column in table.database_columns():
            target = {
                "chunk_id": "chunks",
                "document_id": "documents",
            }.get(column.name)
            if target and target != table.name:
                key = f"{target[:-1]}_id"
                sql[f"{table.name}.{column.name}"] = (
                    f'SELECT count(*) FROM "{table.name}" WHERE {column.name} IS NOT NULL '
                    f"AND {column.name} NOT IN (SELECT {key} FROM {target})"
                )
    # chunk ids are dense, so a posting's smallest and largest tell of all: listing them takes ten times as long
    sql["chunks.chunk_id"] = "SELECT coalesce(max(chunk_id) - min(chunk_id) + 1, 0) - count(*) FROM chunks"
    sql["postings.chunk_ids"] = (
        "SELECT count(*) FROM postings WHERE list_min(chunk_ids) < (SELECT min(chunk_id) FROM chunks) "
        "OR list_max(chunk_ids) > (SELECT max(chunk_id) FROM chunks)"
    )
    return _counts(subject.path, sql)


def spans_re_read(subject: Subject) -> CheckResult:
    """The span of each chunk (of 500, where there are more), read again, gives its text; its lines hold it."""
    with checked_connection(subject.path) as connection:
        rows = connection.execute(
            "SELECT document_id, char_start, char_end, line_start, line_end, body FROM chunks "
            f"ORDER BY hash(chunk_id) LIMIT {SPANS}"
        ).fetchall()
        wanted = ", ".join(str(int(number)) for number in sorted({row[0] for row in rows})) or "NULL"
        found = connection.execute(
            f"SELECT document_id, text FROM documents WHERE document_id IN ({wanted})"
        ).fetchall()
        texts: dict[int, str] = dict(found)
    lines = {document: text.split("\n") for document, text in texts.items()}  # once a document, however many chunks
    wrong = sum(texts.get(document, "")[start:end] != body for document, start, end, _, _, body in rows)
    outside = sum(
        body not in "\n".join(lines.get(document, [])[first - 1 : last]) for document, _, _, first, last, body in rows
    )
    return CheckResult(wrong == 0 and outside == 0, {"spans that differ": wrong, "lines that differ": outside})


def vector_norms(subject: Subject) -> CheckResult:
    """Every vector has unit length; every window has one (or none has)."""
    with checked_connection(subject.path) as connection:
        dimension = int(count(connection, "SELECT value::INTEGER FROM meta WHERE key = 'vector_dimension'"))
        if not dimension:
            return CheckResult(True, {"vectors": 0})
        total = count(connection, "SELECT count(*) FROM windows")
        wrong = count(
            connection,
            f"SELECT count(*) FROM windows WHERE abs(array_inner_product(vector, vector) - 1) > {MAX_NORM_ERROR}",
        )
        bare = count(connection, "SELECT count(*) FROM chunks WHERE chunk_id NOT IN (SELECT chunk_id FROM windows)")
    return CheckResult(
        wrong == 0 and bare == 0, {"vectors": total, "not of unit length": wrong, "chunks without": bare}
    )


def search_smoke(subject: Subject) -> CheckResult:
    """The reader opens the file and finds documents by their own titles."""
    database = Database(subject.path)
    try:
        rows = database.rows(
            "SELECT document_id, title FROM documents WHERE document_id IN (SELECT document_id FROM chunks) "
            f"ORDER BY hash(document_id) LIMIT {TITLES}"
        )
        missed = []
        for document, title in rows:
            if not index_terms(title):
                continue
            # copies and namesakes share a title: the document must be among those that hold all its words
            found = top(
                database,
                dict.fromkeys(index_terms(title), 1.0),
                where="d.title = ?",
                parameters=[title],
                limit=database.chunk_count,
            )
            owners = {
                d
                for (d,) in database.rows(
                    f"SELECT document_id FROM chunks WHERE chunk_id IN ({', '.join('?' * len(found)) or 'NULL'})",
                    [chunk for chunk, _ in found],
                )
            }
            if document not in owners:
                missed.append(title)
    finally:
        database.close()
    return CheckResult(not missed, {"titles searched": len(rows), "missed": ", ".join(missed)})


def overview_budget(subject: Subject) -> CheckResult:
    """INDEX.md keeps its token budget."""
    budget = subject.config.render.index_max_tokens
    tokens = estimate_tokens(subject.path.read_text(encoding="utf-8"))
    return CheckResult(tokens <= budget, {"estimated tokens": tokens, "budget": budget})


class checked_connection:  # noqa: N801 (a context manager used like a function)
    """A read-only connection with the named extensions loaded."""

    def __init__(self, path: Path, *extensions: str) -> None:
        self._connection = duckdb.connect(
            str(path),
            read_only=True,
            config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"},
        )
        # A join through a primary key's index fetches each text by its row: 12 s for 1,800 documents, .1 s without.
        self._connection.execute("SET index_scan_max_count = 0; SET index_scan_percentage = 0")
        for name in extensions:
            load_extension(self._connection, name)

    def __enter__(self) -> duckdb.DuckDBPyConnection:
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def count(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    """The one number a query gives."""
    row = connection.execute(sql).fetchone()
    return int(row[0]) if row else 0


def _counts(path: Path, sql: dict[str, str]) -> CheckResult:
    """Each query counts offenders; all must count none."""
    with checked_connection(path) as connection:
        figures = {name: count(connection, query) for name, query in sql.items()}
    return CheckResult(not any(figures.values()), figures)
