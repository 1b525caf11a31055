"""What workers do with one shard: (tables, facts) of files of the records and small values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.chunk.chunking import chunk_documents
from pipeline.chunk.reuse import chunk_keys, merge_chunks, unchanged_documents
from pipeline.embed.cache import EmbeddingCache
from pipeline.engine.records import Part, Records
from pipeline.extract.extraction import extract_texts
from pipeline.extract.merge import Settled, Unchanged, gathered, settled
from pipeline.sources.scan import read_all
from pipeline.store.inverted_index import Lengths, lengths_of
from pipeline.store.numbers import number_documents
from pipeline.store.writer import write_database
from syntropy.contract.config import ChunkConfig, Config, EmbedConfig, RankingConfig, StoreConfig

Tables = tuple[Mapping[str, pl.DataFrame], dict[str, Any]]
Parts = Mapping[str, Part]
"""Table -> its part of the shard."""


def read_parts(records: Records, parts: Parts) -> dict[str, pl.DataFrame]:
    """All columns of some tables' parts of a shard."""
    return {name: records.read([part]) for name, part in parts.items()}


def extract_shard(
    records: Records,
    *,
    root: Path,
    config: Config,
    own: Sequence[str],
    paths: Mapping[str, Sequence[str]],
    shared: Mapping[tuple[str, str], Any],
    kept: pl.DataFrame,
    former: Parts,
) -> Tables:
    """Read and extract files (package -> paths); what is in `kept` (package, path) comes from the former part."""
    found = extract_texts(read_all(root, config, own, paths), config.secrets, shared=shared)
    before = read_parts(records, former)
    same = pl.Series("document", [], pl.String)
    if before:
        files = kept.rename({"path": "file"})
        same = before["documents"].join(files, on=["package", "file"], how="semi")["document"]
    return gathered(found, Unchanged(kept, same), before), {}


def settle_shard(records: Records, *, parts: Parts, names: Settled) -> Tables:
    """The shard's documents with the names that are unique over all shards."""
    return settled(read_parts(records, parts), names), {}


def chunk_shard(
    records: Records,
    *,
    parts: Parts,
    former: Parts,
    tokenizer: Path,
    chunk: ChunkConfig,
    embed: EmbedConfig,
    prefix_tokens: int,
) -> Tables:
    """Chunks, windows and terms; those of unchanged documents from the former part."""
    given = read_parts(records, parts)
    return chunked(
        given, read_parts(records, former), tokenizer=tokenizer, chunk=chunk, embed=embed, prefix_tokens=prefix_tokens
    )


def chunked(
    given: Mapping[str, pl.DataFrame], former: Mapping[str, pl.DataFrame], *, chunk: ChunkConfig, **how: Any
) -> Tables:
    """Chunk documents whose text, names or tags changed; `given`: documents, tags, headings, outlines.

    Facts: how many documents were `chunked` and `reused`, and the `lengths` of their fields.
    """
    documents, carried = given["documents"], given["tags"].filter(pl.col("origin") != "inferred")
    keys = chunk_keys(documents, carried)
    same = unchanged_documents(keys, former)
    changed = documents.filter(~pl.col("document").is_in(same.implode()))
    found = chunk_documents(changed, carried, given["headings"], given["outlines"], chunk=chunk, **how)
    tables = merge_chunks(found, keys, same, former, limit=chunk.max_chunks_per_document)
    facts = {"chunked": changed.height, "reused": len(same), "lengths": lengths_of(tables["terms"])}
    return tables, facts


def store_shard(
    target: Path,
    records: Records,
    *,
    parts: Parts,
    cache: tuple[Path, str, int] | None,
    shard: int,
    shards: int,
    averages: Sequence[float],
    ranking: RankingConfig,
    store: StoreConfig,
    meta: Mapping[str, str],
) -> dict[str, Any]:
    """Write the database at `target`; what was stored. `cache`: folder, fingerprint and length of its vectors."""
    tables = read_parts(records, parts)
    documents = number_documents(tables["documents"]["document"], shards)
    counts = {name: str(tables[name].height) for name in ("documents", "chunks", "windows")}
    stored = write_database(
        target,
        tables,
        documents,
        vectors=_vectors(*cache, tables["windows"]["text_hash"]) if cache else None,
        averages=averages,
        shard=shard,
        ranking=ranking,
        store=store,
        meta={**meta, **counts},
    )
    return stored._asdict()


def _vectors(folder: Path, fingerprint: str, dimension: int, hashes: pl.Series) -> pl.DataFrame:
    if len(hashes):
        return EmbeddingCache(folder, fingerprint).vectors(hashes)
    return pl.DataFrame(schema={"text_hash": pl.String, "vector": pl.Array(pl.Float32, dimension)})


def added_lengths(parts: Sequence[Any]) -> list[Lengths]:
    """Lengths of shards as a record keeps them."""
    return [Lengths(chunks, tuple(fields)) for chunks, fields in parts]
