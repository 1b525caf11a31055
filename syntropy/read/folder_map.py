"""What the knowledge holds, as a map: folders with their kinds and counts, and what was left out of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from ..contract.identity import PROJECT_PACKAGE, is_overview, place_of

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


class _Place(NamedTuple):
    """A folder of a package, with `/` at its end; the package's root is empty."""

    package: str
    folder: str


class _Entry(NamedTuple):
    package: str
    path: str
    file: str
    kind: str
    title: str


def kind_counts(database: Database) -> dict[str, int]:
    """How many documents there are of each kind, the most first."""
    return dict(database.rows("SELECT kind, count(*) FROM documents GROUP BY kind ORDER BY count(*) DESC, kind"))


def folder_map(database: Database, most: int = MOST_FOLDERS) -> list[Folder]:
    """Folders by path, the project's first: the largest ones divided until there are `most`."""
    rows = database.rows(
        "SELECT package, path, file, kind, title FROM documents ORDER BY package <> ?, package, path", [PROJECT_PACKAGE]
    )
    groups: dict[_Place, list[_Entry]] = {}
    for entry in map(_Entry._make, rows):
        groups.setdefault(_Place(entry.package, ""), []).append(entry)
    whole: set[_Place] = set()
    while divisible := [place for place in groups if place not in whole]:
        largest = max(divisible, key=lambda place: (len(groups[place]), place))
        parts = _divided(largest, groups[largest])
        if len(groups) - 1 + len(parts) > most or parts.keys() == {largest}:
            whole.add(largest)
            continue
        del groups[largest]
        groups.update(parts)
        whole.update(place for place, entries in parts.items() if place == largest or len(entries) <= EXAMPLES)
    ordered = sorted(groups, key=lambda place: (place.package != PROJECT_PACKAGE, place))
    return [_folder(place, groups[place]) for place in ordered]


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


def _divided(place: _Place, entries: list[_Entry]) -> dict[_Place, list[_Entry]]:
    """Entries by the next part of their files' paths; files that lie in the folder itself stay under its name."""
    parts: dict[_Place, list[_Entry]] = {}
    for entry in entries:
        folder, slash, _ = entry.file[len(place.folder) :].partition("/")
        key = place._replace(folder=f"{place.folder}{folder}/") if slash else place
        parts.setdefault(key, []).append(entry)
    return parts


def _folder(place: _Place, entries: list[_Entry]) -> Folder:
    kinds = dict(sorted(Counter(entry.kind for entry in entries).items(), key=_by_count))
    telling = sorted(entries, key=lambda entry: (not is_overview(entry.path), entry.path))
    titles = tuple(dict.fromkeys(entry.title for entry in telling))[:EXAMPLES]
    return Folder(place_of(place.package, place.folder) or "./", len(entries), kinds, titles)
