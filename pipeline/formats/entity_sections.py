"""Entities of a canonical set that are sections of one file: each becomes a page of its own beside the whole."""

from __future__ import annotations

import re
from collections import Counter
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
    titles = [frozenset(_words(str(entity.get("title") or entity["id"]))) for entity in entities]
    told = _Told(text, titles)
    for entity, words in zip(entities, titles, strict=True):
        name = str(entity.get("title") or entity["id"])
        body, line = told.of(words)
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


class _Told:
    """A file's sections and blocks with their words, to be asked for each of its entities by its title's words."""

    def __init__(self, text: str, titles: Sequence[frozenset[str]]) -> None:
        shape = outline(text)
        self._lines = [text[a:b].rstrip("\r\n") for a, b in pairwise(shape.lines)]
        self._headings = shape.headings
        self._named = [frozenset(_words(h.text)) if h.level > 1 else frozenset() for h in shape.headings]
        blocks = (("\n".join(self._lines[unit.start : unit.end]).strip(), unit.start + 1) for unit in shape.units)
        self._blocks = [(b, line, frozenset(_words(b))) for b, line in blocks if b and not b.startswith("#")]
        self._titles = frozenset(titles)
        self._uses = Counter(word for title in titles for word in title)

    def of(self, words: frozenset[str]) -> tuple[str, int]:
        """(text, line from 1) of a title's section, else of the first block that holds its own words; ("", 0)."""
        if not words:
            return "", 0
        own = frozenset(word for word in words if self._uses[word] == 1) or words
        for place, named in enumerate(self._named):
            if named == words:
                return self._section(place)
        for wanted in (words, own):
            for place, named in enumerate(self._named):
                if wanted <= named and named not in self._titles:  # `Long Method` is not `Method`'s
                    return self._section(place)
        return next(((block, line) for block, line, said in self._blocks if own <= said), ("", 0))

    def _section(self, place: int) -> tuple[str, int]:
        heading = self._headings[place]
        later = (h.line for h in self._headings[place + 1 :] if h.level <= heading.level)
        return "\n".join(self._lines[heading.line + 1 : next(later, len(self._lines))]).strip(), heading.line + 1


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
