"""Entries of a command reference (TASK-KB-001 of the Helios seed) as pages.

A file is `{"entries": […]}` or a bare array, as JSON or YAML; one object with `id` and `title` is one entry.
Fields that the schema does not know are kept, below a heading of their own: nothing of an entry is lost.
"""

from __future__ import annotations

import difflib
import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import yaml

from pipeline.formats.page import Page, Pages, fence, markdown
from pipeline.text.frontmatter import read_frontmatter
from pipeline.text.markdown import line_starts
from pipeline.text.safe_yaml import RefusedYamlError, load_yaml, plain
from syntropy.contract.vocabulary import ENTRY_KINDS

GENERATED = "auto:"
"""How the `source` of a generated entry begins; the file it was read from follows (the Helios seed)."""

MAX_DEPTH = 64
MAX_ENTRIES = 20_000

_SHOWN = {"id", "type", "title", "content", "summary", "examples"}
_METADATA = ("category", "subcategory", "keywords", "aliases", "relatedIds", "source", "lastUpdated")
_TEXTS = ("id", "type", "title", "content", "summary", "category", "subcategory", "source", "lastUpdated")
_LISTS = ("keywords", "aliases", "relatedIds")
_WANTED = ("content", "category", "summary")
"""What the Helios seed's schema asks of every entry, and search lives on."""


def pages(text: str, path: str) -> Pages:
    """One page an entry. Never raises: entries that cannot be used are reported, the others go on."""
    found = Pages()
    try:
        data = parse(text, path)
    except ValueError as error:
        found.problem("bad-entries", getattr(error, "lineno", 0), f"cannot be read: {error}", "fix the file")
        return found
    entries = _entries(data)
    if entries is None:
        hint = 'write {"entries": [...]}, a bare array, or exclude the file'
        found.problem("bad-entries", 1, "holds no entries", hint)
        return found
    if len(entries) > MAX_ENTRIES:
        found.problem("bad-entries", 0, f"holds {len(entries)} entries, more than {MAX_ENTRIES}", "split the file")
        entries = entries[:MAX_ENTRIES]
    places = _Places(text)
    for number, entry in enumerate(entries, 1):
        _add(found, entry, number, places)
    return found


def markdown_page(text: str) -> Pages:
    """A Markdown file as one entry: its frontmatter's `type` says the kind; without one it is a guide."""
    found = Pages()
    kind = read_frontmatter(text).metadata.get("type") or "guide"
    if kind not in ENTRY_KINDS:
        found.problem("bad-entry", 1, f"has the unknown type {kind!r}", f"use {', '.join(ENTRY_KINDS)}")
        kind = "guide"
    found.pages.append(Page("", str(kind), text))
    return found


def parse(text: str, path: str) -> Any:
    """JSON or YAML by the file's name, as plain data. Raises ValueError with the reason."""
    try:
        if path.endswith(".json"):
            return json.loads(text)
        return plain(load_yaml(text, max_depth=MAX_DEPTH))
    except RecursionError as error:
        raise ValueError("it nests too deeply") from error
    except RefusedYamlError as error:
        raise ValueError(f"line {error.line}: it {error}") from error
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error


def page_of(entry: Mapping[str, Any]) -> Page:
    """The page of a well-formed entry."""
    metadata = {key: entry[key] for key in ("id", "type", "title", "summary", *_METADATA) if entry.get(key)}
    tags = [str(entry[key]) for key in ("category", "subcategory") if entry.get(key)]
    more = {key: value for key, value in entry.items() if key not in _SHOWN and key not in _METADATA}
    text = markdown(
        {**metadata, "tags": tags},
        str(entry["title"]),
        str(entry.get("summary") or ""),
        str(entry.get("content") or ""),
        examples(entry.get("examples")),
        *_sections(more, 2),
    )
    return Page(str(entry["id"]), str(entry["type"]), text)


def examples(given: Any) -> str:
    """`[{description, code, output?}]` as Markdown; texts alone are code."""
    parts = []
    for example in given if isinstance(given, list) else []:
        if isinstance(example, Mapping):
            description, output = str(example.get("description") or ""), example.get("output")
            parts += [f"{description}:" if description else "", fence(str(example.get("code") or ""))]
            parts += ["Output:", fence(str(output))] if output else []
        else:
            parts.append(fence(str(example)))
    return "\n\n".join(["## Examples", *filter(None, parts)]) if parts else ""


def _add(found: Pages, entry: Any, number: int, places: _Places) -> None:
    if not isinstance(entry, Mapping):
        found.problem("bad-entry", 0, f"entry {number} is a {type(entry).__name__}, not an object", "fix the entry")
        return
    name = entry.get("id")
    if not isinstance(name, str) or not name.strip() or len(name) > 200:
        found.problem("bad-entry", 0, f"entry {number} has no usable id", 'give it one, e.g. "cmd-users-list"')
        return
    line = places.line_of(name)
    fixed = {**entry, "id": name.strip(), "type": entry.get("type") or "guide"}
    if fixed["type"] not in ENTRY_KINDS:
        found.problem(
            "bad-entry", line, f"entry {name!r} has the unknown type {fixed['type']!r}", f"use {', '.join(ENTRY_KINDS)}"
        )
        return
    if not isinstance(entry.get("title"), str) or not entry["title"].strip():
        found.problem("bad-entry", line, f"entry {name!r} has no title", "give it one")
        return
    for key in _TEXTS:
        if key in fixed and fixed[key] is not None and not isinstance(fixed[key], str | int):
            found.problem("bad-entry", line, f"entry {name!r}: {key} is not text", "fix it; it was left out")
            fixed[key] = ""
    for key in _LISTS:
        value = fixed.get(key)
        if value is None:
            continue
        if not isinstance(value, list) or not all(isinstance(item, str | int) for item in value):
            found.problem("bad-entry", line, f"entry {name!r}: {key} is not a list of texts", "fix it; it was left out")
            fixed[key] = []
        else:
            fixed[key] = [str(item) for item in value]
    _lacks(found, fixed, name, line)
    found.add(page_of(fixed), line)


def _lacks(found: Pages, entry: Mapping[str, Any], name: str, line: int) -> None:
    """Report what an entry lacks, and keys that are nearly one of the schema's."""
    lacking = [key for key in _WANTED if not str(entry.get(key) or "").strip()]
    if lacking:
        found.problem("thin-entry", line, f"entry {name!r} has no {', '.join(lacking)}", "write it", "info")
    date = entry.get("lastUpdated")
    if isinstance(date, str) and date and not _is_date(date):
        found.problem(
            "bad-entry", line, f"entry {name!r}: lastUpdated {date!r} is not a date", "write it as 2026-01-31"
        )
    known = {*_SHOWN, *_METADATA}
    for key in entry.keys() - known:
        meant = next(iter(difflib.get_close_matches(str(key), sorted(known - entry.keys()), n=1, cutoff=0.8)), "")
        if meant:
            message = f"entry {name!r} has {key!r}, which the schema does not know"
            found.problem("bad-entry", line, message, f"did you mean {meant!r}?")


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return True


def _entries(data: Any) -> list[Any] | None:
    if isinstance(data, Mapping):
        if isinstance(data.get("entries"), list):
            return list(data["entries"])
        return [data] if isinstance(data.get("id"), str) and isinstance(data.get("title"), str) else None
    return data if isinstance(data, list) else None


def _sections(data: Mapping[str, Any], level: int) -> Iterator[str]:
    """Unknown fields as headings (to the fourth level) and lists."""
    for key, value in data.items():
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", key).replace("_", " ").strip().capitalize()
        if value in (None, "", [], {}):
            continue
        if isinstance(value, Mapping) and level < 4:
            yield f"{'#' * level} {name}"
            yield from _sections(value, level + 1)
        elif isinstance(value, Mapping | list):
            yield f"{'#' * level} {name}\n\n" + "\n".join(_items(value, 0))
        else:
            yield f"{'#' * level} {name}\n\n{value}"


def _items(value: Any, depth: int) -> Iterator[str]:
    pad = "  " * min(depth, 8)
    rows = value.items() if isinstance(value, Mapping) else ((None, item) for item in value)
    for key, item in rows:
        lead = f"{pad}- {f'{key}: ' if key is not None else ''}"
        if isinstance(item, Mapping | list):
            inner = list(_items(item, depth + 1))
            yield lead.rstrip() if key is not None else f"{pad}-" + (f" {inner.pop(0).strip()[2:]}" if inner else "")
            yield from inner
        else:
            yield lead + " ".join(str(item).split())


class _Places:
    """Where ids are written, looked for in the file's order: each search goes on behind the last find."""

    MISSES = 100
    """Ids that are not found further on and are looked for from the top; then their lines stay unknown."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = line_starts(text)
        self._behind = self._missed = 0

    def line_of(self, name: str) -> int:
        """Line of the next place where an entry's id is written; 0 where it is not."""
        spellings = (json.dumps(name, ensure_ascii=False), name)
        starts = (self._behind, 0) if self._missed < self.MISSES else (self._behind,)
        for start in starts:
            found = [place for spelled in spellings if (place := self._text.find(spelled, start)) >= 0]
            if found:
                self._behind = found[0] + 1
                return bisect_right(self._starts, found[0])
            self._missed += 1
        return 0
