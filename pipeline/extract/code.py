"""What a source file says about itself: Python through griffe, other languages by their head comment.

Nothing is imported or run.
"""

from __future__ import annotations

import ast
import logging
import re
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from pipeline.ground.diagnostics import Problem
from pipeline.text.markdown import Heading, line_starts

logging.getLogger("griffe").setLevel(logging.CRITICAL)  # its warnings would reach the terminal


class CodeFacts(NamedTuple):
    """The describing text, the 0-based lines it stands on, and public functions and classes."""

    description: str
    lines: frozenset[int]
    members: list[Heading]
    origin: str
    problem: Problem | None = None


def describe_python(text: str, name: str) -> CodeFacts:
    """Module docstring and public functions, classes and methods, with their lines."""
    import griffe  # 60 ms, and only projects with Python examples need it

    try:
        ast.parse(text)  # griffe reports syntax errors without a line
        module = griffe.visit(name, Path(f"{name}.py"), text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", 0) or 0
        fallback = describe_by_comment(text)
        problem = Problem("python-syntax", line, f"is not valid Python: {error}", "fix it; it is indexed as plain text")
        return fallback._replace(problem=problem)
    members: list[Heading] = []
    for member in module.members.values():
        if member.is_alias or not member.is_public or member.lineno is None:
            continue
        if member.is_function or member.is_class:
            members.append(Heading(2, member.name, _first_line(member)))
        if member.is_class:
            members += [
                Heading(3, f"{member.name}.{method.name}", _first_line(method))
                for method in member.members.values()
                if not method.is_alias and method.is_function and method.is_public and method.lineno is not None
            ]
    members.sort(key=lambda m: m.line)
    if module.docstring is None:
        comment = describe_by_comment(text)
        return CodeFacts(comment.description, comment.lines, members, comment.origin)
    docstring = module.docstring
    covered = range((docstring.lineno or 1) - 1, docstring.endlineno or docstring.lineno or 1)
    return CodeFacts(docstring.value, frozenset(covered), members, "docstring")


def _first_line(member: object) -> int:
    """0-based line of a definition, its decorators included."""
    decorators = [d.lineno for d in getattr(member, "decorators", []) if d.lineno]
    return int(min([*decorators, member.lineno])) - 1  # type: ignore[attr-defined]


_LINE_COMMENT = re.compile(r"^\s*(?:#(?!!)|//+|--|;+|%+)\s?(.*)$")
_SKIP = re.compile(r"^\s*(?:#!.*|<\?php|['\"]use strict['\"];?|# -\*-.*|package\s+\w+;?)?\s*$")
_BLOCKS = (("/*", "*/"), ("<!--", "-->"), ("--[[", "]]"), ('"""', '"""'), ("'''", "'''"), ("{-", "-}"), ("(*", "*)"))


def describe_by_comment(text: str) -> CodeFacts:
    """The comment a file begins with, marks removed."""
    starts = line_starts(text)
    lines = [text[a:b].rstrip("\r\n") for a, b in pairwise(starts)]
    position = 0
    while position < len(lines) and _SKIP.match(lines[position]):
        position += 1
    if position == len(lines):
        return CodeFacts("", frozenset(), [], "comment")
    head = lines[position].lstrip()
    for opening, closing in _BLOCKS:
        if head.startswith(opening):
            return _block_comment(lines, position, opening, closing)
    covered = position
    found = []
    while covered < len(lines) and (match := _LINE_COMMENT.match(lines[covered])):
        found.append(match.group(1).rstrip())
        covered += 1
    return CodeFacts("\n".join(found).strip(), frozenset(range(position, covered)), [], "comment")


def _block_comment(lines: list[str], start: int, opening: str, closing: str) -> CodeFacts:
    found = []
    for number in range(start, len(lines)):
        line = lines[number]
        if number == start:
            line = line.lstrip()[len(opening) :]
        end = line.find(closing)
        body = line if end < 0 else line[:end]
        found.append(re.sub(r"^\s*\*+(?!\*)\s?", "", body).rstrip() if opening == "/*" else body.strip())
        if end >= 0:
            return CodeFacts("\n".join(found).strip("\n* "), frozenset(range(start, number + 1)), [], "comment")
    return CodeFacts("", frozenset(), [], "comment")  # never closed: no description
