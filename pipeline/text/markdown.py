"""Markdown's block structure by line: headings, sections and the units a chunk may be made of.

pyromark (pulldown-cmark) parses: CommonMark with tables, ten times as fast as parsers in Python. Lines
are those between line feeds, numbered from 0 in this module.
"""

from __future__ import annotations

import bisect
from itertools import accumulate
from typing import Any, NamedTuple

import pyromark

MAX_HEADING = 300
"""Characters of a heading that count; longer ones are accidents."""

_HTML_EVENTS = frozenset({"InlineHtml", "Html"})
"""Anchors such as `<a name="…">` are not words of a heading, unless it has no others (`# <Template>`)."""

_PARSER = pyromark.Markdown(options=pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_FOOTNOTES)


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
    """Lines inside code fences and indented code, where nothing is a rule or a reference."""


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
    found = _Blocks(text[body_start:].replace("\r", " "), text, lines, first)
    return Outline(lines, found.headings, _gapless(found.units, first, count), frozenset(found.code))


class _Blocks:
    """Headings, units and lines of code out of the parser's events (whose ranges are bytes)."""

    def __init__(self, body: str, text: str, lines: list[int], first: int) -> None:
        self._text, self._lines, self._first, self._count = text, lines, first, len(lines) - 1
        self._starts = list(accumulate((len(line) + 1 for line in body.encode().split(b"\n")[:-1]), initial=0))
        self.headings: list[Heading] = []
        self.units: list[Unit] = []
        self.code: set[int] = set()
        self._read(body)

    def _read(self, body: str) -> None:
        depth, heading_level, in_list = 0, 0, False
        words: list[str] = []
        tags: list[str] = []
        for event, span in _PARSER.events_with_range(body):
            if isinstance(event, str):
                if heading_level and event in ("SoftBreak", "HardBreak"):
                    words.append(" ")
                elif event == "Rule" and depth == 0:
                    self._unit(span)
                continue
            if "Start" in event:
                started: Any = event["Start"]
                kind = started if isinstance(started, str) else next(iter(started))
                if kind == "CodeBlock":
                    self.code.update(range(*self._span(span)))
                if depth == 0 and kind == "Heading":
                    heading_level, words, tags = int(started["Heading"]["level"][1]), [], []
                if depth == 0:
                    in_list = kind == "List"
                    if not in_list:
                        self._unit(span, fenced=kind == "CodeBlock" and "Fenced" in str(started))
                elif depth == 1 and in_list and kind == "Item":
                    self._unit(span)
                depth += 1
            elif "End" in event:
                depth -= 1
                if depth == 0 and heading_level:
                    line = self._span(span)[0]
                    text = " ".join("".join(words).split()) or " ".join("".join(tags).split())
                    self.headings.append(Heading(heading_level, text[:MAX_HEADING], line))
                    heading_level = 0
            elif heading_level:
                (words, tags)[bool(_HTML_EVENTS & event.keys())].append(str(next(iter(event.values()))))

    def _unit(self, span: Any, *, fenced: bool = False) -> None:
        start, end = self._span(span)
        opening = self._text[self._lines[start] : self._lines[start + 1]].strip() if fenced else ""
        self.units.append(Unit(start, end, opening))

    def _span(self, span: Any) -> tuple[int, int]:
        """Lines [first, behind) of a range of bytes."""
        start = bisect.bisect_right(self._starts, span["start"]) - 1
        end = bisect.bisect_left(self._starts, span["end"], start + 1)
        return self._first + start, min(self._first + end, self._count)


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
