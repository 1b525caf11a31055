"""Named sets of the constants by which lexical and semantic rankings are fused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..contract.config import SearchConfig
from ..contract.errors import UsageError

PROFILES: dict[str, dict[str, Any]] = {
    "measured": {},
    "nocaap": {
        "fusion": "rrf",
        "lexical_weight": 0.4,
        "semantic_weight": 0.6,
        "rrf_k": 60,
        "document_weight": 0.0,
        "second_look": False,
        "path_boost": 0.15,
        "index_boost": 0.25,
    },
}
"""`measured`: the defaults, which won on the development sets; `nocaap`: its architecture, section 5 C."""

FUSION_KEYS = (
    "fusion",
    "lexical_weight",
    "semantic_weight",
    "document_weight",
    "second_look",
    "rrf_k",
    "path_boost",
    "index_boost",
)

DECIDING = (*FUSION_KEYS, "semantic_floor")
"""Settings that a hit's score depends on: a stored threshold holds for the ones it was measured with."""


def resolved_profile(search: SearchConfig) -> SearchConfig:
    """The settings with the fusion keys of the profile they name, if any. Raises UsageError."""
    if not search.profile:
        return search
    if search.profile not in PROFILES:
        raise UsageError(f"unknown profile {search.profile!r}", hint=f"choose from: {', '.join(PROFILES)}")
    defaults = SearchConfig()
    values = {key: getattr(defaults, key) for key in FUSION_KEYS} | PROFILES[search.profile]
    return replace(search, profile="", **values)
