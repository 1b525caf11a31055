"""Files of notes: export and import, old and damaged files, many writers, killed ones."""

import contextlib
import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from syntropy.contract.errors import UsageError
from syntropy.notes.insights import Insights
from syntropy.notes.notebook import Notebook
from syntropy.notes.store import MIGRATIONS, NotesError, NotesStore
from syntropy.notes.transfer import export_lines, import_lines
from tests.conftest import ROOT
from tests.syntropy.notes.conftest import KOREAN


def test_export_and_import_are_lossless_and_merge(memory, tmp_path):
    memory.add_insight(KOREAN, tags=["x"])
    memory.rules(write=True).save("a", "Never a", now="2026-01-01T00:00:00Z")
    memory.notes(write=True).save("decision", "note", now="2026-01-01T00:00:00Z")
    lines = list(export_lines(memory.reader))
    with NotesStore(tmp_path / "other.sqlite", write=True) as other:
        done = import_lines(other, lines)
        assert done.conflicts == []
        assert list(export_lines(other)) == lines
        again = import_lines(other, lines)
        assert (again.added, again.conflicts) == (0, [])
        assert Insights(other).search("마이크로서비스")[0].insight.id == "TK-001"
        Insights(other).edit("TK-001", now="2027-01-01T00:00:00Z", text="changed there")
        assert any("TK-001" in c and "kept" in c for c in import_lines(other, lines).conflicts)
        with pytest.raises(UsageError, match="line 1"):
            import_lines(other, ["nonsense"])


def test_importing_another_file_keeps_both(tmp_path):
    exports = []
    for name, stamp in (("a", "2026-01-01T00:00:00Z"), ("b", "2026-02-01T00:00:00Z")):
        with Notebook(tmp_path / f"{name}.sqlite", None, clock=lambda stamp=stamp: stamp) as memory:
            memory.add_insight(f"insight of {name}")
            memory.notes(write=True).save("issue", f"note of {name}", now=stamp)
            memory.rules(write=True).save("shared", f"Never {name}", now=stamp)
            if name == "b":
                memory.add_insight("newer insight of b")
                memory.confirm_links("TK-001", merged_with="TK-002")
            exports.append(list(export_lines(memory.reader)))
    with Notebook(tmp_path / "a.sqlite", None) as memory:
        done = import_lines(memory.writer, exports[1])
        assert sorted(i.content for i in memory.insights().all(superseded=True)) == [
            "insight of a", "insight of b", "newer insight of b",
        ]  # fmt: skip
        assert [(i.content, i.superseded_by) for i in memory.insights().all(superseded=True) if i.superseded_by] == [
            ("insight of b", next(i.id for i in memory.insights().all() if i.content == "newer insight of b"))
        ]
        assert sorted(n.content for n in memory.notes().all()) == ["note of a", "note of b"]
        assert [r.content for r in memory.rules().all()] == ["Never b"]
        assert len(done.conflicts) >= 2
        assert memory.insights().search("insight of b")[0].insight.content == "newer insight of b"
        assert import_lines(memory.writer, exports[1]).added == 0


@pytest.mark.parametrize(
    "line",
    [
        '{"table": "entries", "id": "abc", "type": "issue", "content": "x", "created_at": ""}',
        '{"table": "user_entities", "id": "TK-1", "title": "t", "content": "x", "created_at": "", "relations": "no"}',
        '{"table": "user_embeddings", "entity_id": "TK-1", "embedding": "!"}',
        '{"table": "secrets"}',
        "[]",
    ],
)
def test_broken_imports_change_nothing(memory, line):
    memory.add_insight("kept")
    before = list(export_lines(memory.reader))
    with pytest.raises(UsageError, match="line 2"):
        import_lines(memory.writer, ['{"format": "syntropy-notes", "version": 1}', line])
    with pytest.raises(UsageError, match="empty"):
        import_lines(memory.writer, [])
    assert list(export_lines(memory.reader)) == before


def test_only_a_damaged_file_is_set_aside(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(NotesError, match="not a file"):
        NotesStore(folder, write=True)
    assert folder.is_dir()


def test_readers_and_counting_never_wait_for_a_writer(memory):
    saved = memory.notes(write=True).save("issue", "a note", now="2026-01-01T00:00:00Z")
    other = sqlite3.connect(memory.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    assert memory.recall("note").hits
    memory.notes(write=True).used([saved.id], now="2026-01-02T00:00:00Z")
    assert time.monotonic() - started < 2
    other.execute("ROLLBACK")
    other.close()


def test_confidence_cannot_be_pumped(memory):
    memory.add_insight("Strangler Fig it is")
    for _ in range(3):
        memory.confirm_links("TK-001", accepted=["DP-026"])
        assert memory.confirm_links("TK-001", rejected=["DP-026"]).confidence == 0.5


def test_a_new_text_is_linked_anew(memory):
    memory.add_insight("Strangler Fig it is")
    edited = memory.edit_insight("TK-001", text="Conway's Law it is")
    assert edited.relations == {"derives_from": ["LAW-017"]}
    with pytest.raises(UsageError, match="nothing"):
        memory.edit_insight("TK-001")


def test_one_successor_at_a_time(memory):
    for text in ("one thing", "another thing", "a third thing"):
        memory.add_insight(text)
    memory.confirm_links("TK-001", merged_with="TK-002")
    with pytest.raises(UsageError, match="already"):
        memory.confirm_links("TK-001", merged_with="TK-003")
    assert memory.insights(write=True).delete("TK-002", now="2026-11-22T00:00:00Z") == ["TK-001"]
    assert memory.insights().get("TK-001").superseded_by == ""


def test_a_file_of_the_seeds_schema_opens(tmp_path):
    path = tmp_path / "user_knowledge.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(MIGRATIONS[0].split("CREATE TABLE IF NOT EXISTS entries")[0])
        connection.execute(
            "INSERT INTO user_entities (id, title, content) VALUES ('TK-007', 't', 'facade beats extract class')"
        )
        connection.execute("CREATE TABLE entries (id INTEGER PRIMARY KEY, type TEXT, content TEXT)")
        connection.execute("INSERT INTO entries (type, content) VALUES ('decision', 'old note')")
    connection.close()
    with Notebook(path, None) as memory:
        assert [f.insight.id for f in memory.insights().search("facade")] == ["TK-007"]
        assert memory.add_insight("next").insight.id == "TK-008"
        assert [n.content for n in memory.notes().all()] == ["old note"]
    with contextlib.closing(sqlite3.connect(path)) as original:  # as its own program left it
        assert original.execute("PRAGMA user_version").fetchone()[0] == 0
        assert [row[1] for row in original.execute("PRAGMA table_info(entries)")] == ["id", "type", "content"]
        assert original.execute("SELECT count(*) FROM user_entities").fetchone()[0] == 1
    with Notebook(path, None) as memory:
        assert memory.add_insight("and on").insight.id == "TK-009"


def test_a_file_with_fewer_columns_and_another_full_text_index_opens(tmp_path):
    path = tmp_path / "user_knowledge.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE user_entities (id TEXT PRIMARY KEY, title TEXT NOT NULL, content TEXT NOT NULL, tags TEXT);"
            "CREATE VIRTUAL TABLE user_entities_fts USING fts5(content);"
            "CREATE TRIGGER fill AFTER INSERT ON user_entities BEGIN "
            "INSERT INTO user_entities_fts (content) VALUES (new.content); END;"
            "INSERT INTO user_entities VALUES ('TK-001', 't', 'tides turn at noon', NULL);"
        )
    with Notebook(path, None) as memory:
        assert [f.insight.id for f in memory.search_insights("tides")] == ["TK-001"]
        assert memory.add_insight("ropes rot").insight.id == "TK-002"
        assert len(memory.insights().all()) == 2


def test_missing_damaged_and_newer_files(tmp_path):
    with pytest.raises(NotesError, match="no notes"):
        NotesStore(tmp_path / "none.sqlite")
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"SQLite format 3\0" + b"garbage" * 2000)
    memory = Notebook(damaged, None)
    assert "left out" in memory.recall("x").warning
    with pytest.raises(NotesError, match="set aside"):
        memory.add_insight("x")
    assert len(list(tmp_path.glob("damaged.sqlite.damaged-*"))) == 1
    assert memory.add_insight("works again").insight.id == "TK-001"
    memory.close()
    newer = tmp_path / "newer.sqlite"
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(NotesError, match="newer"):
        NotesStore(newer, write=True)


def test_a_new_file_that_somebody_reads_is_waited_for(tmp_path):
    path = tmp_path / "notes.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:  # not yet write-ahead logged
        connection.execute("CREATE TABLE other (x)")
    reading = threading.Event()

    def read():
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN")
            connection.execute("SELECT * FROM other").fetchall()
            reading.set()
            time.sleep(0.3)

    reader = threading.Thread(target=read)
    reader.start()
    reading.wait()
    NotesStore(path, write=True).close()
    reader.join()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def write_many(path, worker, count):
    with Notebook(path, None) as memory:
        for number in range(count):
            if number % 3 == 0:
                memory.rules(write=True).save(f"r-{worker}-{number}", "Never x", now="2026-01-01T00:00:00Z")
            elif number % 3 == 1:
                memory.notes(write=True).save("issue", f"note {worker} {number}", now="2026-01-01T00:00:00Z")
            else:
                memory.add_insight(f"insight {worker} {number}")


def test_concurrent_writers_lose_nothing(tmp_path):
    path = tmp_path / "notes.sqlite"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write_many, args=(path, n, 60)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [w.exitcode for w in workers] == [0] * 8
    with Notebook(path, None) as memory:
        assert len(memory.rules().all()) == 160
        assert len(memory.notes().all()) == 160
        assert sorted(i.id for i in memory.insights().all()) == [f"TK-{n:03d}" for n in range(1, 161)]


def test_a_killed_writer_leaves_old_or_new(tmp_path):
    path = tmp_path / "notes.sqlite"
    script = (
        "import sys; from syntropy.notes.notebook import Notebook; from pathlib import Path\n"
        "m = Notebook(Path(sys.argv[1]), None)\n"
        "while True: print(m.add_insight('an insight').insight.id, flush=True)"
    )
    chooser = random.Random(5)
    last = 0
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        told = process.stdout.readline().strip()
        time.sleep(chooser.uniform(0, 0.15))
        os.kill(process.pid, signal.SIGKILL)
        told = ([told, *process.stdout.read().split()])[-1]
        process.wait()
        with NotesStore(path) as store:
            assert store.rows("PRAGMA integrity_check")[0][0] == "ok"
            ids = [i.id for i in Insights(store).all()]
        numbers = sorted(int(i[3:]) for i in ids)
        assert numbers == list(range(1, len(numbers) + 1))
        if told.startswith("TK-"):
            assert told in ids  # what was said to be stored is stored
        assert len(numbers) >= last
        last = len(numbers)


def test_a_killed_migration_leaves_old_or_new(tmp_path):
    chooser = random.Random(7)
    for number in range(6):
        path = tmp_path / f"{number}.sqlite"
        with sqlite3.connect(path) as connection:
            connection.executescript(MIGRATIONS[0])
            rows = [(f"TK-{n:03d}", "t", f"insight number {n}") for n in range(1, 301)]
            connection.executemany("INSERT INTO user_entities (id, title, content) VALUES (?, ?, ?)", rows)
        connection.close()
        script = "import sys; from pathlib import Path; from syntropy.notes.store import NotesStore\nprint(1, flush=True)\nNotesStore(Path(sys.argv[1]), write=True)"
        process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, cwd=ROOT)
        process.stdout.readline()
        time.sleep(chooser.uniform(0, 0.06))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        with Notebook(path, None) as memory:
            assert len(memory.insights(write=True).all()) == 300
            assert memory.insights().search("number 250")[0].insight.id == "TK-250"
