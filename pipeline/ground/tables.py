"""Stage tables as Polars frames whose schema is the contract's (`syntropy.contract.schema`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any

import polars as pl

from syntropy.contract.errors import BuildError
from syntropy.contract.schema import Table

_TYPES: dict[str, Any] = {
    "VARCHAR": pl.String,
    "INTEGER": pl.Int32,
    "BIGINT": pl.Int64,
    "DOUBLE": pl.Float64,
    "BOOLEAN": pl.Boolean,
    "VARCHAR[]": pl.List(pl.String),
    "INTEGER[]": pl.List(pl.Int32),
}


def schema_of(table: Table) -> dict[str, Any]:
    """Column -> Polars type of a table's stage form."""
    return {c.name: _TYPES[c.type] for c in table.stage_columns()}


def empty(table: Table) -> pl.DataFrame:
    """A frame of the table without rows."""
    return pl.DataFrame(schema=schema_of(table))


def from_rows(table: Table, rows: Iterable[Sequence[Any]]) -> pl.DataFrame:
    """A frame from row tuples in the contract's column order."""
    return pl.DataFrame(list(rows), schema=schema_of(table), orient="row")


def packed(frame: pl.DataFrame) -> bytes:
    """A frame as Arrow IPC: how a worker hands over its result, made into columns by the worker."""
    buffer = BytesIO()
    frame.write_ipc(buffer)
    return buffer.getvalue()


def collected(tables: Sequence[Table], batches: Iterable[Sequence[bytes]]) -> list[pl.DataFrame]:
    """One frame a table out of what workers `packed`, in the order of the batches."""
    frames = [[empty(table)] for table in tables]
    for batch in batches:
        for parts, data in zip(frames, batch, strict=True):
            parts.append(pl.read_ipc(BytesIO(data)))
    return [pl.concat(parts) for parts in frames]


def conform(table: Table, frame: pl.DataFrame, *, unique: bool = True) -> pl.DataFrame:
    """The frame with the contract's columns and order, sorted by key, checked for NULLs and, if `unique`, for keys.

    Raises BuildError where a stage broke the contract: that is a defect, never bad input.
    """
    frame = frame.select(pl.col(name).cast(kind) for name, kind in schema_of(table).items())
    key = list(table.key)
    frame = frame.sort(key)
    for column in table.stage_columns():
        if not column.null and frame[column.name].null_count():
            raise BuildError(
                f"table {table.name}: NULL in column {column.name}",
                hint="a stage broke the contract; please report this with the input",
            )
    repeated = frame.height - frame.select(key).n_unique() if frame.height and unique else 0
    if repeated:
        raise BuildError(
            f"table {table.name}: {repeated} rows repeat the key ({', '.join(key)})",
            hint="a stage broke the contract; please report this with the input",
        )
    return frame
