"""See-also relations: documents whose mean vectors lie close together."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.ground.diagnostics import Diagnostic
from pipeline.ground.tables import empty, from_rows
from syntropy.contract.config import LinkConfig
from syntropy.contract.identity import PROJECT_PACKAGE, split_uid
from syntropy.contract.schema import DIAGNOSTICS, RELATIONS

_BLOCK = 1_024
"""Rows compared at a time: a block of scores stays below 100 MB for 20,000 documents."""


def similar_documents(
    windows: pl.DataFrame, vectors: pl.DataFrame, link: LinkConfig, *, duplicates: pl.DataFrame
) -> pl.DataFrame:
    """Up to `similar_limit` see_also relations a document, cosine at least `similar_threshold`.

    `windows` names the text hash of each window, `vectors` their unit vectors. A copy is not a see-also
    of its original. Scores are rounded to four decimals and ties go by uid, so equal input gives
    equal rows.
    """
    if not windows.height:
        return empty(RELATIONS)
    uids, means = _document_vectors(windows, vectors)
    if len(uids) > link.similar_max_documents or len(uids) < 2:
        return empty(RELATIONS)
    copies = set(duplicates.select("from", "to").iter_rows())
    rows = []
    for start in range(0, len(uids), _BLOCK):
        scores = means[start : start + _BLOCK] @ means.T
        for offset, row in enumerate(scores):
            this = start + offset
            row[this] = -1.0
            near = np.flatnonzero(row >= link.similar_threshold)
            ranked = sorted((-round(float(row[i]), 4), uids[i]) for i in near)
            kept = [
                (score, uid)
                for score, uid in ranked
                if (uids[this], uid) not in copies and (uid, uids[this]) not in copies
            ]
            rows += [
                (uids[this], "see_also", uid, split_uid(uid)[1], "similarity", -score, 0, "")
                for score, uid in kept[: link.similar_limit]
            ]
    return from_rows(RELATIONS, rows)


def without_similar(count: int, link: LinkConfig) -> pl.DataFrame:
    """The diagnostic of a project of so many documents that none is compared with all others."""
    message = (
        f"{count} documents are more than link.similar_max_documents ({link.similar_max_documents}): "
        "none has see-also relations"
    )
    hint = "raise it; cost grows by the square"
    return from_rows(DIAGNOSTICS, [Diagnostic("link", "info", "no-see-also", PROJECT_PACKAGE, ".", 0, message, hint)])


def _document_vectors(windows: pl.DataFrame, vectors: pl.DataFrame) -> tuple[list[str], NDArray[np.float32]]:
    """Uids in order and their windows' mean vectors, unit length."""
    position = {text_hash: n for n, text_hash in enumerate(vectors["text_hash"])}
    matrix = vectors["vector"].to_numpy()
    ordered = windows.sort("document", "chunk", "window")
    rows = np.fromiter((position[h] for h in ordered["text_hash"]), np.int64, ordered.height)
    documents = ordered["document"].to_list()
    starts = [n for n, uid in enumerate(documents) if n == 0 or documents[n - 1] != uid]
    means = np.add.reduceat(matrix[rows], starts, axis=0)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    return [documents[n] for n in starts], means.astype(np.float32)
