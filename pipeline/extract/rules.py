"""Rules of CLAUDE.md, AGENTS.md and RULES.md.

Mandatory or forbidden: lines that hold MANDATORY, REQUIRED or FORBIDDEN, and the bullets under such
headings. Advisory: bullets and sentences with never, always, must or do not. Code fences hold no rules.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pipeline.text.markdown import Heading, Outline
from syntropy.contract.identity import slugify

_MARKER = re.compile(r"\b(MANDATORY|REQUIRED|FORBIDDEN)\b")
_DIRECTIVE = re.compile(r"\b(never|always|must(?: not)?|do not|don['\u2019]t)\b(?!-)", re.IGNORECASE)
_BULLET = re.compile(r"^\s{0,12}(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_MARKS = re.compile(r"[*`]{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)|^#{1,6}\s+|^>+\s*")
_HEADING_MARKER = re.compile(r"\s*[-\u2013\u2014:(\[]*\s*\b(?:MANDATORY|REQUIRED|FORBIDDEN)\b\s*[)\]]*\s*:?\s*")
_HTML_COMMENT = re.compile(r"^\s*<!--")
MAX_TEXT = 500


class Rule(NamedTuple):
    """A directive; `label` is not yet unique, `line` counts from 1."""

    label: str
    severity: str
    text: str
    heading: str
    line: int


def extract_rules(text: str, outline: Outline) -> list[Rule]:
    """The rules of one file, in order."""
    by_line = {h.line: h for h in outline.headings}
    rules: list[Rule] = []
    stack: list[tuple[Heading, str]] = []
    first = outline.units[0].start if outline.units else 0
    number, last = first, len(outline.lines) - 1
    while number < last:
        if number in outline.code_lines:
            number += 1
            continue
        raw = _line(text, outline, number)
        if heading := by_line.get(number):
            while stack and stack[-1][0].level >= heading.level:
                stack.pop()
            severity = _marked(heading.text)
            if severity:
                rules.append(_rule(severity, _HEADING_MARKER.sub(" ", heading.text), "", number))
            stack.append((heading, severity or (stack[-1][1] if stack else "")))
            number += 1
            continue
        end = number + 1
        while raw.strip() and end < last and _continues(text, outline, end, by_line):
            raw += " " + _line(text, outline, end).strip().lstrip("> ")
            end += 1
        rule = _item_rule(raw, number, stack)
        if rule:
            rules.append(rule)
        number = end
    return rules


def _line(text: str, outline: Outline, number: int) -> str:
    return text[outline.lines[number] : outline.lines[number + 1]].strip("\r\n")


def _continues(text: str, outline: Outline, number: int, headings: dict[int, Heading]) -> bool:
    """Does this line go on with the bullet or paragraph above it?"""
    line = _line(text, outline, number)
    return (
        bool(line.strip())
        and number not in outline.code_lines
        and number not in headings
        and not (
            _BULLET.match(line) or line.lstrip().startswith(("|", "<!--", "```")) or set(line.strip()) <= set("-=*_ ")
        )
    )


def _item_rule(raw: str, number: int, stack: list[tuple[Heading, str]]) -> Rule | None:
    """The rule a bullet or paragraph states, or None."""
    if not raw.strip() or _HTML_COMMENT.match(raw) or raw.lstrip().startswith("|"):
        return None
    heading = stack[-1][0].text if stack else ""
    bullet = _BULLET.match(raw)
    content = _plain(raw[bullet.end() :] if bullet else raw)
    if len(content) < 4:
        return None
    severity = _marked(raw)
    if not severity and bullet and stack and not raw.startswith(("   ", "\t")):
        severity = stack[-1][1]
    if not severity and _DIRECTIVE.search(content) and (bullet or _imperative(content)):
        severity = "advisory"
    return _rule(severity, content, heading, number) if severity else None


def _imperative(content: str) -> bool:
    """Prose counts when it is a directive itself, not a story that holds the word."""
    found = _DIRECTIVE.search(content)
    return found is not None and len(content[: found.start()].split()) <= 2


def _marked(text: str) -> str:
    match = _MARKER.search(text)
    if not match:
        return ""
    return "forbidden" if match.group(1) == "FORBIDDEN" else "mandatory"


def _rule(severity: str, text: str, heading: str, number: int) -> Rule:
    plain = _plain(text)[:MAX_TEXT]
    label = slugify(_HEADING_MARKER.sub(" ", plain) or plain, max_length=50) or f"rule-line-{number + 1}"
    return Rule(label, severity, plain, heading, number + 1)


def _plain(text: str) -> str:
    """Text without Markdown's emphasis, code and heading marks."""
    return " ".join(_MARKS.sub("", text.strip()).split())
