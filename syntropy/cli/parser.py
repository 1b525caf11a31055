"""The table of commands as an argument parser; only what is asked for is made, which saves 10 ms."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from typing import Any

from syntropy.cli.command_table import COMMANDS, GROUPS, Command

_PROJECT = "project (default: the one around this folder)"
_Verbs = Any
"""What `add_subparsers` gives: argparse has no public name for it."""


class Parser(argparse.ArgumentParser):
    """Errors name the nearest choice, and a group of verbs lists them."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            near = difflib.get_close_matches(str(value), names, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(names)}"
            raise argparse.ArgumentError(action, f"unknown: {value!r}; {hint}")


def build_parser(version: str, words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """The parser of what `words` begin with; the whole one where they begin with no command.

    `run` of what it parses names module.function of `syntropy.cli`; a group without a verb has `group` instead.
    """
    parser = Parser(
        prog="syntropy",
        description="One prebuilt search database over everything a team knows.",
        epilog='Start with `syntropy init` in a project, then `syntropy search "…"`.',
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"syntropy {version}")
    first = words[0] if words else ""
    asked = [command for command in COMMANDS if command.name.partition(" ")[0] == first] or COMMANDS
    commands = parser.add_subparsers(metavar="COMMAND")
    groups: dict[str, _Verbs] = {}
    for command in asked:
        name, _, verb = command.name.partition(" ")
        if not verb:
            made = _add(commands, name, command)
            if any(other.name.startswith(f"{name} ") for other in asked):
                groups[name] = made.add_subparsers(metavar="VERB")
            continue
        if name not in groups:
            group = commands.add_parser(name, help=GROUPS[name], description=GROUPS[name], allow_abbrev=False)
            group.set_defaults(run="", group=group)
            groups[name] = group.add_subparsers(metavar="VERB")
        _add(groups[name], verb, command)
    return parser


def _add(commands: _Verbs, name: str, command: Command) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=command.about,
        description=command.about,
        epilog=f"example: syntropy {command.example}",
        allow_abbrev=False,
    )
    parser.set_defaults(run=command.run)
    _add_where(parser, command)
    if command.json:
        parser.add_argument("--json", action="store_true", help="machine-readable output")
    for flags, settings in command.options:
        parser.add_argument(*flags, **settings)
    return parser


def _add_where(parser: argparse.ArgumentParser, command: Command) -> None:
    """`--project` and its like: see `command_table.Where` and `place`."""
    if command.where == "notes":
        whose = parser.add_mutually_exclusive_group()
        whose.add_argument("--project", metavar="PATH", help=_PROJECT)
        whose.add_argument("--user", action="store_true", help="the notes that follow you, not the project's")
        parser.add_argument("--notes", dest="file_path", metavar="FILE", help="a file of notes (default: notes.path)")
    elif command.where:
        parser.add_argument("--project", metavar="PATH", help=_PROJECT)
    if command.where == "build":
        parser.add_argument("--out", metavar="DIR", help="folder of the artifacts (default: paths.out)")
    if command.where == "reader":
        where = parser.add_mutually_exclusive_group()
        where.add_argument("--out", metavar="DIR", help="a folder of artifacts (default: the project's)")
        where.add_argument(
            "--db", metavar="FILE", action="append", help="a database file; several, as NAME=FILE: searched as one"
        )
