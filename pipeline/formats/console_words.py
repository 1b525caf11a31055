"""What the words of an input are tested for, followed through a TypeScript source that is never run.

A small abstract interpretation: a value is the line a user typed, the words of it from some place on, one word,
or a text the source spells out. Names are bound to values in the order of the statements, arguments to the
parameters of functions of the same file. A test of a word (`switch`, `if`, a table of handlers) fixes that
word; what is fixed where nothing further is tested is a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from pipeline.formats.command_texts import DESCRIPTION_KEYS, about, called_functions, heading, said
from pipeline.formats.page import one_line
from pipeline.formats.typed_input import (
    Known,
    Line,
    Listed,
    Text,
    Value,
    Values,
    Word,
    Words,
    bare,
    bind,
    line_parameters,
    patterns,
    rest,
)
from pipeline.formats.typescript import line_of, literal, text_of, walk
from pipeline.formats.word_tests import Test, Tests

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_DEPTH = 12
"""Words of a command, and handlers that call each other."""

MAX_VISITS = 400_000
"""Nodes that are looked at in all: a handler is followed anew from each place that calls it."""

MAX_ALIASES = 64
"""Spellings of one command: where each of its words has several, they multiply."""

FUNCTIONS = (
    "function_declaration",
    "arrow_function",
    "function_expression",
    "method_definition",
    "generator_function_declaration",
)
_ACTS = ("call_expression", "return_statement", "await_expression", "throw_statement", "new_expression")
_RUN_KEYS = ("run", "handler", "action", "execute", "exec", "fn", "func", "callback", "call", "method")
_WORD_LISTS = re.compile(r"(?:readonly\s+)?string\[\]|(?:Readonly)?Array<string>")


@dataclass
class Command:
    """A command: its words, other spellings, syntax as a usage text has it, line of its case."""

    words: tuple[str, ...]
    line: int
    aliases: list[tuple[str, ...]] = field(default_factory=list)
    usage: str = ""
    description: str = ""
    slots: tuple[int, ...] = ()
    """Which word of the input each of `words` is."""
    options: list[list[str]] = field(default_factory=list)
    """Rows of (parameter, meaning)."""
    heading: str = ""
    """What a comment says of it, for want of a description."""


class Interpreter:
    """Functions, tables and constants of one file; `commands()` follows its input."""

    def __init__(self, root: Node) -> None:
        self._root = root
        self.constants: dict[str, Any] = {}
        self._functions: dict[str, Node] = {}
        self._objects: dict[str, Node] = {}
        self._arrays: dict[str, Node] = {}
        for node in walk(root):
            if node.type == "variable_declarator":
                self._declare(node.child_by_field_name("name"), node.child_by_field_name("value"))
            elif node.type in ("function_declaration", "method_definition"):
                name = node.child_by_field_name("name")
                if name is not None:
                    self._functions.setdefault(text_of(name), node)
            elif node.type in ("public_field_definition", "field_definition"):
                name = node.child_by_field_name("name") or node.child_by_field_name("property")
                self._declare(name, node.child_by_field_name("value"))
        self._values = Values(self.constants)
        self._tests = Tests(self._values, self.constants, self._arrays)
        self._lines: dict[str, set[str]] = {name: set() for name in self._functions}
        for _ in range(MAX_DEPTH):
            lines = {n: line_parameters(f, self._functions, self._lines) for n, f in self._functions.items()}
            if lines == self._lines:
                break
            self._lines = lines
        self._taken: dict[int, dict[str, Value]] = {}
        self._called: set[str] = set()
        self._visits = 0

    def commands(self) -> list[Command]:
        """By line; functions that another one hands words to, within a case of its own, are read from there only."""
        found = {
            name: list(self._enter(node, self._parameters(node), {}, (name,))) for name, node in self._functions.items()
        }
        found[""] = list(self._visit(self._root, {}, {}, ()))
        roots = [name for name in found if name not in self._called]
        if not any(found[name] for name in roots):
            roots = [name for name in found if found[name]][:1]  # all call each other: the first one is the way in
        merged: dict[tuple[str, ...], Command] = {}
        for command in (c for name in roots for c in found[name] if c.words):
            first = merged.setdefault(command.words, command)
            first.usage = first.usage or command.usage
            first.description = first.description or command.description
            first.aliases = list(dict.fromkeys([*first.aliases, *command.aliases]))
        return sorted(merged.values(), key=lambda c: (c.line, c.words))

    # --- what a file declares

    def _declare(self, name: Node | None, value: Node | None) -> None:
        if name is None or value is None or name.type not in ("identifier", "property_identifier"):
            return
        spelled = text_of(name)
        for wrapped in walk(value):  # useCallback(async (…) => …)
            if wrapped.type in FUNCTIONS:
                if value.type in (*FUNCTIONS, "call_expression"):
                    self._functions.setdefault(spelled, wrapped)
                break
        value = bare(value)
        if value.type == "new_expression":  # new Map([['add', add], …])
            given = value.child_by_field_name("arguments")
            inner = given.named_children[0] if given is not None and given.named_children else None
            value = inner if inner is not None and inner.type == "array" else value
        if value.type == "object":
            self._objects.setdefault(spelled, value)
        elif value.type == "array":
            self._arrays.setdefault(spelled, value)
        text = literal(value)
        if isinstance(text, str):
            self.constants[spelled] = text

    def _parameters(self, function: Node) -> dict[str, Value]:
        """What a function is given that nobody in this file hands anything."""
        if function.id in self._taken:
            return self._taken[function.id]
        bound = self._taken[function.id] = {}
        lines = line_parameters(function, self._functions, self._lines)
        for pattern in patterns(function):
            kind = pattern.parent.child_by_field_name("type") if pattern.parent is not None else None
            if kind is not None and _WORD_LISTS.search(text_of(kind)):
                bind(bound, pattern, Words(0))
            elif text_of(pattern) in lines:
                bound[text_of(pattern)] = Line()
        return bound

    # --- statements

    def _enter(
        self, function: Node, bound: Mapping[str, Value], known: Known, callers: tuple[str, ...]
    ) -> Iterator[Command]:
        body = function.child_by_field_name("body")
        if body is not None:
            yield from self._visit(body, dict(bound), known, callers)

    def _visit(self, node: Node, env: dict[str, Value], known: Known, callers: tuple[str, ...]) -> Iterator[Command]:
        """Commands below a node; binds names in `env` as it passes them."""
        self._visits += 1
        if len(known) > MAX_DEPTH or len(callers) > MAX_DEPTH or self._visits > MAX_VISITS:
            return
        kind = node.type
        if kind in ("function_declaration", "generator_function_declaration", "method_definition"):
            return  # looked at by its own name
        if kind in FUNCTIONS:
            if not self._is_named(node):  # a callback sees what stands around it
                yield from self._enter(node, {**env, **self._parameters(node)}, known, callers)
            return
        if kind == "switch_statement":
            value = self._values.of(node.child_by_field_name("value"), env, known)
            if isinstance(value, Word | Line | Text):
                yield from self._switch(node, value, env, known, callers)
                return
        elif kind == "if_statement":
            yield from self._if(node, env, known, callers)
            return
        for child in node.named_children:
            yield from self._visit(child, env, known, callers)
        if kind == "variable_declarator":
            pattern, given = node.child_by_field_name("name"), node.child_by_field_name("value")
            if pattern is not None and given is not None:
                bind(env, pattern, self._values.of(given, env, known))
        elif kind == "assignment_expression":
            target = node.child_by_field_name("left")
            value = self._values.of(node.child_by_field_name("right"), env, known)
            if target is not None and isinstance(value, Line | Words | Word | Listed):
                bind(env, target, value)
        elif kind == "subscript_expression":
            yield from self._dispatched(node, env, known, callers)
        elif kind == "call_expression":
            yield from self._call(node, env, known, callers)

    def _is_named(self, function: Node) -> bool:
        return any(function == named for named in self._functions.values())

    def _call(self, node: Node, env: dict[str, Value], known: Known, callers: tuple[str, ...]) -> Iterator[Command]:
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is None:
            return
        arguments = given.named_children if given is not None else []
        if called.type == "member_expression":
            name, of = text_of(called.child_by_field_name("property") or called), called.child_by_field_name("object")
            holder = text_of(of) if of is not None else ""
            if name == "shift" and isinstance(env.get(holder), Words | Listed):
                env[holder] = rest(env[holder], 1)
                return
            if name == "get" and arguments and holder.removeprefix("this.") in self._arrays:
                index = self._values.of(arguments[0], env, known)
                if isinstance(index, Word):
                    yield from self._pairs(self._arrays[holder.removeprefix("this.")], index, env, known, callers)
                return
            if name == "find" and holder.removeprefix("this.") in self._arrays and arguments:
                yield from self._found(self._arrays[holder.removeprefix("this.")], arguments[0], env, known, callers)
                return
        name = text_of(called).removeprefix("this.")
        function = self._functions.get(name)
        if function is None or name in callers:
            return
        handed = [a.named_children[0] if a.type == "spread_element" else a for a in arguments if a.type != "comment"]
        values = [self._values.of(argument, env, known) for argument in handed]
        if not any(isinstance(v, Line | Words | Word | Listed) for v in values):
            return
        if known:
            self._called.add(name)
        bound: dict[str, Value] = {}
        for pattern, value in zip(patterns(function), values, strict=False):
            bind(bound, pattern, value)
        yield from self._enter(function, bound, known, (*callers, name))

    def _switch(
        self, node: Node, value: Line | Word | Text, env: dict[str, Value], known: Known, callers: tuple[str, ...]
    ) -> Iterator[Command]:
        cases = list(self._cases(node))
        fixed = value.value if isinstance(value, Text) else known.get(value.place) if isinstance(value, Word) else None
        if fixed is not None:
            taken = [c for c in cases if fixed in c[0]] or [c for c in cases if c[2]]
            for _, statements, _, _ in taken:
                yield from self._all(statements, dict(env), known, callers)
            return
        for labels, statements, _, line in cases:
            if labels:
                test = Test(value.place if isinstance(value, Word) else None, labels)
                yield from self._case(statements, test, line, env, known, callers)
            else:
                yield from self._all(statements, dict(env), known, callers)

    def _cases(self, node: Node) -> Iterator[tuple[list[str], list[Node], bool, int]]:
        """(labels, statements, does it hold the default, line) of each body of a switch."""
        body = node.child_by_field_name("body")
        labels: list[str] = []
        line, default = 0, False
        for case in body.named_children if body is not None else []:
            if case.type not in ("switch_case", "switch_default"):
                continue
            label = case.child_by_field_name("value")
            text = literal(label, self.constants) if label is not None else None
            if isinstance(text, str) and text and not text.startswith("-"):
                line = line if labels else line_of(case)
                labels.append(text)
            default = default or case.type == "switch_default"
            statements = [c for c in case.named_children if c != label and c.type != "comment"]
            if statements:
                yield labels, statements, default, line
                labels, line, default = [], 0, False
        if labels:
            yield labels, [], default, line

    def _if(self, node: Node, env: dict[str, Value], known: Known, callers: tuple[str, ...]) -> Iterator[Command]:
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        tests = self._tests.all_of(condition, env, known) if condition is not None else []
        if body is not None:
            if tests:
                acts = any(below.type in _ACTS for below in walk(body))  # else it only prepares something
                yield from self._cases_of([body], tests, line_of(node), env, known, callers) if acts else ()
            elif not self._tests.is_refuted(condition, env, known):
                if condition is not None:
                    yield from self._visit(condition, env, known, callers)
                inner = dict(env)
                yield from self._visit(body, inner, known, callers)
                env.update({name: value for name, value in inner.items() if name in env and value is not None})
        otherwise = node.child_by_field_name("alternative")
        if otherwise is not None:
            yield from self._visit(otherwise, dict(env), known, callers)

    def _all(
        self, statements: list[Node], env: dict[str, Value], known: Known, callers: tuple[str, ...]
    ) -> Iterator[Command]:
        for statement in statements:
            yield from self._visit(statement, env, known, callers)

    def _cases_of(
        self,
        body: list[Node],
        tests: list[Test],
        line: int,
        env: dict[str, Value],
        known: Known,
        callers: tuple[str, ...],
    ) -> Iterator[Command]:
        """Commands of a body that is reached when several tests hold: as if each stood within the one before."""
        first, *others = tests
        if not others or first.place is None:
            yield from self._case(body, first, line, env, known, callers)
        elif first.place not in known:
            fixed = {**known, **first.fixes(first.labels[0])}
            for command in self._cases_of(body, others, line, env, fixed, callers):
                yield _also(command, first)
        elif known[first.place] in first.labels:
            yield from self._cases_of(body, others, line, env, known, callers)

    def _case(
        self,
        body: list[Node],
        test: Test,
        line: int,
        env: dict[str, Value],
        known: Known,
        callers: tuple[str, ...],
    ) -> Iterator[Command]:
        """Commands of a body that is reached when a test holds; the tested words themselves where it tests no more."""
        spelled = [test.fixes(label) for label in test.labels]
        first = {**known, **spelled[0]}
        if test.place is not None and test.place in known:
            if known[test.place] in test.labels:
                yield from self._all(body, dict(env), known, callers)
            return
        inner = list(self._all(body, dict(env), known if test.prefix else first, callers))
        if test.prefix and inner:  # `helios `: a name that may stand before every command
            for command in inner:
                command.aliases += [(*label.split(), *command.words) for label in test.labels[:MAX_ALIASES]]
            yield from inner
            return
        usage, about = said(body, self.constants)
        if not usage and (handler := self._first_called(body, callers)) is not None:
            usage, about = said([handler], self.constants)
        if not inner or (usage and self._says(body, first)):
            words = tuple(first[i] for i in sorted(first))
            aliases = [tuple({**known, **other}[i] for i in sorted({**known, **other})) for other in spelled[1:]]
            yield Command(
                words, line, aliases, usage, about, tuple(sorted(first)), heading=self._heading(body, callers, test)
            )
        for command in inner:
            yield _also(command, test)

    def _heading(self, body: list[Node], callers: tuple[str, ...], test: Test) -> str:
        """The comment above the function that a body calls, or above the one it stands in."""
        handler = self._first_called(body, callers)
        if handler is not None and (found := heading(handler)):
            return found
        around = heading(self._functions[callers[-1]]) if len(callers) > 1 and callers[-1] else ""
        return f"{around}: {test.labels[0]}" if around else ""

    def _first_called(self, body: list[Node], callers: tuple[str, ...]) -> Node | None:
        names = (name for name in called_functions(body) if name in self._functions and name not in callers)
        return next((self._functions[name] for name in names), None)

    def _says(self, body: list[Node], known: Known) -> bool:
        """Is there, outside of further switches, a usage text of just the words known so far?"""
        usage = said(body, self.constants, deep=False)[0]
        words = [known[i] for i in sorted(known)]
        return any(usage.split()[n : len(words) + n] == words and len(usage.split()) > len(words) + n for n in (0, 1))

    # --- tables of handlers

    def _dispatched(
        self, node: Node, env: dict[str, Value], known: Known, callers: tuple[str, ...]
    ) -> Iterator[Command]:
        """`handlers[cmd]?.(rest)`: each member of the object is a command, an object in it a group."""
        of = node.child_by_field_name("object")
        index = self._values.of(node.child_by_field_name("index"), env, known)
        table = self._objects.get(text_of(of).removeprefix("this.")) if of is not None else None
        if table is not None and isinstance(index, Word):
            yield from self._members(table, index.place, env, known, callers)

    def _members(
        self, table: Node, index: int, env: dict[str, Value], known: Known, callers: tuple[str, ...]
    ) -> Iterator[Command]:
        for member in table.named_children if len(known) < MAX_DEPTH else ():
            key = member.child_by_field_name("key") or member.child_by_field_name("name")
            value = member.child_by_field_name("value")
            if member.type == "shorthand_property_identifier":
                key, value = member, self._functions.get(text_of(member))
            if member.type == "method_definition":
                value = member
            if key is None or value is None:
                continue
            label = literal(key, {}) if key.type == "string" else text_of(key)
            yield from self._handled(value, Test(index, [str(label)]), line_of(member), env, known, callers)

    def _handled(
        self, value: Node, test: Test, line: int, env: dict[str, Value], known: Known, callers: tuple[str, ...]
    ) -> Iterator[Command]:
        """One row of a table: a function, its name, a group of rows, or an object about a command."""
        if value.type == "object":
            names = {
                text_of(p.child_by_field_name("key") or p.child_by_field_name("name") or p)
                for p in value.named_children
            }
            if names.isdisjoint(_RUN_KEYS) and names.isdisjoint(DESCRIPTION_KEYS):
                fixed = {**known, **test.fixes(test.labels[0])}
                yield from self._members(value, (test.place or 0) + 1, env, fixed, callers)
                return
            row = literal(value, self.constants)
            row = row if isinstance(row, dict) else {}
            told = about(row)
            usage = next((one_line(row[key]) for key in ("usage", "syntax") if isinstance(row.get(key), str)), "")
            test = Test(test.place, [*test.labels, *told.aliases])
            for command in self._case([value], test, line, env, known, callers):
                command.usage, command.description = command.usage or usage, command.description or told.description
                yield command
            return
        if value.type in ("identifier", "member_expression"):
            name = text_of(value).removeprefix("this.")
            if name in self._functions:
                self._called.add(name)
            value = self._functions.get(name, value)
        body = value.child_by_field_name("body") or value
        inner = {**env, **self._parameters(value)} if value.type in FUNCTIONS else env
        yield from self._case([body], test, line, inner, known, callers)

    def _pairs(
        self, table: Node, index: Word, env: dict[str, Value], known: Known, callers: tuple[str, ...]
    ) -> Iterator[Command]:
        """`new Map([['add', add], …]).get(word)`."""
        for pair in table.named_children:
            parts = [c for c in pair.named_children if c.type != "comment"] if pair.type == "array" else []
            label = literal(parts[0], self.constants) if parts else None
            if len(parts) > 1 and isinstance(label, str):
                yield from self._handled(parts[1], Test(index.place, [label]), line_of(pair), env, known, callers)

    def _found(
        self, table: Node, test: Node, env: dict[str, Value], known: Known, callers: tuple[str, ...]
    ) -> Iterator[Command]:
        """`commands.find(c => c.name === word)` over rows that say what they are about."""
        body = test.child_by_field_name("body")
        words = (
            [self._values.of(n, env, known) for n in walk(body) if n.type in ("identifier", "subscript_expression")]
            if body is not None
            else []
        )
        word = next((w for w in words if isinstance(w, Word)), None)
        for row in table.named_children if word is not None else ():
            told = literal(row, self.constants) if row.type == "object" else None
            name = told.get("name", told.get("command")) if isinstance(told, dict) else None
            if isinstance(name, str) and name:
                yield from self._handled(
                    row, Test(word.place if word else 0, [name]), line_of(row), env, known, callers
                )


def _also(command: Command, test: Test) -> Command:
    """The command with the spellings that further labels of a test of one of its words give it."""
    if test.place in command.slots:
        place = command.slots.index(test.place)
        spellings = [command.words, *(a for a in command.aliases if len(a) == len(command.words))]
        others = ((*words[:place], other, *words[place + 1 :]) for words in spellings for other in test.labels[1:])
        command.aliases += islice(others, max(0, MAX_ALIASES - len(command.aliases)))
    return command
