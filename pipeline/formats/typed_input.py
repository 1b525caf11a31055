"""What an expression of a console's source stands for, as far as the typed input goes, and how names get values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.formats.typescript import literal, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_WRAPPERS = (
    "as_expression",
    "satisfies_expression",
    "parenthesized_expression",
    "non_null_expression",
    "await_expression",
)
_SAME_WORD = ("toLowerCase", "toUpperCase", "toLocaleLowerCase", "trim", "toString", "replace", "trimStart", "trimEnd")
_SAME_WORDS = ("filter", "map", "flat", "concat")
_SPACE = re.compile(r"""(?:['"`]\s+['"`]|/.*(?:\\s|\ ).*/\w*)\Z""")


class Line(NamedTuple):
    """All that was typed."""


class Words(NamedTuple):
    """The words of the input from `start` on (0 is the first one)."""

    start: int


class Word(NamedTuple):
    """One word of the input."""

    place: int


class Text(NamedTuple):
    """A text that the source spells out."""

    value: str


class Listed(NamedTuple):
    """A list that is spelled out: its first items and, after a spread, the rest."""

    items: tuple[Any, ...]
    rest: Words | None


Known = Mapping[int, str]
"""Which word of the input is known to be what."""

Value = Line | Words | Word | Text | Listed | None


class Values:
    """What expressions stand for, in a file with these text constants."""

    def __init__(self, constants: Mapping[str, Any]) -> None:
        self._constants = constants

    def of(self, node: Node | None, env: Mapping[str, Value], known: Known) -> Value:
        """What an expression stands for; None where that is not the input's."""
        if node is None:
            return None
        node = bare(node)
        kind = node.type
        if kind == "identifier":
            name = text_of(node)
            if name in env:
                return env[name]
            return Text(self._constants[name]) if name in self._constants else None
        if kind in ("string", "template_string"):
            if any(isinstance(self.of(part, env, known), Line) for part in substituted(node)):
                return Line()
            text = literal(node, self._constants)
            return Text(text) if isinstance(text, str) else None
        if kind == "binary_expression":
            operator, sides = node.child_by_field_name("operator"), ("left", "right")
            if operator is not None and text_of(operator) in ("||", "??", "&&"):
                values = [self.of(node.child_by_field_name(side), env, known) for side in sides]
                return wordy(values)
            return None
        if kind == "ternary_expression":
            sides = ("consequence", "alternative")
            return wordy([self.of(node.child_by_field_name(side), env, known) for side in sides])
        if kind == "array":
            return self._list(node, env, known)
        if kind == "subscript_expression":
            index = literal(bare(node.child_by_field_name("index") or node))
            of = self.of(node.child_by_field_name("object"), env, known)
            return item(of, index) if isinstance(index, int) else None
        if kind == "member_expression":
            return well_known(text_of(node))
        if kind == "call_expression":
            return self._call_value(node, env, known)
        return None

    def _list(self, node: Node, env: Mapping[str, Value], known: Known) -> Value:
        items: list[Value] = []
        for child in node.named_children:
            if child.type == "spread_element":
                rest = self.of(child.named_children[0] if child.named_children else None, env, known)
                return Listed(tuple(items), rest) if isinstance(rest, Words) else None
            if child.type != "comment":
                items.append(self.of(child, env, known))
        return Listed(tuple(items), None)

    def _call_value(self, node: Node, env: Mapping[str, Value], known: Known) -> Value:
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        arguments = given.named_children if given is not None else []
        if called is None:
            return None
        if called.type != "member_expression":  # normalize(args[0]), String(word)
            values = [self.of(argument, env, known) for argument in arguments]
            return values[0] if len(values) == 1 and isinstance(values[0], Word) else None
        name = text_of(called.child_by_field_name("property") or called)
        of = self.of(called.child_by_field_name("object"), env, known)
        if name in ("split", "match"):
            separated = name == "match" or splits(node) is not None
            # within a case, only what is known to be the line: a split of anything else is about a parameter
            return (
                Words(0)
                if separated and (isinstance(of, Line) or (of is None and not known and name == "split"))
                else None
            )
        if isinstance(of, Word | Line | Text) and name in _SAME_WORD:
            return of
        if isinstance(of, Words | Listed):
            if name in _SAME_WORDS:
                return of
            if name in ("slice", "splice"):
                count = literal(arguments[0]) if arguments else 0
                return rest(of, count) if isinstance(count, int) and count >= 0 else None
            if name == "at" and arguments:
                index = literal(arguments[0])
                return item(of, index) if isinstance(index, int) else None
            if name == "shift":
                return item(of, 0)
        return None


def bare(node: Node) -> Node:
    """The expression without parentheses, casts, `!` and `await`."""
    while node.type in _WRAPPERS and node.named_children:
        node = node.named_children[0]
    return node


def substituted(node: Node) -> Iterator[Node]:
    """What stands in the `${…}` of a template."""
    for child in node.named_children:
        if child.type == "template_substitution" and child.named_children:
            yield child.named_children[0]


def splits(call: Node) -> Node | None:
    """What a `.split(…)` at white space splits; None for any other call."""
    called, given = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if called is None or given is None or called.type != "member_expression" or not given.named_children:
        return None
    name = called.child_by_field_name("property")
    if name is None or text_of(name) != "split" or not _SPACE.match(text_of(given.named_children[0])):
        return None
    return called.child_by_field_name("object")


def patterns(function: Node) -> list[Node]:
    """The names or patterns of a function's parameters, in order."""
    single = function.child_by_field_name("parameter")
    if single is not None:
        return [single]
    listed = function.child_by_field_name("parameters")
    found = []
    for parameter in listed.named_children if listed is not None else []:
        pattern = parameter.child_by_field_name("pattern") if parameter.type.endswith("_parameter") else parameter
        if parameter.type != "comment":
            found.append(pattern if pattern is not None else parameter)
    return found


def bind(env: dict[str, Value], pattern: Node, value: Value) -> None:
    """Give a name, or the names of an array pattern, a value."""
    if pattern.type == "array_pattern":
        index = 0
        for part in pattern.children:
            if part.type == ",":
                index += 1
            elif part.type == "rest_pattern" and part.named_children:
                bind(env, part.named_children[0], rest(value, index))
            elif part.is_named:
                bind(env, part, item(value, index))
    elif pattern.type == "object_pattern":
        for part in pattern.named_children:  # const { positionals } = parseArgs(…)
            if text_of(part) == "positionals":
                env["positionals"] = Words(0)
    elif pattern.type in ("assignment_pattern", "object_assignment_pattern", "rest_pattern") and pattern.named_children:
        bind(env, pattern.named_children[0], value)
    elif pattern.type == "identifier":
        env[text_of(pattern)] = value


def item(value: Value, index: int) -> Value:
    """What `value[index]` stands for."""
    if isinstance(value, Words) and index >= 0 and value.start + index >= 0:
        return Word(value.start + index)
    if isinstance(value, Listed) and index >= 0:
        if index < len(value.items):
            found: Value = value.items[index]
            return found
        return item(value.rest, index - len(value.items))
    return None


def rest(value: Value, count: int) -> Value:
    """What `value.slice(count)` stands for."""
    if isinstance(value, Words):
        return Words(value.start + count)
    if isinstance(value, Listed):
        beyond = count - len(value.items)
        return rest(value.rest, beyond) if beyond >= 0 else Listed(value.items[count:], value.rest)
    return None


def wordy(values: list[Value]) -> Value:
    """The first value that is the input's: `args[0] || 'help'`."""
    return next((v for v in values if isinstance(v, Line | Words | Word | Listed)), None)


def well_known(text: str) -> Value:
    """Where Node, Deno and libraries that sort options out put the words of a command line."""
    if text == "process.argv":
        return Words(-2)
    if text == "Deno.args" or text.endswith(("._", ".positionals")):
        return Words(0)
    return Words(-2) if text == "Bun.argv" else None


def line_parameters(function: Node, functions: Mapping[str, Node], lines_of: Mapping[str, set[str]]) -> set[str]:
    """Parameters that are split at white space, trimmed or not, here or by a function they are handed to."""
    stands_for = {text_of(p): text_of(p) for p in patterns(function) if p.type == "identifier"}
    lines: set[str] = set()

    def parameter(node: Node | None) -> str:
        base = (
            re.match(r"(\w+)(?:\??\.(?:trim|toLowerCase|toString)\(\))*\Z", text_of(node)) if node is not None else None
        )
        return stands_for.get(base.group(1), "") if base else ""

    for node in walk(function):
        if node.type == "variable_declarator":
            name = node.child_by_field_name("name")
            if name is not None and (of := parameter(node.child_by_field_name("value"))):
                stands_for[text_of(name)] = of
        elif node.type == "call_expression":
            lines.add(parameter(splits(node)))
            called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
            callee = text_of(called).removeprefix("this.") if called is not None else ""
            if given is not None and callee in lines_of:
                handed = zip(patterns(functions[callee]), given.named_children, strict=False)
                lines |= {parameter(argument) for p, argument in handed if text_of(p) in lines_of[callee]}
    return lines - {""}
