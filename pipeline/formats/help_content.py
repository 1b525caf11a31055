"""Migration (TASK-KB-006): arrays of help articles in TypeScript become entries.

Every array of objects that have an id and a title is read, whatever its name (`HELP_CONTENT` in the seed).
"""

from __future__ import annotations

from typing import Any

from pipeline.formats.entries import page_of
from pipeline.formats.page import Pages
from pipeline.formats.typescript import UNKNOWN, line_of, literal, parse, text_of, walk
from syntropy.contract.vocabulary import ENTRY_KINDS

_LISTS = ("keywords", "aliases", "relatedIds", "examples")


def pages(text: str, path: str) -> Pages:
    """One page an article. Articles that are not plain literals are reported."""
    found = Pages()
    root = parse(text, path)
    constants = {
        text_of(name): value
        for node in walk(root)
        if node.type == "variable_declarator"
        and (name := node.child_by_field_name("name")) is not None
        and (init := node.child_by_field_name("value")) is not None
        and isinstance(value := literal(init), str)
    }
    for array in (node for node in walk(root) if node.type == "array"):
        for item in array.named_children:
            if item.type != "object":
                continue
            article = literal(item, constants)
            if not {"id", "title"} <= article.keys():
                continue
            if any(article[key] is UNKNOWN for key in ("id", "title")) or article.get("content") is UNKNOWN:
                hint = "write id, title and content as plain texts"
                found.problem("bad-entry", line_of(item), "an article's texts are computed", hint)
                continue
            found.add(page_of(_entry(article)), line_of(item))
    if not found.pages and not found.problems:
        found.problem("bad-entries", 0, "holds no array of articles with id and title", "exclude the file")
    return found


def _entry(article: dict[str, Any]) -> dict[str, Any]:
    entry = {key: value for key, value in article.items() if value is not UNKNOWN}
    for key in _LISTS:
        if isinstance(entry.get(key), list):
            entry[key] = [item for item in entry[key] if item is not UNKNOWN]
    kind = entry.get("type")
    return {**entry, "id": str(entry["id"]), "type": kind if kind in ENTRY_KINDS else "guide"}
