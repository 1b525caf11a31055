"""Citations that prove themselves: is what was cited still there, and does it still say the same?

A proven citation ends in `~` and a digest of the cited words: `docs/retries.md#L12-L17~3f9a2c1b`. Without
one, the present build is taken for what was cited, and only the working tree can be compared with it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from .errors import DocumentNotFoundError, UsageError
from .ids import PROJECT_PACKAGE, Citation, place_of
from .knowledge import Knowledge

DIGITS = 8
"""Hexadecimal digits of the digest: one passage in 4 billion looks like another by chance."""

VERDICTS = ("current", "moved", "changed", "gone")

_CITATION = re.compile(r"(?P<place>.+?)#L(?P<start>\d+)(?:-L?(?P<end>\d+))?(?:~(?P<proof>[0-9a-f]{8}))?")
_PLACE = re.compile(r"(?:(?P<package>[^/:@#]+)(?:@(?P<commit>[^:]*))?:)?(?P<path>.+)")


class Found(NamedTuple):
    """What became of a passage in one place. `now`: where it is (moved), or what stands there (changed)."""

    verdict: str
    now: str = ""
    text: str = ""


@dataclass(frozen=True)
class Standing:
    """A citation against the build and, where there is one here, the working tree."""

    citation: str
    build: Found
    tree: Found | None

    @property
    def current(self) -> bool:
        """Does it hold in both?"""
        return self.build.verdict == "current" and (self.tree is None or self.tree.verdict == "current")

    def as_dict(self) -> dict[str, object]:
        return {
            "citation": self.citation,
            "build": self.build._asdict(),
            "working_tree": self.tree._asdict() if self.tree else None,
        }


class _Wanted(NamedTuple):
    package: str
    path: str
    start: int
    end: int
    proof: str


def proof_of(text: str) -> str:
    """Digest of a passage's words; white space does not count."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "replace")).hexdigest()[:DIGITS]


def proven(citation: Citation, text: str) -> str:
    """The citation of a passage with its digest."""
    return f"{citation}~{proof_of(text)}"


def standing(knowledge: Knowledge, citation: str) -> Standing:
    """What became of a cited passage. Raises UsageError for what is no citation with lines."""
    wanted = _parsed(citation)
    documents = _Build(knowledge)
    lines = documents.lines(wanted)
    proof = wanted.proof or (proof_of(_slice(lines, wanted)) if lines and wanted.start <= len(lines) else "")
    if not proof:
        return Standing(citation, Found("gone"), None)
    build = _found(wanted, proof, documents)
    tree = None
    if knowledge.project is not None and wanted.package == PROJECT_PACKAGE and "#" not in wanted.path:
        tree = _found(wanted, proof, _Tree(knowledge, knowledge.project))
    marked = citation if wanted.proof else f"{citation}~{proof}"
    return Standing(marked, build, tree)


class _Build:
    """The documents of the database."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def lines(self, wanted: _Wanted) -> list[str] | None:
        try:
            document = self._knowledge.document(wanted.path, package=wanted.package)
        except DocumentNotFoundError:
            return None
        return document.text.split("\n") if document.path == wanted.path else None

    def others(self, wanted: _Wanted) -> Iterator[tuple[str, list[str]]]:
        rows = self._knowledge.database.rows(
            "SELECT package, path FROM documents WHERE line_count >= ? ORDER BY package <> ?, package, path",
            [wanted.end - wanted.start, wanted.package],
        )
        for package, path in rows:
            ((text,),) = self._knowledge.database.rows(
                "SELECT text FROM documents WHERE package = ? AND path = ?", [package, path]
            )
            yield place_of(package, path), text.split("\n")


class _Tree:
    """The project's files as they are now: only those the build knows are read."""

    def __init__(self, knowledge: Knowledge, root: Path) -> None:
        self._root = root
        rows = knowledge.database.rows(
            "SELECT DISTINCT file FROM documents WHERE package = ? ORDER BY file", [PROJECT_PACKAGE]
        )
        self._files = [file for (file,) in rows]

    def lines(self, wanted: _Wanted) -> list[str] | None:
        return self._read(wanted.path)

    def others(self, wanted: _Wanted) -> Iterator[tuple[str, list[str]]]:
        del wanted  # any file may hold it now
        for file in self._files:
            lines = self._read(file)
            if lines is not None:
                yield file, lines

    def _read(self, path: str) -> list[str] | None:
        file = (self._root / path).resolve()
        if not file.is_relative_to(self._root.resolve()) or not file.is_file():
            return None
        return file.read_text(encoding="utf-8-sig", errors="replace").splitlines()


def _found(wanted: _Wanted, proof: str, place: _Build | _Tree) -> Found:
    lines = place.lines(wanted)
    if lines is not None:
        if proof_of(_slice(lines, wanted)) == proof:
            return Found("current")
        if here := _search(lines, wanted, proof):
            return Found("moved", f"{place_of(wanted.package, wanted.path)}{here}")
    for name, others in place.others(wanted):
        if here := _search(others, wanted, proof):
            return Found("moved", f"{name}{here}")
    if lines is None:
        return Found("gone")
    text = _slice(lines, wanted)
    return Found("changed", f"{place_of(wanted.package, wanted.path)}#L{wanted.start}-L{wanted.end}", text)


def _search(lines: list[str], wanted: _Wanted, proof: str) -> str:
    """`#La-Lb` of the lines that have the digest, the nearest to where they were; "" if none have."""
    count = wanted.end - wanted.start + 1
    starts: Iterable[int] = range(max(0, len(lines) - count + 1))
    for start in sorted(starts, key=lambda s: abs(s + 1 - wanted.start)):
        if proof_of("\n".join(lines[start : start + count])) == proof:
            return f"#L{start + 1}-L{start + count}"
    return ""


def _slice(lines: list[str], wanted: _Wanted) -> str:
    return "\n".join(lines[wanted.start - 1 : wanted.end])


def _parsed(citation: str) -> _Wanted:
    match = _CITATION.fullmatch(citation.strip())
    place = _PLACE.fullmatch(match["place"]) if match else None
    if match is None or place is None:
        raise UsageError(
            f"{citation!r} is no citation with lines", hint="give one as path#L12-L17, with ~digest or without"
        )
    start, end = int(match["start"]), int(match["end"] or match["start"])
    if not 1 <= start <= end:
        raise UsageError(f"lines {start}-{end} are no range", hint="give one as path#L12-L17")
    return _Wanted(place["package"] or PROJECT_PACKAGE, place["path"], start, end, match["proof"] or "")
