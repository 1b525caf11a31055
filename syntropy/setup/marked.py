"""A block of ours in somebody else's text file: put at its end between marks, updated there, taken out again."""

from __future__ import annotations

import re
from typing import NamedTuple

_NAME = "syntropy"
_NO_EOL = " (the file had no line end)"


class Marks(NamedTuple):
    """How a comment begins and ends in a kind of file."""

    before: str
    behind: str


MARKDOWN, HASH = Marks("<!-- ", " -->"), Marks("# ", "")


def put(text: str, block: str, marks: Marks) -> str:
    """The text with the block: in place of a former one, else at the end. Line ends are those of the file."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    lines = block.strip("\n").split("\n")
    former = _pattern(marks).search(text)
    bare = former is not None and _NO_EOL in former[0] if former else bool(text) and not text.endswith("\n")
    made = line_end.join(
        [_mark(marks, "begin") + (_NO_EOL if bare else "") + marks.behind, *lines, _mark(marks, "end") + marks.behind]
    )
    if former:
        return text[: former.start("block")] + made + text[former.end("block") :]
    gap = "" if not text else line_end * (2 if bare else 1)
    return f"{text}{gap}{made}{line_end}"


def taken(text: str, marks: Marks) -> str:
    """The text without the block and what was put around it."""
    found = _pattern(marks).search(text)
    if not found:
        return text
    before, behind = text[: found.start()], text[found.end() :]
    if re.search(r"\n\r?\n$", before):
        before = _without_line_end(before)  # the blank line that was put there
        if _NO_EOL in found[0] and not behind.strip():
            before = _without_line_end(before)
    return before + behind


def _without_line_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _mark(marks: Marks, name: str) -> str:
    return f"{marks.before}{_NAME}:{name}"


def _pattern(marks: Marks) -> re.Pattern[str]:
    begin, end = (re.escape(_mark(marks, name)) for name in ("begin", "end"))
    return re.compile(
        rf"^(?P<block>{begin}[^\n]*\n.*?^{end}{re.escape(marks.behind)})[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
    )
