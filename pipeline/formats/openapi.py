"""OpenAPI 3 descriptions and `@openapi` comments in route files: one page an operation (TASK-KB-009).

References inside of the document are followed; a cycle ends where it closes. Remote ones are named and
never fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any
from urllib.parse import unquote

import yaml

from pipeline.formats.entries import GENERATED, MAX_DEPTH, page_of, parse
from pipeline.formats.page import Pages, fence, one_line, table
from pipeline.formats.typescript import line_of, text_of, walk
from pipeline.formats.typescript import parse as parse_typescript
from pipeline.text.safe_yaml import RefusedYamlError, load_yaml, plain
from syntropy.contract.identity import slugify

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
MAX_SCHEMA_LINES = 60
MAX_VISITS = 1_000
"""Schemas looked at for one list of properties; `allOf` of `allOf` doubles them with each level."""

MAX_REFERENCES = 32
"""References followed one after the other."""

_COMMENT_LINE = re.compile(r"^[ \t]*\*[ \t]?", re.MULTILINE)
_TAG = re.compile(r"@(?:openapi|swagger)\b")


def pages(text: str, path: str) -> Pages:
    """One page an operation of a YAML or JSON description, or of the comments of a source file."""
    found = Pages()
    if path.endswith((".yaml", ".yml", ".json")):
        try:
            data = parse(text, path)
        except ValueError as error:
            found.problem("bad-openapi", getattr(error, "lineno", 0), f"cannot be read: {error}", "fix the file")
            return found
        if isinstance(data, Mapping) and "swagger" in data:
            found.problem("bad-openapi", 1, f"is Swagger {data['swagger']}; OpenAPI 3.x is read", "convert it")
            return found
        if not isinstance(data, Mapping) or not isinstance(data.get("paths", data.get("webhooks")), Mapping):
            found.problem("bad-openapi", 1, "holds no paths", "exclude it, or fix the description")
            return found
        if not str(data.get("openapi", "3.")).startswith("3."):
            found.problem("bad-openapi", 1, f"is OpenAPI {data.get('openapi')}; 3.x is read", "convert it to OpenAPI 3")
            return found
        _Description(data, path, found).read()
        return found
    merged: dict[str, Any] = {"paths": {}, "components": {}}
    for line, block in _comment_blocks(text, path):
        try:
            data = plain(load_yaml(block, max_depth=MAX_DEPTH))
        except (RefusedYamlError, yaml.YAMLError) as error:
            found.problem("bad-openapi", line, f"its @openapi comment is not YAML: {one_line(str(error))}", "fix it")
            continue
        _merge(merged, data)
    _Description(merged, path, found).read()
    return found


def _comment_blocks(text: str, path: str) -> Iterator[tuple[int, str]]:
    for node in walk(parse_typescript(text, path)):
        comment = text_of(node) if node.type == "comment" else ""
        tag = _TAG.search(comment) if comment.startswith("/**") else None
        if tag:
            yield line_of(node), _COMMENT_LINE.sub("", comment[tag.end() :].removesuffix("*/"))


def _merge(merged: dict[str, Any], data: Any) -> None:
    if not isinstance(data, Mapping):
        return
    for key, value in data.items():
        if key.startswith("/") and isinstance(value, Mapping):
            merged["paths"].setdefault(key, {}).update(value)
        elif key == "paths" and isinstance(value, Mapping):
            _merge(merged, value)
        elif key == "components" and isinstance(value, Mapping):
            for part, members in value.items():
                if isinstance(members, Mapping):
                    merged["components"].setdefault(part, {}).update(members)


class _Description:
    """One description; what its references name is looked up in it alone."""

    def __init__(self, data: Mapping[str, Any], path: str, found: Pages) -> None:
        self._data, self._path, self._found = data, path, found
        self._reported: set[str] = set()
        self._visits = 0
        info = data.get("info") if isinstance(data.get("info"), Mapping) else {}
        self._title = one_line(str(info.get("title") or "")) if isinstance(info, Mapping) else ""

    def read(self) -> None:
        """Add a page for every operation, paths in the order of the description."""
        for group in ("paths", "webhooks"):
            members = self._data.get(group)
            for route, item in members.items() if isinstance(members, Mapping) else ():
                item = self._resolved(item)
                if not isinstance(item, Mapping) or not all(isinstance(item.get(m, {}), Mapping) for m in METHODS):
                    self._found.problem("bad-openapi", 0, f"{route} holds something that is not an operation", "fix it")
                if not isinstance(item, Mapping):
                    continue
                shared = item.get("parameters") if isinstance(item.get("parameters"), list) else []
                for method in METHODS:
                    if isinstance(item.get(method), Mapping):
                        self._operation(str(route), method, item[method], shared or [])

    def _operation(self, route: str, method: str, operation: Mapping[str, Any], shared: list[Any]) -> None:
        call = f"{method.upper()} {route}"
        name = str(operation.get("operationId") or "")
        tags = [str(tag) for tag in operation.get("tags") or [] if isinstance(tag, str)]
        deprecated = "**Deprecated.**" if operation.get("deprecated") is True else ""
        content = "\n\n".join(
            filter(
                None,
                (
                    deprecated,
                    str(operation.get("description") or ""),
                    self._parameters(operation, shared),
                    self._body(operation.get("requestBody")),
                    self._responses(operation.get("responses")),
                ),
            )
        )
        summary = one_line(str(operation.get("summary") or ""))
        entry = {
            "id": f"api-{slugify(name or f'{method} {route}', max_length=100)}",
            "type": "api",
            "title": call,
            "category": slugify(self._title) or "api",
            "subcategory": slugify(tags[0]) if tags else "",
            "summary": summary,
            "content": content,
            "keywords": list(dict.fromkeys([*tags, *re.findall(r"[a-zA-Z][\w-]*", route)])),
            "aliases": list(dict.fromkeys(filter(None, (name, summary)))),
            "source": f"{GENERATED}{self._path}",
        }
        self._found.add(page_of(entry))

    def _parameters(self, operation: Mapping[str, Any], shared: list[Any]) -> str:
        own = operation.get("parameters")
        merged: dict[tuple[str, str], Mapping[str, Any]] = {}
        for given in [*shared, *(own if isinstance(own, list) else [])]:
            parameter = self._resolved(given)
            if isinstance(parameter, Mapping) and parameter.get("name"):
                merged[str(parameter["name"]), str(parameter.get("in", ""))] = parameter
        rows = [
            [
                f"`{name}`",
                where,
                self._type(parameter.get("schema")),
                "yes" if parameter.get("required") is True else "no",
                str(parameter.get("description") or ""),
            ]
            for (name, where), parameter in merged.items()
        ]
        shown = table(["Name", "In", "Type", "Required", "Description"], rows)
        return f"## Parameters\n\n{shown}" if shown else ""

    def _body(self, given: Any) -> str:
        body = self._resolved(given)
        if not isinstance(body, Mapping):
            return ""
        lead = f"## Request body{' (required)' if body.get('required') is True else ''}"
        return "\n\n".join(filter(None, (lead, str(body.get("description") or ""), *self._content(body))))

    def _responses(self, given: Any) -> str:
        if not isinstance(given, Mapping):
            return ""
        good, errors = [], []
        for code, value in given.items():
            response = self._resolved(value)
            if not isinstance(response, Mapping):
                continue
            about = one_line(str(response.get("description") or ""))
            if str(code)[:1] in "45":
                errors.append([f"`{code}`", about])
            good += [f"### {code}: {about}", *self._content(response)] if str(code)[:1] not in "45" else []
        parts = ["## Responses", *good] if good else []
        return "\n\n".join([*parts, *(["## Errors", table(["Code", "Meaning"], errors)] if errors else [])])

    def _content(self, holder: Mapping[str, Any]) -> Iterator[str]:
        content = holder.get("content")
        for media, described in content.items() if isinstance(content, Mapping) else ():
            if not isinstance(described, Mapping):
                continue
            self._visits = 0
            lines = list(islice(self._schema(described.get("schema"), 0, ()), MAX_SCHEMA_LINES + 1))
            if lines:
                more = ["- …"] if len(lines) > MAX_SCHEMA_LINES else []
                yield f"`{media}`:\n\n" + "\n".join(lines[:MAX_SCHEMA_LINES] + more)
            for example in self._examples(described):
                yield "Example:\n\n" + fence(json.dumps(example, indent=2, ensure_ascii=False), "json")

    def _examples(self, described: Mapping[str, Any]) -> Iterator[Any]:
        if "example" in described:
            yield described["example"]
        named = described.get("examples")
        for value in named.values() if isinstance(named, Mapping) else ():
            example = self._resolved(value)
            if isinstance(example, Mapping) and "value" in example:
                yield example["value"]
        schema = self._resolved(described.get("schema"))
        if "example" not in described and not named and isinstance(schema, Mapping) and "example" in schema:
            yield schema["example"]

    def _schema(self, given: Any, depth: int, seen: tuple[str, ...]) -> Iterator[str]:
        """Properties as a nested list; a schema inside of itself is named only."""
        names = (*seen, name) if (name := self._name(given)) else seen
        schema = self._resolved(given)
        self._visits += 1
        if not isinstance(schema, Mapping) or depth > 6 or (name and name in seen) or self._visits > MAX_VISITS:
            return
        for part in ("allOf", "oneOf", "anyOf"):
            for member in schema.get(part) or [] if isinstance(schema.get(part), list) else []:
                yield from self._schema(member, depth, names)
        if isinstance(schema.get("items"), Mapping):
            yield from self._schema(schema["items"], depth, names)
        required = schema.get("required") if isinstance(schema.get("required"), list) else []
        properties = schema.get("properties")
        for key, value in properties.items() if isinstance(properties, Mapping) else ():
            about = self._resolved(value)
            described = one_line(str(about.get("description") or "")) if isinstance(about, Mapping) else ""
            must = ", required" if key in (required or []) else ""
            yield f"{'  ' * depth}- `{key}` ({self._type(value)}{must}){f': {described}' if described else ''}"
            yield from self._schema(value, depth + 1, names)

    def _type(self, given: Any) -> str:
        schema = self._resolved(given)
        if not isinstance(schema, Mapping):
            return "any"
        kind = schema.get("type")
        text = " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind or self._name(given) or "any")
        if text == "array":
            text = f"array of {self._name(schema.get('items')) or self._type_name(schema.get('items'))}"
        values = schema.get("enum")
        return text + (f": {', '.join(map(str, values[:12]))}" if isinstance(values, list) and values else "")

    def _type_name(self, given: Any) -> str:
        schema = self._resolved(given)
        return str(schema.get("type", "any")) if isinstance(schema, Mapping) else "any"

    @staticmethod
    def _name(given: Any) -> str:
        reference = given.get("$ref") if isinstance(given, Mapping) else None
        return reference.rpartition("/")[2] if isinstance(reference, str) else ""

    def _resolved(self, given: Any) -> Any:
        """What a reference stands for; a problem is reported once, and None returned."""
        followed: set[str] = set()
        while isinstance(given, Mapping) and isinstance(reference := given.get("$ref"), str):
            if reference in followed or len(followed) > MAX_REFERENCES:
                return self._report(reference, "refers to itself")
            followed.add(reference)
            if not reference.startswith("#/"):
                return self._report(reference, "is remote and not fetched")
            given = self._data
            for part in reference[2:].split("/"):
                key = unquote(part).replace("~1", "/").replace("~0", "~")
                if isinstance(given, list) and key.isdigit() and int(key) < len(given):
                    given = given[int(key)]
                elif isinstance(given, Mapping) and key in given:
                    given = given[key]
                else:
                    return self._report(reference, "does not exist")
        return given

    def _report(self, reference: str, why: str) -> None:
        if reference not in self._reported:
            self._reported.add(reference)
            self._found.problem("openapi-reference", 0, f"$ref {reference!r} {why}", "fix it, or put it into the file")
