"""YAML through PyYAML, guarded against what breaks parsers.

Its C composer recurses and dies at deep nesting, and anchors allow exponential documents; both are
refused from the event stream, which is flat, before anything is composed. Scalars that YAML 1.1 would
bend (`no`, `2025-10-22`, `30.10`) stay the strings the author wrote.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as _BaseLoader
except ImportError:  # PyYAML built without libyaml
    from yaml import SafeLoader as _BaseLoader  # type: ignore[assignment]


class RefusedYamlError(ValueError):
    """The text nests too deeply or uses anchors, aliases or merge keys; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Loader(_BaseLoader):
    """Safe loader that keeps numbers with points, dates and yes/no words as text."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), "tTfF"),
    ("tag:yaml.org,2002:null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:int", re.compile(r"^-?(?:0|[1-9][0-9]{0,17})$"), "-0123456789"),
):
    _Loader.add_implicit_resolver(_tag, _pattern, list(_first))


def load_yaml(text: str, *, max_depth: int) -> Any:
    """The document as plain data. Raises RefusedYamlError; yaml.YAMLError where it is not YAML."""
    _refuse_dangerous(text, max_depth)
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError:
        raise
    except Exception as error:  # `!!timestamp hello`: PyYAML's constructors raise whatever comes
        raise yaml.YAMLError("a value does not fit its explicit tag (!!…)") from error


def plain(value: Any) -> Any:
    """The value as JSON knows it: string keys, lists, numbers, booleans, strings."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)]
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def _refuse_dangerous(text: str, max_depth: int) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_BaseLoader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise RefusedYamlError("uses anchors or aliases", line)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > max_depth:
                raise RefusedYamlError(f"nests deeper than {max_depth} levels", line)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
            raise RefusedYamlError("uses a merge key (<<)", line)
