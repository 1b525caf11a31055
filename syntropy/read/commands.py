"""Commands by name: exactly, by an alias, with arguments filled in, or the nearest one."""

from __future__ import annotations

import difflib
import json
import re
from typing import TYPE_CHECKING, NamedTuple

from ..contract.errors import DocumentNotFoundError
from ..contract.identity import place_of
from ..contract.text import bare

if TYPE_CHECKING:
    from ..store.database import Database

NEAR = 0.6
"""Share of matching characters (Ratcliff and Obershelp) below which two names are not near."""

SLIP = 0.7
"""The same, of two words: above it one is taken for the other, misspelt."""

_OPPOSITE = re.compile("un|de|dis|re|in|non")
"""What before a word makes it another one: `unsuspend` is not `suspend` misspelt."""

MOST_NEAR = 5

_POSITIONAL = re.compile(r"<[^>]*>|\[(?!options?\]|flags?\])[^\]]*\]|\{[^}]*\}", re.IGNORECASE)
_OPTION = re.compile(r"(?<![^\s\[])\[?--?[A-Za-z][\w-]*[= ]?(?:<[^>]*>)?\]?")
"""What a command's title or syntax says of its arguments, and its options with their values."""


class Command(NamedTuple):
    """A command entry; `place` is how its document is cited."""

    key: str
    title: str
    summary: str
    category: str
    subcategory: str
    aliases: tuple[str, ...]
    place: str
    takes_arguments: bool


class Match(NamedTuple):
    """A command and how it was found: exact, alias, id, arguments or nearest (with what differs)."""

    command: Command
    how: str
    difference: str = ""


class Commands:
    """All commands of a database, read once."""

    def __init__(self, database: Database) -> None:
        rows = database.rows(
            "SELECT key, title, summary, frontmatter, aliases, package, path FROM documents "
            "WHERE kind = 'command' ORDER BY title, package, path"
        )
        self.all = [_command(*row) for row in rows]
        self._parents = [_folded(bare(command.title)) for command in self.all]
        self._names: dict[str, tuple[Command, str]] = {}
        for how, names in (
            ("exact", [(c.title, c) for c in self.all]),
            ("exact", [(bare(c.title), c) for c in self.all]),
            ("alias", [(alias, c) for c in self.all for alias in c.aliases]),
            ("id", [(c.key, c) for c in self.all]),
        ):
            for name, command in names:
                self._names.setdefault(_folded(name), (command, how))

    def find(self, name: str) -> Match:
        """The command of a name, with or without its placeholders. Raises DocumentNotFoundError."""
        for wanted in (_folded(name), _folded(bare(name))):
            if wanted in self._names:
                return Match(*self._names[wanted])
        if (folded := self._without_program(_folded(bare(name)))) is not None:
            return folded
        words = _folded(name).split()
        for count in range(len(words) - 1, 0, -1):
            known = self._names.get(" ".join(words[:count]))
            if (
                known is not None
                and known[1] in ("exact", "alias")
                and self._takes(known[0], words[:count], words[count])
            ):
                given = " ".join(name.split()[count:])
                return Match(known[0], "arguments", f"{given} taken as arguments")
        asked = _folded(bare(name))
        within = (
            [command for command in self.all if f" {asked} " in f" {_folded(bare(command.title))} "] if asked else []
        )
        if len(within) == 1 and " " in asked:
            return Match(within[0], "alias", f"part of {bare(within[0].title)!r}")
        near = difflib.get_close_matches(asked, self._names, n=MOST_NEAR, cutoff=NEAR)
        if near and _is_slip(asked, near[0]):
            return Match(self._names[near[0]][0], "nearest", _difference(asked, near[0]))
        named = [command.title for command in within[:MOST_NEAR]]
        titles = list(dict.fromkeys([*named, *(self._names[one][0].title for one in near)]))
        hint = "the nearest by name" if titles else "list_commands names all of them"
        raise DocumentNotFoundError(f"no such command: {name!r}", hint=hint, names=titles)

    def _takes(self, command: Command, name: list[str], first: str) -> bool:
        """May what follows a command's name be its arguments? An unknown subcommand is not one."""
        if first.startswith("-"):
            return True
        parent = " ".join(name) + " "
        if any(known.startswith(parent) and known != parent for known in self._parents):
            return False
        return command.takes_arguments

    def _without_program(self, asked: str) -> Match | None:
        """A command typed with the program's name before it, or without where its entry has it."""
        first, _, rest = asked.partition(" ")
        if " " in rest and rest in self._names and not any(known.partition(" ")[0] == first for known in self._names):
            return Match(self._names[rest][0], "alias", f"without the program's name {first!r}")
        ends = [self._names[known][0] for known in self._names if known.partition(" ")[2] == asked]
        longer = {command.key: command for command in ends}
        if asked and len(longer) == 1:
            return Match(next(iter(longer.values())), "alias", "with the program's name")
        return None

    def categories(self) -> dict[str, int]:
        """How many commands each category has, by name."""
        counts: dict[str, int] = {}
        for command in self.all:
            name = "/".join(filter(None, (command.category, command.subcategory)))
            counts[name] = counts.get(name, 0) + 1
        return dict(sorted(counts.items()))

    def of(self, category: str) -> list[Command]:
        """The commands of a category, a subcategory or `category/subcategory`; all without one.

        Raises DocumentNotFoundError for a name that none has.
        """
        wanted = category.strip().lower()
        found = [
            c
            for c in self.all
            if not wanted
            or wanted in (c.category.lower(), c.subcategory.lower(), f"{c.category}/{c.subcategory}".lower())
        ]
        if wanted and not found:
            names = [name for name in self.categories() if name]
            hint = "categories" if names else "no command has one"
            raise DocumentNotFoundError(f"no command has the category {category!r}", hint=hint, names=names)
        return found


def _folded(name: str) -> str:
    return " ".join(name.lower().split())


def _is_slip(asked: str, known: str) -> bool:
    """Is it the same name with words misspelt: as many words, each the same or nearly so?"""
    left, right = asked.split(), known.split()
    return len(left) == len(right) and all(
        one == other
        or (
            not _OPPOSITE.fullmatch(one.removesuffix(other) or other.removesuffix(one))
            and difflib.SequenceMatcher(None, one, other).ratio() >= SLIP
        )
        for one, other in zip(left, right, strict=True)
    )


def _difference(asked: str, found: str) -> str:
    """Which words the asked name has too many, and which are missing."""
    left, right = asked.split(), found.split()
    extra = [word for word in left if word not in right]
    missing = [word for word in right if word not in left]
    parts = [f"not in it: {' '.join(extra)}"] * bool(extra) + [f"it has also: {' '.join(missing)}"] * bool(missing)
    return "; ".join(parts) or "the words stand in another order"


def _command(
    key: str, title: str, summary: str, frontmatter: str, aliases: list[str], package: str, path: str
) -> Command:
    facts = json.loads(frontmatter)
    return Command(
        key,
        title,
        summary,
        str(facts.get("category") or ""),
        str(facts.get("subcategory") or ""),
        tuple(aliases),
        place_of(package, path),
        any(_POSITIONAL.search(_OPTION.sub(" ", str(text))) for text in (title, facts.get("syntax"), *aliases) if text)
        or bool(facts.get("arguments") or facts.get("args")),
    )
