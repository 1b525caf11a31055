"""Groups of words that mean the same in questions and in texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .text import index_terms

SYNONYMS: tuple[tuple[str, ...], ...] = (
    ("get", "list", "show", "view", "display", "retrieve", "fetch", "find"),
    ("create", "add", "new", "make", "insert"),
    ("delete", "remove", "destroy", "drop", "erase"),
    ("update", "edit", "modify", "change", "patch"),
    ("users", "user", "people", "members", "employees", "staff"),
    ("groups", "group", "teams", "team"),
    ("all", "every", "entire", "complete"),
)
"""Groups of the command-reference seed (TASK-KB-002), each valid in every direction; `[synonyms]` adds more."""


def synonym_groups(more: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The seed's groups and those of `[synonyms]`, as stemmed terms."""
    groups = [*SYNONYMS, *((key, *values) for key, values in more.items())]
    return tuple(tuple(dict.fromkeys(t for word in group for t in index_terms(word)[:1])) for group in groups)
