"""Copies of documents: equal texts, and nearly equal ones.

Nearness is the share of common runs of five words (Jaccard), estimated from the smallest 128 hashes of
each text's runs (Broder, On the resemblance and containment of documents, 1997; bottom-k sketches).
"""

from __future__ import annotations

import zlib
from collections import Counter

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.ground.tables import from_rows
from syntropy.contract.identity import PROJECT_PACKAGE, split_uid
from syntropy.contract.schema import RELATIONS

Sketch = NDArray[np.uint32]

RUN = 5
SKETCH = 128
NEAR = 0.7
"""Estimated share of common runs from which two documents of different packages count as copies."""

ALIKE = 0.95
"""Cosine of the mean vectors from which two documents of one package may be copies."""

NEAR_WITHIN = 0.8
"""As `NEAR`, within a package: editions of a document differ more in meaning than in words."""

MIN_WORDS = 30
"""Shorter texts say too little to be called copies."""

MAX_SHARED = 50
"""A run that more documents share is boilerplate and brings none of them together."""


def duplicate_relations(outlines: pl.DataFrame) -> pl.DataFrame:
    """`duplicate_of` from each later copy (by uid) to the first: equal `words`, so white space does not count."""
    first: dict[str, str] = {}
    rows = []
    for uid, words in outlines.select("document", "words").sort("document").iter_rows():
        if (original := first.setdefault(words, uid)) != uid:
            rows.append((uid, "duplicate_of", original, split_uid(original)[1], "content", 1.0, 0, ""))
    return from_rows(RELATIONS, rows)


def near_duplicate_relations(documents: pl.DataFrame, exact: pl.DataFrame) -> pl.DataFrame:
    """`near_duplicate_of` from a package's document to the nearest one of another package, the project first.

    Nothing is compared where all documents are of one package.
    """
    if documents["package"].n_unique() < 2:
        return from_rows(RELATIONS, [])
    copies = exact["from"].unique()
    rows = documents.filter(~pl.col("document").is_in(copies.implode())).sort("document")
    about: list[tuple[str, str, str]] = []
    sketches: list[Sketch] = []
    for uid, package, path, text in rows.select("document", "package", "path", "text").iter_rows():
        words = text.split()
        if len(words) >= MIN_WORDS:
            about.append((uid, package, path))
            sketches.append(_sketch(words))
    if not sketches:
        return from_rows(RELATIONS, [])
    owners = np.repeat(np.arange(len(sketches), dtype=np.int32), [len(sketch) for sketch in sketches])
    values = np.concatenate(sketches)
    order = np.argsort(values, kind="stable")
    values, owners = values[order], owners[order]
    found = []
    for number, sketch in enumerate(sketches):
        first, last = np.searchsorted(values, sketch, "left"), np.searchsorted(values, sketch, "right")
        shared: Counter[int] = Counter()
        for start, end in zip(first[last - first > 1], last[last - first > 1], strict=True):
            if end - start <= MAX_SHARED:
                shared.update(owners[start:end].tolist())
        near = {
            other: times
            for other, times in sorted(shared.items())
            if about[other][1] != about[number][1] and _rank(about[other]) < _rank(about[number])
        }
        likely = Counter(near).most_common(5)
        scores = [(_jaccard(sketch, sketches[other]), about[other][0], other) for other, _ in likely]
        score, nearest, position = max(scores, key=lambda s: (s[0], -len(s[1]), s[1]), default=(0.0, "", 0))
        if score >= NEAR:
            place = about[position][2]
            found.append((about[number][0], "near_duplicate_of", nearest, place, "content", round(score, 4), 0, ""))
    return from_rows(RELATIONS, found)


def near_copies_within(documents: pl.DataFrame, similar: pl.DataFrame) -> pl.DataFrame:
    """`near_duplicate_of` from a document to the first one of its own package with nearly the same text.

    Only see-also pairs whose mean vectors all but agree are compared: comparing all of one package takes ten seconds at
    10,000 documents.
    """
    pairs = similar.filter(
        (pl.col("type") == "see_also") & (pl.col("score") >= ALIKE) & (pl.col("from") > pl.col("to"))
    )
    wanted = pairs.select(pl.concat([pl.col("from"), pl.col("to")]).unique().alias("document"))
    about = documents.join(wanted, on="document", how="semi").select("document", "package", "path", "text")
    rows = {uid: (package, path, text.split()) for uid, package, path, text in about.iter_rows()}
    sketches = {uid: _sketch(words) for uid, (_, _, words) in rows.items() if len(words) >= MIN_WORDS}
    nearest: dict[str, tuple[float, str]] = {}
    for later, earlier in pairs.select("from", "to").sort("from", "to").iter_rows():
        if later in sketches and earlier in sketches and rows[later][0] == rows[earlier][0]:
            score = _jaccard(sketches[later], sketches[earlier])
            if score >= NEAR_WITHIN and score > nearest.get(later, (0.0, ""))[0]:
                nearest[later] = (score, earlier)
    found = [
        (later, "near_duplicate_of", earlier, rows[earlier][1], "content", round(score, 4), 0, "")
        for later, (score, earlier) in nearest.items()
    ]
    return from_rows(RELATIONS, found)


def _rank(about: tuple[str, str, str]) -> tuple[bool, str, str]:
    """The project's documents come first, then packages by name."""
    return about[1] != PROJECT_PACKAGE, about[1], about[2]


def _sketch(words: list[str]) -> Sketch:
    """The smallest hashes of the runs, ascending: half a kilobyte a document."""
    lowered = [word.lower() for word in words]
    runs = {zlib.crc32(" ".join(lowered[n : n + RUN]).encode()) for n in range(len(lowered) - RUN + 1)}
    return np.array(sorted(runs)[:SKETCH], np.uint32)


def _jaccard(left: Sketch, right: Sketch) -> float:
    """Estimated from the smallest hashes of both together."""
    union = np.union1d(left, right)[:SKETCH]
    both = np.isin(union, left, assume_unique=True) & np.isin(union, right, assume_unique=True)
    return float(both.mean()) if len(union) else 0.0
