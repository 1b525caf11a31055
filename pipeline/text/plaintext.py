"""Headings and blocks of texts that are not Markdown: reStructuredText and AsciiDoc.

They are indexed as they are written, so that a citation is a line of the file; only their headings and
code blocks are recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from pipeline.text.markdown import MAX_HEADING, Heading, Outline, Unit, line_starts

_ADORNMENT = re.compile(r"^([!-/:-@\[-`{-~])\1{2,}\s*$")
_ASCIIDOC = re.compile(r"^(={1,6}|#{1,6})\s+(\S.*?)(?:\s+\1)?\s*$")
_ASCIIDOC_FENCE = re.compile(r"^(-{4,}|\.{4,}|```+)\s*(?:\w+)?\s*$")
_RST_CODE = re.compile(r"^(\s*)(?:\.\.\s+(?:code|code-block|sourcecode|literalinclude)::|(?!\.\. ).*::\s*$)")


def text_outline(text: str, path: str) -> Outline:
    """Outline of a text by the file's suffix; `.txt` has paragraphs only."""
    lines = line_starts(text)
    rows = [text[a:b].rstrip("\r\n") for a, b in pairwise(lines)]
    if path.endswith((".rst", ".rest")):
        code, headings = _rst(rows)
    elif path.endswith((".adoc", ".asciidoc")):
        code, headings = _asciidoc(rows)
    else:
        code, headings = set(), []
    return Outline(lines, headings, list(_units(rows, code, {h.line for h in headings})), frozenset(code))


def _rst(rows: list[str]) -> tuple[set[int], list[Heading]]:
    """A line underlined (and perhaps overlined) by one punctuation mark; levels by first use."""
    code = _rst_code(rows)
    styles: list[tuple[str, bool]] = []
    headings = []
    for number in range(1, len(rows)):
        title = rows[number - 1].rstrip()
        mark = _ADORNMENT.match(rows[number])
        if not mark or not title.strip() or number in code or _ADORNMENT.match(title):
            continue
        if len(rows[number].rstrip()) < len(title.strip()) - 2:
            continue
        over = number >= 2 and rows[number - 2].strip() == rows[number].strip()
        if title[0].isspace() and not over:
            continue
        style = (mark.group(1), over)
        if style not in styles:
            styles.append(style)
        level = min(6, styles.index(style) + 1)
        headings.append(Heading(level, title.strip()[:MAX_HEADING], number - 2 if over else number - 1))
    return code, headings


def _rst_code(rows: list[str]) -> set[int]:
    code: set[int] = set()
    number = 0
    while number < len(rows):
        match = _RST_CODE.match(rows[number])
        number += 1
        if not match:
            continue
        indent = len(match.group(1))
        while number < len(rows) and (
            not rows[number].strip() or len(rows[number]) - len(rows[number].lstrip()) > indent
        ):
            code.add(number)
            number += 1
    return code


def _asciidoc(rows: list[str]) -> tuple[set[int], list[Heading]]:
    code: set[int] = set()
    headings = []
    closing = ""
    for number, row in enumerate(rows):
        fence = _ASCIIDOC_FENCE.match(row)
        if closing:
            code.add(number)
            closing = "" if row.strip() == closing else closing
        elif fence:
            code.add(number)
            closing = fence.group(1)
        elif match := _ASCIIDOC.match(row):
            headings.append(Heading(len(match.group(1)), match.group(2)[:MAX_HEADING], number))
    return code, headings


def _units(rows: list[str], code: set[int], headings: set[int]) -> Iterator[Unit]:
    """Paragraphs with the blank lines behind them; a heading begins one, code does not end one."""
    start = 0
    for number in range(1, len(rows)):
        begins = number in headings or (
            not rows[number - 1].strip() and bool(rows[number].strip()) and number not in code
        )
        if begins:
            yield Unit(start, number)
            start = number
    if rows:
        yield Unit(start, len(rows))
