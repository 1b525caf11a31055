"""Uids and ordinals to the integers of a database: see `syntropy.contract.shards` for their order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import polars as pl

from syntropy.contract.schema import WINDOWS, Table
from syntropy.contract.shards import STRIDE, home_of
from syntropy.contract.text import name_of


def number_documents(uids: pl.Series, shards: int = 1) -> pl.DataFrame:
    """`document`, `shard`, `document_id` of all these documents, by number; each shard's count from its own first."""
    places = [home_of(uid) for uid in uids]
    homes = pl.Series("home", places, dtype=pl.UInt64)
    of_shard = pl.Series("shard", [home * shards >> 64 for home in places], dtype=pl.Int32)
    frame = pl.DataFrame([uids.alias("document"), homes, of_shard]).sort("home", "document")
    within = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("shard")
    return frame.select("document", "shard", (pl.col("shard") * STRIDE + within).cast(pl.Int32).alias("document_id"))


class Numbered:
    """Stage frames in their database form, in the order of their numbers.

    `documents` are rows of `number_documents`; those of one shard, or, for tables that are about all, of all of them.
    """

    def __init__(self, tables: Mapping[str, pl.DataFrame], documents: pl.DataFrame, *, shard: int = 0) -> None:
        self._tables = tables
        self._documents = documents.select("document", "document_id")
        self.first = shard * STRIDE + 1
        """Number of the first chunk."""

    @cached_property
    def _chunks(self) -> pl.DataFrame:
        chunks = self._with_document(self._tables["chunks"].select("document", "chunk")).sort("document_id", "chunk")
        numbers = pl.int_range(self.first, self.first + pl.len(), dtype=pl.Int32).alias("chunk_id")
        return chunks.with_columns(numbers)

    def ordered(self, name: str) -> pl.DataFrame:
        """A table with a row (or more) a chunk, in the order of the chunks' numbers, which it gets."""
        frame = self._tables[name].join(self._chunks, on=["document", "chunk"], how="left")
        return frame.sort(["chunk_id", *(["window"] if name == "windows" else [])])

    def frame(self, table: Table) -> pl.DataFrame:
        """A table in its database form, in key order."""
        if table.name == "chunks":
            frame = self.ordered("chunks")
        else:
            frame = self._tables[table.name]
            for column in table.columns:
                if column.type == "DOCUMENT":
                    frame = self._with_document(frame, column.name)
            references = {column.name: f"{column.name}_id" for column in table.columns if column.type == "DOCUMENT"}
            frame = frame.sort([references.get(name, name) for name in table.key], nulls_last=True)
        return frame.select(c.name for c in table.database_columns())

    def windows(self, vectors: pl.DataFrame | None) -> pl.DataFrame:
        """`windows` in database form, with vectors where there are any (`text_hash`, `vector`)."""
        frame = self.ordered("windows")
        columns = [c.name for c in WINDOWS.database_columns()]
        if vectors is not None:
            frame = frame.join(vectors, on="text_hash", how="left", maintain_order="left")
            columns.append("vector")
        return frame.select(columns)

    def names(self) -> pl.DataFrame:
        """`names`: folded titles, aliases and file names."""
        columns = ("title", "key", "path", "aliases")
        documents = self._with_document(self._tables["documents"].select("document", *columns))
        rows = {
            (name, number, origin)
            for number, title, key, path, aliases in documents.select("document_id", *columns).iter_rows()
            for origin, text in (
                ("title", title),
                *(("alias", alias) for alias in (key, *aliases)),
                *(("file", name) for name in {path, path.rpartition("/")[2]} if "#" not in path),
            )
            if (name := name_of(text))
        }
        return pl.DataFrame(
            sorted(rows), schema={"name": pl.String, "document_id": pl.Int32, "origin": pl.String}, orient="row"
        )

    def _with_document(self, frame: pl.DataFrame, name: str = "document") -> pl.DataFrame:
        numbers = self._documents.rename({"document": name, "document_id": f"{name}_id"})
        return frame.join(numbers, on=name, how="left", maintain_order="left")
