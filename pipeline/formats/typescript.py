"""What the readers of TypeScript sources share: parsing by tree-sitter, and the values of literals."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

UNKNOWN = object()
"""Value of an expression that only a running program has."""

MAX_CALLS = 2_000
"""Calls of tree-sitter's progress callback (one about every hundred steps) beyond one a byte: half a second.
Real sources take one call for 50 to 400 bytes."""

_PIECE = 65_536

_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|[\s\S])")
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_WRAPPERS = ("as_expression", "satisfies_expression", "parenthesized_expression", "non_null_expression")


class UnparsableError(ValueError):
    """A source on which the grammar does not come to an end."""


@lru_cache(maxsize=2)
def _parser(dialect: str) -> Parser:
    import tree_sitter_typescript  # 30 ms, and only projects with such sources need it
    from tree_sitter import Language, Parser

    language = tree_sitter_typescript.language_tsx if dialect == "tsx" else tree_sitter_typescript.language_typescript
    return Parser(Language(language()))


def parse(text: str, path: str) -> Node:
    """The syntax tree's root; `.ts` is read as TypeScript, all else as TSX (a superset of JavaScript).

    Raises UnparsableError where the grammar does not come to an end.
    """
    parser, data = _parser("typescript" if path.endswith((".ts", ".mts", ".cts")) else "tsx"), text.encode()
    calls = 0

    def has_gone_too_far(*_: object) -> bool:
        nonlocal calls
        calls += 1
        return calls > MAX_CALLS + len(data)

    try:  # the grammar never ends on some broken texts; counting its steps, not seconds, gives the same everywhere
        parser.parse(lambda offset, _: data[offset : offset + _PIECE], progress_callback=has_gone_too_far)
    except ValueError as error:
        parser.reset()
        raise UnparsableError("its syntax cannot be parsed") from error
    return parser.parse(data).root_node  # again, since only a tree of whole bytes knows its nodes' texts


def text_of(node: Node) -> str:
    """Source text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def line_of(node: Node) -> int:
    """Line a node begins on, from 1."""
    return node.start_point[0] + 1


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, in source order, without recursion."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def broken_at(root: Node) -> int:
    """Line of the first syntax error, from 1; 0 where there is none."""
    if not root.has_error:
        return 0
    return next((line_of(node) for node in walk(root) if node.type == "ERROR" or node.is_missing), 1)


def literal(node: Node, names: Mapping[str, Any] | None = None, depth: int = 0) -> Any:
    """Value of a literal expression (texts, numbers, arrays, objects, `+` of texts), else UNKNOWN.

    `names` are constants that identifiers and template substitutions may stand for.
    """
    if depth > 100:
        return UNKNOWN
    kind = node.type
    if kind in _WRAPPERS:
        return literal(node.named_children[0], names, depth + 1) if node.named_children else UNKNOWN
    if kind == "string":
        return _unescaped(text_of(node)[1:-1])
    if kind == "template_string":
        return _template(node, names or {}, depth)
    if kind == "number":
        return _number(text_of(node))
    if kind in ("true", "false", "null", "undefined"):
        return {"true": True, "false": False}.get(kind)
    if kind == "identifier":
        return (names or {}).get(text_of(node), UNKNOWN)
    if kind == "array":
        return [literal(child, names, depth + 1) for child in node.named_children if child.type != "comment"]
    if kind == "object":
        return _object(node, names, depth)
    if kind == "binary_expression" and (operator := node.child_by_field_name("operator")) and text_of(operator) == "+":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        values = [literal(side, names, depth + 1) for side in (left, right) if side is not None]
        return "".join(values) if all(isinstance(v, str) for v in values) else UNKNOWN
    return UNKNOWN


def _object(node: Node, names: Mapping[str, Any] | None, depth: int) -> Any:
    found: dict[str, Any] = {}
    for pair in node.named_children:
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if pair.type != "pair" or key is None or value is None:
            continue
        name = literal(key, names, depth + 1) if key.type in ("string", "number") else text_of(key)
        found[str(name)] = literal(value, names, depth + 1)
    return found


def _template(node: Node, names: Mapping[str, Any], depth: int) -> Any:
    parts = []
    for child in node.children:
        if child.type == "template_substitution":
            inside = child.named_children[0] if child.named_children else None
            value = literal(inside, names, depth + 1) if inside is not None else UNKNOWN
            parts.append(str(value) if isinstance(value, str | int) else f"<{text_of(inside) if inside else ''}>")
        elif child.type != "`":
            parts.append(_unescaped(text_of(child)))
    return "".join(parts)


def _unescaped(text: str) -> str:
    def value(match: re.Match[str]) -> str:
        code = match.group(1)
        if code[0] in "ux" and len(code) > 1:
            number = int(code.strip("ux{}"), 16)
            return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
        return _SIMPLE.get(code, code)

    return _ESCAPE.sub(value, text)


def _number(text: str) -> Any:
    try:
        return ast.literal_eval(text.replace("_", ""))
    except (ValueError, SyntaxError):
        return UNKNOWN
