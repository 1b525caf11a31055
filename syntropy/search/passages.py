"""Ranked chunks to hits: citation, snippet with highlights, and which fields matched."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..contract.identity import Citation, place_of
from ..contract.text import index_terms, shape
from .fusion import Candidate
from .headings import HEADING_SAME, Asked, heading_asked
from .lexical import numbers

if TYPE_CHECKING:
    from ..store.database import Database

SNIPPET_LENGTH = 240

_WORD = re.compile(r"[\w./:\-]+")

_FIELDS = (
    ("title", "title"),
    ("keywords", "keyword"),
    ("aliases", "alias"),
    ("tags", "tag"),
    ("headings", "heading"),
    ("path", "path"),
    ("summary", "summary"),
    ("body", "content"),
    ("identifiers", "content"),
)
"""Search fields and what a match in them is called."""


_OF_CHUNK = (
    "chunk_id", "document_id", "line_start", "line_end", "title", "headings", "aliases", "keywords", "tags", "summary",
    "body", "identifiers", "char_start",
)  # fmt: skip
_OF_DOCUMENT = ("document_id", "package", "commit", "path", "kind", "scope", "key")
"""Columns that `hydrate` reads."""


class Snippet(NamedTuple):
    """One line of text, (start, end) of the words in it that match the query, and where it begins in the passage."""

    text: str
    highlights: tuple[tuple[int, int], ...]
    start: int = 0


@dataclass(frozen=True)
class Neighbor:
    """A chunk next to a hit in its document."""

    citation: Citation
    text: str

    def as_dict(self) -> dict[str, object]:
        """Its fields as plain data, for JSON."""
        return {"citation": str(self.citation), "text": self.text}


@dataclass(frozen=True)
class Hit:
    """One passage. `score` lies in 0-1: see `lexical`, `semantic` and `fusion` for its meaning by mode.

    `matched_on` names what matched, strongest first: title-exact, alias, file, title, keyword, tag, heading,
    path, summary, content, semantic. `explanation` has each signal's rank, score and contribution.
    """

    score: float
    citation: Citation
    kind: str
    scope: str
    key: str
    title: str
    headings: str
    snippet: str
    highlights: tuple[tuple[int, int], ...]
    tags: tuple[str, ...]
    matched_on: tuple[str, ...]
    chunk_id: int
    explanation: Mapping[str, Any] = field(repr=False, default_factory=dict)
    neighbors: tuple[Neighbor, ...] = field(repr=False, default=())
    text: str = field(repr=False, default="")
    copies: tuple[str, ...] = ()
    """Documents with the same or nearly the same text that would be hits, too: `path` or `package:path`."""
    focus: int = 0
    """Offset in `text` of what answers: where a part of it should begin, if it is too long."""
    database: str = ""
    """Which database it comes from, where several are searched at once."""

    @property
    def place(self) -> str:
        """The citation, with the name of its database where several are searched."""
        return f"{self.database}:{self.citation}" if self.database else str(self.citation)

    def as_dict(self, *, explain: bool = False) -> dict[str, object]:
        """Plain data for JSON output, in a fixed order of keys."""
        plain: dict[str, object] = {
            "score": round(self.score, 4),
            "citation": str(self.citation),
            "path": self.citation.path,
            "line_start": self.citation.line_start,
            "line_end": self.citation.line_end,
            "package": self.citation.package,
            "kind": self.kind,
            "scope": self.scope,
            "key": self.key,
            "title": self.title,
            "headings": self.headings,
            "snippet": self.snippet,
            "highlights": [list(span) for span in self.highlights],
            "tags": list(self.tags),
            "matched_on": list(self.matched_on),
        }
        if self.database:
            plain["database"] = self.database
        if self.copies:
            plain["copies"] = list(self.copies)
        if self.neighbors:
            plain["neighbors"] = [n.as_dict() for n in self.neighbors]
        return {**plain, "explanation": dict(self.explanation)} if explain else plain


class LookUp(NamedTuple):
    """What hits are made with besides the database.

    `terms` that were looked up, `asked` the query's own; `named` (chunk: title-exact, alias or file); `starts` (chunk:
    offset in the document of the window that is nearest to the query's vector); `copies` (chunk: documents folded
    into it); `neighbors` shown around each.
    """

    terms: set[str]
    asked: Sequence[str]
    named: Mapping[int, str]
    starts: Mapping[int, int]
    copies: Mapping[int, set[int]]
    neighbors: int


def hydrate(database: Database, candidates: Sequence[Candidate], look_up: LookUp) -> list[Hit]:
    """Hits in the order of the candidates."""
    if not candidates:
        return []
    terms, asked, named, starts, copies, neighbors = look_up
    chunks = [c.chunk for c in candidates]
    by_id = rows_by_id(database, "chunks", _OF_CHUNK, chunks)
    owners = sorted({row["document_id"] for row in by_id.values()})
    folded = sorted({document for chunk in chunks for document in copies.get(chunk, ())})
    documents = rows_by_id(database, "documents", _OF_DOCUMENT, [*owners, *folded])
    tags = _tags(database, owners)
    around = _neighbors(database, chunks, neighbors) if neighbors else {}
    hits = []
    for candidate in candidates:
        row = by_id[candidate.chunk]
        document = documents[row["document_id"]]
        name = named.get(candidate.chunk, "")
        near = starts.get(candidate.chunk, row["char_start"]) - row["char_start"]
        led = Asked(0, "", 0.0) if name else heading_asked(row["body"], asked)
        skipped = led.start if led.likeness >= HEADING_SAME else 0  # the section that was asked for, not what is above
        body = row["body"][skipped:]
        shown = snippet(body, terms, start=max(0, near - skipped), head=led.start - skipped if led.start >= 0 else -1)
        first_line = row["line_start"] + row["body"].count("\n", 0, skipped)
        hits.append(
            Hit(
                candidate.score,
                Citation(document["package"], document["commit"], document["path"], first_line, row["line_end"]),
                document["kind"],
                document["scope"],
                document["key"],
                row["title"],
                f"{row['headings']} > {led.text}" if skipped else row["headings"],
                shown.text,
                shown.highlights,
                tuple(tags.get(row["document_id"], ())),
                _matched_on(row, document["path"], terms, name, candidate),
                candidate.chunk,
                _explanation(candidate, name),
                tuple(around.get(candidate.chunk, ())),
                body,
                focus=shown.start,
                copies=tuple(
                    place_of(copy["package"], copy["path"])
                    for copy in (documents[number] for number in sorted(copies.get(candidate.chunk, ())))
                ),
            )
        )
    return hits


def snippet(body: str, terms: set[str], length: int = SNIPPET_LENGTH, *, start: int = 0, head: int = -1) -> Snippet:
    """The stretch of about `length` characters that holds the most distinct terms, on one line.

    Where no term occurs, the stretch from offset `start` on; from `head` on, if that is not negative.
    """
    spans = [match.span() for match in _WORD.finditer(shape(body))]
    hits = {word: found for word in {body[a:b] for a, b in spans} if (found := terms & _terms_of(word))}
    matches = [(a, b, hits[body[a:b]]) for a, b in spans if body[a:b] in hits] if hits else []
    first = head if head >= 0 else _densest(matches, length) if matches else start
    begin = _line_start(body, first, length)
    end = min(len(body), begin + length)
    if end < len(body):
        end = max(body.rfind(" ", begin + length // 2, end), body.rfind("\n", begin + length // 2, end), begin) or end
        end = end if end > begin else begin + length
    text = " ".join(body[begin:end].split())
    highlights = [
        (place, place + b - a)
        for a, b, _ in matches
        if begin <= a and b <= end and b > a
        for place in (len(" ".join([*body[begin:a].split(), ""])),)
    ]
    lead = "…" if body[:begin].strip() else ""
    tail = "…" if body[end:].strip() else ""
    return Snippet(lead + text + tail, tuple((a + len(lead), b + len(lead)) for a, b in highlights), begin)


@lru_cache(maxsize=50_000)
def _terms_of(word: str) -> frozenset[str]:
    return frozenset(index_terms(word))


def _densest(matches: list[tuple[int, int, set[str]]], length: int) -> int:
    """Offset of the match from which a window of that length holds the most distinct terms."""
    best, best_count = matches[0][0], 0
    for number, (begin, _, _) in enumerate(matches):
        seen: set[str] = set()
        for _, end, found in matches[number:]:
            if end > begin + length:
                break
            seen |= found
        if len(seen) > best_count:
            best, best_count = begin, len(seen)
    return best


def _line_start(body: str, offset: int, length: int) -> int:
    """Start of the line an offset stands in; where that is far away, of a word shortly before."""
    line = body.rfind("\n", 0, offset) + 1
    if offset - line <= length // 2:
        return line
    return body.rfind(" ", line, offset - length // 3) + 1 or offset


def _matched_on(
    row: Mapping[str, Any], path: str, terms: set[str], named: str, candidate: Candidate
) -> tuple[str, ...]:
    found = [named] if named else []
    for name, label in _FIELDS:
        text = path if name == "path" else row[name]
        if label not in found and any(terms & _terms_of(word) for word in text.split()):
            found.append(label)
    if candidate.semantic.contribution > 0:
        found.append("semantic")
    return tuple(found)


def _explanation(candidate: Candidate, named: str) -> dict[str, Any]:
    explained: dict[str, Any] = {
        name: {
            "rank": signal.rank or None,
            "score": round(signal.score, 4),
            "contribution": round(signal.contribution, 4),
        }
        for name, signal in (("lexical", candidate.lexical), ("semantic", candidate.semantic))
    }
    explained |= {f"{name} boost": round(factor, 4) for name, factor in candidate.boosts.items()}
    return {**explained, "name": named} if named else explained


def rows_by_id(
    database: Database, table: str, columns: Sequence[str], ids: Sequence[int]
) -> dict[int, Mapping[str, Any]]:
    """Rows of one table by its key, the first column. A join of chunks and documents takes ten times as long."""
    names = ", ".join(f'"{name}"' for name in columns)
    rows = database.by_number(table, names, columns[0], ids)
    return {row[0]: dict(zip(columns, row, strict=True)) for row in rows}


def _tags(database: Database, documents: list[int]) -> dict[int, list[str]]:
    tags: dict[int, list[str]] = {}
    rows = database.by_number("tags", "document_id, position, tag", "document_id", documents)
    for document, _, tag in sorted(rows):
        tags.setdefault(document, []).append(tag)
    return tags


def _neighbors(database: Database, chunks: Sequence[int], count: int) -> dict[int, list[Neighbor]]:
    """Up to `count` chunks before and after each one, of the same document, in order."""
    rows = database.rows(
        "SELECT h.chunk_id, d.package, d.commit, d.path, n.line_start, n.line_end, n.body "
        "FROM chunks h JOIN chunks n ON n.document_id = h.document_id AND n.chunk_id <> h.chunk_id "
        "AND n.chunk_id BETWEEN h.chunk_id - ? AND h.chunk_id + ? JOIN documents d ON d.document_id = n.document_id "
        f"WHERE h.chunk_id IN ({numbers(chunks)}) ORDER BY h.chunk_id, n.chunk_id",
        [count, count],
    )
    found: dict[int, list[Neighbor]] = {}
    for chunk, package, commit, path, start, end, body in rows:
        found.setdefault(chunk, []).append(Neighbor(Citation(package, commit, path, start, end), body))
    return found
