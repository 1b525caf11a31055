"""Chunks a second of the onnx engine against sentence-transformers' defaults, in alternation, on real windows."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.common import corpus, save
from pipeline.chunk.cutting import prefix_budget
from pipeline.embed.embedding import _texts
from pipeline.embed.engines import SentenceTransformersEngine
from pipeline.engine.context import Build
from pipeline.engine.runner import run_stage
from pipeline.engine.stages import stage_named
from pipeline.engine.workspace import make_workspace

WINDOWS, ROUNDS = 400, 4


def main() -> None:
    """Two mixes: the windows we embed, and whole chunks of all lengths that fit the model."""
    with tempfile.TemporaryDirectory() as folder:
        build = Build(make_workspace(corpus("dlt-docs", Path(folder) / "dlt-docs")))
        for name in ("source_files", "documents", "tags", "chunks"):
            run_stage(stage_named(name), build)
        model = build.embedder.model
        ours = build.embedder.engine()
        theirs = SentenceTransformersEngine(model, "cpu")
        chunks, windows = build.table("chunks", "chunks"), build.table("chunks", "windows")
        picked = windows.sample(WINDOWS, seed=1)
        texts = _texts(chunks, picked, model, prefix_budget(build.config.embed, model.max_tokens))
        mixed = chunks.filter(pl.col("token_count").is_between(8, 230))["body"].sample(WINDOWS, seed=2).to_list()
        save(
            "embedding",
            {"windows": _compare(ours, theirs, texts), "mixed_lengths": _compare(ours, theirs, mixed), "promise": 1.8},
        )


def _compare(ours, theirs, texts: list[str]) -> dict[str, float]:
    seconds = {"ours": 0.0, "theirs": 0.0}
    vectors = {}
    for engine in (ours, theirs):  # warm up
        engine.encode(texts[:16])
    for _ in range(ROUNDS):
        for name, engine in (("ours", ours), ("theirs", theirs)):
            started = time.perf_counter()
            vectors[name] = engine.encode(texts)
            seconds[name] += time.perf_counter() - started
    rate = {name: round(len(texts) * ROUNDS / value, 1) for name, value in seconds.items()}
    return {
        "onnx_per_second": rate["ours"],
        "sentence_transformers_per_second": rate["theirs"],
        "ratio": round(rate["ours"] / rate["theirs"], 2),
        "smallest_cosine": float(np.min(np.sum(vectors["ours"] * vectors["theirs"], axis=1))),
    }
