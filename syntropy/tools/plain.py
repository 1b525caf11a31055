"""An answer as plain text: what a model reads, without the braces, quotes and escapes of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BODY = ("answer", "text", "context", "documents", "commands", "content")
"""Keys whose value is the answer itself: it stands without its name."""


def plain(answer: Mapping[str, Any]) -> str:
    """Lines `key: value` in the order of the answer; texts of several lines keep them."""
    return "\n".join(_line(key, value) for key, value in answer.items())


def _line(key: str, value: Any) -> str:
    if key in BODY and isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return "\n".join([f"{key}:", *("- " + _inline(item) for item in value)])
    text = _value(value)
    return f"{key}:\n{text}" if "\n" in text else f"{key}: {text}"


def _inline(item: Mapping[str, Any]) -> str:
    parts = [f"{key}: {_value(value)}" for key, value in item.items() if key not in BODY]
    texts = [_value(value) for key, value in item.items() if key in BODY]
    return "\n  ".join(["; ".join(parts), *texts] if parts else texts)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_value(item)}" for key, item in value.items())
    if isinstance(value, list):
        return "; ".join(_value(item) for item in value) or "none"
    return str(value)
