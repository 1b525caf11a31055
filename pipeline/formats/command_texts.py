"""What a console's source says of a command: `Usage: …` texts, sentences printed after them, comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.formats.page import one_line
from pipeline.formats.typed_input import bare
from pipeline.formats.typescript import literal, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

DESCRIPTION_KEYS = ("description", "desc", "describe", "help", "summary", "text")
_TEXTS = ("string", "template_string", "binary_expression")
_SENTENCE = re.compile(r"[A-Z][^:<>{}]{8,160}")
_RULE = re.compile(r"[-=*#~─═/\s]{2,}|^/+|^\*+")
_OF_CODE = re.compile(r"\s*\b(?:command|cmd|handlers?|helpers?|functions?)\b", re.IGNORECASE)


class About(NamedTuple):
    """What an object says of a command."""

    description: str
    aliases: list[str]


def about(row: Mapping[str, Any]) -> About:
    """Description and aliases by the names that libraries give them."""
    texts = {key: one_line(value) for key, value in row.items() if isinstance(value, str)}
    aliases = row.get("aliases", row.get("alias", []))
    aliases = [aliases] if isinstance(aliases, str) else aliases
    return About(
        next((texts[key] for key in DESCRIPTION_KEYS if texts.get(key)), ""),
        [one_line(a) for a in aliases if isinstance(a, str) and a] if isinstance(aliases, list) else [],
    )


def said(body: list[Node], constants: Mapping[str, Any], *, deep: bool = True) -> tuple[str, str]:
    """(syntax, description): the first `Usage: …` text and a sentence right after it; not in `deep` places."""
    return next((found for statement in body for found in _usages(statement, constants, deep)), ("", ""))


def heading(function: Node) -> str:
    """The comment right above a function, on one line: `// ===== LIST TOKENS =====` gives `List tokens`."""
    node: Node | None = function
    while node is not None and node.prev_named_sibling is None and node.parent is not None:
        node = node.parent
    while node is not None and node.type in ("variable_declarator", "arrow_function", "call_expression", "arguments"):
        node = node.parent
    above = node.prev_named_sibling if node is not None else None
    if node is None or above is None or above.type != "comment" or node.start_point[0] - above.end_point[0] > 1:
        return ""
    text = text_of(above).removeprefix("/*").removesuffix("*/")
    lines = [one_line(_RULE.sub(" ", line)) for line in text.splitlines()]
    first = next((line for line in lines if line and not line.startswith("@")), "")
    first = first.partition(". ")[0]
    told = one_line(_OF_CODE.sub("", first))
    told = told if told != told.upper() or len(told) < 4 else told.capitalize()
    return told[:160]


def called_functions(body: list[Node]) -> Iterator[str]:
    """Names of what a body calls for its own sake (`await handle(args);`), in its order."""
    for statement in body:
        for node in walk(statement):
            if node.type not in ("expression_statement", "return_statement") or not node.named_children:
                continue
            call = bare(node.named_children[0])
            called = call.child_by_field_name("function") if call.type == "call_expression" else None
            if called is not None:
                yield text_of(called).removeprefix("this.")


def _usages(body: Node, constants: Mapping[str, Any], deep: bool) -> Iterator[tuple[str, str]]:
    texts: list[str] = []
    stack = [body]
    while stack:
        node = stack.pop()
        if node.type in _TEXTS:
            value = literal(node, constants)
            if isinstance(value, str):
                texts.append(value)
                continue
        if node.type == "switch_statement" and not deep:
            continue
        stack.extend(reversed(node.children))
    for place, text in enumerate(texts):
        if match := re.match(r"\s*usage:\s*(.+)", text, re.IGNORECASE):
            following = next((t for t in texts[place + 1 : place + 3] if t not in ("info", "error", "")), "")
            says = one_line(following) if _SENTENCE.fullmatch(following.strip()) else ""
            yield one_line(match.group(1).splitlines()[0]), says
