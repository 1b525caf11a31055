"""The database: equal to the extension's own index, complete, deterministic; checks that can fail."""

import shutil

import duckdb
import pytest

from pipeline.checks.result import Subject
from pipeline.engine import gate
from pipeline.store.lock import build_lock
from pipeline.store.publish import finish_publication, publish
from pipeline.store.writer import logical_hashes
from syntropy.contract.errors import DatabaseError, LockHeldError
from syntropy.contract.published import DATABASE, MANIFEST, locate, read_manifest, verify_files
from syntropy.contract.schema import PRIMARY_KEYS, database_tables
from syntropy.contract.vocabulary import SEARCH_FIELDS, STEMMER, STOP_WORDS, TOKEN_BREAK
from syntropy.store.extensions import load_extension

CJK = "[\u3005-\u9fff\uac00-\ud7a3]"
CJK_TEXT = f"concat_ws(' ', {', '.join(SEARCH_FIELDS)})"


@pytest.fixture
def connection(demo):
    opened = duckdb.connect(str(demo / "build" / DATABASE), read_only=True)
    yield opened
    opened.close()


def test_the_index_is_what_create_fts_index_writes_itself(connection, tmp_path):
    """Filled by us, row for row the extension's: terms, documents, lengths. Pairs of CJK characters are ours alone."""
    connection.execute(
        f"CREATE TEMP TABLE cjk AS SELECT chunk_id FROM chunks WHERE regexp_matches({CJK_TEXT}, '{CJK}')"
    )
    rows = connection.execute(
        f"SELECT chunk_id, {', '.join(SEARCH_FIELDS)} FROM chunks ORDER BY chunk_id"
    ).to_arrow_table()
    stock = duckdb.connect()
    load_extension(stock, "fts")
    stock.register("incoming", rows)
    stock.execute("CREATE TABLE chunks AS SELECT * FROM incoming")
    stock.execute(f"CREATE TABLE cjk AS SELECT chunk_id FROM chunks WHERE regexp_matches({CJK_TEXT}, '{CJK}')")
    stock.execute(f"CREATE TABLE stop AS SELECT unnest({list(STOP_WORDS)!r}) AS sw")
    fields = ", ".join(f"'{f}'" for f in SEARCH_FIELDS)
    stock.execute(
        f"PRAGMA create_fts_index('chunks', 'chunk_id', {fields}, stemmer='{STEMMER}', stopwords='main.stop', "
        f"ignore='{TOKEN_BREAK}', strip_accents=1, lower=1)"
    )
    queries = (
        f"SELECT term, df FROM {{s}}.dict WHERE NOT regexp_matches(term, '{CJK}') ORDER BY 1",
        "SELECT name, len FROM {s}.docs WHERE name NOT IN (FROM cjk) ORDER BY 1",
        "SELECT num_docs FROM {s}.stats",
        "SELECT fieldid, field FROM {s}.fields ORDER BY 1",
        "SELECT o.name, t.fieldid, d.term, count(*) FROM {s}.terms t JOIN {s}.dict d USING (termid) "
        f"JOIN {{s}}.docs o USING (docid) WHERE NOT regexp_matches(d.term, '{CJK}') GROUP BY ALL ORDER BY ALL",
    )
    for query in queries:
        sql = query.format(s="fts_main_chunks")
        assert connection.execute(sql).fetchall() == stock.execute(sql).fetchall(), query


def test_match_bm25_works_for_anybodys_sql(demo):
    connection = duckdb.connect(str(demo / "build" / DATABASE), read_only=True)
    load_extension(connection, "fts")
    top = connection.execute(
        "SELECT path FROM chunks WHERE fts_main_chunks.match_bm25(chunk_id, 'quiet hours notifications') IS NOT NULL "
        "ORDER BY fts_main_chunks.match_bm25(chunk_id, 'quiet hours notifications') DESC LIMIT 3"
    ).fetchall()
    connection.close()
    assert ("docs/guides/notifications.md",) in top


def test_the_vector_index_is_there_and_right(demo):
    connection = duckdb.connect(str(demo / "build" / DATABASE), read_only=True)
    load_extension(connection, "vss")
    vector = connection.execute("SELECT vector::VARCHAR FROM windows WHERE chunk_id = 7").fetchone()[0]
    sql = f"SELECT chunk_id FROM windows ORDER BY array_cosine_distance(vector, '{vector}'::FLOAT[384]) LIMIT 10"
    assert "HNSW_INDEX_SCAN" in connection.execute(f"EXPLAIN {sql}").fetchone()[1]
    exact = connection.execute(
        f"SELECT chunk_id FROM windows ORDER BY 1 - array_inner_product(vector, '{vector}'::FLOAT[384]) LIMIT 10"
    ).fetchall()
    assert len(set(connection.execute(sql).fetchall()) & set(exact)) >= 9
    connection.close()


def test_the_schema_is_the_contract(connection):
    for table in database_tables():
        columns = dict(
            connection.execute(
                "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? AND schema_name = 'main'",
                [table.name],
            ).fetchall()
        )
        expected = {c.name: c.type for c in table.database_columns()}
        if table.name == "windows":
            expected["vector"] = "FLOAT[384]"
        assert columns == expected, table.name
    keys = dict(connection.execute(
        "SELECT table_name, constraint_column_names[1] FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'").fetchall())  # fmt: skip
    assert keys == PRIMARY_KEYS


@pytest.fixture
def broken(demo, tmp_path):
    """`broken(sql)` gives a copy of the demo's database after a damaging statement."""

    def damage(sql):
        path = tmp_path / DATABASE
        shutil.copyfile(demo / "build" / DATABASE, path)
        connection = duckdb.connect(str(path))
        load_extension(connection, "vss")
        connection.execute("SET hnsw_enable_experimental_persistence = true; DROP INDEX windows_hnsw")
        connection.execute(sql)
        connection.close()
        return path

    return damage


DAMAGE = [
    ("unique_ids", 'UPDATE windows SET "window" = 0'),
    ("whole_agrees", "INSERT INTO rules SELECT * FROM rules LIMIT 1"),
    ("whole_agrees", "UPDATE documents SET key = 'x' WHERE kind = 'prp'"),
    ("whole_agrees", "UPDATE relations SET to_id = 999999"),
    ("whole_agrees", "UPDATE meta SET value = '[1, 1, 1, 1, 1, 1, 1, 1, 1]' WHERE key = 'averages'"),
    ("whole_agrees", "UPDATE meta SET value = '775' WHERE key = 'chunks'"),
    ("referential_integrity", "DELETE FROM documents WHERE document_id = 3"),
    ("spans_re_read", "UPDATE chunks SET char_start = char_start + 1, char_end = char_end + 1"),
    ("spans_re_read", "UPDATE chunks SET line_start = line_start + 1, line_end = line_end + 1"),
    (
        "vector_norms",
        "UPDATE windows SET vector = list_transform(vector::FLOAT[], x -> x * 2)::FLOAT[384] WHERE chunk_id = 5",
    ),
    ("vector_norms", "DELETE FROM windows WHERE chunk_id = 5"),
    ("full_text_parity", "UPDATE postings SET saturations = list_transform(saturations, x -> x + 1)"),
    ("full_text_parity", "UPDATE meta SET value = '[774, [1, 2, 3, 4, 5, 6, 7, 8, 9]]' WHERE key = 'lengths'"),
    ("full_text_parity", "DELETE FROM fts_main_chunks.terms WHERE docid % 2 = 0"),
    ("search_smoke", "DELETE FROM postings WHERE term IN (SELECT term FROM postings ORDER BY df DESC LIMIT 1500)"),
]


@pytest.mark.parametrize(("check", "sql"), DAMAGE)
def test_each_check_finds_the_damage_it_is_for(broken, check, sql):
    (found,) = [known for known in gate.CHECKS if known.name == check]
    assert not found.run(Subject(broken(sql))).passed


def test_the_checks_pass_on_the_demo(demo):
    for check in gate.CHECKS:
        assert check.run(Subject(demo / "build" / check.artifact)).passed, check.name


def test_logical_hashes_see_a_change_and_not_the_order(broken):
    path = broken("CREATE OR REPLACE TABLE tags AS SELECT * FROM tags ORDER BY tag DESC")
    again = duckdb.connect(str(path), read_only=True)
    reordered = logical_hashes(again)
    again.close()
    changed = duckdb.connect(str(broken("UPDATE tags SET tag = 'x' WHERE position = 0")), read_only=True)
    hashes = logical_hashes(changed)
    changed.close()
    assert hashes["tags"] != reordered["tags"]
    assert {k: v for k, v in hashes.items() if k != "tags"} == {k: v for k, v in reordered.items() if k != "tags"}


def test_the_manifest_repeats_the_logical_hashes(demo, connection):
    stored = read_manifest(demo / "build").facts["tables"]
    for name, found in logical_hashes(connection).items():
        assert stored[name]["hash"] == found


def write_set(folder, mark):
    folder.mkdir(parents=True)
    files = {"a.txt": f"a {mark}", "encoder/b.txt": f"b {mark}"}
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    import hashlib
    import json

    artifacts = [
        {"path": n, "bytes": len(t), "sha256": hashlib.sha256(t.encode()).hexdigest()} for n, t in files.items()
    ]
    (folder / MANIFEST).write_text(json.dumps({"artifacts": artifacts, "mark": mark}))


class _KilledError(BaseException):
    pass


@pytest.mark.parametrize("at", range(12))
def test_publication_cut_short_anywhere_shows_one_whole_set(tmp_path, monkeypatch, at):
    """Stop before the n-th file operation: a reader sees the old set or the new one, whole."""
    out = tmp_path / "out"
    write_set(out / ".staging", "old")
    publish(out / ".staging", out)
    write_set(out / ".staging", "new")
    calls = iter(range(1000))

    def stopping(original):
        def operation(*args, **kwargs):
            if next(calls) == at:
                raise _KilledError
            return original(*args, **kwargs)

        return operation

    import pathlib

    import pipeline.store.publish as module

    with monkeypatch.context() as patched:
        patched.setattr(pathlib.Path, "rename", stopping(pathlib.Path.rename))
        patched.setattr(pathlib.Path, "replace", stopping(pathlib.Path.replace))
        patched.setattr(pathlib.Path, "mkdir", stopping(pathlib.Path.mkdir))
        patched.setattr(module.shutil, "rmtree", stopping(shutil.rmtree))
        try:
            publish(out / ".staging", out)
        except _KilledError:
            pass
    assert verify_files(out) == []
    mark = read_manifest(out).facts["mark"]
    assert locate(out, "a.txt").read_text() == f"a {mark}"
    assert locate(out, "encoder/b.txt").read_text() == f"b {mark}"
    finish_publication(out)
    assert verify_files(out) == []
    assert read_manifest(out).facts["mark"] == mark
    assert not (out / ".publish").exists()


def test_files_of_a_former_encoder_are_removed(tmp_path):
    out = tmp_path / "out"
    write_set(out / ".staging", "old")
    publish(out / ".staging", out)
    (out / "encoder" / "old.onnx").write_text("former")
    (out / "mine.txt").write_text("not ours")
    write_set(out / ".staging", "new")
    publish(out / ".staging", out)
    assert sorted(p.name for p in (out / "encoder").iterdir()) == ["b.txt"]
    assert (out / "mine.txt").exists()


def test_verify_names_what_is_wrong(tmp_path):
    out = tmp_path / "out"
    write_set(out / ".staging", "x")
    publish(out / ".staging", out)
    (out / "a.txt").write_text("b x")
    (out / "encoder/b.txt").unlink()
    assert verify_files(out) == ["a.txt: SHA-256 differs from the manifest", "encoder/b.txt: missing"]
    (out / MANIFEST).write_text("{")
    with pytest.raises(DatabaseError, match="cannot be read"):
        verify_files(out)


def test_the_second_build_is_told_who_holds_the_lock(tmp_path):
    import os

    with build_lock(tmp_path), pytest.raises(LockHeldError, match=f"process {os.getpid()} on "), build_lock(tmp_path):
        pass
    with build_lock(tmp_path):
        pass
