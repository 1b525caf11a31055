"""Commands of Python command lines, read from the syntax tree: argparse, click and typer.

Nothing is imported or run, so what a program computes (names made in loops, commands from plug-ins) is not
seen. A command without subcommands is one page; its groups are the words before it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.formats.entries import GENERATED, page_of
from pipeline.formats.page import Page, Pages, fence, one_line, table
from syntropy.contract.identity import slugify

MAX_DEPTH = 12


@dataclass
class Parameter:
    """An argument or option as a user types it."""

    name: str
    about: str = ""
    required: bool = False
    is_option: bool = False


@dataclass
class Command:
    """A node of the tree of commands. `name` is empty where the program's file names it."""

    name: str
    about: str = ""
    more: str = ""
    line: int = 0
    hidden: bool = False
    parameters: list[Parameter] = field(default_factory=list)
    children: list[Command] = field(default_factory=list)
    is_group: bool = False


def pages(text: str, path: str) -> Pages:
    """One page of kind `command` a leaf of the tree."""
    found = Pages()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        found.problem("python-syntax", getattr(error, "lineno", 0) or 0, f"is not valid Python: {error}", "fix it")
        return found
    roots = [*_argparse(tree), *_decorated(tree)]
    stem = path.rpartition("/")[2].removesuffix(".py")
    program = path.rsplit("/", 2)[-2] if stem in ("__main__", "cli", "main", "app") and "/" in path else stem
    for root in roots:
        for words, command in _leaves(root, (root.name or program.replace("_", "-"),), 0):
            found.add(_page(words, command, path), command.line)
    if not found.pages:
        found.problem("no-commands", 0, "holds no argparse, click or typer command that can be read", "exclude it")
    return found


def _leaves(command: Command, words: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], Command]]:
    if command.hidden or depth > MAX_DEPTH:
        return
    if not command.children and not (command.is_group and depth == 0 and not command.parameters):
        yield words, command
    for child in command.children:
        yield from _leaves(child, (*words, child.name), depth + 1)


def _page(words: tuple[str, ...], command: Command, path: str) -> Page:
    spelled = " ".join(words)
    arguments = [p for p in command.parameters if not p.is_option]
    options = [p for p in command.parameters if p.is_option]
    syntax = " ".join(
        [
            spelled,
            *(f"<{p.name}>" if p.required else f"[{p.name}]" for p in arguments),
            *(["[options]"] if options else []),
        ]
    )
    rows = [[f"`{p.name}`", "yes" if p.required else "no", p.about] for p in [*arguments, *options]]
    shown = table(["Parameter", "Required", "Meaning"], rows)
    content = "\n\n".join(
        filter(
            None, (f"**Syntax:**\n\n{fence(syntax)}", shown, command.more, f"Defined in `{path}`, line {command.line}.")
        )
    )
    return page_of(
        {
            "id": f"cmd-{slugify(spelled, max_length=120)}",
            "type": "command",
            "title": syntax,
            "category": slugify(words[0]),
            "subcategory": words[1] if len(words) > 2 else "",
            "summary": one_line(command.about),
            "content": content,
            "keywords": list(dict.fromkeys(words)),
            "aliases": [spelled] if syntax != spelled else [],
            "source": f"{GENERATED}{path}",
        }
    )


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _keywords(call: ast.Call) -> dict[str, ast.expr]:
    return {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}


def _true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _called(node: ast.AST | None) -> str:
    """Dotted name of what is called: `typer.Option`, `top.add_parser`."""
    target = node.func if isinstance(node, ast.Call) else node
    parts: list[str] = []
    while isinstance(target, ast.Attribute):
        parts.append(target.attr)
        target = target.value
    return ".".join(reversed([*parts, target.id])) if isinstance(target, ast.Name) else ".".join(reversed(parts))


def _choices(node: ast.expr | None) -> str:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        values = [str(item.value) for item in node.elts if isinstance(item, ast.Constant)]
        return f" One of {', '.join(values)}." if values else ""
    return ""


def _argparse(tree: ast.Module) -> Iterator[Command]:
    """Parsers by the names that hold them (`p`, `self.sub`), in the order of the source."""
    reader = _Argparse(tree)
    reader.read(tree.body, {}, {}, 0)
    yield from reader.roots


class _Argparse:
    """Follows parsers and groups of subparsers through assignments and into functions that are given them."""

    def __init__(self, tree: ast.Module) -> None:
        self.roots: list[Command] = []
        self._functions = {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
        self._entered: set[str] = set()

    def read(
        self, body: Sequence[ast.stmt], parsers: dict[str, Command], groups: dict[str, Command], depth: int
    ) -> None:
        """Statements in order; function bodies that nobody gave a parser come with names of their own."""
        for statement in body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                if isinstance(statement, ast.ClassDef) or statement.name not in self._entered:
                    self.read(statement.body, dict(parsers), groups, depth + 1)
                continue
            if isinstance(statement, ast.For) and self._loop(statement, parsers, groups, depth):
                continue
            for name in ("body", "orelse", "finalbody"):
                nested = getattr(statement, name, None)
                if isinstance(nested, list) and depth < MAX_DEPTH:
                    self.read(nested, parsers, groups, depth + 1)
            calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)] if _is_plain(statement) else []
            for call in sorted(calls, key=lambda c: (c.lineno, c.col_offset)):
                target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
                self._call(call, _called(target) if target is not None else "", parsers, groups, depth)

    def _loop(self, loop: ast.For, parsers: dict[str, Command], groups: dict[str, Command], depth: int) -> bool:
        """A loop over literal names: its body once for each, the names in place of the variable."""
        try:
            values = ast.literal_eval(loop.iter)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return False
        if depth >= MAX_DEPTH or not isinstance(values, list | tuple | dict) or len(values) > 200:
            return False
        names = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
        for value in values:
            members = list(value) if isinstance(value, list | tuple) else [value]
            known = {n: v for n, v in zip(names, members, strict=False) if isinstance(v, str)}
            body = [_Filled(known).visit(ast.parse(ast.unparse(s)).body[0]) for s in loop.body]
            for statement in body:
                for node in ast.walk(statement):
                    if hasattr(node, "lineno"):
                        node.lineno = loop.lineno
            self.read(body, parsers, groups, depth + 1)
        return True

    def _call(
        self, call: ast.Call, name: str, parsers: dict[str, Command], groups: dict[str, Command], depth: int
    ) -> None:
        owner, _, method = _called(call).rpartition(".")
        given = _keywords(call)
        if method == "ArgumentParser":
            about = _text(given.get("description"))
            root = Command(_text(given.get("prog")), about, _text(given.get("epilog")), call.lineno, is_group=True)
            self.roots.append(root)
            parsers[name] = root
        elif method == "add_subparsers" and owner in parsers:
            groups[name] = parsers[owner]
        elif method == "add_parser" and owner in groups:
            spelled = _text(call.args[0]) if call.args else _text(given.get("name"))
            if spelled and all(child.name != spelled for child in groups[owner].children):
                about = _text(given.get("help")) or _text(given.get("description"))
                child = Command(spelled, about, _text(given.get("epilog")), call.lineno)
                groups[owner].children.append(child)
                parsers[name or f"{spelled}@{call.lineno}"] = child
        elif method == "add_argument" and owner in parsers:
            parsers[owner].parameters += _argument(call, given)
        elif method in ("add_argument_group", "add_mutually_exclusive_group") and owner in parsers:
            parsers[name] = parsers[owner]
        elif (function := self._functions.get(method)) is not None and depth < MAX_DEPTH:
            self._enter(function, call, parsers, groups, depth)

    def _enter(
        self,
        function: ast.FunctionDef | ast.AsyncFunctionDef,
        call: ast.Call,
        parsers: dict[str, Command],
        groups: dict[str, Command],
        depth: int,
    ) -> None:
        """The body of a function with the parsers it was called with."""
        names = [a.arg for a in function.args.args if a.arg != "self"]
        pairs = [*zip(names, call.args, strict=False), *((k.arg, k.value) for k in call.keywords if k.arg)]
        inner_parsers = {n: parsers[v] for n, a in pairs if (v := _called(a)) in parsers}
        inner_groups = {n: groups[v] for n, a in pairs if (v := _called(a)) in groups}
        if inner_parsers or inner_groups:
            self._entered.add(function.name)
            self.read(function.body, inner_parsers, inner_groups, depth + 1)


class _Filled(ast.NodeTransformer):
    """Names replaced by the texts a loop gives them."""

    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        known = self._known.get(node.id)
        return (
            ast.copy_location(ast.Constant(known), node)
            if known is not None and isinstance(node.ctx, ast.Load)
            else node
        )


def _is_plain(statement: ast.stmt) -> bool:
    """Does it hold expressions only, and no statements of its own?"""
    return isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return)


def _statements(tree: ast.Module) -> Iterator[ast.Assign | ast.Expr]:
    """Assignments and expressions anywhere, by line."""
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Assign | ast.Expr)]
    yield from sorted(found, key=lambda n: (n.lineno, n.col_offset))


def _argument(call: ast.Call, given: dict[str, ast.expr]) -> list[Parameter]:
    names = [text for arg in call.args if (text := _text(arg))]
    if not names:
        return []
    is_option = names[0].startswith("-")
    about = _text(given.get("help")) + _choices(given.get("choices"))
    optional = _text(given.get("nargs")) in ("?", "*")
    required = _true(given.get("required")) if is_option else not optional
    return [Parameter(", ".join(names), about.strip(), required, is_option)]


def _decorated(tree: ast.Module) -> Iterator[Command]:
    """click and typer: functions under `@group.command`, and apps that are added to others."""
    apps: dict[str, Command] = {}
    child_of: dict[str, str] = {}
    for node in _statements(tree):
        call = node.value
        if not isinstance(call, ast.Call):
            continue
        given, called = _keywords(call), _called(call)
        if (
            isinstance(node, ast.Assign)
            and called.rpartition(".")[2] == "Typer"
            and isinstance(node.targets[0], ast.Name)
        ):
            name, about = _text(given.get("name")), _text(given.get("help"))
            apps[node.targets[0].id] = Command(name, about, "", call.lineno, is_group=True)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    for function in sorted(functions, key=lambda n: n.lineno):
        for decorator in function.decorator_list:
            owner, _, method = _called(decorator).rpartition(".")
            if method not in ("command", "group", "callback"):
                continue
            if method == "callback":
                if owner in apps and not apps[owner].about:
                    apps[owner].about = _docstring(function)[0]
                break
            if owner in ("click", "") or owner in apps:
                apps[function.name] = _function_command(function, decorator, is_group=method == "group")
                if owner in apps and owner != function.name:
                    child_of[function.name] = owner
                break
    for node in _statements(tree):
        call = node.value
        owner, _, method = _called(call).rpartition(".") if isinstance(call, ast.Call) else ("", "", "")
        if isinstance(call, ast.Call) and method in ("add_typer", "add_command") and call.args and owner in apps:
            child = _called(call.args[0])
            if child in apps and child != owner:
                given = _keywords(call)
                named = _text(given.get("name")) or (_text(call.args[1]) if len(call.args) > 1 else "")
                apps[child].name = named or apps[child].name
                apps[child].about = apps[child].about or _text(given.get("help"))
                child_of[child] = owner
    for name, owner in child_of.items():
        apps[owner].children.append(apps[name])
        apps[owner].children.sort(key=lambda c: c.line)
    for name, command in apps.items():
        if name not in child_of:
            yield command


def _function_command(
    function: ast.FunctionDef | ast.AsyncFunctionDef, decorator: ast.expr, *, is_group: bool
) -> Command:
    given = _keywords(decorator) if isinstance(decorator, ast.Call) else {}
    first = _text(decorator.args[0]) if isinstance(decorator, ast.Call) and decorator.args else ""
    about, more = _docstring(function)
    name = first or _text(given.get("name")) or function.name.replace("_", "-")
    command = Command(
        name,
        _text(given.get("help")) or _text(given.get("short_help")) or about,
        "\n\n".join(filter(None, (more, _text(given.get("epilog"))))),
        function.lineno,
        _true(given.get("hidden")),
        is_group=is_group,
    )
    for other in function.decorator_list:
        if isinstance(other, ast.Call) and _called(other).rpartition(".")[2] in ("option", "argument"):
            command.parameters += _click_parameter(other)
    command.parameters += _typer_parameters(function)
    return command


def _click_parameter(call: ast.Call) -> list[Parameter]:
    given = _keywords(call)
    names = [text for arg in call.args if (text := _text(arg))]
    is_option = _called(call).endswith("option")
    shown = [n for n in names if n.startswith("-")] if is_option else names[:1]
    kind = given.get("type")
    choices = _choices(kind.args[0]) if isinstance(kind, ast.Call) and kind.args else ""
    required = _true(given.get("required")) or (not is_option and "nargs" not in given and "required" not in given)
    about = (_text(given.get("help")) + choices).strip()
    return [Parameter(", ".join(shown), about, required, is_option)] if shown else []


def _typer_parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Parameter]:
    """Parameters annotated or defaulted with `typer.Option` or `typer.Argument`."""
    arguments = function.args.args
    defaults = [None] * (len(arguments) - len(function.args.defaults)) + list(function.args.defaults)
    pairs = [
        *zip(arguments, defaults, strict=True),
        *zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True),
    ]
    for argument, default in pairs:
        call = next(
            (
                node
                for place in (argument.annotation, default)
                if place is not None
                for node in ast.walk(place)
                if isinstance(node, ast.Call) and _called(node).rpartition(".")[2] in ("Option", "Argument")
            ),
            None,
        )
        if call is None:
            continue
        given = _keywords(call)
        is_option = _called(call).endswith("Option")
        flags = [text for arg in call.args if (text := _text(arg)).startswith("-")]
        name = ", ".join(flags) or ("--" * is_option + argument.arg.replace("_", "-" if is_option else "_"))
        in_default = default is call
        ellipsis = bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value is ...
        required = ellipsis if in_default else default is None
        yield Parameter(name, _text(given.get("help")), required, is_option)


def _docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, str]:
    text = (ast.get_docstring(function) or "").partition("\f")[0]
    about, _, more = text.partition("\n\n")
    return one_line(about), more.strip()
