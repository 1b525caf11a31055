"""JSON Schema of syntropy-index.json, derived from what `index_json` writes; shipped with the reader."""

from __future__ import annotations

from typing import Any

from syntropy.contract.schema import INDEX_VERSION
from syntropy.contract.vocabulary import ENTITY_KINDS, ENTRY_KINDS, RULE_SEVERITIES

_STRINGS = {"type": "array", "items": {"type": "string"}}
_TEXT = {"type": "string"}
_LINE = {"type": "integer", "minimum": 0}


def _object(properties: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "required": [name for name in properties if name not in optional],
    }


def _map(entry: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": entry}


_PATTERN = _object(
    {
        "source": _TEXT,
        "tags": _STRINGS,
        "kind": {"enum": ["pattern", "example"]},
        "referenced_by": _STRINGS,
        "excerpt": {"type": "string", "maxLength": 200},
    }
)
_PRP = _object(
    {
        "source": _TEXT,
        "title": _TEXT,
        "implementations": _STRINGS,
        "verified": {"type": "boolean"},
        "status": _TEXT,
        "tags": _STRINGS,
        "excerpt": {"type": "string", "maxLength": 200},
    }
)
_MEMORY = _object({"source": _TEXT, "tags": _STRINGS, "excerpt": {"type": "string", "maxLength": 200}})
_ENTRY = _object(
    {
        "source": _TEXT,
        "tags": _STRINGS,
        "title": _TEXT,
        "kind": {"enum": [*ENTRY_KINDS, *ENTITY_KINDS, "term"]},
        "aliases": _STRINGS,
        "excerpt": {"type": "string", "maxLength": 200},
    }
)
_RULE = _object(
    {
        "source": _TEXT,
        "line": {"type": "integer", "minimum": 1},
        "severity": {"enum": list(RULE_SEVERITIES)},
        "excerpt": {"type": "string", "maxLength": 100},
    }
)

INDEX_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "syntropy-index.json",
    **_object(
        {
            "version": {"const": INDEX_VERSION},
            "project_root": {"const": "."},
            "synced_at": {
                "type": "string",
                "format": "date-time",
                "pattern": "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$",
            },
            "framework_version": _TEXT,
            "paths": _object(
                dict.fromkeys(
                    (
                        "system_prps",
                        "system_examples",
                        "user_prps",
                        "user_examples",
                        "memories",
                        "claude_md",
                        "system_rules",
                    ),
                    _TEXT,
                )
            ),
            "knowledge": _object(
                {
                    "system_patterns": _map(_PATTERN),
                    "user_patterns": _map(_PATTERN),
                    "system_prps": _map(_PRP),
                    "user_prps": _map(_PRP),
                    "memories": _map(_MEMORY),
                    "commands": _map(_ENTRY),
                    "references": _map(_ENTRY),
                    "entities": _map(_ENTRY),
                    "terms": _map(_ENTRY),
                    "system_rules": _map(_RULE),
                    "user_rules": _map(_RULE),
                }
            ),
            "drift": _object(
                {
                    "score": {"type": "number", "minimum": 0, "maximum": 1},
                    "violations": {
                        "type": "array",
                        "items": _object({"type": _TEXT, "source": _TEXT, "line": _LINE, "message": _TEXT}),
                    },
                }
            ),
        }
    ),
}
