"""OpenAPI 3 descriptions and `@openapi` comments in route files: one page an operation (TASK-KB-009).

References are followed, within the document and into the project's other ones; a cycle ends where it closes.
Remote ones are named and never fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from pipeline.formats.entries import GENERATED, page_of, parse
from pipeline.formats.openapi_parts import DATA, NO_PARTS, Parts, absolute, read_comments, resolve
from pipeline.formats.page import Pages, fence, one_line, table
from syntropy.contract.identity import slugify

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
MAX_SCHEMA_LINES = 60
MAX_VISITS = 1_000
"""Schemas looked at for one list of properties; `allOf` of `allOf` doubles them with each level."""

MAX_REFERENCES = 32
"""References followed one after the other."""


def pages(text: str, path: str, parts: Parts = NO_PARTS) -> Pages:
    """One page an operation of a YAML or JSON description, or of the comments of a source file.

    `parts` are what the project's other files say.
    """
    found = Pages()
    if not path.endswith(DATA):
        comments = read_comments(text, path)
        for line, message in comments.problems:
            found.problem("bad-openapi", line, f"its @openapi comment is not YAML: {message}", "fix it")
        _Description(comments.description, path, found, parts).read()
        return found
    try:
        data = absolute(parse(text, path), path)
    except ValueError as error:
        found.problem("bad-openapi", getattr(error, "lineno", 0), f"cannot be read: {error}", "fix the file")
        return found
    if isinstance(data, Mapping) and "swagger" in data:
        found.problem("bad-openapi", 1, f"is Swagger {data['swagger']}; OpenAPI 3.x is read", "convert it")
    elif not isinstance(data, Mapping) or not isinstance(data.get("paths", data.get("webhooks")), Mapping):
        if not _is_part(path, parts):
            found.problem("bad-openapi", 1, "holds no paths", "exclude it, or fix the description")
    elif not str(data.get("openapi", "3.")).startswith("3."):
        found.problem("bad-openapi", 1, f"is OpenAPI {data.get('openapi')}; 3.x is read", "convert it to OpenAPI 3")
    else:
        _Description(data, path, found, parts).read()
    return found


def _is_part(path: str, parts: Parts) -> bool:
    """Does another file refer to this one?"""
    stack = [data for name, data in parts.files.items() if name != path]
    while stack:
        value = stack.pop()
        if isinstance(value, Mapping):
            if str(value.get("$ref", "")).startswith(f"{path}#"):
                return True
            stack += value.values()
        elif isinstance(value, list):
            stack += value
    return False


class _Description:
    """One description; what its references name is looked up in it, then in the project's other files."""

    def __init__(self, data: Mapping[str, Any], path: str, found: Pages, parts: Parts) -> None:
        self._data, self._path, self._found, self._parts = data, path, found, parts
        self._reported: set[str] = set()
        self._visits = 0
        info = self._said("info")
        self._title = one_line(str(info.get("title") or "")) if isinstance(info, Mapping) else ""

    def read(self) -> None:
        """Add a page for every operation, paths in the order of the description."""
        for group in ("paths", "webhooks"):
            members = self._data.get(group)
            for route, item in members.items() if isinstance(members, Mapping) else ():
                if str(route).startswith("x-"):
                    continue
                item = self._resolved(item)
                if not isinstance(item, Mapping) or not all(isinstance(item.get(m, {}), Mapping) for m in METHODS):
                    self._found.problem("bad-openapi", 0, f"{route} holds something that is not an operation", "fix it")
                if not isinstance(item, Mapping):
                    continue
                shared = item.get("parameters") if isinstance(item.get("parameters"), list) else []
                for method in METHODS:
                    if isinstance(item.get(method), Mapping):
                        self._operation(str(route), method, item[method], shared or [], item.get("servers"))

    def _said(self, key: str) -> Any:
        """What the description says at its top, or the project's definition where it is silent."""
        return self._data[key] if key in self._data else self._parts.definition.get(key)

    def _operation(
        self, route: str, method: str, operation: Mapping[str, Any], shared: list[Any], around: Any = None
    ) -> None:
        call = f"{method.upper()} {route}"
        name = str(operation.get("operationId") or "")
        given = operation.get("tags")
        tags = [tag for tag in given if isinstance(tag, str)] if isinstance(given, list) else []
        deprecated = "**Deprecated.**" if operation.get("deprecated") is True else ""
        servers = server_paths(operation.get("servers") or around or self._said("servers"))
        content = "\n\n".join(
            filter(
                None,
                (
                    deprecated,
                    as_called(method, route, servers),
                    self._authentication(operation),
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
            "aliases": list(
                dict.fromkeys(
                    filter(
                        None,
                        (name, summary, *(f"{method.upper()} {r}" for r in full_routes(route, servers) if r != route)),
                    )
                )
            ),
            "source": f"{GENERATED}{self._path}",
        }
        self._found.add(page_of(entry))

    def _authentication(self, operation: Mapping[str, Any]) -> str:
        """Which of the declared schemes a call needs; empty where nothing is said of it."""
        wanted = operation["security"] if "security" in operation else self._said("security")
        if not isinstance(wanted, list):
            return ""
        if not wanted:
            return "**Authentication:** none"
        ways = []
        for way in wanted:
            named = way.items() if isinstance(way, Mapping) else ()
            ways.append(" and ".join(self._scheme(str(name), scopes) for name, scopes in named) or "none")
        return "**Authentication:** " + ", or ".join(ways)

    def _scheme(self, name: str, scopes: Any) -> str:
        pointer = f"/components/securitySchemes/{name.replace('~', '~0').replace('/', '~1')}"
        places = (self._data, self._parts.definition)
        declared = self._resolved(next((found for data in places for found in resolve(pointer, data)), None))
        scheme: Mapping[str, Any] = declared if isinstance(declared, Mapping) else {}
        kind = str(scheme.get("type", ""))
        shown = {
            "http": f"HTTP {scheme.get('scheme', '')} {scheme.get('bearerFormat') or ''}".strip(),
            "apiKey": f"{scheme.get('in', '')} `{scheme.get('name', '')}`",
            "oauth2": "OAuth 2",
            "openIdConnect": "OpenID Connect",
        }.get(kind, kind)
        told = one_line(str(scheme.get("description") or ""))
        needs = [str(scope) for scope in scopes] if isinstance(scopes, list) else []
        details = "; ".join(filter(None, (shown, told, f"scopes {', '.join(needs)}" if needs else "")))
        return f"`{name}`{f' ({details})' if details else ''}"

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
                _with_example(str(parameter.get("description") or ""), self._example_of_parameter(parameter)),
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
            given = list(self._examples(described))
            made = [] if given else list(self._example(described.get("schema"), 0, ()))
            for example in given or made:
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

    def _example(self, given: Any, depth: int, seen: tuple[str, ...]) -> Iterator[Any]:
        """An example put together of those the properties have; nothing where none has one."""
        name, schema = self._name(given), self._resolved(given)
        self._visits += 1
        if not isinstance(schema, Mapping) or depth > 6 or (name and name in seen) or self._visits > MAX_VISITS:
            return
        for key in ("example", "const", "default"):
            if key in schema and (key == "example" or depth):
                yield schema[key]
                return
        if isinstance(schema.get("examples"), list) and schema["examples"]:
            yield schema["examples"][0]
            return
        names = (*seen, name) if name else seen
        if isinstance(schema.get("items"), Mapping):
            yield from ([item] for item in self._example(schema["items"], depth + 1, names))
            return
        made: dict[str, Any] = {}
        for member in schema["allOf"] if isinstance(schema.get("allOf"), list) else []:
            made |= next((part for part in self._example(member, depth, names) if isinstance(part, dict)), {})
        properties = schema.get("properties")
        for key, value in properties.items() if isinstance(properties, Mapping) else ():
            made |= {str(key): part for part in self._example(value, depth + 1, names)}
        required = schema.get("required") if isinstance(schema.get("required"), list) else []
        some = properties if isinstance(properties, Mapping) else {}
        if made and 2 * len(made) >= len(some) and all(name in made for name in required or []):
            yield made  # one that lacks what a call needs, or most of an answer, would mislead

    def _example_of_parameter(self, parameter: Mapping[str, Any]) -> Any:
        schema = self._resolved(parameter.get("schema"))
        named = parameter.get("examples")
        for value in named.values() if isinstance(named, Mapping) else ():
            return value.get("value") if isinstance(value, Mapping) else None
        return parameter.get("example", schema.get("example") if isinstance(schema, Mapping) else None)

    def _schema(self, given: Any, depth: int, seen: tuple[str, ...]) -> Iterator[str]:
        """Properties as a nested list; a schema inside itself is named only."""
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
            described = _with_example(described, about.get("example") if isinstance(about, Mapping) else None)
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
            file, _, pointer = reference.partition("#")
            if "://" in file:
                return self._report(reference, "is remote and not fetched")
            if file and file != self._path and file not in self._parts.files:
                return self._report(reference, "names a file that is not read as OpenAPI")
            places = [self._parts.files[file]] if file in self._parts.files else [self._data, self._parts.definition]
            found = [value for data in places for value in resolve(pointer, data)]
            if not found:
                return self._report(reference, "does not exist")
            given = found[0]
        return given

    def _report(self, reference: str, why: str) -> None:
        if reference not in self._reported:
            self._reported.add(reference)
            self._found.problem("openapi-reference", 0, f"$ref {reference!r} {why}", "fix it, or put it into the file")


def server_paths(servers: Any) -> list[tuple[str, str]]:
    """(url, path below the host) of each server; variables have their defaults."""
    found = []
    for server in servers if isinstance(servers, list) else []:
        url = server.get("url") if isinstance(server, Mapping) else None
        if not isinstance(url, str):
            continue
        variables = server.get("variables") if isinstance(server.get("variables"), Mapping) else {}
        for name, variable in variables.items():
            default = variable.get("default") if isinstance(variable, Mapping) else None
            url = url.replace(f"{{{name}}}", str(default)) if default is not None else url
        found.append((url, re.sub(r"^[a-z+]+://[^/]*", "", url).rstrip("/")))
    return found


def full_routes(route: str, servers: list[tuple[str, str]]) -> list[str]:
    """The route behind each different path of the servers; many descriptions spell that path out already."""
    paths = dict.fromkeys(path for _, path in servers)
    return list(dict.fromkeys(route if route.startswith(f"{path}/") else f"{path}{route}" for path in paths)) or [route]


def as_called(method: str, route: str, servers: list[tuple[str, str]]) -> str:
    """The operation with its base path, and the servers."""
    if not servers:
        return ""
    calls = [f"`{method.upper()} {full}`" for full in full_routes(route, servers)]
    return f"**Call:** {' or '.join(calls)}\n\n**Servers:** {', '.join(f'`{url}`' for url, _ in servers)}"


def _with_example(described: str, example: Any) -> str:
    if example is None:
        return described
    shown = example if isinstance(example, str) else json.dumps(example, ensure_ascii=False, default=str)
    return f"{described}{' ' if described else ''}Example: `{one_line(shown)[:120].replace('`', '')}`"
