"""Entities of a canonical set that are sections of one file: each becomes a page of its own beside the whole."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from pipeline.formats.page import Page, Pages, markdown
from pipeline.ground.diagnostics import Problem
from pipeline.text.markdown import outline

SECTIONS = "entities"
"""Key under which a file's metadata holds entities that are sections of it."""

KIND_OF_FOLDER = {
    "design-patterns": "design-pattern",
    "refactoring": "refactoring",
    "refactorings": "refactoring",
    "software-engineering": "law",
    "laws": "law",
    "code-smells": "smell",
    "smells": "smell",
}
KIND_OF_TYPE = {
    "design_pattern": "design-pattern",
    "pattern": "design-pattern",
    "refactoring": "refactoring",
    "law": "law",
    "code_smell": "smell",
    "smell": "smell",
}
_WORD = re.compile(r"[^\W_]+")


def pages(text: str, path: str, kind: str, entities: Sequence[Mapping[str, Any]]) -> Pages:
    """The file as it is, and a page an entity: the section, or the first paragraph or list item, that tells of it.

    An entity that the text does not tell of has a page of its name and relations, and a problem.
    """
    found = Pages([Page("", kind, text)])
    titles = [set(_words(str(entity.get("title") or entity["id"]))) for entity in entities]
    for entity, words in zip(entities, titles, strict=True):
        others = set().union(*(title for title in titles if title is not words)) if len(titles) > 1 else set()
        name = str(entity.get("title") or entity["id"])
        body, line = _section(text, words, (words - others) or words)
        if not line:
            message = f"entity {entity['id']!r} ({name}) is said to be here, and no section or paragraph tells of it"
            found.problems.append(Problem("bad-entity", 0, message, "write a section of that name", "info"))
        where = f"From line {line} of `{path}`." if line else f"See `{path}`."
        found.add(
            Page(str(entity["id"]), kind_of(path, dict(entity)) or kind, markdown(entity, name, body, where)), line
        )
    return found


def kind_of(path: str, entry: dict[str, Any]) -> str:
    """The entity's kind by its type, else by the folder it lies in; empty where neither says."""
    if kind := KIND_OF_TYPE.get(str(entry.get("type", "")).lower().replace("-", "_")):
        return kind
    return next((KIND_OF_FOLDER[part] for part in path.split("/")[:-1] if part in KIND_OF_FOLDER), "")


def _section(text: str, words: set[str], own: set[str]) -> tuple[str, int]:
    """(text, line from 1) of a title's section, else of the first block that holds its `own` words; ("", 0)."""
    shape = outline(text)
    lines = [text[a:b].rstrip("\r\n") for a, b in pairwise(shape.lines)]
    for wanted in (words, own):
        for place, heading in enumerate(shape.headings):
            if heading.level > 1 and wanted <= set(_words(heading.text)):
                later = (h.line for h in shape.headings[place + 1 :] if h.level <= heading.level)
                return "\n".join(lines[heading.line + 1 : next(later, len(lines))]).strip(), heading.line + 1
    for unit in shape.units:
        block = "\n".join(lines[unit.start : unit.end]).strip()
        if block and not block.startswith("#") and own <= set(_words(block)):
            return block, unit.start + 1
    return "", 0


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
