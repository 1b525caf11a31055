"""The chunk stage: documents to the `chunks` and `windows` tables."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from pipeline.chunk.cutting import Chunked, ChunkInput, chunk_document
from pipeline.chunk.terms import Terms, term_counter
from pipeline.chunk.tokens import token_counter
from pipeline.extract.document import stored_outline
from pipeline.ground.parallel import Progress, map_batches
from pipeline.ground.tables import collected, from_rows, packed
from pipeline.text.markdown import Heading
from syntropy.contract.config import ChunkConfig, EmbedConfig
from syntropy.contract.identity import PROJECT_PACKAGE, split_uid
from syntropy.contract.schema import CHUNKS, TERMS, WINDOWS

_Item = tuple[Any, ...]


class Chunks(NamedTuple):
    """The stage's tables."""

    chunks: pl.DataFrame
    windows: pl.DataFrame
    terms: pl.DataFrame


_TABLES = (CHUNKS, WINDOWS, TERMS)


def chunk_documents(
    documents: pl.DataFrame,
    tags: pl.DataFrame,
    headings: pl.DataFrame,
    outlines: pl.DataFrame,
    *,
    tokenizer: Path,
    chunk: ChunkConfig,
    embed: EmbedConfig,
    prefix_tokens: int,
    progress: Progress | None = None,
) -> Chunks:
    """Chunks, windows and terms of the given documents. `tokenizer` is a tokenizer.json."""
    tag_lists = dict(tags.sort("document", "position").group_by("document", maintain_order=True).agg("tag").iter_rows())
    members: dict[str, list[Heading]] = {}
    for uid, level, text, line in (
        headings.sort("document", "ordinal").select("document", "level", "text", "line_start").iter_rows()
    ):
        members.setdefault(uid, []).append(Heading(level, text, line - 1))
    units = dict(outlines.select("document", "units").iter_rows())
    items = (
        (*row, " ".join(tag_lists.get(row[0], ())), units[row[0]], members.get(row[0], []))
        for row in documents.select("document", "path", "title", "aliases", "keywords", "summary", "text").iter_rows()
    )
    total = int(documents["text"].str.len_bytes().sum())
    work = partial(_chunk_batch, tokenizer, chunk, embed, prefix_tokens)
    return Chunks(*collected(_TABLES, map_batches(work, items, _size, total=total, progress=progress)))


def _size(item: _Item) -> int:
    return len(item[6])


def _chunk_batch(
    tokenizer_path: Path, chunk: ChunkConfig, embed: EmbedConfig, prefix_tokens: int, batch: list[_Item]
) -> list[bytes]:
    counter, terms = token_counter(tokenizer_path), term_counter()
    rows = Chunked([], [], Terms())
    for uid, path, title, aliases, keywords, summary, text, tags, units, headings in batch:
        shape = stored_outline(text, units, headings)
        package = split_uid(uid)[0]
        place = path if package == PROJECT_PACKAGE else f"{package}/{path}"  # people search for a package by its name
        document = ChunkInput(uid, place, title, "\n".join(aliases), "\n".join(keywords), tags, summary, text, shape)
        chunk_document(rows, document, counter, terms, chunk, embed, prefix_tokens)
    frames = (from_rows(CHUNKS, rows.chunks), from_rows(WINDOWS, rows.windows), pl.DataFrame(rows.terms.table()))
    return [packed(frame) for frame in frames]
