"""What stages leave between runs: found again, read once, never half of it."""

import json

import polars as pl
import pytest

from pipeline.engine.records import Receipt, Records
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
    assert again.table("chunks", "t", only=("b",)).columns == ["b"]
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
    (records.folder / made.tables["t"][0].file).unlink()
    assert Records(records.folder).get("s") is None
    (records.folder / "s.json").write_text("{half")
    assert Records(records.folder).get("s") is None
    assert Records(records.folder / "nowhere").get("s") is None
    with pytest.raises(BuildError, match="has no tables yet"):
        Records(records.folder).table("s", "t")


def test_files_of_a_former_record_go_and_equal_tables_stay(records):
    records.save("s", "one", {"t": FRAME, "u": FRAME}, {}, {})
    kept = records.get("s").tables["u"][0].file
    records.save("s", "two", {"t": FRAME.head(1), "u": FRAME}, {}, {})
    files = {path.name for path in records.folder.glob("*.parquet")}
    assert files == records.get("s").files
    assert kept in files


def test_a_table_in_parts_is_one_below_the_other(records):
    parts = [records.write("s", "t", FRAME.head(1)), records.write("s", "t", FRAME.tail(1))]
    made = records.save("s", "one", {"t": parts}, {}, {})
    assert made.rows == {"t": 2}
    assert records.table("s", "t").equals(FRAME)
    assert records.read([parts[1]]).equals(FRAME.tail(1))
    assert made.digests["t"] not in {part.sha256 for part in parts}
    swapped = records.save("s", "two", {"t": parts[::-1]}, {}, {})
    assert swapped.digests["t"] != made.digests["t"]


def test_a_receipt_is_good_for_its_inputs_while_its_files_are_there(records):
    part = records.write("s", "t", FRAME)
    records.sign("s", Receipt(2, "inputs" * 4, {"t": part}, {"fact": 1}))
    assert records.receipt("s", 2, "inputs" * 4) == Receipt(2, "inputs" * 4, {"t": part}, {"fact": 1})
    assert records.receipt("s", 2, "inputs" * 3 + "other") is None, "the same name, other inputs"
    assert records.receipt("s", 1, "inputs" * 4) is None
    (records.folder / part.file).unlink()
    assert records.receipt("s", 2, "inputs" * 4) is None
    records.save("s", "one", {"t": FRAME}, {}, {})
    assert not list(records.folder.glob("*.receipt")), "a stage that is done needs none"
