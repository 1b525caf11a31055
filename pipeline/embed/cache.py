"""The embedding cache: text hash to vector, content addressed, shared by all of a user's projects.

One folder a model fingerprint in the user's cache. Parts are Parquet files that are written beside, synced
and renamed, and never changed: a killed build keeps what it had embedded, and builds side by side only add.
Files go when they are merged or when the folder is too large (those first that were used longest ago), under
a lock; who was about to read one of them looks again.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from syntropy.contract.errors import BuildError
from syntropy.contract.files import write_atomically

MAX_BYTES = 4_000_000_000
"""Size of one model's folder: two and a half million vectors, 25 times the largest corpus tried."""

MAX_PARTS = 64
"""From so many files on they are merged: each costs a millisecond to look into."""

_ATTEMPTS = 5
"""Looks at the folder before a file that keeps vanishing is an error."""

Found = TypeVar("Found")


class EmbeddingCache:
    """Vectors of one model, in `folder`/embeddings/<fingerprint>."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._folder = folder / "embeddings" / fingerprint[:16]

    def adopt(self, former: Path) -> None:
        """Take over the parts of a project's own cache, as versions before this one kept them."""
        parts = sorted((former / "embeddings" / self._folder.name).glob("*.parquet"))
        for part in parts:
            self._folder.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(pl.exceptions.PolarsError):  # a damaged one is worth nothing
                self._write(pl.read_parquet(part))
            part.unlink()

    def known(self, hashes: pl.Series) -> pl.Series:
        """Which of the text hashes have a vector (boolean, in their order)."""

        def look(parts: list[Path]) -> pl.Series:
            if not parts:
                return pl.repeat(False, len(hashes), eager=True)
            stored = pl.scan_parquet(parts).select("text_hash").collect()["text_hash"]
            return hashes.is_in(stored.implode())

        return self._looking(look)

    def dimension(self) -> int:
        """Length of the vectors; 0 where there are none yet."""

        def look(parts: list[Path]) -> int:
            kind = pl.read_parquet_schema(parts[0])["vector"] if parts else None
            return int(kind.shape[0]) if isinstance(kind, pl.Array) else 0

        return self._looking(look)

    def add(self, hashes: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Store vectors [n, dimension] under their text hashes, durably."""
        self._write(
            pl.DataFrame(
                {
                    "text_hash": pl.Series(hashes, dtype=pl.String),
                    "vector": pl.Series(
                        np.ascontiguousarray(vectors, np.float32), dtype=pl.Array(pl.Float32, vectors.shape[1])
                    ),
                }
            )
        )

    def vectors(self, hashes: pl.Series) -> pl.DataFrame:
        """`text_hash`, `vector` of the distinct hashes. Raises BuildError where one is not there (any more)."""
        wanted = pl.DataFrame({"text_hash": hashes.unique()})

        def look(parts: list[Path]) -> pl.DataFrame:
            if not parts:
                raise BuildError("the embedding cache is empty: somebody cleaned it meanwhile", hint="build again")
            frame = pl.scan_parquet(parts, include_file_paths="part")
            found = frame.join(wanted.lazy(), on="text_hash", how="semi").collect()
            for part in found["part"].unique():
                _touch(Path(part))
            return found.unique("text_hash").drop("part")

        frame = self._looking(look)
        if frame.height < wanted.height:
            missing = wanted.height - frame.height
            raise BuildError(f"{missing} vectors went from the cache while they were needed", hint="build again")
        return frame

    def parts(self) -> list[Path]:
        """The files there are now."""
        return sorted(self._folder.glob("*.parquet"))

    def forget(self, hashes: pl.Series, among: Sequence[Path]) -> None:
        """Drop the vectors of these texts from these files, once they have been computed again."""
        with self._alone():
            for part in among:
                if not part.exists():
                    continue
                frame = pl.read_parquet(part)
                kept = frame.filter(~pl.col("text_hash").is_in(hashes.implode()))
                if kept.height < frame.height:
                    if kept.height:
                        self._write(kept)
                    part.unlink(missing_ok=True)

    def prune(self, max_bytes: int = MAX_BYTES) -> int:
        """Merge many small files, drop what was used longest ago above `max_bytes`; how many files went.

        Somebody else at it is as good: then nothing is done.
        """
        parts = self.parts()
        total = sum(part.stat().st_size for part in parts if part.exists())
        if len(parts) <= MAX_PARTS and total <= max_bytes:
            return 0
        try:
            with self._alone(timeout=0):
                parts = sorted(self.parts(), key=lambda part: part.stat().st_mtime_ns)
                dropped = []
                while parts and sum(part.stat().st_size for part in parts) > max_bytes:
                    dropped.append(parts.pop(0))
                if len(parts) > MAX_PARTS:
                    small = sorted(parts, key=lambda part: part.stat().st_size)[: len(parts) - MAX_PARTS // 2]
                    self._write(
                        pl.concat([pl.read_parquet(part) for part in small]).unique("text_hash").sort("text_hash")
                    )
                    dropped += small
                for part in dropped:
                    part.unlink(missing_ok=True)
                return len(dropped)
        except Timeout:
            return 0

    def _alone(self, timeout: float = -1) -> FileLock:
        self._folder.mkdir(parents=True, exist_ok=True)
        return FileLock(self._folder / ".lock", timeout=timeout)

    def _looking(self, look: Callable[[list[Path]], Found]) -> Found:
        """What `look` finds in the parts; again with the present ones where a file was merged meanwhile."""
        for attempt in range(_ATTEMPTS):
            parts = self.parts()
            try:
                return look(parts)
            except (OSError, pl.exceptions.PolarsError):
                if attempt == _ATTEMPTS - 1:
                    raise
                if all(part.exists() for part in parts):
                    self._set_damaged_aside(parts)
                time.sleep(0.05)
        raise AssertionError("unreachable")

    def _set_damaged_aside(self, parts: Sequence[Path]) -> None:
        """Files that are not Parquet any more: their vectors are computed again."""
        for part in parts:
            try:
                pl.read_parquet(part)
            except (OSError, pl.exceptions.PolarsError):
                with contextlib.suppress(OSError):
                    part.rename(part.with_suffix(".damaged"))

    def _write(self, frame: pl.DataFrame) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        target = self._folder / f"{uuid.uuid4().hex[:24]}.parquet"
        write_atomically(target, lambda path: frame.write_parquet(path, compression="zstd"))


def _touch(part: Path) -> None:
    """Its vectors were used: it goes last."""
    try:
        os.utime(part)
    except OSError:
        return  # merged meanwhile, or of a cache that only others may write
