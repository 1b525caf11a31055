"""The embed stage: vectors for all windows, computing only those the cache does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import polars as pl

from pipeline.chunk.cutting import embedded_text, window_prefix
from pipeline.chunk.tokens import token_counter
from pipeline.embed.cache import EmbeddingCache
from pipeline.embed.engines import Engine, encode_in_parts
from pipeline.embed.model import Model
from pipeline.ground.parallel import Progress

PART = 512
"""Windows between two saves: a killed build loses at most these (about ten seconds)."""


class Embedded(NamedTuple):
    """What the stage did: windows in all, windows encoded now, by which engine ('' if none), and the
    seconds spent inside it."""

    windows: int
    encoded: int
    engine: str
    model_seconds: float


def embed_windows(
    chunks: pl.DataFrame,
    windows: pl.DataFrame,
    cache: EmbeddingCache,
    *,
    model: Model,
    prefix_tokens: int,
    engine: Callable[[], Engine],
    clock: Callable[[], float],
    progress: Progress | None = None,
    all_anew: bool = False,
) -> Embedded:
    """Encode what is new (or all of it). `engine` is made only if something is (it loads the model)."""
    distinct = windows.unique("text_hash", keep="first", maintain_order=True)
    former = cache.parts() if all_anew else []
    new = distinct if all_anew else distinct.filter(~cache.known(distinct["text_hash"]))
    name, seconds = "", 0.0
    if new.height:
        texts = _texts(chunks, new, model, prefix_tokens)
        hashes = new["text_hash"].to_list()
        if progress:
            progress(0, new.height)
        runner = engine()
        name = runner.name
        done = 0
        started = clock()
        for positions, vectors in encode_in_parts(runner, texts, PART):
            seconds += clock() - started
            cache.add([hashes[i] for i in positions], vectors)
            done += len(positions)
            if progress:
                progress(done, new.height)
            started = clock()
    if former:
        cache.forget(distinct["text_hash"], former)
    cache.prune()
    return Embedded(windows.height, new.height, name, seconds)


def _texts(chunks: pl.DataFrame, new: pl.DataFrame, model: Model, prefix_tokens: int) -> list[str]:
    counter = token_counter(model.tokenizer)
    rows = new.select("document", "chunk", "char_start", "char_end").join(
        chunks.select("document", "chunk", "title", "headings", "body", pl.col("char_start").alias("base")),
        on=["document", "chunk"],
        how="left",
        maintain_order="left",
    )
    return [
        embedded_text(window_prefix(counter, title, headings, prefix_tokens), body[start - base : end - base])
        for start, end, title, headings, body, base in rows.select(
            "char_start", "char_end", "title", "headings", "body", "base"
        ).iter_rows()
    ]
