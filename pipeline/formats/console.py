"""Commands of a console written in TypeScript, read from its source and never run (TASK-KB-008).

A command is a path of words that the source tests its input for (`console_words`). `Usage:` texts give the
syntax, help tables (objects, arrays, JSX rows, printed lines) the description.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.formats.command_texts import DESCRIPTION_KEYS
from pipeline.formats.console_words import Command, Interpreter
from pipeline.formats.entries import GENERATED, page_of
from pipeline.formats.page import Page, Pages, fence, one_line, table
from pipeline.formats.typescript import broken_at, line_of, literal, parse, text_of, walk
from pipeline.ground.deadline import tried
from syntropy.contract.identity import slugify

if TYPE_CHECKING:
    from tree_sitter import Node

_COMMAND_KEYS = ("command", "cmd", "usage", "syntax", "name")
_PLACEHOLDER = re.compile(r"<[^>]*>|\[[^\]]*\]|\{[^}]*\}|--\S+|\.\.\.|\$\S*")
_ROWS = ("tr", "li", "dl", "div", "p")
_PRINTED = re.compile(r"\s*(\S.*?)(?:\s{2,}|\s+[-–—:]+\s+|\t+)(?:[-–—:]\s+)?(\S.*)")
_Table = dict[tuple[str, ...], tuple[str, str, int, bool]]
"""Words of a command -> its description, its syntax, the line, and whether the row can be of nothing else."""


class Shared(NamedTuple):
    """What the consoles of one project know together: rows of help tables, and the words of every command."""

    rows: _Table
    known: frozenset[tuple[str, ...]]


NOTHING_SHARED = Shared({}, frozenset())


def gather(files: Iterable[tuple[str, str]]) -> Shared:
    """From (text, path) of all files of a project that are read as consoles: help is often a file of its own."""
    rows: _Table = {}
    known: set[tuple[str, ...]] = set()
    interpreters: list[tuple[Node, Interpreter]] = []
    for text, path in files:
        with tried():
            root = parse(text, path)
            interpreter = Interpreter(root)
            known |= {words for c in interpreter.commands() for words in (c.words, *c.aliases)}
            interpreters.append((root, interpreter))
    for root, interpreter in interpreters:
        with tried():
            for words, row in _rows(root, interpreter.constants, known):
                rows.setdefault(words, row)
    return Shared(rows, frozenset(known))


def pages(text: str, path: str, shared: Shared = NOTHING_SHARED) -> Pages:
    """One page of kind `command` each. A help table's commands that no handler takes are reported."""
    found = Pages()
    root = parse(text, path)
    if line := broken_at(root):
        found.problem("typescript-syntax", line, "is not valid TypeScript there", "fix it; the rest is read")
    commands, orphans = read_commands(root, shared)
    name = path.rpartition("/")[2].partition(".")[0]
    category = slugify(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name))
    for command in commands:
        found.add(command_page(command, path, category), command.line)
    for spelled, line in orphans:
        found.problem(
            "gone-command", line, f"the help table names {spelled!r}, which no handler takes", "fix the table"
        )
    if not commands and not any(words in shared.known for words, _ in _rows(root, {}, set())):
        found.problem("no-commands", 0, "holds no switch or if chain on the words of an input", "exclude it")
    return found


def command_page(command: Command, path: str, category: str) -> Page:
    """A command as a page: syntax, place, aliases."""
    spelled = " ".join(command.words)
    syntax = command.usage or spelled
    more = [f"**Options:**\n\n{table(['Parameter', 'Meaning'], command.options)}"] if command.options else []
    entry = {
        "id": f"cmd-{slugify(spelled)}" if slugify(spelled) else f"cmd-line-{command.line}",
        "type": "command",
        "title": syntax,
        "category": category,
        "subcategory": command.words[1] if len(command.words) > 2 else "",
        "summary": command.description,
        "content": "\n\n".join(
            [f"**Syntax:**\n\n{fence(syntax)}", *more, f"Handled in `{path}`, line {command.line}."]
        ),
        "keywords": list(dict.fromkeys(command.words)),
        "aliases": [" ".join(alias) for alias in command.aliases] + ([spelled] if syntax != spelled else []),
        "source": f"{GENERATED}{path}",
    }
    return page_of(entry)


def read_commands(root: Node, shared: Shared = NOTHING_SHARED) -> tuple[list[Command], list[tuple[str, int]]]:
    """Commands in the order of the source, and (words, line) of its help tables that no handler takes."""
    interpreter = Interpreter(root)
    commands = interpreter.commands()
    spellings = [(words, command) for command in commands for words in (command.words, *command.aliases)]
    known = {words for words, _ in spellings} | shared.known
    own: _Table = {}
    for words, row in _rows(root, interpreter.constants, known):
        own.setdefault(words, row)
    for words, command in spellings:
        about, usage = (own.get(words) or shared.rows.get(words) or ("", ""))[:2]
        command.description = about or command.description
        command.usage = command.usage or usage
    for command in commands:
        command.description = command.description or command.heading
    first_words = {words[0] for words in known}
    groups = {words[:n] for words in known for n in range(1, len(words))}
    orphans = [
        (" ".join(words), line)
        for words, (_, _, line, certain) in own.items()
        if certain
        and words[0] in first_words
        and words not in groups
        and not any(words[:n] in known for n in range(1, len(words) + 1))
    ]
    return commands, orphans


def _rows(
    root: Node, constants: dict[str, Any], known: Set[tuple[str, ...]]
) -> Iterator[tuple[tuple[str, ...], tuple[str, str, int, bool]]]:
    yield from _declared(root, constants)
    yield from _drawn(root)
    yield from _printed(root, known)


def command_words(text: str) -> tuple[str, ...]:
    """A command's fixed words: without placeholders, options and what follows them."""
    cut = _PLACEHOLDER.search(text)
    return tuple((text[: cut.start()] if cut else text).split())


def _declared(root: Node, constants: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], tuple[str, str, int, bool]]]:
    """Rows of objects and arrays that look like a table of commands."""
    for node in walk(root):
        if node.type != "object":
            continue
        value = literal(node, constants)
        texts = {key: item for key, item in value.items() if isinstance(item, str)}
        command = next((texts[key] for key in _COMMAND_KEYS if key in texts), "")
        description = next((texts[key] for key in DESCRIPTION_KEYS if key in texts), "")
        rows = [(command, description)] if command and description else []
        if not rows and texts and len(texts) == len(value) and any(" " in key for key in texts):
            rows = list(texts.items())
        for spelled, about in rows:
            if words := command_words(spelled):
                yield words, (one_line(about), one_line(spelled), line_of(node), True)


def _drawn(root: Node) -> Iterator[tuple[tuple[str, ...], tuple[str, str, int, bool]]]:
    """Rows of a help page in JSX: an element of two others, the command and what it does."""
    for node in walk(root):
        if node.type != "jsx_element":
            continue
        name = node.named_children[0].child_by_field_name("name")
        if name is None or text_of(name) not in _ROWS:
            continue
        cells = [c for c in node.named_children if c.type == "jsx_element"]
        texts = [_jsx_text(cell) for cell in cells]
        if len(texts) == 2 and all(texts) and (words := command_words(texts[0])):
            yield words, (texts[1], texts[0], line_of(node), text_of(name) == "tr")


def _jsx_text(node: Node) -> str:
    """What an element shows, on one line; empty where it shows more than texts."""
    parts: list[str] = []
    for below in walk(node):
        if below.type in ("jsx_text", "html_character_reference"):
            parts.append(html.unescape(text_of(below)))
        elif below.type == "jsx_expression" and below.named_children:
            value = literal(below.named_children[0])
            if not isinstance(value, str):
                return ""
            parts.append(value)
    return one_line("".join(parts))


def _printed(root: Node, known: Set[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], tuple[str, str, int, bool]]]:
    """Lines of printed help that begin with a known command: `  users list    Lists all users`."""
    for node in walk(root):
        if node.type not in ("string", "template_string"):
            continue
        text = literal(node)
        for line in text.splitlines() if isinstance(text, str) and "  " in text else ():
            match = _PRINTED.fullmatch(line.rstrip())
            if match and (words := command_words(match.group(1))) in known and not match.group(2).startswith("-"):
                yield words, (one_line(match.group(2)), one_line(match.group(1)), line_of(node), False)
