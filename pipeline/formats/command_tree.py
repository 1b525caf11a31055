"""A tree of commands as libraries for command lines declare it, and its leaves as pages' commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from pipeline.formats.command_texts import about
from pipeline.formats.console_words import MAX_ALIASES, Command
from pipeline.formats.page import one_line

MAX_DEPTH = 12


class Parameter(NamedTuple):
    """An argument (`<path>`) or option (`-f, --force`) as a user types it, and what it means."""

    name: str
    about: str


@dataclass(eq=False)
class Spec:
    """A node of the tree; the root's name is the program's."""

    name: str
    line: int = 0
    about: str = ""
    usage: str = ""
    hidden: bool = False
    aliases: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    parameters: list[Parameter] = field(default_factory=list)
    children: list[Spec] = field(default_factory=list)


def split_spec(spec: str) -> tuple[list[str], list[str]]:
    """`remote add <name> [url]` → (words, arguments)."""
    words: list[str] = []
    arguments: list[str] = []
    for part in spec.split():
        if part[0] in "<[" or arguments:
            arguments.append(part)
        elif part not in ("$0", "*"):
            words.append(part)
    return words, arguments


def child_of(owner: Spec | None, spec: str, line: int) -> Spec:
    """The command that `spec` names below `owner`, made with the groups between; `install|i` has an alias."""
    words, arguments = split_spec(spec)
    if not words and owner is not None:  # yargs' `$0`: the program itself
        owner.arguments = arguments
        return owner
    current = owner
    for word in words or [""]:
        name, *others = word.split("|")
        child = next((c for c in current.children if c.name == name), None) if current is not None else None
        if child is None:
            child = Spec(name, line, aliases=others)
            if current is not None:
                current.children.append(child)
        current = child
    assert current is not None  # there is at least one word
    current.arguments = arguments
    return current


def leaves(root: Spec) -> Iterator[Command]:
    """A command for every node that has no children, or does something beside them."""
    stack: list[tuple[Spec, tuple[str, ...], list[tuple[str, ...]], int]] = [
        (root, (root.name,) if root.name else (), [], 0)
    ]
    met: set[int] = set()
    while stack:
        spec, words, aliases, depth = stack.pop(0)
        if spec.hidden or depth > MAX_DEPTH or id(spec) in met:
            continue
        met.add(id(spec))
        bare_program = depth == 0 and not (spec.parameters or spec.arguments or spec.about)
        if words and (not spec.children or spec.arguments) and not bare_program:
            yield _command(spec, words, aliases)
        below = []
        for child in spec.children:
            spelled = ((*prefix, name) for prefix in (words, *aliases) for name in (child.name, *child.aliases))
            below.append((child, (*words, child.name), list(islice(spelled, 1, MAX_ALIASES)), depth + 1))
        stack[:0] = below


def _command(spec: Spec, words: tuple[str, ...], aliases: list[tuple[str, ...]]) -> Command:
    options = [p for p in spec.parameters if p.name.startswith("-")]
    named = [p.name for p in spec.parameters if not p.name.startswith("-") and p.name[:1] in "<["]
    arguments = spec.arguments or named
    usage = " ".join([*words, *([spec.usage] if spec.usage else [*arguments, *(["[options]"] if options else [])])])
    return Command(
        words,
        spec.line,
        aliases,
        one_line(usage),
        one_line(spec.about),
        options=[[f"`{_as_spelled(p.name, spec.arguments)}`", p.about] for p in spec.parameters],
    )


def _as_spelled(name: str, arguments: list[str]) -> str:
    """A positional argument as the command's own line has it: `<order>`, and not `[order]`."""
    return next((a for a in arguments if a.strip("<>[].") == name.strip("<>[].")), name)


def parameters_of(method: str, values: list[Any]) -> list[Parameter]:
    """What `.option('-f, --force', 'about')`, `.option('port', {describe})` or `.options({…})` declare."""
    if method == "options" and values and isinstance(values[0], Mapping):
        return [_described(str(name), value) for name, value in values[0].items() if isinstance(value, Mapping)]
    if not values or not isinstance(values[0], str):
        return []
    name, rest = values[0], values[1:]
    if rest and isinstance(rest[0], Mapping):
        return [_described(name, rest[0], is_option=method != "positional")]
    if method == "arguments":
        return [Parameter(part, "") for part in name.split()]
    is_option = method in ("option", "requiredOption", "options")
    if is_option and not name.startswith("-"):
        name = f"--{name}"
    if method == "argument" and name[:1] not in "<[":
        name = f"<{name}>"
    said = next((value for value in rest if isinstance(value, str)), "")
    default = rest[1] if len(rest) > 1 and isinstance(rest[1], str | int | float) else None
    return [Parameter(name, _with_facts(one_line(said), required=method == "requiredOption", default=default))]


def _described(name: str, row: Mapping[str, Any], *, is_option: bool = True) -> Parameter:
    """An option or positional argument that an object describes (yargs, citty, oclif)."""
    said = about(row)
    required = row.get("required") is True or row.get("demandOption") is True
    choices = row.get("choices", row.get("options"))
    values = f" One of {', '.join(map(str, choices))}." if isinstance(choices, list) and choices else ""
    if not is_option or row.get("type") == "positional":
        return Parameter(f"<{name}>" if required else f"[{name}]", (said.description + values).strip())
    short = [row["char"]] if isinstance(row.get("char"), str) else [a for a in said.aliases if len(a) == 1]
    flags = ", ".join([*(f"-{s}" for s in short), f"--{name}"])
    told = _with_facts((said.description + values).strip(), required=required, default=row.get("default"))
    return Parameter(flags, told)


def _with_facts(text: str, *, required: bool, default: Any) -> str:
    """What an option means, with whether it must be given and what it is otherwise."""
    known = default if isinstance(default, str | int | float) and not isinstance(default, bool) else None
    facts = ["required"] if required else [f"default: {known}"] if known is not None and known != "" else []
    return f"{text} ({facts[0]})".strip() if facts else text
