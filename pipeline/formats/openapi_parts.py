"""What the OpenAPI descriptions of one project know together: components, servers, security, files by path.

swagger-jsdoc merges the comments of many route files with one definition; other projects spread a description
over files that refer to each other. An operation is read with all of it at hand.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import yaml

from pipeline.formats.entries import MAX_DEPTH, parse
from pipeline.formats.page import one_line
from pipeline.formats.typescript import UNKNOWN, line_of, literal, text_of, walk
from pipeline.formats.typescript import parse as parse_typescript
from pipeline.ground.deadline import tried
from pipeline.text.safe_yaml import RefusedYamlError, load_yaml, plain

if TYPE_CHECKING:
    from tree_sitter import Node

DATA = (".yaml", ".yml", ".json")
_COMMENT_LINE = re.compile(r"^[ \t]*\*[ \t]?", re.MULTILINE)
_TAG = re.compile(r"@(?:openapi|swagger)\b")
_NEXT_TAG = re.compile(r"^@[A-Za-z]", re.MULTILINE)


class Parts(NamedTuple):
    """A description without its paths; `files` are whole documents by path, references in them absolute."""

    definition: Mapping[str, Any]
    files: Mapping[str, Any]


NO_PARTS = Parts({}, {})


class Comments(NamedTuple):
    """What the comments and definitions of a source file say, and (line, message) of those that cannot be read."""

    description: dict[str, Any]
    problems: list[tuple[int, str]]


def gather(files: Iterable[tuple[str, str]]) -> Parts:
    """From (text, path) of all files of a project that are read as OpenAPI; what cannot be read is left out."""
    merged: dict[str, Any] = {"paths": {}, "components": {}}
    documents: dict[str, Any] = {}
    for text, path in files:
        with tried():
            if not path.endswith(DATA):
                _merge(merged, read_comments(text, path).description)
                continue
            documents[path] = data = absolute(parse(text, path), path)
            if isinstance(data, Mapping) and not isinstance(data.get("paths"), Mapping):
                _merge(merged, data)  # a file of components only
    merged.pop("paths")
    return Parts(merged, documents)


def read_comments(text: str, path: str) -> Comments:
    """The `@openapi` comments of a source file, and definitions it hands to swagger-jsdoc, as one description."""
    merged: dict[str, Any] = {"paths": {}, "components": {}}
    problems: list[tuple[int, str]] = []
    for node in walk(parse_typescript(text, path)):
        if node.type == "object" and _is_definition(node):
            _merge(merged, _known(literal(node)))
        comment = text_of(node) if node.type == "comment" else ""
        lines = _COMMENT_LINE.sub("", comment.removesuffix("*/")) if comment.startswith("/**") else ""
        for tag in _TAG.finditer(lines):
            end = _NEXT_TAG.search(lines, tag.end())
            try:
                _merge(merged, plain(load_yaml(lines[tag.end() : end.start() if end else None], max_depth=MAX_DEPTH)))
            except (RefusedYamlError, yaml.YAMLError) as error:
                problems.append((line_of(node), one_line(str(error))))
    return Comments(merged, problems)


def absolute(data: Any, path: str) -> Any:
    """The document with references to files made relative to the project: `../x.yaml#/A` → `api/x.yaml#/A`."""
    if isinstance(data, Mapping):
        return {
            key: _absolute_reference(value, path) if key == "$ref" and isinstance(value, str) else absolute(value, path)
            for key, value in data.items()
        }
    return [absolute(item, path) for item in data] if isinstance(data, list) else data


def resolve(pointer: str, data: Any) -> Iterator[Any]:
    """What a JSON pointer (`/components/schemas/User`) names in a document, if anything."""
    for part in pointer.lstrip("/").split("/") if pointer.strip("/") else ():
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(data, list) and key.isdigit() and int(key) < len(data):
            data = data[int(key)]
        elif isinstance(data, Mapping) and key in data:
            data = data[key]
        else:
            return
    yield data


def beside(path: str, file: str) -> str:
    """The path from the project's root of a file that the one at `path` names from where it lies."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), file))


def _absolute_reference(reference: str, path: str) -> str:
    file, mark, pointer = reference.partition("#")
    if "://" in file:
        return reference
    place = beside(path, file) if file else path
    return f"{place}{mark or '#'}{pointer}"


def _merge(merged: dict[str, Any], data: Any) -> None:
    if not isinstance(data, Mapping):
        return
    for key, value in data.items():
        if str(key).startswith("/") and isinstance(value, Mapping):
            merged["paths"].setdefault(key, {}).update(value)
        elif key == "paths" and isinstance(value, Mapping):
            _merge(merged, value)
        elif key == "components" and isinstance(value, Mapping):
            for part, members in value.items():
                if isinstance(members, Mapping):
                    held = merged["components"].setdefault(part, {})
                    held.update({name: member for name, member in members.items() if name not in held})
        elif key in ("servers", "security", "info", "openapi"):
            merged.setdefault(key, value)


def _is_definition(node: Node) -> bool:
    """An object literal that says `openapi: '3…'` of itself."""
    for member in node.named_children:
        key, value = member.child_by_field_name("key"), member.child_by_field_name("value")
        if key is not None and value is not None and text_of(key).strip("'\"") == "openapi":
            version = literal(value) if value.type in ("string", "template_string") else None
            return isinstance(version, str) and version.startswith("3")
    return False


def _known(value: Any) -> Any:
    """A literal without the parts that only a running program has."""
    if isinstance(value, dict):
        return {key: _known(item) for key, item in value.items() if item is not UNKNOWN}
    return [_known(item) for item in value if item is not UNKNOWN] if isinstance(value, list) else value
