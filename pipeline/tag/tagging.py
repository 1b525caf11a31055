"""The tag stage: marks that extraction found to the tags of each document, and tags that follow from others."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby

import polars as pl

from pipeline.ground.tables import from_rows
from syntropy.contract.config import TagsConfig
from syntropy.contract.schema import TAGS
from syntropy.contract.text import index_terms

STRATEGIES = ("frontmatter", "inline", "header")
"""The knowledge-index seed's order; the first that finds any wins."""

INFERRED = "inferred"
MAX_TAG_LENGTH = 80

MIN_DOCUMENTS = 2
"""Documents that must carry a tag by their own word before others are given it."""

MAX_INFERRED = 5
"""Inferred tags a document, the rarest first: a tag that most documents have tells little."""

_WORDS = re.compile(r"[\w /-]+")
"""Of other tags (c++, .net) the terms do not hold what makes them."""

_Tags = dict[str, list[tuple[str, str]]]


def tag_documents(marks: pl.DataFrame, headings: pl.DataFrame, config: TagsConfig) -> pl.DataFrame:
    """`tags` of all documents, by the first strategy that finds any in `marks` (the table `tag_marks`).

    With `tags.infer`, a tag that several documents carry by their frontmatter or a line of their own is given to
    those whose headings name it.
    """
    own = _own(marks)
    inferred = _inferred(own, headings) if config.infer else {}
    return from_rows(
        TAGS,
        [
            (document, tag, origin, n)
            for document in sorted(own.keys() | inferred.keys())
            for n, (tag, origin) in enumerate([*own.get(document, ()), *inferred.get(document, ())])
        ],
    )


def _own(marks: pl.DataFrame) -> _Tags:
    """document -> (tag, origin), in the order of its text."""
    rows = marks.sort("document", "position").select("document", "origin", "text").iter_rows()
    found: _Tags = {}
    for document, members in groupby(rows, key=lambda row: row[0]):
        texts = [(origin, _cleaned(text)) for _, origin, text in members]
        for strategy in STRATEGIES:
            if tags := dict.fromkeys(tag for origin, tag in texts if origin == strategy and tag):
                found[document] = [(tag, strategy) for tag in tags]
                break
    return found


def _inferred(own: _Tags, headings: pl.DataFrame) -> _Tags:
    """document -> tags whose words one of its headings holds, all of them in a row."""
    carried = Counter(tag for tags in own.values() for tag, origin in tags if origin != "header")
    words = {
        tag: tuple(index_terms(tag))
        for tag, count in carried.items()
        if count >= MIN_DOCUMENTS and _WORDS.fullmatch(tag) and len(tag) > 1
    }
    by_first: dict[str, list[str]] = {}
    for tag, terms in words.items():
        if terms:
            by_first.setdefault(terms[0], []).append(tag)
    found: dict[str, set[str]] = {}
    for document, text in headings.select("document", "text").iter_rows():
        spoken = index_terms(text)
        for n, term in enumerate(spoken):
            for tag in by_first.get(term, ()):
                if tuple(spoken[n : n + len(words[tag])]) == words[tag]:
                    found.setdefault(document, set()).add(tag)
    result: _Tags = {}
    for document, tags in found.items():
        tags -= {tag for tag, _ in own.get(document, ())}
        rarest = sorted(tags, key=lambda tag: (carried[tag], tag))[:MAX_INFERRED]
        if rarest:
            result[document] = [(tag, INFERRED) for tag in rarest]
    return result


def _cleaned(tag: str) -> str:
    return " ".join(tag.strip().strip("`'\"*#").lower().split())[:MAX_TAG_LENGTH].strip()
