"""What stages left between runs: a record each, and tables as Parquet files, one a part.

A stage's record names its input digest and its tables' files. Files carry their digest in their name
and the record is renamed into place last, so a killed build leaves the former record and its files. What a
shard's task has finished is noted by a receipt: a build that follows a killed one need not do it again.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.ground.digests import digest
from syntropy.contract.errors import BuildError
from syntropy.contract.files import sync_file, write_text

if TYPE_CHECKING:
    import polars as pl


class Part(NamedTuple):
    """A file in the folder of the records, its SHA-256, its number of rows."""

    file: str
    sha256: str
    rows: int


@dataclass(frozen=True)
class Record:
    """What a stage did last. `tables`: name -> parts; `names`: SHA-256 of what is not a table; `facts`: anything else.

    A table is one part, or one a shard, in their order.
    """

    inputs: str
    tables: dict[str, list[Part]]
    names: dict[str, str]
    facts: dict[str, Any]

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 by table and name."""
        return {**{name: digest_of(parts) for name, parts in self.tables.items()}, **self.names}

    @property
    def rows(self) -> dict[str, int]:
        """Number of rows by table."""
        return {name: sum(part.rows for part in parts) for name, parts in self.tables.items()}

    @property
    def files(self) -> set[str]:
        """Names of all files."""
        return {part.file for parts in self.tables.values() for part in parts}


class Receipt(NamedTuple):
    """What a task made of its shard: a part a table, and facts."""

    shard: int
    inputs: str
    tables: dict[str, Part]
    facts: dict[str, Any]


def digest_of(parts: Sequence[Part]) -> str:
    """SHA-256 of a table in parts."""
    return parts[0].sha256 if len(parts) == 1 else digest(*(part.sha256 for part in parts))


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
            read = json.loads(path.read_text(encoding="utf-8"))
            tables = {name: [Part(*part) for part in parts] for name, parts in read.pop("tables").items()}
            record = Record(tables=tables, **read)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        if not all((self.folder / file).is_file() for file in record.files):
            return None
        self._known[stage] = stamp, record
        return record

    def table(self, stage: str, name: str, *, only: Sequence[str] = (), without: Sequence[str] = ()) -> pl.DataFrame:
        """A table of a stage's last record; `only` some columns, or `without` some.

        Raises BuildError where the stage never ran.
        """
        record = self.get(stage)
        if record is None:
            raise BuildError(f"stage {stage} has no tables yet", hint="build it first, or run `syntropy build`")
        return self.read(record.tables[name], only=only, without=without)

    def read(self, parts: Sequence[Part], *, only: Sequence[str] = (), without: Sequence[str] = ()) -> pl.DataFrame:
        """Parts of a table, one below the other."""
        frame = self.scan(parts)
        return (frame.select(only) if only else frame.drop(without)).collect()

    def scan(self, parts: Sequence[Part]) -> pl.LazyFrame:
        """Parts of a table, to be filtered before they are read."""
        import polars as pl

        return pl.scan_parquet([self.folder / part.file for part in parts])

    def write(self, stage: str, name: str, frame: pl.DataFrame) -> Part:
        """Store a part; nobody looks for it before a record or receipt names it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f".{stage}.{name}.{uuid.uuid4().hex[:12]}.parquet"
        frame.write_parquet(temporary, compression="lz4")
        with temporary.open("rb") as handle:
            checksum = hashlib.file_digest(handle, "sha256").hexdigest()
        file = f"{stage}.{name}.{checksum[:16]}.parquet"
        sync_file(temporary)
        temporary.replace(self.folder / file)
        return Part(file, checksum, frame.height)

    def save(
        self,
        stage: str,
        inputs: str,
        tables: Mapping[str, pl.DataFrame | Sequence[Part]],
        facts: Mapping[str, Any],
        names: Mapping[str, str],
    ) -> Record:
        """Store a stage's tables (those that are parts already are) and record; what it had before goes."""
        parts = {
            name: list(table) if isinstance(table, list | tuple) else [self.write(stage, name, table)]  # type: ignore[arg-type]
            for name, table in tables.items()
        }
        record = Record(inputs, parts, dict(names), dict(facts))
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{stage}.json"
        write_text(path, json.dumps(vars(record), sort_keys=True))
        self._known[stage] = _stamp(path), record
        for pattern in (f"{stage}.*.parquet", f"{stage}.*.receipt", f".{stage}.*"):
            for old in self.folder.glob(pattern):
                if old.name not in record.files:
                    old.unlink(missing_ok=True)
        return record

    def receipt(self, stage: str, shard: int, inputs: str) -> Receipt | None:
        """Of a task that was finished from these inputs and whose stage was not; None where there is none."""
        try:
            read = json.loads(self._receipt(stage, shard, inputs).read_text(encoding="utf-8"))
            tables = {name: Part(*part) for name, part in read.pop("tables").items()}
            found = Receipt(tables=tables, **read)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        whole = found.inputs == inputs and all((self.folder / part.file).is_file() for part in tables.values())
        return found if whole else None

    def sign(self, stage: str, receipt: Receipt) -> None:
        """Note that a task is finished."""
        path = self._receipt(stage, receipt.shard, receipt.inputs)
        write_text(path, json.dumps(receipt._asdict(), sort_keys=True))

    def _receipt(self, stage: str, shard: int, inputs: str) -> Path:
        return self.folder / f"{stage}.{shard:03}.{inputs[:16]}.receipt"


def _stamp(path: Path) -> tuple[int, int]:
    facts = path.stat()
    return facts.st_ino, facts.st_mtime_ns
