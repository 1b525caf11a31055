"""The embedding cache: text hash to vector, content addressed, one folder a model fingerprint.

Parts are Parquet files that are written beside, synced and renamed, and never changed: a killed build
keeps what it had embedded. Parts whose rows nobody uses are compacted away.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from copy import copy
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from syntropy.files import write_atomically

PRUNE_FACTOR = 2
"""Compact when the cache holds more than this many times the rows in use."""


class EmbeddingCache:
    """Vectors of one model, below `<cache>/embeddings/<fingerprint>`."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._folder = folder / "embeddings" / fingerprint[:16]
        self._ignored: frozenset[str] = frozenset()

    def emptied(self) -> EmbeddingCache:
        """The cache as if it held nothing yet; `drop_ignored` makes that so once all is computed again."""
        emptied = copy(self)
        emptied._ignored = frozenset(part.name for part in self._parts())
        return emptied

    def drop_ignored(self) -> None:
        """Delete the parts that `emptied` passed over."""
        for name in self._ignored:
            (self._folder / name).unlink(missing_ok=True)

    def known(self, hashes: pl.Series) -> pl.Series:
        """Which of the text hashes have a vector (boolean, in their order)."""
        parts = self._parts()
        if not parts:
            return pl.repeat(False, len(hashes), eager=True)
        stored = pl.scan_parquet(parts).select("text_hash").collect()["text_hash"]
        return hashes.is_in(stored.implode())

    def add(self, hashes: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Store vectors [n, dimension] under their text hashes, durably."""
        frame = pl.DataFrame(
            {
                "text_hash": pl.Series(hashes, dtype=pl.String),
                "vector": pl.Series(
                    np.ascontiguousarray(vectors, np.float32), dtype=pl.Array(pl.Float32, vectors.shape[1])
                ),
            }
        )
        self._write(frame, uuid.uuid4().hex[:24])

    def vectors(self, hashes: pl.Series) -> pl.DataFrame:
        """`text_hash`, `vector` of the distinct hashes; every one must be known."""
        wanted = pl.DataFrame({"text_hash": hashes.unique()})
        found = pl.scan_parquet(self._parts()).unique("text_hash").join(wanted.lazy(), on="text_hash", how="semi")
        return found.collect()

    def prune(self, used: pl.Series) -> int:
        """Drop rows nobody uses once they outnumber the used ones; returns how many were dropped."""
        parts = self._parts()
        if not parts:
            return 0
        total = int(pl.scan_parquet(parts).select(pl.len()).collect().item())
        keep = used.n_unique()
        if total <= max(PRUNE_FACTOR * keep, 1_000) and len(parts) <= 64:
            return 0
        frame = self.vectors(used.filter(self.known(used))).sort("text_hash")
        name = "compact-" + hashlib.sha256("".join(frame["text_hash"]).encode()).hexdigest()[:16]
        self._write(frame, name)
        for part in parts:
            if part.stem != name:
                part.unlink()
        return total - frame.height

    def _write(self, frame: pl.DataFrame, name: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self._folder / f"{name}.parquet", lambda path: frame.write_parquet(path, compression="zstd"))

    def _parts(self) -> list[Path]:
        return sorted(p for p in self._folder.glob("*.parquet") if p.name not in self._ignored)
