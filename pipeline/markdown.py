"""Markdown's block structure by line: headings, sections and the units a chunk may be made of.

markdown-it-py parses blocks only (inline markup costs five times more and nobody here needs it).
Lines are those between line feeds, numbered from 0 in this module.
"""

from __future__ import annotations

from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark", {"maxNesting": 40}).enable("table")
_PARSER.core.ruler.enableOnly(["block"])


class Heading(NamedTuple):
    """A heading outside of lists and quotes: 1-6, its text, and its first line."""

    level: int
    text: str
    line: int


class Unit(NamedTuple):
    """A piece that is better not cut: lines [start, end), and the opening line if it is a fence."""

    start: int
    end: int
    fence: str = ""


class Outline(NamedTuple):
    """Blocks of a text. `lines[i]` is the offset of line i; one more entry marks the end."""

    lines: list[int]
    headings: list[Heading]
    units: list[Unit]
    code_lines: frozenset[int]
    """Lines inside of code fences and indented code, where nothing is a rule or a reference."""


def line_starts(text: str) -> list[int]:
    """Offsets of the lines, and the length of the text as a last entry."""
    starts = [0]
    position = text.find("\n")
    while position != -1:
        starts.append(position + 1)
        position = text.find("\n", position + 1)
    if starts[-1] != len(text):
        starts.append(len(text))
    elif not text:
        starts.append(0)
    return starts


def outline(text: str, body_start: int = 0) -> Outline:
    """Parse the body of a Markdown text; line numbers count from the start of the text."""
    lines = line_starts(text)
    count = len(lines) - 1
    first = text.count("\n", 0, body_start)
    # A lone CR would be a line end to the parser and not to us; the lengths stay equal.
    tokens = _PARSER.parse(text[body_start:].replace("\r", " "))
    headings: list[Heading] = []
    units: list[Unit] = []
    code: set[int] = set()
    for position, token in enumerate(tokens):
        if token.map is None or token.nesting == -1:
            continue
        start, end = first + token.map[0], min(first + token.map[1], count)
        if token.type in ("fence", "code_block"):
            code.update(range(start, end))
        if token.level == 0:
            if token.type == "heading_open":
                content = tokens[position + 1].content
                headings.append(Heading(int(token.tag[1]), _heading_text(content), start))
            if token.type not in ("bullet_list_open", "ordered_list_open"):
                units.append(Unit(start, end, _fence_line(text, lines, start, token)))
        elif token.level == 1 and token.type == "list_item_open":
            units.append(Unit(start, end))
    return Outline(lines, headings, _gapless(units, first, count), frozenset(code))


def source_outline(text: str) -> Outline:
    """Outline of a source file: no headings, blank-line separated blocks as units, all of it code."""
    lines = line_starts(text)
    count = len(lines) - 1
    units = []
    start = 0
    for line in range(1, count):
        blank_before = not text[lines[line - 1] : lines[line]].strip()
        if blank_before and text[lines[line] : lines[line + 1]][:1].strip():
            units.append(Unit(start, line))
            start = line
    units.append(Unit(start, count))
    return Outline(lines, [], units, frozenset(range(count)))


def _heading_text(content: str) -> str:
    return " ".join(content.split())


def _fence_line(text: str, lines: list[int], start: int, token: Token) -> str:
    return text[lines[start] : lines[start + 1]].strip() if token.type == "fence" else ""


def _gapless(units: list[Unit], first: int, count: int) -> list[Unit]:
    """Units in order that together cover lines [first, count): gaps go to the unit before."""
    result: list[Unit] = []
    cursor = first
    for unit in units:
        start, end = max(unit.start, cursor), max(unit.end, cursor)
        if end <= start:
            continue
        if result:
            result[-1] = result[-1]._replace(end=start)
        else:
            start = first
        result.append(Unit(start, end, unit.fence))
        cursor = end
    if result:
        result[-1] = result[-1]._replace(end=count)
    elif count > first:
        result.append(Unit(first, count))
    return result
