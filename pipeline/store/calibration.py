"""From which score on a best hit means something in this corpus: asked of the finished database, stored in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.ground.digests import digest
from pipeline.store.writer import add_meta
from syntropy.contract.config import Config, SearchConfig
from syntropy.read.knowledge import Knowledge
from syntropy.search.absence import META_KEY, deciding, null_questions, stored, threshold
from syntropy.search.lexical import numbers
from syntropy.store.database import Database
from syntropy.store.encoder import CachedEncoder, Encoder

SAMPLE = 4_000
"""Chunks whose words questions are drawn from, at equal distances."""

MOVED = 0.1
"""Change of the number of chunks, as a share, from which the thresholds are measured anew."""


class Calibration(NamedTuple):
    """Thresholds by mode; `basis` is what they were measured on besides the chunks, `chunks` how many there were."""

    thresholds: dict[str, float]
    basis: str
    chunks: int


def calibrated(
    path: Path, settings: SearchConfig, encoder: Callable[[], Encoder] | None, *, method: str, former: Mapping[str, Any]
) -> Calibration:
    """Thresholds of the database at `path`, which get stored in it; `former` ones while little has changed.

    `method`: digest of the code and configuration that make scores. `encoder` is made only where something is
    measured; without one only `fast` has a threshold.
    """
    database = Database(path)
    basis = digest(method, repr(sorted(deciding(settings).items())), str(encoder is not None))
    try:
        chunks = database.chunk_count
        known = Calibration(former["thresholds"], former["basis"], former["chunks"]) if former else None
        if known and known.basis == basis and abs(chunks - known.chunks) <= MOVED * known.chunks:
            found = known
        else:
            found = Calibration(_measured(database, settings, encoder() if encoder else None), basis, chunks)
    finally:
        database.close()
    add_meta(path, {META_KEY: stored(found.thresholds, settings)})
    return found


def _measured(database: Database, settings: SearchConfig, encoder: Encoder | None) -> dict[str, float]:
    step = max(1, database.chunk_count // SAMPLE)
    chosen = [chunk for (chunk,) in database.rows("SELECT chunk_id FROM chunks ORDER BY chunk_id")][step - 1 :: step]
    rows = database.rows(f"SELECT body FROM chunks WHERE chunk_id IN ({numbers(chosen)}) ORDER BY chunk_id")
    questions = null_questions([text for (text,) in rows])
    knowledge = Knowledge(
        database, Config(search=settings), None, encoder=CachedEncoder(encoder) if encoder is not None else None
    )
    found = {}
    modes = ["fast", *(["semantic", "hybrid"] if encoder is not None else [])]
    for mode in modes:
        if mode == "hybrid" and settings.fusion == "rrf":
            continue  # sums of ranks are the same for every question
        best = [knowledge.search(question, mode=mode, limit=1).hits[:1] for question in questions]
        found[mode] = threshold([hits[0].score if hits else 0.0 for hits in best], mode)
    return found
