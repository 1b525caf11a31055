"""Rules of the files that tell agents how to work: CLAUDE.md, AGENTS.md, .claude/rules, Cursor's and Copilot's.

Mandatory or forbidden: MANDATORY, REQUIRED or FORBIDDEN in capitals (in code fences and tables, too, where
they lead), RFC 2119's MUST, SHALL and their negations in capitals, and the bullets under such headings.
Advisory: bullets and sentences that direct (never, always, must, do not, should), and bullets that begin with
an imperative verb or a mark such as ❌.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.extract.imperatives import is_imperative
from pipeline.text.markdown import Heading, Outline
from syntropy.contract.identity import slugify

_MARKER = re.compile(r"\b(MANDATORY|REQUIRED|FORBIDDEN)\b")
_RFC = re.compile(r"\b(?:MUST|SHALL)(\s+NOT)?\b")
"""RFC 2119's words for an absolute requirement; SHOULD and MAY leave a choice."""

_CAPITAL_NO = re.compile(r"^\W*(?:NEVER|D[Oo] NOT|DON['\u2019]T)\b")
_NONE = re.compile(r"\W*(?:no|none|nobody|nothing|neither)\b", re.IGNORECASE)
"""`No code MUST reach main unread` forbids."""

_REFRAIN = re.compile(r"\s+(?:avoid|never|refrain)\b", re.IGNORECASE)
_UNSAID = re.compile(r"(?:\bnot|\bno longer|n['\u2019]t|\bnever)\s+(?:be\s+|strictly\s+)?[*_`]*$", re.IGNORECASE)
"""`is not REQUIRED`, `no longer MANDATORY`: the word is denied."""

_CAPITAL_YES = re.compile(r"^\W*ALWAYS\b")
"""Written in capitals at the beginning, they are as strong as RFC 2119's."""

_DIRECTIVE = re.compile(
    r"\b(never|always|must(?!\s+have\s+\w+(?:ed|en)\b)(?:\s+not)?|shall(?:\s+not)?|should(?:\s+not|n['\u2019]t)?|(?:do\s+not|don['\u2019]t)(?!\s+(?:have|need)\s+to)|avoid|prefer)\b(?!-)",
    re.IGNORECASE,
)
_FIRST_WORDS = re.compile(
    r"^(?:(?:you|we|agents?|code|all|any|every|it|please|and|but|so|then|important|note|critical)\b[\s,:!*]*){0,3}",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s{0,12}(?:[-*+\u2022]|(\d{1,3}[.)]))\s+(?:\[[ xX]\]\s+)?")
_MARKS = re.compile(r"[*`]{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)|^#{1,6}\s+|^>+\s*")
_HEADING_MARKER = re.compile(r"\s*[-\u2013\u2014:(\[]*\s*\b(?:MANDATORY|REQUIRED|FORBIDDEN)\b\s*[)\]]*\s*:?\s*")
_LEADING = re.compile(r"^[\s>#/*\-+|;%<!\u2022]*(?:[^\w\s`'\"(\[{]\ufe0f?\s*){0,3}\**(MANDATORY|REQUIRED|FORBIDDEN)\b")
_ADJECTIVE = re.compile(r"\b(?:MANDATORY|REQUIRED|FORBIDDEN)\s+\w")
_TRAILING = re.compile(r"\s(?:#|//|--)\s*(MANDATORY|REQUIRED|FORBIDDEN)\b")
"""A comment at the end of a line of code that one of the three words leads."""

_COMMENT_MARKS = re.compile(r"^[\s>#/*\-+;%\u2022]+|(?:\*/|-->)\s*$")
_HTML_COMMENT = re.compile(r"^\s*<!--")
_NO = re.compile(r"^(?:\u274c|\U0001f6ab|\u26d4|\u2717|\u2718|\u2716)\ufe0f?\s*")
_YES = re.compile(r"^(?:\u2705|\u2713|\u2714)\ufe0f?\s*")
_NEGATIVE = re.compile(
    r"^\W*(?:never|don['\u2019]?t|do not|avoid|what not to|things? to avoid|prohibited|forbidden|not allowed)\b",
    re.IGNORECASE,
)
_NO_RULES = re.compile(
    r"\b(?:status|progress|completed|done|changelog|history|roadmap|todo|features?|overview|structure|contents|"
    r"examples?|setup|install(?:ation|ing)?|getting started|quick ?start|usage|commands|troubleshooting|references?|"
    r"resources|links|known issues|tech(?:nology)? stack|architecture)\b",
    re.IGNORECASE,
)
"""Headings under which a bullet that begins with a verb is a step, a feature or a state, and seldom a rule."""

_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]*_`]*\s+(?=[\"'(\[*_`]*[A-Z\u2705\u274c])")
_ASIDE = re.compile(r"\([^()]*\)")
_CLAUSE = re.compile(r"\s[-\u2013\u2014]\s|[;:]\s")
_PATH = re.compile(r"[\w./*@-]+")

SUBJECT_WORDS = 7
"""A directive stands behind its subject: in 20 rule files, 9 of 10 within so many words."""

MAX_TEXT = 500


class Rule(NamedTuple):
    """A directive; `label` is not yet unique, `line` counts from 1."""

    label: str
    severity: str
    text: str
    heading: str
    line: int


def extract_rules(text: str, outline: Outline, *, dedicated: bool = False) -> list[Rule]:
    """The rules of one file, in order. In a `dedicated` file of rules, sentences that command are rules, too."""
    by_line = {h.line: h for h in outline.headings}
    rules: list[Rule] = []
    stack: list[tuple[Heading, str]] = []
    first = outline.units[0].start if outline.units else 0
    number, last = first, len(outline.lines) - 1
    while number < last:
        raw = _line(text, outline, number)
        if number in outline.code_lines or _is_row(raw):
            table_head = number + 1 < last and _is_table_rule(_line(text, outline, number + 1))
            if not table_head and (found := _leading_rule(raw, number, stack[-1][0].text if stack else "")):
                rules.append(found)
            number += 1
            continue
        if heading := by_line.get(number):
            while stack and stack[-1][0].level >= heading.level:
                stack.pop()
            severity = _marked(heading.text)
            if severity and re.search(r"\w", _titled(heading.text)):
                rules.append(_rule(severity, _titled(heading.text), "", number))
            marks_all = "" if _ADJECTIVE.search(heading.text) else severity
            stack.append((heading, marks_all or (stack[-1][1] if stack else "")))
            number += 1
            continue
        end = number + 1
        while raw.strip() and end < last and _continues(text, outline, end, by_line):
            raw += " " + _line(text, outline, end).strip().lstrip("> ")
            end += 1
        rules += _item_rules(raw, number, stack, dedicated=dedicated)
        number = end
    return rules


def _line(text: str, outline: Outline, number: int) -> str:
    return text[outline.lines[number] : outline.lines[number + 1]].strip("\r\n")


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|")


def _is_table_rule(line: str) -> bool:
    """`|---|:--|`, below the head of a table."""
    return "-" in line and set(line) <= set(" \t:|-")


def _is_place(content: str) -> bool:
    """`src/flow.ts \u2014 what it does`: a bullet that describes a file."""
    first, _, behind = content.partition(" ")
    if not behind or ("/" not in first and "." not in first):
        return False
    return first.endswith("/") or (
        behind.lstrip()[:1] in tuple("-\u2013\u2014(:") and _PATH.fullmatch(first) is not None
    )


def _continues(text: str, outline: Outline, number: int, headings: dict[int, Heading]) -> bool:
    """Does this line go on with the bullet or paragraph above it?"""
    line = _line(text, outline, number)
    return (
        bool(line.strip())
        and number not in outline.code_lines
        and number not in headings
        and not (
            _BULLET.match(line)
            or _NO.match(line)
            or _YES.match(line)
            or line.lstrip().startswith(("|", "<!--", "```"))
            or set(line.strip()) <= set("-=*_ ")
            or _begins_anew(_line(text, outline, number - 1), line.strip())
        )
    )


def _begins_anew(before: str, line: str) -> bool:
    """Lists of directives are often written as lines without bullets."""
    if not line[:1].isupper() or before.rstrip().endswith((",", ";", "-", "(")):
        return False
    plain = _plain(line)
    return _DIRECTIVE.match(plain) is not None or is_imperative(plain)


def _leading_rule(raw: str, number: int, heading: str) -> Rule | None:
    """In a code fence or table: a line or cell that one of the three words leads."""
    cells = [cell.strip() for cell in raw.strip().strip("|").split("|")] if _is_row(raw) else [raw]
    marked = next((match for cell in cells if (match := _LEADING.match(cell))), None)
    marked = marked or (None if _is_row(raw) else _TRAILING.search(raw))
    if marked is None:
        return None
    content = " \u2014 ".join(_COMMENT_MARKS.sub("", cell).strip() for cell in cells if cell)
    severity = "forbidden" if marked.group(1) == "FORBIDDEN" else "mandatory"
    return _rule(severity, content, heading, number) if len(content) > len(marked.group(1)) + 3 else None


def _item_rules(raw: str, number: int, stack: list[tuple[Heading, str]], *, dedicated: bool) -> Iterator[Rule]:
    """The rules a bullet or paragraph states."""
    if not raw.strip() or _HTML_COMMENT.match(raw):
        return
    heading = stack[-1][0].text if stack else ""
    bullet = _BULLET.match(raw)
    body = raw[bullet.end() :] if bullet else raw
    is_item = bullet is not None or _NO.match(body) is not None or _YES.match(body) is not None
    if severity := _marked(body):
        if len(_plain(body)) >= 4:
            yield _rule(severity, body, heading, number)
        return
    if is_item:
        content = _plain(body)
        inherited = stack[-1][1] if bullet and stack and not raw.startswith(("   ", "\t")) else ""
        numbered = bool(bullet and bullet.group(1))
        severity = inherited or _advised(content, [h.text for h, _ in stack], numbered=numbered)
        if (
            not severity
            and dedicated
            and not content.endswith((":", "?"))
            and len(content.split()) > 2
            and not _is_place(content)
        ):
            severity = "advisory"  # a file of nothing but rules: each of its bullets is one
        if severity and len(content) >= 4:
            negated = not inherited and bool(_NEGATIVE.match(_plain(heading))) and not _DIRECTIVE.search(content)
            content = f"{_plain(heading).rstrip(':')}: {content}" if negated else content
            yield _rule(severity, content, heading, number)
        return
    for sentence in _SENTENCE.split(body):
        content = _plain(sentence)
        if len(content) >= 8 and not content.endswith((":", "?")):
            command = dedicated and is_imperative(content) and len(content.split()) > 2
            if severity := _rfc(content) or ("advisory" if command or _directs(content) else ""):
                yield _rule(severity, content, heading, number)


def _advised(content: str, headings: list[str], *, numbered: bool) -> str:
    """Severity of a bullet by its own words and the headings it stands under; empty where it directs nothing."""
    if severity := _rfc(content):
        return severity
    if content.endswith("?") or content[:1] in '"\u201c':  # a question, or what somebody may say
        return ""
    if _bullet_directs(content):
        return "advisory"
    here = headings[-1] if headings else ""
    if _NEGATIVE.match(_plain(here)):
        return "forbidden" if re.match(r"\W*(?:forbidden|prohibited|not allowed)", here, re.IGNORECASE) else "advisory"
    bare = _YES.sub("", _NO.sub("", content))
    if bare != content:
        said = _NO.match(content) is not None and re.match(r"(?:no|not|don['\u2019]t|using|use)\b", bare, re.IGNORECASE)
        return "advisory" if said or is_imperative(bare) else ""
    steps = numbered or any(_NO_RULES.search(heading) for heading in headings[-2:])
    return "advisory" if not steps and is_imperative(content) else ""


def _bullet_directs(content: str) -> bool:
    """Does a sentence of a bullet, or what follows its dash or colon, direct near its beginning?"""
    for sentence in _SENTENCE.split(_ASIDE.sub("", content)):
        found = _DIRECTIVE.search(sentence)
        if found and len(sentence[: found.start()].split()) <= SUBJECT_WORDS and not _is_place(sentence):
            return True
        if any(_directs(clause) for clause in _CLAUSE.split(sentence)[1:]):
            return True
    return False


def _directs(content: str) -> bool:
    """Prose counts when it is a directive itself, not a story that holds the word."""
    lead = _FIRST_WORDS.match(content)
    begin = lead.end() if lead else 0
    found = _DIRECTIVE.search(content)
    if found is None:
        return False
    return found.start() <= begin or len(content[: found.start()].split()) <= 2


def _rfc(content: str) -> str:
    if content == content.upper():  # all in capitals: no word stands out
        return ""
    match = _RFC.search(content)
    if match is None:
        return "forbidden" if _CAPITAL_NO.search(content) else "mandatory" if _CAPITAL_YES.search(content) else ""
    none = match.group(1) or _NONE.match(content) or _REFRAIN.match(content, match.end())
    return "forbidden" if none else "mandatory"


def _marked(text: str) -> str:
    match = _MARKER.search(text)
    if not match or _UNSAID.search(text[max(0, match.start() - 40) : match.start()]):
        return ""
    return "forbidden" if match.group(1) == "FORBIDDEN" else "mandatory"


def _titled(heading: str) -> str:
    """A heading without its mark, unless the mark is part of what it says (`REQUIRED READING: …`)."""
    return heading if _ADJECTIVE.search(heading) else _HEADING_MARKER.sub(" ", heading)


def _rule(severity: str, text: str, heading: str, number: int) -> Rule:
    plain = _plain(text)[:MAX_TEXT]
    label = slugify(_HEADING_MARKER.sub(" ", plain) or plain, max_length=50) or f"rule-line-{number + 1}"
    return Rule(label, severity, plain, heading, number + 1)


def _plain(text: str) -> str:
    """Text without Markdown's emphasis, code and heading marks."""
    return " ".join(_MARKS.sub("", text.strip()).split())
