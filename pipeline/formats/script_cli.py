"""Commands of TypeScript and JavaScript command lines, read from their source and never run.

Builders (commander, yargs, cac, sade, citty) are followed through chains of calls and the names that hold
them; classes (oclif, clipanion) and modules that export a yargs command say theirs in fields. What a program
computes is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.formats import command_classes
from pipeline.formats.command_texts import about
from pipeline.formats.command_tree import Spec, child_of, leaves, parameters_of, split_spec
from pipeline.formats.console import command_page
from pipeline.formats.page import Pages
from pipeline.formats.typed_input import bare, patterns
from pipeline.formats.typescript import broken_at, line_of, literal, parse, text_of, walk
from syntropy.contract.identity import slugify

if TYPE_CHECKING:
    from tree_sitter import Node

LIBRARIES = re.compile(
    r"""(?:from|require\(|import)\s*\(?["'](?:npm:)?"""
    r"""(commander|@commander-js/extra-typings|yargs|cac|sade|citty|caporal|@caporal/core|@oclif/core|@oclif/command|clipanion)"""
    r"""(?:[/@][^"']*)?["']"""
)
"""An import of a library that reads command lines; what is in the group is its name."""

MAX_DEPTH = 12
_EXPRESSIONS = ("call_expression", "new_expression", "object")
_FUNCTIONS = ("arrow_function", "function_expression", "function_declaration", "method_definition")


class Call(NamedTuple):
    """One call of a chain, and the node of its name."""

    method: str
    arguments: list[Node]
    name: Node
    node: Node


def pages(text: str, path: str) -> Pages:
    """One page of kind `command` a leaf of the tree of commands."""
    found = Pages()
    root = parse(text, path)
    if line := broken_at(root):
        found.problem("typescript-syntax", line, "is not valid TypeScript there", "fix it; the rest is read")
    library = used_library(text)
    roots = command_classes.read(root, path)
    roots += _Builders(root, library).roots() if library else []
    category = slugify(path.rpartition("/")[2].partition(".")[0])
    for spec in roots:
        for command in leaves(spec):
            found.add(command_page(command, path, slugify(command.words[0]) or category), command.line)
    if not found.pages:
        found.problem(
            "no-commands", 0, "holds no command of commander, yargs, cac, citty, oclif or clipanion", "exclude it"
        )
    return found


def used_library(text: str) -> str:
    """Name of the library for command lines that a source imports; empty where it imports none."""
    match = LIBRARIES.search(text)
    return match.group(1) if match else ""


class _Builders:
    """Commands by the names that hold them; what nobody declared stands for the program itself."""

    def __init__(self, root: Node, library: str) -> None:
        self._root, self._library = root, library
        self._program = Spec("", line=1)
        self._named: dict[str, Spec] = {}
        self._orphans: list[Spec] = []
        self._functions: dict[str, Node] = {}
        self._constants: dict[str, Any] = {}
        self._entered: set[int] = set()
        self._made: dict[int, Spec | None] = {}
        """What expressions that depend on nothing around them build, by node."""
        self._idle: set[int] = set()
        """Calls of chains that build nothing: each would be followed down to the chain's beginning again."""
        for node in walk(root):
            name = node.child_by_field_name("name")
            value = node.child_by_field_name("value")
            if node.type == "function_declaration" and name is not None:
                self._functions.setdefault(text_of(name), node)
            elif node.type == "variable_declarator" and name is not None and value is not None:
                if value.type in _FUNCTIONS:
                    self._functions.setdefault(text_of(name), value)
                elif isinstance(text := literal(value), str | list):
                    self._constants.setdefault(text_of(name), text)

    def roots(self) -> list[Spec]:
        """The program, and commands that no other one of this file holds."""
        self._read(self._root, {}, 0)
        held = {id(child) for spec in self._all() for child in spec.children}
        return [self._program, *(s for s in dict.fromkeys(self._orphans) if id(s) not in held)]

    def _all(self) -> Iterator[Spec]:
        stack = [self._program, *self._orphans]
        met: set[int] = set()
        while stack:
            spec = stack.pop()
            if id(spec) not in met:
                met.add(id(spec))
                yield spec
                stack += spec.children

    def _read(self, block: Node, local: Mapping[str, Spec], depth: int) -> None:
        """Statements of a block, in their order."""
        if depth > MAX_DEPTH:
            return
        stack = [block]
        while stack:
            node = stack.pop()
            if node.type == "variable_declarator":
                name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
                if value is not None and (spec := self._value(value, local, depth)) is not None and name is not None:
                    self._named[text_of(name)] = spec
                    continue
            elif node.type == "return_statement" and node.named_children:
                if self._value(node.named_children[0], local, depth) is not None:
                    continue
            elif node.type in _EXPRESSIONS and self._value(node, local, depth) is not None:
                continue
            stack.extend(reversed(node.children))

    def _value(self, node: Node, local: Mapping[str, Spec], depth: int) -> Spec | None:
        """The command an expression builds; None where it builds none."""
        node = bare(node)
        if node.id in self._idle:
            return None
        if local:
            return self._built(node, local, depth)
        if node.id not in self._made:
            self._made[node.id] = None  # while it is being read
            self._made[node.id] = self._built(node, local, depth)
        return self._made[node.id]

    def _built(self, node: Node, local: Mapping[str, Spec], depth: int) -> Spec | None:
        if node.type in ("identifier", "shorthand_property_identifier"):
            return local.get(text_of(node)) or self._named.get(text_of(node))
        if node.type == "object":
            return self._module(node, local, depth)
        base, calls = _chain(node)
        if node.type == "new_expression" or (base.type == "new_expression" and calls):
            return self._constructed(base, calls, local, depth)
        if not calls:
            return None
        if base.type == "identifier" and text_of(base) in ("defineCommand", "runMain") and len(calls) == 1:
            first = calls[0].arguments[0] if calls[0].arguments else None
            return self._defined(first, local, depth) if first is not None and first.type == "object" else None
        if not calls[0].method and base.type == "identifier" and text_of(base) in self._functions and len(calls) == 1:
            return self._returned(text_of(base), depth)
        named = text_of(base) in ("cac", "sade") and not calls[0].method
        if not named and all(call.method not in _BUILDING for call in calls):
            self._idle |= {call.node.id for call in calls[1:]}
            return None
        owner = local.get(text_of(base)) or self._named.get(text_of(base).removeprefix("this.")) or self._program
        if calls and not calls[0].method:  # yargs(process.argv), cac('name'), sade('name')
            given = literal(calls[0].arguments[0], self._constants) if calls[0].arguments else None
            if isinstance(given, str) and named:
                owner.name = given.split()[0] if given.split() else ""
            calls = calls[1:]
        return self._chained(owner, calls, local, depth)

    def _returned(self, name: str, depth: int) -> Spec | None:
        """What a function without arguments builds and returns."""
        function = self._functions[name]
        if function.id in self._entered or depth > MAX_DEPTH:
            return self._named.get(f"{name}()")
        body = function.child_by_field_name("body")
        self._entered.add(function.id)
        for node in walk(body) if body is not None else ():
            if node.type == "return_statement" and node.named_children:
                self._read(body, {}, depth + 1) if body is not None else None
                spec = self._value(node.named_children[0], {}, depth + 1)
                if spec is not None:
                    self._named[f"{name}()"] = spec
                return spec
        return None

    def _constructed(self, base: Node, calls: list[Call], local: Mapping[str, Spec], depth: int) -> Spec | None:
        """`new Command('add').description(…)`; without a name it is the program."""
        made = base.child_by_field_name("constructor")
        if made is None or text_of(made).rpartition(".")[2] != "Command":
            return None
        given = base.child_by_field_name("arguments")
        arguments = given.named_children if given is not None else []
        first = literal(arguments[0], self._constants) if arguments else None
        if isinstance(first, str) and first:
            spec = child_of(None, first, line_of(base))
            self._orphans.append(spec)
        elif any(call.method == "name" for call in calls) and self._program.name:
            spec = Spec("", line=line_of(base))
            self._orphans.append(spec)
        else:
            spec = self._program
        self._chained(spec, calls, local, depth)
        return spec

    def _chained(self, owner: Spec, calls: list[Call], local: Mapping[str, Spec], depth: int) -> Spec:
        current = owner
        for method, arguments, node, _ in calls:
            values = [literal(argument, self._constants) for argument in arguments]
            texts = [value for value in values if isinstance(value, str)]
            if method == "command" and arguments:
                current = self._command(current, arguments, values, node, local, depth)
            elif method in ("description", "describe", "summary") and texts:
                current.about = current.about or texts[0]
            elif method in ("name", "scriptName") and texts:
                current.name = texts[0]
            elif method in ("alias", "aliases"):
                current.aliases += about(
                    {"aliases": values[0] if values and isinstance(values[0], list) else texts}
                ).aliases
            elif method == "usage" and texts and self._library != "yargs":
                current.usage = texts[0]
            elif method in ("option", "requiredOption", "positional", "argument", "arguments", "options"):
                current.parameters += parameters_of(method, values)
            elif method == "addCommand" and arguments:
                added = self._value(arguments[0], local, depth + 1)
                if added is not None and added is not current:
                    current.children.append(added)
        return current

    def _command(
        self, owner: Spec, arguments: list[Node], values: list[Any], node: Node, local: Mapping[str, Spec], depth: int
    ) -> Spec:
        """`.command(…)`: the command that the chain goes on with, which for yargs is the one it was called on."""
        returns_owner = self._library == "yargs"
        if bare(arguments[0]).type in ("object", "identifier") and not isinstance(values[0], str | list):
            module = self._value(arguments[0], local, depth + 1)
            if module is not None:
                owner.children.append(module)
            return owner
        spelled = values[0] if isinstance(values[0], list) else [values[0]]
        names = [text for text in spelled if isinstance(text, str) and text.strip()]
        if not names:
            return owner
        inherited = owner if not (self._library == "cac" and owner is not self._program) else self._program
        child = child_of(inherited, names[0], line_of(node))
        child.aliases += [split_spec(other)[0][0] for other in names[1:] if split_spec(other)[0]]
        if len(values) > 1 and isinstance(values[1], str):
            child.about = values[1]
            returns_owner = returns_owner or self._library.startswith(("commander", "@commander"))
        hides = any(isinstance(value, Mapping) and value.get("hidden") is True for value in values[1:])
        child.hidden = hides or (len(values) > 1 and values[1] is False)
        for builder in arguments[2:3]:
            self._builder(child, builder, local, depth)
        return inherited if returns_owner else child

    def _builder(self, child: Spec, builder: Node, local: Mapping[str, Spec], depth: int) -> None:
        """yargs' third argument: a function that is given the command, or an object of options."""
        builder = bare(builder)
        if builder.type == "identifier":
            builder = self._functions.get(text_of(builder), builder)
        if builder.type in _FUNCTIONS:
            names = [text_of(p) for p in patterns(builder)]
            body = builder.child_by_field_name("body")
            if names and body is not None:
                self._read(body, {**local, names[0]: child}, depth + 1)
        elif builder.type == "object":
            child.parameters += parameters_of("options", [literal(builder, self._constants)])

    def _module(self, node: Node, local: Mapping[str, Spec], depth: int) -> Spec | None:
        """`{command: 'get <key>', describe: …, builder, handler}`."""
        fields = _fields(node)
        spelled = literal(fields["command"], self._constants) if "command" in fields else None
        if self._library != "yargs" or not spelled or {"handler", "builder", "describe", "desc"}.isdisjoint(fields):
            return None
        value = literal(node, self._constants)
        names = [text for text in (spelled if isinstance(spelled, list) else [spelled]) if isinstance(text, str)]
        if not names:
            return None
        spec = child_of(None, names[0], line_of(node))
        said = about(value)
        spec.about, spec.hidden = said.description, value.get("describe") is False
        spec.aliases = [*names[1:], *said.aliases]
        if "builder" in fields:
            self._builder(spec, fields["builder"], local, depth)
        self._orphans.append(spec)
        return spec

    def _defined(self, node: Node, local: Mapping[str, Spec], depth: int) -> Spec | None:
        """citty's `defineCommand({meta, args, subCommands})`."""
        fields = _fields(node)
        meta = literal(fields["meta"], self._constants) if "meta" in fields else {}
        meta = meta if isinstance(meta, dict) else {}
        spec = Spec(str(meta.get("name") or ""), line=line_of(node), about=about(meta).description)
        if "args" in fields:
            spec.parameters += parameters_of("options", [literal(fields["args"], self._constants)])
        below = fields.get("subCommands")
        for name, value in _fields(below).items() if below is not None and below.type == "object" else ():
            child = self._value(value, local, depth + 1)
            if child is not None:
                child.name = name
                spec.children.append(child)
        self._orphans.append(spec)
        return spec


_BUILDING = frozenset({"command", "addCommand", "option", "description", "requiredOption", "argument", "scriptName"})


def _chain(node: Node) -> tuple[Node, list[Call]]:
    """`a.b(1).c(2)` → (a, [b(1), c(2)]); a call without a method has an empty name."""
    calls: list[Call] = []
    node = bare(node)
    while node.type == "call_expression":
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        arguments = [a for a in given.named_children if a.type != "comment"] if given is not None else []
        if called is None:
            break
        if called.type == "member_expression":
            name, of = called.child_by_field_name("property"), called.child_by_field_name("object")
            if name is None or of is None:
                break
            calls.append(Call(text_of(name), arguments, name, node))
            node = bare(of)
        else:
            calls.append(Call("", arguments, node, node))
            node = bare(called)
    calls.reverse()
    return node, calls


def _fields(node: Node) -> dict[str, Node]:
    """Members of an object literal, methods and shorthand names among them."""
    found: dict[str, Node] = {}
    for member in node.named_children:
        key = member.child_by_field_name("key") or member.child_by_field_name("name")
        value = member.child_by_field_name("value") or member
        if member.type == "shorthand_property_identifier":
            key, value = member, member
        if key is not None:
            name = literal(key) if key.type == "string" else text_of(key)
            found[str(name)] = value
    return found
