"""Commands of a console written in TypeScript, read from its source and never run (TASK-KB-008).

A command is a path of words: `switch` statements and `if` chains on the words of the input, nested or in
handler functions that are called with the words. Cases that fall through give aliases, `Usage:` texts the
syntax, help tables the description. A `switch` on anything but input words is none of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipeline.formats.entries import GENERATED, page_of
from pipeline.formats.page import Pages, fence, one_line
from pipeline.formats.typescript import broken_at, line_of, literal, parse, text_of, walk
from syntropy.contract.identity import slugify

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 12
"""Words of a command, and handlers that call each other."""

_FUNCTIONS = (
    "function_declaration",
    "arrow_function",
    "function_expression",
    "method_definition",
    "generator_function_declaration",
)
_TEXTS = ("string", "template_string", "binary_expression")
_FOLDING = ("toLowerCase", "toUpperCase", "trim", "toString")
_COMMAND_KEYS = ("command", "cmd", "usage", "syntax", "name")
_DESCRIPTION_KEYS = ("description", "desc", "help", "summary", "text")
_PLACEHOLDER = re.compile(r"<[^>]*>|\[[^\]]*\]|\{[^}]*\}|--\S+|\.\.\.")
_SLICE = re.compile(r"\.(?:slice|splice|split|filter|map)\(")


@dataclass
class Command:
    """A command: its words, other spellings, syntax as a usage text has it, line of its case."""

    words: tuple[str, ...]
    line: int
    aliases: list[tuple[str, ...]] = field(default_factory=list)
    usage: str = ""
    description: str = ""


def pages(text: str, path: str) -> Pages:
    """One page of kind `command` each. A help table's commands that no handler takes are reported."""
    found = Pages()
    root = parse(text, path)
    if line := broken_at(root):
        found.problem("typescript-syntax", line, "is not valid TypeScript there", "fix it; the rest is read")
    commands, orphans = read_commands(root)
    name = path.rpartition("/")[2].partition(".")[0]
    category = slugify(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name))
    for command in commands:
        spelled = " ".join(command.words)
        syntax = command.usage or spelled
        entry = {
            "id": f"cmd-{slugify(spelled)}" if slugify(spelled) else f"cmd-line-{command.line}",
            "type": "command",
            "title": syntax,
            "category": category,
            "subcategory": command.words[1] if len(command.words) > 2 else "",
            "summary": command.description,
            "content": f"**Syntax:**\n\n{fence(syntax)}\n\nHandled in `{path}`, line {command.line}.",
            "keywords": list(dict.fromkeys(command.words)),
            "aliases": [" ".join(alias) for alias in command.aliases] + ([spelled] if syntax != spelled else []),
            "source": f"{GENERATED}{path}",
        }
        found.add(page_of(entry), command.line)
    for spelled, line in orphans:
        found.problem(
            "gone-command", line, f"the help table names {spelled!r}, which no handler takes", "fix the table"
        )
    if not commands:
        found.problem("no-commands", 0, "holds no switch or if chain on the words of an input", "exclude it")
    return found


def read_commands(root: Node) -> tuple[list[Command], list[tuple[str, int]]]:
    """Commands in the order of the source, and (words, line) of a help table that no handler takes."""
    source = _Source(root)
    commands = source.commands()
    table = source.help_table()
    known = {words for c in commands for words in (c.words, *c.aliases)}
    for command in commands:
        command.description, usage = next(
            (
                (text, usage)
                for words in (command.words, *command.aliases)
                if words in table
                for text, usage, _ in [table[words]]
            ),
            ("", ""),
        )
        command.usage = command.usage or usage
    programs = {words[0] for words in known}
    orphans = [(" ".join(w), line) for w, (_, _, line) in table.items() if w not in known and w[0] in programs]
    return commands, orphans


def command_words(text: str) -> tuple[str, ...]:
    """A command's fixed words: without placeholders, options and what follows them."""
    cut = _PLACEHOLDER.search(text)
    return tuple((text[: cut.start()] if cut else text).split())


def _is_first_word(node: Node) -> bool:
    """`line.trim().split(' ')[0]`."""
    of, index = node.child_by_field_name("object"), node.child_by_field_name("index")
    return (
        node.type == "subscript_expression"
        and of is not None
        and of.type == "call_expression"
        and ".split(" in text_of(of)
        and index is not None
        and index.type == "number"
    )


class _Source:
    """Functions, constants and word variables of one file."""

    def __init__(self, root: Node) -> None:
        self._root = root
        self._constants: dict[str, Any] = {}
        self._functions: dict[str, Node] = {}
        self._objects: dict[str, Node] = {}
        for node in walk(root):
            if node.type == "variable_declarator":
                self._declare(node)
            elif node.type in ("function_declaration", "method_definition"):
                name = node.child_by_field_name("name")
                if name is not None:
                    self._functions.setdefault(text_of(name), node)
            elif node.type in ("public_field_definition", "field_definition"):
                self._declare_member(node)
        self._lists, self._words = self._variables()
        self._called: set[str] = set()

    def commands(self) -> list[Command]:
        """From the functions that no case of another one hands words to."""
        found: dict[str, list[Command]] = {}
        for name, node in self._functions.items():
            found[name] = list(self._block(self._own_body(node), (), (name,)))
        roots = [name for name in found if name not in self._called]
        if not any(found[name] for name in roots):
            roots = [name for name in found if found[name]][:1]  # all call each other: the first one is the way in
        entries = [c for name in roots for c in found[name]]
        if not found:
            entries = list(self._block(self._root, (), ()))
        merged: dict[tuple[str, ...], Command] = {}
        for command in entries:
            if command.words:
                merged.setdefault(command.words, command)
        return sorted(merged.values(), key=lambda c: (c.line, c.words))

    def help_table(self) -> dict[tuple[str, ...], tuple[str, str, int]]:
        """Command words -> (description, syntax, line), from objects and arrays that look like a table."""
        table: dict[tuple[str, ...], tuple[str, str, int]] = {}
        for node in walk(self._root):
            if node.type != "object":
                continue
            value = literal(node, self._constants)
            texts = {key: item for key, item in value.items() if isinstance(item, str)}
            command = next((texts[key] for key in _COMMAND_KEYS if key in texts), "")
            description = next((texts[key] for key in _DESCRIPTION_KEYS if key in texts), "")
            rows = [(command, description)] if command and description else []
            if not rows and texts and len(texts) == len(value) and any(" " in key for key in texts):
                rows = list(texts.items())
            for spelled, about in rows:
                if words := command_words(spelled):
                    table.setdefault(words, (one_line(about), one_line(spelled), line_of(node)))
        return table

    def _declare(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or value is None or name.type != "identifier":
            return
        for wrapped in walk(value):  # useCallback(async (…) => …)
            if wrapped.type in _FUNCTIONS:
                if value.type in (*_FUNCTIONS, "call_expression"):
                    self._functions.setdefault(text_of(name), wrapped)
                break
        while value.type in ("as_expression", "satisfies_expression") and value.named_children:
            value = value.named_children[0]
        if value.type == "object":
            self._objects.setdefault(text_of(name), value)
        text = literal(value)
        if isinstance(text, str):
            self._constants[text_of(name)] = text

    def _declare_member(self, node: Node) -> None:
        """`handle = async (args) => …` in a class."""
        name = node.child_by_field_name("name") or node.child_by_field_name("property")
        value = node.child_by_field_name("value")
        if name is not None and value is not None and value.type in _FUNCTIONS:
            self._functions.setdefault(text_of(name), value)

    def _table(self, name: str) -> Node | None:
        """The object literal that a variable or field holds."""
        return self._objects.get(name.removeprefix("this."))

    def _variables(self) -> tuple[set[str], set[str]]:
        """Names that stand for lists of input words, and for one word, anywhere in the file."""
        lists: set[str] = set()
        words: set[str] = set()
        for node in walk(self._root):
            if node.type in ("required_parameter", "optional_parameter"):
                kind, pattern = node.child_by_field_name("type"), node.child_by_field_name("pattern")
                if kind is not None and pattern is not None and re.search(r"string\[\]|Array<string>", text_of(kind)):
                    lists.add(text_of(pattern).lstrip("."))
        changed = True
        while changed:
            before = len(lists) + len(words)
            for node in walk(self._root):
                if node.type == "variable_declarator":
                    self._bind(node, lists, words)
            changed = len(lists) + len(words) > before
        return lists, words

    def _bind(self, node: Node, lists: set[str], words: set[str]) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or value is None:
            return
        text = text_of(value)
        from_list = any(re.match(rf"{re.escape(known)}\b", text) for known in lists)
        is_list = (from_list and (text in lists or _SLICE.search(text) is not None)) or (
            ".split(" in text and value.type == "call_expression"
        )
        if name.type == "identifier":
            if is_list:
                lists.add(text_of(name))
            elif _is_first_word(value) or (from_list and value.type in ("subscript_expression", "call_expression")):
                words.add(text_of(name))
        elif name.type == "array_pattern" and is_list:
            for part in name.named_children:
                if part.type == "identifier":
                    words.add(text_of(part))
                elif part.type == "assignment_pattern" and part.named_children:
                    words.add(text_of(part.named_children[0]))
                elif part.type == "rest_pattern" and part.named_children:
                    lists.add(text_of(part.named_children[0]))

    def _is_word(self, node: Node | None) -> bool:
        """`args[1]`, a word's name, or either one folded (`?.toLowerCase()`)."""
        while node is not None and node.type in ("parenthesized_expression", "non_null_expression"):
            node = node.named_children[0] if node.named_children else None
        if node is None:
            return False
        if node.type == "identifier":
            return text_of(node) in self._words
        if _is_first_word(node):
            return True
        if node.type == "subscript_expression":
            of, index = node.child_by_field_name("object"), node.child_by_field_name("index")
            return of is not None and text_of(of) in self._lists and index is not None and index.type == "number"
        if node.type == "call_expression" and (called := node.child_by_field_name("function")) is not None:
            name, of = called.child_by_field_name("property"), called.child_by_field_name("object")
            if name is not None and text_of(name) in ("at", "shift"):
                return of is not None and text_of(of) in self._lists
            return name is not None and text_of(name) in _FOLDING and self._is_word(of)
        return False

    def _own_body(self, function: Node) -> Node:
        return function.child_by_field_name("body") or function

    def _block(self, block: Node, prefix: tuple[str, ...], callers: tuple[str, ...]) -> Iterator[Command]:
        """Commands of the outermost switches, chains and handler calls in a block."""
        if len(prefix) > MAX_DEPTH or len(callers) > MAX_DEPTH:
            return
        stack = [block]
        while stack:
            node = stack.pop()
            if node.type == "switch_statement" and self._is_word(node.child_by_field_name("value")):
                yield from self._switch(node, prefix, callers)
            elif node.type == "if_statement" and self._tested(node):
                yield from self._chain(node, prefix, callers)
            elif node.type == "subscript_expression" and (found := list(self._dispatched(node, prefix, callers))):
                yield from found
            elif node.type == "call_expression" and (name := self._handler(node, callers)):
                if prefix:
                    self._called.add(name)
                yield from self._block(self._own_body(self._functions[name]), prefix, (*callers, name))
            elif node is block or node.type not in _FUNCTIONS:
                stack.extend(reversed(node.children))
            elif not prefix:
                continue  # a function of its own, looked at by its own name
            else:
                stack.extend(reversed(node.children))  # a callback inside of a case

    def _switch(self, node: Node, prefix: tuple[str, ...], callers: tuple[str, ...]) -> Iterator[Command]:
        body = node.child_by_field_name("body")
        labels: list[str] = []
        line = 0
        for case in body.named_children if body is not None else []:
            if case.type != "switch_case":
                labels = []
                continue
            label = case.child_by_field_name("value")
            value = literal(label, self._constants) if label is not None else None
            if isinstance(value, str) and value and not value.startswith("-"):
                line = line if labels else line_of(case)
                labels.append(value)
            statements = [child for child in case.named_children if child != label and child.type != "comment"]
            if statements and labels:
                yield from self._case(statements, labels, line, prefix, callers)
                labels = []

    def _chain(self, node: Node, prefix: tuple[str, ...], callers: tuple[str, ...]) -> Iterator[Command]:
        current: Node | None = node
        while current is not None and current.type == "if_statement":
            labels = self._tested(current)
            body = current.child_by_field_name("consequence")
            if labels and body is not None:
                yield from self._case([body], labels, line_of(current), prefix, callers)
            otherwise = current.child_by_field_name("alternative")
            current = otherwise.named_children[0] if otherwise is not None and otherwise.named_children else None

    def _case(
        self, body: list[Node], labels: list[str], line: int, prefix: tuple[str, ...], callers: tuple[str, ...]
    ) -> Iterator[Command]:
        first, others = labels[0], labels[1:]
        inner = [c for statement in body for c in self._block(statement, (*prefix, first), callers)]
        if not inner:
            usage = next((u for statement in body for u in self._usages(statement)), "")
            aliases = [(*prefix, other) for other in others]
            yield Command((*prefix, first), line, aliases, usage)
            return
        depth = len(prefix)
        for command in inner:
            spellings = [command.words, *command.aliases]
            respelled = [(*words[:depth], other, *words[depth + 1 :]) for words in spellings for other in others]
            command.aliases += respelled
            yield command

    def _tested(self, node: Node) -> list[str]:
        """Words that an `if` compares an input word with; empty for any other condition."""
        condition = node.child_by_field_name("condition")
        parts = [condition] if condition is not None else []
        labels: list[str] = []
        while parts:
            part = parts.pop(0)
            if part.type == "parenthesized_expression":
                parts[:0] = part.named_children
                continue
            if included := self._included(part):
                labels += included
                continue
            operator = part.child_by_field_name("operator")
            left, right = part.child_by_field_name("left"), part.child_by_field_name("right")
            if part.type != "binary_expression" or operator is None or left is None or right is None:
                return []
            if text_of(operator) == "||":
                parts[:0] = [left, right]
                continue
            if self._is_word(right):
                left, right = right, left
            value = literal(right, self._constants)
            if text_of(operator) not in ("===", "==") or not self._is_word(left) or not isinstance(value, str):
                return []
            if not value or value.startswith("-"):
                return []
            labels.append(value)
        return labels

    def _included(self, node: Node) -> list[str]:
        """Words of `['quit', 'exit'].includes(cmd)`."""
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if node.type != "call_expression" or called is None or given is None or not given.named_children:
            return []
        name, of = called.child_by_field_name("property"), called.child_by_field_name("object")
        if name is None or of is None or text_of(name) != "includes" or not self._is_word(given.named_children[0]):
            return []
        values = literal(of, self._constants)
        found = [v for v in values if isinstance(v, str) and v] if isinstance(values, list) else []
        return [] if any(v.startswith("-") for v in found) else found

    def _dispatched(self, node: Node, prefix: tuple[str, ...], callers: tuple[str, ...]) -> Iterator[Command]:
        """`handlers[cmd]?.(rest)`: each member of the object is a command, an object in it a group."""
        of, index = node.child_by_field_name("object"), node.child_by_field_name("index")
        table = self._table(text_of(of)) if of is not None and self._is_word(index) else None
        if table is not None:
            yield from self._members(table, prefix, callers)

    def _members(self, table: Node, prefix: tuple[str, ...], callers: tuple[str, ...]) -> Iterator[Command]:
        for member in table.named_children if len(prefix) < MAX_DEPTH else ():
            key = member.child_by_field_name("key") or member.child_by_field_name("name")
            value = member.child_by_field_name("value")
            if member.type == "shorthand_property_identifier":
                key, value = member, self._functions.get(text_of(member))
            if member.type == "method_definition":
                value = member
            if key is None or value is None:
                continue
            label = literal(key, {}) if key.type == "string" else text_of(key)
            if value.type == "object":
                yield from self._members(value, (*prefix, str(label)), callers)
                continue
            if value.type in ("identifier", "member_expression"):
                value = self._functions.get(text_of(value).removeprefix("this."), value)
            yield from self._case([self._own_body(value)], [str(label)], line_of(member), prefix, callers)

    def _handler(self, call: Node, callers: tuple[str, ...]) -> str:
        """Name of a function of this file that is called with input words, unless it is being read already."""
        called, given = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        if called is None or given is None:
            return ""
        name = text_of(called).removeprefix("this.")
        if name not in self._functions or name in callers:
            return ""
        texts = [text_of(argument) for argument in given.named_children]
        handed = any(
            re.match(rf"(?:\.\.\.)?{re.escape(known)}(?:\.slice\(|$)", text) for text in texts for known in self._lists
        )
        return name if handed else ""

    def _usages(self, body: Node) -> Iterator[str]:
        """`Usage: …` texts, literal, as templates or added up; without the word itself."""
        stack = [body]
        while stack:
            node = stack.pop()
            if node.type in _TEXTS:
                value = literal(node, self._constants)
                if isinstance(value, str) and (match := re.match(r"\s*usage:\s*(.+)", value, re.IGNORECASE)):
                    yield one_line(match.group(1).splitlines()[0])
                    continue
            stack.extend(reversed(node.children))
