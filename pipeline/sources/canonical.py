"""`relations.json` of a canonical set (the Episteme seed): what it says of the Markdown files around it.

`{"DP-001": {id, type, file_path, title, category, tags, relations: {solves: […], …}, context, source}}`. Paths
are relative to the catalogue, or to a folder beside it (`raw/`). Values that are not objects (`version`) are no
entities. The Markdown files themselves carry no metadata.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pipeline.formats.entity_sections import KIND_OF_TYPE, SECTIONS
from pipeline.ground.diagnostics import Problem
from syntropy.contract.vocabulary import ENTITY_RELATIONS, INVERSE_RELATIONS

FILE = "relations.json"
PLACES = (FILE, f"meta/{FILE}")
"""Where a folder's catalogue may lie: in it, or in `meta/` beside the texts, as in Episteme's repository."""

MAX_ENTITIES = 20_000


class Catalogue(NamedTuple):
    """Metadata of entities by the path they name, as it is written, and what is wrong with the set."""

    entries: dict[str, list[dict[str, Any]]]
    problems: list[Problem]


def read_catalogue(text: str) -> Catalogue:
    """The entities of a `relations.json`; several may name one file. Never raises for bad input."""
    entries: dict[str, list[dict[str, Any]]] = {}
    problems: list[Problem] = []
    try:
        data = json.loads(text, object_pairs_hook=lambda pairs: _without_repeats(pairs, problems))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        return Catalogue({}, [Problem("bad-relations", line, f"cannot be read: {error}", "fix the file")])
    if not isinstance(data, dict):
        return Catalogue({}, [Problem("bad-relations", 1, "is not an object of entities by id", "write {id: {…}}")])
    entities = [(name, entity) for name, entity in data.items() if isinstance(entity, dict)]
    if not entities and data:
        problems.append(Problem("bad-relations", 1, "holds no entities by id", "write {id: {type, file_path, …}}"))
    for name, entity in entities[:MAX_ENTITIES]:
        problems += [
            Problem("bad-entity", 0, f"entity {name!r}: {what}", hint) for what, hint in _mistakes(name, entity)
        ]
        path = entity.get("file_path")
        if not isinstance(path, str) or not path.strip():
            problems.append(
                Problem("bad-entity", 0, f"entity {name!r} names no file_path", "write {id: {type, file_path, …}}")
            )
            continue
        place = posixpath.normpath(path.replace("\\", "/").strip())
        if place.startswith(("../", "/")):
            problems.append(
                Problem("bad-entity", 0, f"entity {name!r} names {path!r}, outside of the folder", "fix the path")
            )
        else:
            entries.setdefault(place, []).append(_metadata(name, entity))
    if len(entities) > MAX_ENTITIES:
        problems.append(Problem("bad-relations", 0, f"holds more than {MAX_ENTITIES} entities", "split the set"))
    return Catalogue(entries, problems)


def _together(entities: list[dict[str, Any]]) -> dict[str, Any]:
    """What is said of a file: of the entity whose id the others' begin with (or the first), the others beside it."""
    first = next((e for e in entities if all(o["id"].startswith(e["id"]) for o in entities)), entities[0])
    others = [entity for entity in entities if entity is not first]
    return {**first, SECTIONS: others} if others else first


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
    if "type" in entity and str(entity["type"]).lower().replace("-", "_") not in KIND_OF_TYPE:
        yield f"unknown type {entity['type']!r}", f"use {', '.join(sorted(set(KIND_OF_TYPE)))}"
    relations = entity.get("relations", {})
    if not isinstance(relations, dict):
        yield "relations is not an object", 'write {"solves": ["SMELL-001"]}'
        return
    for kind, targets in relations.items():
        if kind not in ENTITY_RELATIONS and kind not in INVERSE_RELATIONS.values():
            yield f"unknown relation {kind!r}", f"use {', '.join(ENTITY_RELATIONS)}"
        if name in _texts(targets):
            yield f"it {kind} itself", "name another entity"


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
    return hashlib.sha256(
        data + (b"\0" + canonical_json(about).encode("utf-8", "surrogatepass") if about else b"")
    ).hexdigest()


def canonical_json(about: dict[str, Any]) -> str:
    """JSON with sorted keys."""
    return json.dumps(about, sort_keys=True, ensure_ascii=False)


class Sidecars:
    """The catalogues of one tree, each read once, when a file below its folder is met.

    `read` gives the text of a file by its path, or None where there is none.
    """

    def __init__(self, read: Callable[[str], str | None]) -> None:
        self._read = read
        self._known: dict[str, Catalogue | None] = {}
        self._met: dict[str, set[str]] = {}

    def of(self, path: str) -> dict[str, Any]:
        """What the nearest catalogue says of a file; empty where none does."""
        folder = path.rpartition("/")[0]
        while True:
            below = path[len(folder) + 1 :] if folder else path
            catalogues = [(place, found) for place in self._places(folder) if (found := self._catalogue(place))]
            for place, catalogue in catalogues:
                parts = below.split("/")
                for cut in range(len(parts)):  # raw/laws/kiss.md, laws/kiss.md, kiss.md
                    named = "/".join(parts[cut:])
                    if named in catalogue.entries:
                        self._met.setdefault(place, set()).add(named)
                        return _together(catalogue.entries[named])
            if catalogues or not folder:
                return {}
            folder = folder.rpartition("/")[0]

    def problems(self) -> Iterator[tuple[str, Problem]]:
        """(path of the catalogue, what is wrong); also entities whose file was not met."""
        for place, catalogue in sorted(self._known.items()):
            if catalogue is None:
                continue
            yield from ((place, problem) for problem in catalogue.problems)
            for path, entities in sorted(catalogue.entries.items()):
                for entity in entities if path not in self._met.get(place, ()) else ():
                    message = f"entity {entity['id']!r} names {path}, which is not indexed"
                    yield place, Problem("bad-entity", 0, message, "write the file, or fix file_path")

    @staticmethod
    def _places(folder: str) -> list[str]:
        return [f"{folder}/{place}" if folder else place for place in PLACES]

    def _catalogue(self, place: str) -> Catalogue | None:
        if place not in self._known:
            text = self._read(place)
            self._known[place] = read_catalogue(text) if text is not None else None
        return self._known[place]
