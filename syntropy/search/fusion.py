"""Lexical and semantic scores to one ranking.

`convex`: lexical_weight · l / √max(l) + semantic_weight · max(0, cosine), where l is the share of the
query's information (0-1, see `lexical`) and max(l) that of the best passage: half way between the
absolute share, under which a query of many words never gains on its cosine, and the share of the best,
which makes a poor best look perfect. Measured against its neighbours in docs/decisions/0010.

`rrf`: Σ weight / (k + rank) over both rankings (Cormack et al. 2009), scaled so that first in both is 1;
with the path and index boosts of the nocaap seed it is the profile `nocaap`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..contract.config import SearchConfig
from ..contract.identity import is_overview

FULL_SCORE = 1.0


class Signal(NamedTuple):
    """One ranking's part in a hit: rank from 1 (0: not among its candidates), raw score, contribution."""

    rank: int
    score: float
    contribution: float


NO_SIGNAL = Signal(0, 0.0, 0.0)


@dataclass
class Candidate:
    """A chunk with its score (0-1) and how it came about."""

    chunk: int
    score: float = 0.0
    lexical: Signal = NO_SIGNAL
    semantic: Signal = NO_SIGNAL
    boosts: dict[str, float] = field(default_factory=dict)
    """Factors by name."""


def only(signal: str, ranked: Sequence[tuple[int, float]]) -> list[Candidate]:
    """Candidates of one ranking (`lexical` or `semantic`) alone, on its own scale, cut at 0."""
    found = []
    for place, (chunk, score) in enumerate(ranked, 1):
        kept = max(0.0, score)
        candidate = Candidate(chunk, kept)
        setattr(candidate, signal, Signal(place, score, kept))
        found.append(candidate)
    found.sort(key=lambda c: (-c.score, c.chunk))
    return found


def fuse(
    lexical: Mapping[int, float],
    semantic: Mapping[int, float],
    settings: SearchConfig,
    *,
    lexical_ranks: Mapping[int, int],
    semantic_ranks: Mapping[int, int],
) -> list[Candidate]:
    """Candidates, best first; equal ones by chunk. `lexical` are shares, `semantic` cosines; both by chunk."""
    contribution = _convex if settings.fusion == "convex" else _reciprocal_ranks
    parts = contribution(lexical, semantic, settings, lexical_ranks, semantic_ranks)
    found = []
    for chunk in lexical.keys() | semantic.keys():
        left, right = parts(chunk)
        found.append(
            Candidate(
                chunk,
                min(FULL_SCORE, left + right),
                Signal(lexical_ranks.get(chunk, 0), lexical.get(chunk, 0.0), left),
                Signal(semantic_ranks.get(chunk, 0), semantic.get(chunk, 0.0), right),
            )
        )
    found.sort(key=lambda c: (-c.score, c.chunk))
    return found


def _convex(
    lexical: Mapping[int, float],
    semantic: Mapping[int, float],
    settings: SearchConfig,
    *_: Mapping[int, int],
) -> Callable[[int], tuple[float, float]]:
    root = max(lexical.values(), default=0.0) ** 0.5 or 1.0
    total = settings.lexical_weight + settings.semantic_weight

    def parts(chunk: int) -> tuple[float, float]:
        return (
            settings.lexical_weight / total * lexical.get(chunk, 0.0) / root,
            settings.semantic_weight / total * max(0.0, semantic.get(chunk, 0.0)),
        )

    return parts


def _reciprocal_ranks(
    lexical: Mapping[int, float],
    semantic: Mapping[int, float],
    settings: SearchConfig,
    lexical_ranks: Mapping[int, int],
    semantic_ranks: Mapping[int, int],
) -> Callable[[int], tuple[float, float]]:
    k = settings.rrf_k
    most = (settings.lexical_weight + settings.semantic_weight) / (k + 1)

    def parts(chunk: int) -> tuple[float, float]:
        left, right = lexical_ranks.get(chunk), semantic_ranks.get(chunk)
        return (
            settings.lexical_weight / (k + left) / most if left else 0.0,
            settings.semantic_weight / (k + right) / most if right else 0.0,
        )

    return parts


def boost(candidates: list[Candidate], paths: Mapping[int, str], keywords: set[str], settings: SearchConfig) -> None:
    """Multiply scores by path and index boosts, and order anew. `paths` by chunk; `keywords` lower case."""
    if not (settings.path_boost or settings.index_boost):
        return
    for candidate in candidates:
        path = paths[candidate.chunk].lower()
        in_path = sum(keyword in path for keyword in keywords)
        if in_path and settings.path_boost:
            candidate.boosts["path"] = 1 + settings.path_boost * in_path
        if settings.index_boost and is_overview(path):
            candidate.boosts["index"] = 1 + settings.index_boost
        for factor in candidate.boosts.values():
            candidate.score *= factor
    # Boosted scores may pass 1, and cutting them there would make ties of the best.
    most = max((c.score for c in candidates), default=0.0)
    if most > FULL_SCORE:
        for candidate in candidates:
            candidate.score /= most
    candidates.sort(key=lambda c: (-c.score, c.chunk))
