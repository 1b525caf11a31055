"""What stages left between runs: a record each, and tables as Parquet files.

A stage's record names its input digest and its tables' files. Files carry their digest in their name
and the record is renamed into place last, so a killed build leaves the former record and its files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from syntropy.contract.errors import BuildError
from syntropy.contract.files import sync_file, write_text

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Record:
    """What a stage did last. `tables`: name -> file; `digests`: name -> SHA-256; `facts`: anything else."""

    inputs: str
    tables: dict[str, str]
    digests: dict[str, str]
    rows: dict[str, int]
    facts: dict[str, Any]


class Records:
    """The folder of stage records and tables. A record is read again only where its file is another one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, tuple[tuple[int, int], Record]] = {}

    def get(self, stage: str) -> Record | None:
        """The stage's last record, or None where there is none or one of its files is gone."""
        path = self.folder / f"{stage}.json"
        try:
            stamp = _stamp(path)
            if stage in self._known and self._known[stage][0] == stamp:
                return self._known[stage][1]
            record = Record(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        if not all((self.folder / file).is_file() for file in record.tables.values()):
            return None
        self._known[stage] = stamp, record
        return record

    def table(self, stage: str, name: str, *, without: tuple[str, ...] = ()) -> pl.DataFrame:
        """A table of a stage's last record, some columns left out. Raises BuildError where the stage never ran."""
        import polars as pl

        record = self.get(stage)
        if record is None:
            raise BuildError(f"stage {stage} has no tables yet", hint="build it first, or run `syntropy build`")
        return pl.scan_parquet(self.folder / record.tables[name]).drop(without).collect()

    def save(
        self,
        stage: str,
        inputs: str,
        tables: Mapping[str, pl.DataFrame],
        facts: Mapping[str, Any],
        digests: Mapping[str, str],
    ) -> Record:
        """Store a stage's tables and record. `digests` names results that are not tables of ours."""
        self.folder.mkdir(parents=True, exist_ok=True)
        former = self.get(stage)
        files, sums, rows = {}, {}, {}
        for name, frame in tables.items():
            temporary = self.folder / f".{stage}.{name}.new.parquet"
            frame.write_parquet(temporary, compression="lz4")
            with temporary.open("rb") as handle:
                checksum = hashlib.file_digest(handle, "sha256").hexdigest()
            files[name] = f"{stage}.{name}.{checksum[:16]}.parquet"
            sync_file(temporary)
            temporary.replace(self.folder / files[name])
            sums[name], rows[name] = checksum, frame.height
        record = Record(inputs, files, {**sums, **digests}, rows, dict(facts))
        path = self.folder / f"{stage}.json"
        write_text(path, json.dumps(vars(record), sort_keys=True))
        self._known[stage] = _stamp(path), record
        for old in former.tables.values() if former else ():
            if old not in files.values():
                (self.folder / old).unlink(missing_ok=True)
        return record


def _stamp(path: Path) -> tuple[int, int]:
    facts = path.stat()
    return facts.st_ino, facts.st_mtime_ns
