"""`relations.json` of a canonical set (the Episteme seed): what it says of the Markdown files around it.

`{"DP-001": {id, type, file_path, title, category, tags, relations: {solves: […], …}, context, source}}`; paths
are relative to the file. The Markdown files themselves carry no metadata.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Callable, Container, Iterator
from typing import Any, NamedTuple

from pipeline.ground.diagnostics import Problem
from syntropy.contract.vocabulary import ENTITY_RELATIONS, INVERSE_RELATIONS

FILE = "relations.json"
MAX_ENTITIES = 20_000

KIND_OF_FOLDER = {
    "design-patterns": "design-pattern",
    "refactoring": "refactoring",
    "refactorings": "refactoring",
    "software-engineering": "law",
    "laws": "law",
    "code-smells": "smell",
    "smells": "smell",
}
_KIND_OF_TYPE = {
    "design_pattern": "design-pattern",
    "pattern": "design-pattern",
    "refactoring": "refactoring",
    "law": "law",
    "code_smell": "smell",
    "smell": "smell",
}


class Catalogue(NamedTuple):
    """Metadata by path, and what is wrong with the set."""

    entries: dict[str, dict[str, Any]]
    problems: list[Problem]


def read_catalogue(text: str, folder: str) -> Catalogue:
    """The entities of a `relations.json` that lies in `folder`. Never raises for bad input."""
    entries: dict[str, dict[str, Any]] = {}
    problems: list[Problem] = []
    try:
        data = json.loads(text, object_pairs_hook=lambda pairs: _without_repeats(pairs, problems))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        return Catalogue({}, [Problem("bad-relations", line, f"cannot be read: {error}", "fix the file")])
    if not isinstance(data, dict):
        return Catalogue({}, [Problem("bad-relations", 1, "is not an object of entities by id", "write {id: {…}}")])
    for name, entity in list(data.items())[:MAX_ENTITIES]:
        problems += [
            Problem("bad-entity", 0, f"entity {name!r}: {what}", hint) for what, hint in _mistakes(name, entity)
        ]
        path = entity.get("file_path") if isinstance(entity, dict) else None
        if not isinstance(path, str) or not path.strip():
            problems.append(
                Problem("bad-entity", 0, f"entity {name!r} names no file_path", "write {id: {type, file_path, …}}")
            )
            continue
        place = posixpath.normpath(posixpath.join(folder, path.replace("\\", "/")))
        if place.startswith(("../", "/")) or (folder and not place.startswith(f"{folder}/")):
            problems.append(
                Problem("bad-entity", 0, f"entity {name!r} names {path!r}, outside of the folder", "fix the path")
            )
        elif place in entries:
            problems.append(
                Problem("bad-entity", 0, f"{path} is claimed by {name!r} and another entity", "fix file_path")
            )
        else:
            entries[place] = _metadata(name, entity)
    if len(data) > MAX_ENTITIES:
        problems.append(Problem("bad-relations", 0, f"holds more than {MAX_ENTITIES} entities", "split the set"))
    return Catalogue(entries, problems)


def _without_repeats(pairs: list[tuple[str, Any]], problems: list[Problem]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            problems.append(Problem("bad-entity", 0, f"{key!r} occurs twice; the first one counts", "delete one"))
        found.setdefault(key, value)
    return found


def _mistakes(name: str, entity: Any) -> Iterator[tuple[str, str]]:
    """(what, hint) of what is written and has no meaning."""
    if not isinstance(entity, dict):
        return
    if str(entity.get("id", name)) != name:
        yield f"its id is {entity['id']!r}, which counts", "give both the same id"
    if "type" in entity and str(entity["type"]).lower().replace("-", "_") not in _KIND_OF_TYPE:
        yield f"unknown type {entity['type']!r}", f"use {', '.join(sorted(set(_KIND_OF_TYPE)))}"
    relations = entity.get("relations", {})
    if not isinstance(relations, dict):
        yield "relations is not an object", 'write {"solves": ["SMELL-001"]}'
        return
    for kind, targets in relations.items():
        if kind not in ENTITY_RELATIONS and kind not in INVERSE_RELATIONS.values():
            yield f"unknown relation {kind!r}", f"use {', '.join(ENTITY_RELATIONS)}"
        if name in _texts(targets):
            yield f"it {kind} itself", "name another entity"


def kind_of(path: str, entry: dict[str, Any]) -> str:
    """The entity's kind by its type, else by the folder it lies in; empty where neither says."""
    if kind := _KIND_OF_TYPE.get(str(entry.get("type", "")).lower().replace("-", "_")):
        return kind
    return next((KIND_OF_FOLDER[part] for part in path.split("/")[:-1] if part in KIND_OF_FOLDER), "")


def _metadata(name: str, entity: dict[str, Any]) -> dict[str, Any]:
    """What becomes the document's metadata: texts and lists of texts only."""
    found: dict[str, Any] = {"id": str(entity.get("id") or name)}
    for key in ("type", "title", "category", "source", "summary"):
        if isinstance(entity.get(key), str) and entity[key].strip():
            found[key] = entity[key]
    tags = _texts(entity.get("tags"))
    found["tags"] = list(dict.fromkeys([*tags, *([entity["category"]] if "category" in found else [])]))
    found["aliases"] = list(dict.fromkeys([found["id"], *_texts(entity.get("aliases"))]))
    relations = entity.get("relations") if isinstance(entity.get("relations"), dict) else {}
    found["relations"] = {
        kind: targets for kind in ENTITY_RELATIONS if (targets := _texts((relations or {}).get(kind)))
    }
    context = entity.get("context") if isinstance(entity.get("context"), dict) else {}
    found["context"] = {str(key): texts for key, value in (context or {}).items() if (texts := _texts(value))}
    return {key: value for key, value in found.items() if value}


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [str(item) for item in value if isinstance(item, str | int)] if isinstance(value, list) else []


def content_hash(data: bytes, about: dict[str, Any]) -> str:
    """SHA-256 of a file's bytes and, if there is something, of what a catalogue says of it."""
    return hashlib.sha256(data + (b"\0" + canonical_json(about).encode() if about else b"")).hexdigest()


def canonical_json(about: dict[str, Any]) -> str:
    """JSON with sorted keys."""
    return json.dumps(about, sort_keys=True, ensure_ascii=False)


class Sidecars:
    """The catalogues of one tree, each read once, when a file beside or below it is met.

    `read` gives the text of a `relations.json` by its path, or None where there is none.
    """

    def __init__(self, read: Callable[[str], str | None]) -> None:
        self._read = read
        self._known: dict[str, Catalogue | None] = {}

    def of(self, path: str) -> dict[str, Any]:
        """What the nearest catalogue says of a file; empty where none does."""
        folder = path.rpartition("/")[0]
        while True:
            catalogue = self._catalogue(folder)
            if catalogue is not None:
                return catalogue.entries.get(path, {})
            if not folder:
                return {}
            folder = folder.rpartition("/")[0]

    def problems(self, paths: Container[str]) -> Iterator[tuple[str, Problem]]:
        """(path of the catalogue, what is wrong); also entities whose file is none of `paths`."""
        for folder, catalogue in sorted(self._known.items()):
            if catalogue is None:
                continue
            place = f"{folder}/{FILE}" if folder else FILE
            yield from ((place, problem) for problem in catalogue.problems)
            for path, entry in sorted(catalogue.entries.items()):
                if path not in paths:
                    message = f"entity {entry['id']!r} names {path}, which is not indexed"
                    yield place, Problem("bad-entity", 0, message, "write the file, or fix file_path")

    def _catalogue(self, folder: str) -> Catalogue | None:
        if folder not in self._known:
            text = self._read(f"{folder}/{FILE}" if folder else FILE)
            self._known[folder] = read_catalogue(text, folder) if text is not None else None
        return self._known[folder]
