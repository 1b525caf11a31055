"""Which documents' chunks are as they were, and what a build of only the others adds up to."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from pipeline.chunk.chunking import Chunks
from pipeline.ground.tables import from_rows
from syntropy.contract.identity import split_uid
from syntropy.contract.schema import DIAGNOSTICS


def chunk_keys(documents: pl.DataFrame, tags: pl.DataFrame) -> pl.DataFrame:
    """`document`, `input`: what a document's chunks depend on (content, kind, names, summary, tags)."""
    joined = (
        tags.sort("document", "position").group_by("document", maintain_order=True).agg(pl.col("tag").str.join(" "))
    )
    frame = documents.select(
        "document", "content_hash", "kind", "title", "summary", pl.col("aliases", "keywords").list.join("\n")
    ).join(joined, on="document", how="left")
    return frame.select(
        "document",
        pl.concat_str(
            ["content_hash", "kind", "title", "aliases", "keywords", "summary", pl.col("tag").fill_null("")],
            separator="\x1f",
        ).alias("input"),
    )


def unchanged_documents(keys: pl.DataFrame, former: Mapping[str, pl.DataFrame]) -> pl.Series:
    """Uids of documents whose key is the former one; none where there is no former table."""
    if not former:
        return keys["document"].clear()
    return keys.join(former["chunk_keys"], on=["document", "input"], how="semi")["document"]


def merge_chunks(
    found: Chunks, keys: pl.DataFrame, same: pl.Series, former: Mapping[str, pl.DataFrame], *, limit: int
) -> dict[str, pl.DataFrame]:
    """The stage's tables: new rows and those of unchanged documents; too many chunks are a diagnostic, not chunks."""
    found, rejected = _within_limit(found, limit)
    tables = {**found._asdict(), "diagnostics": rejected}
    if former:
        keep = pl.col("document").is_in(same.implode())
        uid = pl.col("package") + ":" + pl.col("path")
        carried = {**former, "diagnostics": former["diagnostics"].filter(uid.is_in(same.implode()))}
        tables = {
            name: pl.concat([carried[name] if name == "diagnostics" else carried[name].filter(keep), frame])
            for name, frame in tables.items()
        }
    return {**tables, "chunk_keys": keys}


def _within_limit(found: Chunks, limit: int) -> tuple[Chunks, pl.DataFrame]:
    """Chunks without those of documents that have too many; a diagnostic for each such document."""
    counts = found.chunks.group_by("document").len().filter(pl.col("len") > limit).sort("document")
    rows = []
    for uid, count in counts.iter_rows():
        package, path = split_uid(uid)
        rows.append(
            (
                "chunk",
                "warning",
                "too-many-chunks",
                package,
                path,
                0,
                f"makes {count} chunks, more than {limit}",
                "split the file, exclude it, or raise chunk.max_chunks_per_document",
            )
        )
    if rows:
        over = pl.col("document").is_in(counts["document"].implode())
        found = Chunks(*(frame.filter(~over) for frame in found))
    return found, from_rows(DIAGNOSTICS, rows)
