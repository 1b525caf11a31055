"""What stages leave between runs: found again, read once, never half of it."""

import json

import polars as pl
import pytest

from pipeline.engine.records import Records
from syntropy.contract.errors import BuildError

FRAME = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})


@pytest.fixture
def records(tmp_path):
    return Records(tmp_path / "stages")


def test_what_was_saved_is_found_by_another_object(records):
    made = records.save("chunks", "inputs", {"t": FRAME}, {"fact": 1}, {"extra": "d"})
    again = Records(records.folder)
    assert again.get("chunks") == made
    assert again.table("chunks", "t").equals(FRAME)
    assert again.table("chunks", "t", without=("b",)).columns == ["a"]
    assert made.rows == {"t": 2}
    assert set(made.digests) == {"t", "extra"}


def test_a_record_is_read_once_and_again_when_another_process_wrote(records, monkeypatch):
    records.save("s", "one", {"t": FRAME}, {}, {})
    read = []
    original = json.loads
    monkeypatch.setattr("pipeline.engine.records.json.loads", lambda text: read.append(1) or original(text))
    assert [records.get("s").inputs for _ in range(3)] == ["one"] * 3
    assert read == []
    Records(records.folder).save("s", "two", {"t": FRAME.head(1)}, {}, {})
    assert records.get("s").inputs == "two"
    assert records.table("s", "t").height == 1


def test_a_record_whose_file_is_gone_or_damaged_is_none(records):
    made = records.save("s", "one", {"t": FRAME}, {}, {})
    (records.folder / made.tables["t"]).unlink()
    assert Records(records.folder).get("s") is None
    (records.folder / "s.json").write_text("{half")
    assert Records(records.folder).get("s") is None
    assert Records(records.folder / "nowhere").get("s") is None
    with pytest.raises(BuildError, match="has no tables yet"):
        Records(records.folder).table("s", "t")


def test_files_of_a_former_record_go_and_equal_tables_stay(records):
    records.save("s", "one", {"t": FRAME, "u": FRAME}, {}, {})
    kept = records.get("s").tables["u"]
    records.save("s", "two", {"t": FRAME.head(1), "u": FRAME}, {}, {})
    files = {path.name for path in records.folder.glob("*.parquet")}
    assert files == set(records.get("s").tables.values())
    assert kept in files
