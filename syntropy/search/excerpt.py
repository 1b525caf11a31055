"""The part of a passage that fits into a budget: it begins at a heading or block, and ends where one ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..contract.budget import tokens

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}\s")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_SENTENCE_END = re.compile(r"[.!?…:;][\"')\]*_`]*(?=\s)|[。！？]")
_LINE_TOO_LONG = 0.5
"""Share of the room from which a piece is rather cut within its last line than ended before it."""


class Piece(NamedTuple):
    """Offsets of a part of a text; `closing`: what has to follow so that an opened fence ends."""

    start: int
    end: int
    closing: str = ""


class _Block(NamedTuple):
    start: int
    end: int
    kind: str


def excerpt(text: str, limit: int, *, focus: int = 0) -> Piece:
    """The part of at most about `limit` tokens around the offset `focus`; all of it where it fits.

    It begins with the block (heading, paragraph, list item, fence, table) that holds the focus, or the heading right
    above it, goes on while there is room, and takes what stands before where the text ends earlier.
    """
    end = len(text.rstrip())
    if tokens(text[:end]) <= limit:
        return Piece(0, end)
    found = list(_blocks(text[:end]))
    at = next((n for n, block in enumerate(found) if focus < block.end), len(found) - 1)
    first = _led(text, found, at, limit)
    if tokens(text[found[first].start : found[first].end]) > limit:
        return _cut(text, found[first], limit, max(focus, found[first].start))
    last = first
    while last + 1 < len(found) and tokens(text[found[first].start : found[last + 1].end]) <= limit:
        last += 1
    if last + 1 < len(found) and found[last].kind == "heading" and last > first:
        last -= 1  # a heading without what it heads
    while last + 1 == len(found) and first and tokens(text[found[first - 1].start : found[last].end]) <= limit:
        first -= 1
    rest = limit - tokens(text[found[first].start : found[last].end])
    if last + 1 < len(found) and found[last + 1].kind == "fence" and rest > limit * _LINE_TOO_LONG:
        part = _cut(text, found[last + 1], rest, found[last + 1].start)
        return Piece(found[first].start, part.end, part.closing)
    return Piece(found[first].start, found[last].end)


def _led(text: str, found: list[_Block], at: int, limit: int) -> int:
    """The nearest heading above the block, where both fit; else the block itself."""
    for number in range(at, -1, -1):
        if tokens(text[found[number].start : found[at].end]) > limit:
            break
        if found[number].kind == "heading":
            return number
    return at


def _blocks(text: str) -> Iterator[_Block]:
    """Headings, paragraphs, list items, fences and tables, in their order; blank lines belong to nobody."""
    start, kind, fence, offset, end = 0, "", "", 0, 0
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            end = offset + len(line.rstrip())
            if mark and mark["mark"].startswith(fence) and not line.strip().strip(fence[0]):
                yield _Block(start, end, "fence")
                fence = kind = ""
        elif mark or not line.strip() or _HEADING.match(line) or _ITEM.match(line):
            if kind:
                yield _Block(start, end, kind)
            start, end = offset, offset + len(line.rstrip())
            kind = "fence" if mark else "" if not line.strip() else "item" if _ITEM.match(line) else "heading"
            fence = mark["mark"] if mark else ""
            if kind == "heading":
                yield _Block(start, end, kind)
                kind = ""
        else:
            if not kind:
                start, kind = offset, "paragraph"
            end = offset + len(line.rstrip())
        offset += len(line)
    if kind:
        yield _Block(start, end, kind)


def _cut(text: str, block: _Block, limit: int, focus: int) -> Piece:
    """A part of one block that is too long: whole lines or sentences from the focus's line on."""
    start = block.start
    if focus > start and tokens(text[start:focus]) > limit * _LINE_TOO_LONG:
        start = text.rfind("\n", block.start, focus) + 1 or block.start
        if focus - start > limit * 2:  # a long line: from the sentence on
            ends = [found.end() for found in _SENTENCE_END.finditer(text, start, focus)]
            start = ends[-1] + 1 if ends else start
    raw = text[start : block.end].encode("utf-8", "replace")[: max(0, limit) * 4].decode("utf-8", "ignore")
    line = raw.rfind("\n")
    sentences = [found.end() for found in _SENTENCE_END.finditer(raw)] if block.kind != "fence" else []
    natural = max(line, sentences[-1] if sentences else -1)
    if natural < len(raw) * _LINE_TOO_LONG:
        natural = raw.rfind(" ")
    end = start + (natural if natural > 0 else len(raw))
    closing = ""
    if block.kind == "fence" and start == block.start:
        opened = _FENCE.match(text[block.start :])
        closing = f"\n{opened['mark']}" if opened else ""
    return Piece(start, end, closing)
