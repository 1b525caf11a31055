"""Entries in somebody else's JSON file: put in and taken out as text, so that every other byte stays as it is.

Files of editors may hold comments and trailing commas; both are looked past. An entry goes first in its object or list,
and what has to be made around it is written on one line: taking out is the inverse of putting in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:\\.|[^"\\\n])*")|,(?=\s*[}\]])', re.DOTALL)
_MADE = '{\n  "'
"""How a file begins that `put` made of nothing: into somebody's empty object it puts no line end."""

_SPACE = re.compile(r"\s*")


class _Item(NamedTuple):
    """A member or element: its key (None in a list), where it starts (with its key), its value's span, the value."""

    key: str | None
    start: int
    value_start: int
    end: int
    value: Any


class NotJsonError(ValueError):
    """The text is not JSON, with comments or without, or what is on the way is of another kind."""


def put(text: str, way: Sequence[str], key: str | None, value: Any) -> str:
    """The text with a value under `key` (None: as an element) of the object or list that `way` leads to.

    The same value is not put twice; another one under the key is replaced. Raises NotJsonError.
    """
    if not text.strip():
        return json.dumps(_wrapped(way, key, value), ensure_ascii=False, indent=2) + "\n"
    plain = _blanked(text)
    at, kind = _root(plain), "{"
    for depth, name in enumerate(way):
        if plain[at] != "{":
            raise NotJsonError(f"{'.'.join(way[:depth])} is not an object")
        found = _member(plain, at, name)
        if found is None:
            inner = _wrapped(way[depth + 1 :], key, value)
            return _inserted(text, plain, at, f"{_text(name)}: {_text(inner)}")
        at, kind = found.value_start, plain[found.value_start]
    if kind != ("[" if key is None else "{"):
        raise NotJsonError(f"{'.'.join(way)} is not {'a list' if key is None else 'an object'}")
    for item in _items(plain, at):
        if (key is not None and item.key == key) or (key is None and item.value == value):
            return text if item.value == value else text[: item.value_start] + _text(value) + text[item.end :]
    return _inserted(text, plain, at, (f"{_text(key)}: " if key is not None else "") + _text(value))


def taken(text: str, way: Sequence[str], ours: Callable[[str | None, Any], bool]) -> str:
    """The text without the members or elements of `way` that are ours, and without what was made around them.

    Empty where nothing else is left in a file that `put` wrote. Raises NotJsonError.
    """
    while text.strip():
        plain = _blanked(text)
        places = [_root(plain)]
        spans: list[_Item] = []
        for name in way:
            found = _member(plain, places[-1], name) if plain[places[-1]] == "{" else None
            if found is None or plain[found.value_start] not in "{[":
                return text
            spans.append(found)
            places.append(found.value_start)
        gone = next((item for item in _items(plain, places[-1]) if ours(item.key, item.value)), None)
        if gone is None:
            return text
        for depth in range(len(way), -1, -1):
            if len(list(_items(plain, places[depth]))) > 1:
                break
            if depth == 0:
                if text.startswith(_MADE):
                    return ""  # nothing else is in it
                break
            container = text[places[depth] : spans[depth - 1].end]
            if not text.startswith(_MADE) and ("\n" in container or container[1] == " "):
                break  # it was there before
            gone = spans[depth - 1]
        text = _removed(text, plain, gone)
    return text


def _inserted(text: str, plain: str, at: int, entry: str) -> str:
    """The entry as the first one of the container that opens at `at`."""
    space = _SPACE.match(text, at + 1)
    assert space is not None
    between = space.group()
    if not next(iter(_items(plain, at)), None):
        return text[: at + 1] + f" {entry} " + text[at + 1 :]  # the blanks say that the container was there before
    gap = between if "\n" in between else " "
    if "\n" in between:
        return text[: at + 1] + f"{between}{entry}," + text[at + 1 :]
    return text[: at + 1] + f"{entry},{gap}" + text[at + 1 :]


def _removed(text: str, plain: str, item: _Item) -> str:
    """The text without an item: the inverse of `_inserted`."""
    start, end = item.start, item.end
    before = len(text[:start]) - len(text[:start].rstrip())
    comma = _SPACE.match(plain, end)
    behind = comma.end() if comma else end
    if plain[behind : behind + 1] == ",":
        end = behind + 1
        if "\n" in text[start - before : start]:
            start -= before
        elif text[end : end + 1] == " ":
            end += 1
    else:
        earlier = plain[:start].rstrip()
        if earlier.endswith(","):  # it was moved to the end
            start = len(earlier) - 1
        elif text[start - 1] == " " and text[end : end + 1] == " ":
            start, end = start - 1, end + 1
    return text[:start] + text[end:]


def value_at(text: str, way: Sequence[str]) -> Any:
    """What stands there; None where nothing does, or where the text is not JSON."""
    try:
        found: Any = json.loads(_blanked(text)) if text.strip() else {}
    except ValueError:
        return None
    for name in way:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _member(plain: str, at: int, name: str) -> _Item | None:
    """The member of this name: of several the last one, which is what counts."""
    return next((item for item in reversed(list(_items(plain, at))) if item.key == name), None)


def _items(plain: str, at: int) -> Iterator[_Item]:
    """Members of the object, or elements of the list, that opens at `at`."""
    decode = json.JSONDecoder().raw_decode
    place = _skip(plain, at + 1)
    while place < len(plain) and plain[place] not in "}]":
        start, key = place, None
        if plain[at] == "{":
            if plain[place] != '"':
                raise NotJsonError("a key is not in quotes")
            key, place = _decoded(decode, plain, place)
            place = _skip(plain, place)
            if plain[place : place + 1] != ":":
                raise NotJsonError(f"{key!r} has no value")
            place = _skip(plain, place + 1)
        value, end = _decoded(decode, plain, place)
        yield _Item(key, start, place, end, value)
        place = _skip(plain, end)
        if plain[place : place + 1] == ",":
            place = _skip(plain, place + 1)


def _decoded(decode: Callable[[str, int], tuple[Any, int]], plain: str, place: int) -> tuple[Any, int]:
    try:
        return decode(plain, place)
    except ValueError as error:
        raise NotJsonError(str(error)) from error


def _root(plain: str) -> int:
    at = _skip(plain, 0)
    if plain[at : at + 1] != "{":
        raise NotJsonError("it does not hold an object")
    try:
        json.loads(plain)
    except ValueError as error:
        raise NotJsonError(str(error)) from error
    return at


def _skip(plain: str, at: int) -> int:
    found = _SPACE.match(plain, at)
    return found.end() if found else at


def _blanked(text: str) -> str:
    """The text with blanks for comments and trailing commas: offsets stay."""
    text = text.replace("\ufeff", " ", 1) if text.startswith("\ufeff") else text
    found = _TOKEN.sub(lambda m: m[0] if m[0][0] == '"' else re.sub(r"[^\n]", " ", m[0]), text)
    return _TRAILING.sub(lambda m: m[1] or " ", found)


def _wrapped(way: Sequence[str], key: str | None, value: Any) -> Any:
    found: Any = [value] if key is None else {key: value}
    for name in reversed(way):
        found = {name: found}
    return found


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
