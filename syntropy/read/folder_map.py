"""What the knowledge holds, as a map: folders with their kinds and counts, and what was left out of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from ..contract.identity import PROJECT_PACKAGE, is_overview

if TYPE_CHECKING:
    from ..store.database import Database

MOST_FOLDERS = 24
"""Lines of a map: more are not read, fewer hide where things lie."""

EXAMPLES = 3
"""Titles named for a folder."""

_MOST_LEFT_OUT = 6

REASONS = {
    "no-source": "no source takes them",
    "gitignore": "ignored by git",
    "exclude": "excluded in syntropy.toml",
    "too-large": "too large",
}
"""Rules that leave files out, in words; others are shown by their names."""


class Folder(NamedTuple):
    """A folder: `kinds` of its documents (those below it, too, where it is not divided), some titles."""

    path: str
    documents: int
    kinds: Mapping[str, int]
    titles: tuple[str, ...]

    def line(self) -> str:
        """`docs/guides/ 12 doc: Retries; Webhooks; …`"""
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.items())
        more = "; …" if self.documents > len(self.titles) else ""
        return f"{self.path} {kinds}: {'; '.join(self.titles)}{more}"


class _Entry(NamedTuple):
    package: str
    path: str
    kind: str
    title: str


def folder_map(database: Database, most: int = MOST_FOLDERS) -> list[Folder]:
    """Folders by path, the project's first: the largest ones divided until there are `most`."""
    rows = database.rows(
        "SELECT package, path, kind, title FROM documents ORDER BY package <> ?, package, path", [PROJECT_PACKAGE]
    )
    groups: dict[str, list[_Entry]] = {}
    for row in rows:
        entry = _Entry(*row)
        groups.setdefault("" if entry.package == PROJECT_PACKAGE else f"{entry.package}:", []).append(entry)
    whole: set[str] = set()
    while divisible := [name for name in groups if name not in whole]:
        largest = max(divisible, key=lambda name: (len(groups[name]), name))
        parts = _divided(largest, groups[largest])
        if len(parts) == 1 or len(groups) - 1 + len(parts) > most:
            whole.add(largest)
            if len(parts) == 1 and (only := next(iter(parts))) != largest:
                groups[only] = groups.pop(largest)
            continue
        del groups[largest]
        groups.update(parts)
        whole.update(name for name, entries in parts.items() if name == largest or len(entries) <= EXAMPLES)
    places = sorted(groups, key=lambda name: (":" in name, name))
    return [_folder(name, groups[name]) for name in places]


def left_out(database: Database) -> list[str]:
    """What was met and is not held, in words, the most first: `980 files no source takes (412 .ts, 210 .tsx, …)`."""
    rows = database.rows("SELECT status, reason, path FROM sources WHERE status <> 'indexed' AND path NOT LIKE '%/'")
    groups: dict[tuple[str, str], list[str]] = {}
    for status, reason, path in rows:
        groups.setdefault((status, reason), []).append(path)
    lines = []
    for (status, reason), paths in sorted(groups.items(), key=lambda entry: (-len(entry[1]), entry[0]))[
        :_MOST_LEFT_OUT
    ]:
        endings = Counter(PurePosixPath(path).suffix or PurePosixPath(path).name for path in paths)
        common = ", ".join(f"{count} {ending}" for ending, count in sorted(endings.items(), key=_by_count)[:EXAMPLES])
        said = "rejected (see `syntropy problems`)" if status == "rejected" else REASONS.get(reason, reason)
        lines.append(f"{len(paths)} file{'s' if len(paths) > 1 else ''}: {said} ({common})")
    return lines


def _by_count(entry: tuple[str, int]) -> tuple[int, str]:
    return -entry[1], entry[0]


def _divided(name: str, entries: list[_Entry]) -> dict[str, list[_Entry]]:
    """Entries by the next part of their paths; files that lie in the folder itself stay under its name."""
    head = name.partition(":")[2] if ":" in name else name
    package = name[: len(name) - len(head)]
    parts: dict[str, list[_Entry]] = {}
    for entry in entries:
        rest = entry.path.partition("#")[0] if "#" in entry.path else entry.path
        folder, slash, _ = rest[len(head) :].partition("/")
        key = f"{package}{head}{folder}/" if slash else name
        parts.setdefault(key, []).append(entry)
    return parts


def _folder(name: str, entries: list[_Entry]) -> Folder:
    kinds = dict(sorted(Counter(entry.kind for entry in entries).items(), key=_by_count))
    telling = sorted(entries, key=lambda entry: (not is_overview(entry.path), entry.path))
    titles = tuple(dict.fromkeys(entry.title for entry in telling))[:EXAMPLES]
    return Folder(name or "./", len(entries), kinds, titles)
