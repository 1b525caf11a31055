"""The index for vectors: used where its memory is granted, and never the end of a question."""

import pytest

from syntropy.contract.published import DATABASE
from syntropy.search import semantic
from syntropy.store import database as module
from syntropy.store.database import OutOfMemoryError, in_bytes, open_database


@pytest.mark.parametrize(("size", "expected"), [("1GB", 1e9), ("512 MiB", 5.12e8), ("1.5g", 1.5e9), ("50%", 5e8)])
def test_sizes(size, expected):
    assert in_bytes(size) == expected


def test_the_index_is_used_where_memory_for_it_is_granted(demo, monkeypatch):
    monkeypatch.setattr(module, "HNSW_PAYS", 10)
    with_room = open_database(out=demo / "build")
    assert with_room.has_vss == (module.extension_path("vss") is not None)
    without = open_database(out=demo / "build", memory_limit="1MB")
    assert not without.has_vss
    with_room.close()
    without.close()


def test_running_out_of_memory_becomes_a_scan_and_a_word(demo, monkeypatch):
    pytest.importorskip("numpy")
    monkeypatch.setattr(semantic, "HNSW_PAYS", 10)
    database = module.Database(demo / "build" / DATABASE)
    vector = [1.0] + [0.0] * 383
    exact = semantic.top(database, vector, where="true", parameters=[], limit=10)
    database.has_vss = True
    rows = database.rows

    def full(sql, parameters=()):
        if "array_cosine_distance" in sql:
            raise OutOfMemoryError("no room", hint="")
        return rows(sql, parameters)

    monkeypatch.setattr(database, "rows", full)
    assert semantic.top(database, vector, where="true", parameters=[], limit=10) == exact
    assert "all vectors were scanned" in database.notice
    assert not database.has_vss, "it is not tried again"
    database.close()
