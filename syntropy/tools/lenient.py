"""Arguments as models write them: `null`, `"3"`, one string where a list is meant, JSON within a string."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..contract.identity import well_formed

_NUMBER = re.compile(r"\s*(-?\d{1,9})(?:\.0{1,9})?\s*")
_YES, _NO = ("true", "yes", "1"), ("false", "no", "0")


def meant(arguments: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The arguments as the schemas want them, as far as that is beyond doubt; those that are null are left out."""
    given = {well_formed(str(name)): _plain(value) for name, value in arguments.items()}
    return {
        name: _meant(value, schemas.get(name, {}))
        for name, value in given.items()
        if not _is_null(name, value) and not (value == "" and "enum" in schemas.get(name, {}))
    }


def _is_null(name: str, value: Any) -> bool:
    """Null, also as a word; a question may be about `null`."""
    return value is None or (
        isinstance(value, str) and value.strip() == "null" and name not in ("query", "task", "name")
    )


def _plain(value: Any) -> Any:
    """JSON values without lone surrogates, whole numbers as integers (to JSON Schema, 5.0 is one)."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {well_formed(str(key)): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _meant(value: Any, schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    if kind == "integer" and isinstance(value, str) and (number := _NUMBER.fullmatch(value)):
        return int(number[1])
    if kind == "boolean" and not isinstance(value, bool) and str(value).strip().lower() in (*_YES, *_NO):
        return str(value).strip().lower() in _YES
    if kind == "array":
        return _list(value)
    if kind == "object" and not isinstance(value, dict):
        return _mapping(value)
    if kind == "string" or isinstance(schema.get("anyOf"), list):
        if isinstance(value, str) and kind != "string":
            return _json(value, list, value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        if kind == "string" and isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, str) and "enum" in schema:
            known = {str(one).lower(): one for one in schema["enum"]}
            return known.get(value.strip().lower(), value)
    return value


def _list(value: Any) -> Any:
    """A list; of a string its items, as JSON or between commas."""
    if isinstance(value, str):
        found = _json(value, list, None)
        return found if found is not None else [part.strip() for part in value.split(",") if part.strip()]
    return [item for item in value if item is not None] if isinstance(value, list) else [value]


def _mapping(value: Any) -> Any:
    """An object; of a string as JSON or `key=value`, of a list its pairs (strict schemas know no free keys)."""
    if isinstance(value, str):
        found = _json(value, dict, None)
        return found if found is not None else _mapping([value])
    if not isinstance(value, list):
        return value
    pairs: dict[str, Any] = {}
    for item in value:
        if isinstance(item, dict) and {"key", "value"} <= set(item):
            pairs[str(item["key"])] = item["value"]
        elif isinstance(item, str) and "=" in item:
            key, _, text = item.partition("=")
            pairs[key.strip()] = text.strip()
        else:
            return value
    return pairs


def _json(text: str, kind: type, otherwise: Any) -> Any:
    if text.lstrip()[:1] not in "[{" or not text.strip():
        return otherwise
    try:
        found = json.loads(text)
    except ValueError:
        return otherwise
    return found if isinstance(found, kind) else otherwise
