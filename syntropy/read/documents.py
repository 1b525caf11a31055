"""Documents, sections and lines out of the database. Paths are keys: no file is ever opened."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ..contract.errors import DocumentNotFoundError, UsageError
from ..contract.identity import CITED_LINES, PROJECT_PACKAGE, Citation, heading_anchor, normalize_path, place_of

if TYPE_CHECKING:
    from ..store.database import Database

SYSTEM_ROOT = ".ce"
"""Folder of the framework's documents; the seed's paths for `get_system_doc` start below it."""


@dataclass(frozen=True)
class Document:
    """A document with its full text, as it was when the database was built."""

    package: str
    path: str
    commit: str
    scope: str
    kind: str
    key: str
    title: str
    summary: str
    status: str
    frontmatter: str
    tags: tuple[str, ...]
    related: tuple[tuple[str, str, str], ...]
    """(relation type, path, origin), outgoing, explicit ones first."""
    line_count: int
    text: str
    copies: tuple[str, ...] = ()
    """Places of documents with the same key and the same text."""
    namesakes: tuple[str, ...] = ()
    """Places of documents with the same key that say something else."""

    def as_dict(self) -> dict[str, object]:
        """Its fields as plain data, for JSON."""
        return {
            "package": self.package,
            "path": self.path,
            "commit": self.commit,
            "scope": self.scope,
            "kind": self.kind,
            "key": self.key,
            "title": self.title,
            "summary": self.summary,
            "status": self.status,
            "tags": list(self.tags),
            "related": [{"type": t, "path": p, "origin": o} for t, p, o in self.related],
            "line_count": self.line_count,
            "copies": list(self.copies),
            "namesakes": list(self.namesakes),
            "text": self.text,
        }


@dataclass(frozen=True)
class Excerpt:
    """Lines of a document with their citation."""

    citation: Citation
    title: str
    text: str

    def as_dict(self) -> dict[str, object]:
        """Its fields as plain data, for JSON."""
        return {"citation": str(self.citation), "title": self.title, "text": self.text}


class _Row(NamedTuple):
    """A row of `documents`, in the order of `_COLUMNS`."""

    document_id: int
    package: str
    path: str
    commit: str
    scope: str
    kind: str
    key: str
    title: str
    summary: str
    status: str
    frontmatter: str
    line_count: int
    text: str


class _Found(NamedTuple):
    """A document, and those that were asked for by the same key."""

    row: _Row
    copies: tuple[str, ...] = ()
    namesakes: tuple[str, ...] = ()


_PRP = re.compile(r"prp[-_ ]?(\d{1,6}(?:\.\d{1,4}){0,4}|[a-z])", re.IGNORECASE)
_ENTITY = re.compile(r"([A-Za-z]{2,8})-(\d{1,6})((?:-[A-Za-z]{1,2})?)")
"""`DP-1`, `law-042-s`: ids of canonical sets and insights."""

MOST_NAMED = 5
"""Documents that a message names, where several are meant."""

_RANGE = re.compile(r"L?(\d{1,9})(?:[-:]L?(\d{1,9}))?")
_COLUMNS = ", ".join(_Row._fields)


def get_document(database: Database, path: str, *, scope: str = "", package: str = "") -> Document:
    """A document by its path (`.md` may be left out) or key, in any case. Raises DocumentNotFoundError.

    Of several documents with a key the project's own comes before the framework's, and that with the bare key
    before others; the answer names the rest.
    """
    row, copies, namesakes = _found(database, path, scope, package)
    tags = database.rows("SELECT tag FROM tags WHERE document_id = ? ORDER BY position", [row.document_id])
    related = database.rows(
        "SELECT DISTINCT type, to_path, origin FROM relations WHERE from_id = ? "
        "ORDER BY origin = 'similarity', type, to_path",
        [row.document_id],
    )
    return Document(
        package=row.package,
        path=row.path,
        commit=row.commit,
        scope=row.scope,
        kind=row.kind,
        key=row.key,
        title=row.title,
        summary=row.summary,
        status=row.status,
        frontmatter=row.frontmatter,
        tags=tuple(tag for (tag,) in tags),
        related=tuple((kind, target, origin) for kind, target, origin in related),
        line_count=row.line_count,
        text=row.text,
        copies=copies,
        namesakes=namesakes,
    )


def get_system_document(database: Database, path: str) -> Document:
    """The seed's `get_system_doc`: a path below `.ce/`, framework documents only."""
    wanted = normalize_path(path)
    if not wanted.startswith(f"{SYSTEM_ROOT}/"):
        wanted = f"{SYSTEM_ROOT}/{wanted}"
    return get_document(database, wanted, scope="system")


def get_user_document(database: Database, path: str) -> Document:
    """The seed's `get_user_doc`: a path below the project's root, project documents only."""
    return get_document(database, path, scope="user")


def get_section(database: Database, path: str, heading: str) -> Excerpt:
    """The section under a heading (text, anchor, or unique part of it), subsections included.

    Headings inside code fences do not count. Raises DocumentNotFoundError with the list of headings.
    """
    row = _find(database, path, "", "")
    headings = database.rows(
        "SELECT text, anchor, line_start, line_end FROM headings WHERE document_id = ? ORDER BY ordinal",
        [row.document_id],
    )
    wanted = heading.strip().lstrip("#").strip()
    for matches in (
        [h for h in headings if h[0] == wanted],
        [h for h in headings if h[0].casefold() == wanted.casefold() or h[1] == heading_anchor(wanted)],
        [h for h in headings if wanted and wanted.casefold() in h[0].casefold()],
    ):
        if matches:
            _, _, start, end = matches[0]
            return _excerpt(row, start, end)
    names = [h[0] for h in headings]
    hint = "its headings" if names else "it has no headings: read the document"
    raise DocumentNotFoundError(f"{row.path} has no heading {heading!r}", hint=hint, names=names)


def get_lines(database: Database, path: str, start: int, end: int) -> Excerpt:
    """Lines `start` to `end` (from 1, both included, cut at the document's end).

    Raises UsageError for an impossible range, DocumentNotFoundError for a start behind the end.
    """
    if start < 1 or end < start:
        raise UsageError(f"lines {start}-{end} are not a range", hint="give START-END with 1 <= START <= END")
    row = _find(database, path, "", "")
    if start > row.line_count:
        raise DocumentNotFoundError(
            f"{row.path} has {row.line_count} lines, none from {start} on", hint=f"ask for 1-{row.line_count}"
        )
    return _excerpt(row, start, min(end, row.line_count))


def line_range(text: str) -> tuple[int, int]:
    """(first, last) line of `A-B` or `A`, as people type it. Raises UsageError."""
    match = _RANGE.fullmatch(text.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last:
        raise UsageError(f"{text[:40]!r} is not a range of lines", hint="give A-B with 1 <= A <= B, e.g. 10-20")
    return first, last


def _excerpt(row: _Row, start: int, end: int) -> Excerpt:
    text = "\n".join(row.text.split("\n")[start - 1 : end])
    return Excerpt(Citation(row.package, row.commit, row.path, start, end), row.title, text)


def _find(database: Database, path: str, scope: str, package: str) -> _Row:
    return _found(database, path, scope, package).row


def _found(database: Database, path: str, scope: str, package: str) -> _Found:
    """The document by path, path without `.md`, or key; `package:path` and citations are understood."""
    wanted = normalize_path(path)
    head, colon, tail = wanted.partition(":")
    if colon and not package and head and "/" not in head:
        package, wanted = head.partition("@")[0], tail
    wanted = CITED_LINES.sub("", wanted).lstrip("/")
    bare = wanted.partition("#")[0]  # what follows is a part of a file, or a heading's anchor
    spellings = dict.fromkeys((wanted, f"{wanted}.md", bare, f"{bare}.md"))
    for candidate in spellings:
        rows = database.rows(
            f"SELECT {_COLUMNS} FROM documents "
            f"WHERE path = ? AND (? = '' OR scope = ?) AND (? = '' OR package = ?) "
            f"ORDER BY package <> '{PROJECT_PACKAGE}', package LIMIT 2",
            [candidate, scope, scope, package, package],
        )
        found = [_Row(*row) for row in rows]
        if len(found) == 1 or (found and found[0].package == PROJECT_PACKAGE):
            same = _by_key(database, wanted, scope, package) if "/" not in wanted and "." not in wanted else None
            other = same is not None and same.row.path != found[0].path
            namesakes = (place_of(same.row.package, same.row.path), *same.namesakes) if same and other else ()
            return _Found(found[0], (), tuple(p for p in namesakes if p != found[0].path))
        if found:
            spelled = " and ".join(place_of(row.package, row.path) for row in found)
            raise DocumentNotFoundError(f"{path!r} is in several packages", hint=f"say which: {spelled}")
    if by_key := _by_key(database, wanted, scope, package):
        return by_key
    rows = database.rows(
        f"SELECT {_COLUMNS} FROM documents WHERE lower(path) = lower(?) AND (? = '' OR scope = ?) "
        "AND (? = '' OR package = ?) LIMIT 2",
        [wanted, scope, scope, package, package],
    )
    if len(rows) == 1:
        return _Found(_Row(*rows[0]))
    ending = f"/{wanted.lower()}"
    rows = database.rows(  # `retries.md`, `guides/retries`: the end of one path only
        f"SELECT {_COLUMNS} FROM documents WHERE (ends_with(lower(path), ?) OR ends_with(lower(path), ? || '.md')) "
        "AND (? = '' OR scope = ?) AND (? = '' OR package = ?) ORDER BY package, path LIMIT 6",
        [ending, ending, scope, scope, package, package],
    )
    if len(rows) == 1:
        return _Found(_Row(*rows[0]))
    if rows:
        places = [place_of(row[1], row[2]) for row in rows]
        more = ", …" if len(rows) > MOST_NAMED else ""
        raise DocumentNotFoundError(
            f"{path!r} is the end of several paths", hint=f"say which: {', '.join(places[:MOST_NAMED])}{more}"
        )
    rows = database.rows(  # `GET /api/v1/bins`, `helios gw users list`: what an entry is called besides its key
        f"SELECT {_COLUMNS} FROM documents WHERE (lower(title) = lower(?) OR list_contains("
        "list_transform(aliases, lambda a: lower(a)), lower(?))) AND (? = '' OR scope = ?) "
        "AND (? = '' OR package = ?) LIMIT 2",
        [wanted, wanted, scope, scope, package, package],
    )
    if len(rows) == 1:
        return _Found(_Row(*rows[0]))
    raise DocumentNotFoundError(
        f"no {scope + ' ' if scope else ''}document {path!r}", hint=_nearest(database, wanted, scope)
    )


def _by_key(database: Database, wanted: str, scope: str, package: str) -> _Found | None:
    """The documents of a key: as it is, else in any case, with `PRP-9` and `prp-009` one; clashes are `key@path`."""
    number = _PRP.fullmatch(wanted)
    entity = _ENTITY.fullmatch(wanted)
    if entity and not number:
        pattern = f"{entity.group(1).lower()}-0*{int(entity.group(2))}{entity.group(3).lower()}"
    elif number:
        parts = [part.lstrip("0") or "0" if part.isdigit() else part for part in number.group(1).lower().split(".")]
        pattern = "prp-" + r"\.".join(f"0*{part}" if part.isdigit() else part for part in parts)
    else:
        pattern = re.escape(wanted.lower())
    rows = database.rows(
        f"SELECT {_COLUMNS} FROM documents "
        "WHERE regexp_full_match(lower(key), '(?:[^:@]+:)?' || ? || '(?:@.*)?') "
        "AND (? = '' OR scope = ?) AND (? = '' OR package = ?) "
        f"ORDER BY key <> ?, package <> '{PROJECT_PACKAGE}', contains(key, '@'), scope = 'system', package, path",
        [pattern, scope, scope, package, package, wanted],
    )
    found = [_Row(*row) for row in rows]
    if not found:
        return None
    first = found[0]
    if first.key == wanted and "@" in wanted:  # a key that was made unique
        return _Found(first)
    exact = [row for row in found if row.key == wanted and row.package == PROJECT_PACKAGE]
    first = next((row for row in exact if row.scope == "user"), first)
    others = [row for row in found if row != first]
    copies = tuple(place_of(row.package, row.path) for row in others if row.text == first.text)
    namesakes = tuple(place_of(row.package, row.path) for row in others if row.text != first.text)
    return _Found(first, copies, namesakes)


def _nearest(database: Database, wanted: str, scope: str) -> str:
    paths = [
        p
        for (p,) in database.rows("SELECT path FROM documents WHERE ? = '' OR scope = ? ORDER BY path", [scope, scope])
    ]
    name = wanted.rpartition("/")[2]
    near = difflib.get_close_matches(wanted, paths, n=3, cutoff=0.6) or [p for p in paths if name and name in p][:3]
    if near:
        return f"did you mean {', '.join(near)}?"
    return "paths are those of `syntropy search` and INDEX.md"
