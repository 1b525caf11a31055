"""Copies of documents: equal texts, and nearly equal ones in different packages.

Nearness is the share of common runs of five words (Jaccard), estimated from the smallest 128 hashes of
each text's runs (Broder, On the resemblance and containment of documents, 1997; bottom-k sketches).
"""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter, defaultdict

import polars as pl

from pipeline.frames import from_rows
from syntropy.ids import PROJECT_PACKAGE
from syntropy.schema import RELATIONS

RUN = 5
SKETCH = 128
NEAR = 0.7
"""Estimated share of common runs from which two documents of different packages count as copies."""

MIN_WORDS = 30
"""Shorter texts say too little to be called copies."""

MAX_SHARED = 50
"""A run that more documents share is boilerplate and brings none of them together."""


def duplicate_relations(documents: pl.DataFrame) -> pl.DataFrame:
    """`duplicate_of` from each later copy (by uid) to the first; white space does not count."""
    first: dict[bytes, tuple[str, str]] = {}
    rows = []
    for uid, path, text in documents.select("document", "path", "text").iter_rows():
        digest = hashlib.sha256(" ".join(text.split()).encode()).digest()
        if digest in first:
            rows.append((uid, "duplicate_of", *first[digest], "content", 1.0, 0, ""))
        else:
            first[digest] = (uid, path)
    return from_rows(RELATIONS, rows)


def near_duplicate_relations(documents: pl.DataFrame, exact: pl.DataFrame) -> pl.DataFrame:
    """`near_duplicate_of` from a package's document to the nearest one of another package, the project first.

    Nothing is compared where all documents are of one package.
    """
    if documents["package"].n_unique() < 2:
        return from_rows(RELATIONS, [])
    copies = set(exact["from"])
    sketches: dict[str, frozenset[int]] = {}
    about: dict[str, tuple[str, str]] = {}
    rows = documents.filter(~pl.col("document").is_in(list(copies))).sort("document")
    for uid, package, path, text in rows.select("document", "package", "path", "text").iter_rows():
        words = text.split()
        if len(words) >= MIN_WORDS:
            sketches[uid] = _sketch(words)
            about[uid] = (package, path)
    holders: dict[int, list[str]] = defaultdict(list)
    for uid, sketch in sketches.items():
        for value in sketch:
            holders[value].append(uid)
    found = []
    for uid, sketch in sketches.items():
        shared = Counter(
            other
            for value in sketch
            if len(holders[value]) <= MAX_SHARED
            for other in holders[value]
            if other != uid and about[other][0] != about[uid][0] and _rank(about[other]) < _rank(about[uid])
        )
        scores = [(_jaccard(sketch, sketches[other]), other) for other, _ in shared.most_common(5)]
        score, nearest = max(scores, key=lambda s: (s[0], -len(s[1]), s[1]), default=(0.0, ""))
        if score >= NEAR:
            target = about[nearest][1]
            found.append((uid, "near_duplicate_of", nearest, target, "content", round(score, 4), 0, ""))
    return from_rows(RELATIONS, found)


def _rank(about: tuple[str, str]) -> tuple[bool, str, str]:
    """The project's documents come first, then packages by name."""
    return about[0] != PROJECT_PACKAGE, *about


def _sketch(words: list[str]) -> frozenset[int]:
    lowered = [word.lower() for word in words]
    runs = {zlib.crc32(" ".join(lowered[n : n + RUN]).encode()) for n in range(len(lowered) - RUN + 1)}
    return frozenset(sorted(runs)[:SKETCH])


def _jaccard(left: frozenset[int], right: frozenset[int]) -> float:
    """Estimated from the smallest hashes of both together."""
    union = sorted(left | right)[:SKETCH]
    return sum(value in left and value in right for value in union) / len(union) if union else 0.0
