"""Commands that a file says in exported fields or in the static fields of a class: oclif, clipanion, yargs modules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pipeline.formats.command_texts import about
from pipeline.formats.command_tree import Parameter, Spec, child_of, parameters_of
from pipeline.formats.typed_input import bare
from pipeline.formats.typescript import line_of, literal, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_COMMANDS_FOLDER = re.compile(r"(?:^|/)(?:commands|cmds)/(.+?)(?:/index)?\.[cm]?[jt]sx?$")
_BASES = re.compile(r"\bCommand\b|Command$")


def read(root: Node, path: str) -> list[Spec]:
    """The command classes of a file, or the command its exports describe; empty where there is none."""
    classes = [node for node in walk(root) if node.type in ("class_declaration", "class")]
    found = [spec for node in classes for spec in _of_class(node, path)]
    return found or _of_exports(root, path)


def _of_class(node: Node, path: str) -> list[Spec]:
    heritage = next((c for c in node.named_children if c.type == "class_heritage"), None)
    body = node.child_by_field_name("body")
    if heritage is None or body is None or not _BASES.search(text_of(heritage)):
        return []
    fields: dict[str, Node] = {}
    for member in body.named_children:
        name = member.child_by_field_name("name") or member.child_by_field_name("property")
        value = member.child_by_field_name("value")
        if member.type in ("public_field_definition", "field_definition") and name is not None and value is not None:
            fields[text_of(name)] = bare(value)
    said = {name: _value(value) for name, value in fields.items()}
    if "paths" in said:
        return _of_clipanion(node, fields, said)
    place = _COMMANDS_FOLDER.search(path)
    if place is None or {"description", "summary", "flags", "args", "examples"}.isdisjoint(fields):
        return []
    if said.get("hidden") is True:
        return []
    words = [part for part in re.split(r"[/:]", str(said.get("id") or place.group(1))) if part]
    spec = Spec(" ".join(words), line_of(node), about(said).description)
    spec.aliases = [alias.replace(":", " ") for alias in about(said).aliases]
    for group, is_option in (("args", False), ("flags", True)):
        holder = fields.get(group)
        for member in holder.named_children if holder is not None and holder.type == "object" else ():
            key, value = member.child_by_field_name("key"), member.child_by_field_name("value")
            row = _value(value) if value is not None else None
            if key is not None and isinstance(row, dict):
                spec.parameters += parameters_of("option" if is_option else "positional", [text_of(key), row])
    return [spec]


def _of_clipanion(node: Node, fields: dict[str, Node], said: dict[str, Any]) -> list[Spec]:
    """One command a path; options are fields made by `Option.…(…)`."""
    usage = said.get("usage")
    told = about(usage).description if isinstance(usage, dict) else ""
    made = [
        (n, value) for n, value in fields.items() if value.type == "call_expression" and "Option." in text_of(value)
    ]
    options = [_option(name, value) for name, value in made]
    paths = [words for words in _listed(said["paths"]) if isinstance(words, list)]
    return [Spec(" ".join(map(str, words)), line_of(node), told, parameters=options) for words in paths]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _value(node: Node) -> Any:
    """A literal, or the object that a call is given: `Flags.string({…})`, `Command.Usage({…})`."""
    node = bare(node)
    if node.type == "call_expression":
        given = node.child_by_field_name("arguments")
        inner = next((a for a in given.named_children if a.type == "object"), None) if given is not None else None
        return literal(inner) if inner is not None else {}
    return literal(node)


def _option(name: str, call: Node) -> Parameter:
    """clipanion's `Option.Boolean('--force', false, {description})`."""
    given = call.child_by_field_name("arguments")
    values = [literal(a) for a in given.named_children] if given is not None else []
    row = next((v for v in values if isinstance(v, dict)), {})
    flags = values[0] if values and isinstance(values[0], str) and values[0].startswith("-") else ""
    return Parameter(flags.replace(",", ", ") or f"<{name}>", about(row).description)


def _of_exports(root: Node, path: str) -> list[Spec]:
    """`export const command = 'get <key>'; export const describe = '…'`, or `exports.command = …`."""
    said: dict[str, Any] = {}
    line = 0
    for name, value in _exported(root):
        said[text_of(name)] = literal(value)
        line = line or line_of(name)
    spelled = said.get("command")
    names = [n for n in (spelled if isinstance(spelled, list) else [spelled]) if isinstance(n, str) and n.strip()]
    described = about(said).description
    if not names or not (described or "handler" in said):
        return []
    place = _COMMANDS_FOLDER.search(path)
    folders = place.group(1).split("/")[:-1] if place else []
    spec = child_of(None, names[0], line)
    spec.name = " ".join([*(f.removesuffix("-cmds").removesuffix("_cmds") for f in folders), spec.name]).strip()
    spec.about = described
    spec.aliases = [*names[1:], *about(said).aliases]
    spec.parameters = parameters_of("options", [said.get("builder")])
    return [spec]


def _exported(root: Node) -> Iterator[tuple[Node, Node]]:
    """(name, value) of what a module exports by name."""
    for node in root.named_children:
        inner = node.named_children[0] if node.type == "expression_statement" and node.named_children else None
        if node.type == "export_statement":
            declared = node.child_by_field_name("declaration")
            parts = (
                [d for d in declared.named_children if d.type == "variable_declarator"] if declared is not None else []
            )
            pairs = [(d.child_by_field_name("name"), d.child_by_field_name("value")) for d in parts]
        elif inner is not None and inner.type == "assignment_expression":
            target = inner.child_by_field_name("left")
            if target is None or not text_of(target).startswith(("exports.", "module.exports.")):
                continue
            pairs = [(target.child_by_field_name("property"), inner.child_by_field_name("right"))]
        else:
            continue
        yield from ((name, value) for name, value in pairs if name is not None and value is not None)
