"""The chunk stage: documents to the `chunks` and `windows` tables."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.chunk import ChunkInput, chunk_document
from pipeline.extract.document import stored_outline
from pipeline.frames import empty, from_rows
from pipeline.markdown import Heading
from pipeline.parallel import map_batches
from pipeline.tokens import token_counter
from syntropy.config import ChunkConfig, EmbedConfig
from syntropy.schema import CHUNKS, WINDOWS

_Item = tuple[str, str, str, str, str, str, list[Heading]]


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
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`chunks` and `windows` of the given documents. `tokenizer` is a tokenizer.json."""
    tag_lists = dict(tags.sort("document", "position").group_by("document", maintain_order=True).agg("tag").iter_rows())
    members: dict[str, list[Heading]] = {}
    for uid, level, text, line in (
        headings.sort("document", "ordinal").select("document", "level", "text", "line_start").iter_rows()
    ):
        members.setdefault(uid, []).append(Heading(level, text, line - 1))
    units = dict(outlines.iter_rows())
    items = (
        (uid, path, title, " ".join(tag_lists.get(uid, ())), text, units[uid], members.get(uid, []))
        for uid, path, title, text in documents.select("document", "path", "title", "text").iter_rows()
    )
    total = int(documents["text"].str.len_bytes().sum())
    work = partial(_chunk_batch, tokenizer, chunk, embed, prefix_tokens)
    chunk_frames, window_frames = [empty(CHUNKS)], [empty(WINDOWS)]
    for chunk_rows, window_rows in map_batches(work, items, _size, total=total):
        chunk_frames.append(from_rows(CHUNKS, chunk_rows))
        window_frames.append(from_rows(WINDOWS, window_rows))
    return pl.concat(chunk_frames), pl.concat(window_frames)


def _size(item: _Item) -> int:
    return len(item[4])


def _chunk_batch(
    tokenizer_path: Path, chunk: ChunkConfig, embed: EmbedConfig, prefix_tokens: int, batch: list[_Item]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    counter = token_counter(tokenizer_path)
    chunk_rows: list[tuple[Any, ...]] = []
    window_rows: list[tuple[Any, ...]] = []
    for uid, path, title, tags, text, units, headings in batch:
        document = ChunkInput(uid, path, title, tags, text, stored_outline(text, units, headings))
        chunks, windows = chunk_document(document, counter, chunk, embed, prefix_tokens)
        chunk_rows += chunks
        window_rows += windows
    return chunk_rows, window_rows
