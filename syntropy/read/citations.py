"""Citations that prove themselves: is what was cited still there, and does it still say the same?

A proven citation ends in `~` and a digest of the cited words: `docs/retries.md#L12-L17~3f9a2c1b`. Without
one, the present build is taken for what was cited, and only the working tree can be compared with it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..contract.errors import DocumentNotFoundError, UsageError
from ..contract.identity import CITED_LINES, PROJECT_PACKAGE, Citation, normalize_path, place_of
from ..contract.text import jaccard
from ..contract.vocabulary import REDACTED
from .knowledge import Knowledge

DIGITS = 8
"""Hexadecimal digits of the digest: one passage in 4 billion looks like another by chance."""

TELLING_WORDS = 5
"""Words from which equal text in another document is taken for the cited passage: `## Usage` stands everywhere."""

SIMILAR = 0.3
"""Share of common words from which other lines in the same place are the passage, changed; below it, it is gone."""

MOST_LINES = 4_000_000
"""Lines compared in one document at most, nearest places first: a passage of 5,000 lines in one of 20,000 took 45 s."""

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
        """Its fields as plain data, for JSON."""
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
    """What became of a cited passage. Raises UsageError for what is not a citation of lines with words."""
    wanted = _known(knowledge, _parsed(citation))
    documents = _Build(knowledge)
    lines = documents.lines(wanted)
    if lines and not wanted.proof and wanted.end > len(lines) >= wanted.start:
        wanted = wanted._replace(end=len(lines))
        citation = f"{place_of(wanted.package, wanted.path)}#L{wanted.start}-L{wanted.end}"
    proof = wanted.proof or (proof_of(_slice(lines, wanted)) if lines else "")
    if proof == proof_of(""):
        raise UsageError(f"{citation[:80]!r} cites no words", hint="cite lines that are there and not blank")
    if not proof:
        return Standing(citation, Found("gone"), None)
    build = _found(wanted, proof, documents)
    tree = None
    if knowledge.project is not None and wanted.package == PROJECT_PACKAGE and "#" not in wanted.path:
        tree = _found(wanted, proof, _Tree(knowledge, knowledge.project))
        cited = _slice(lines, wanted) if lines and build.verdict == "current" else ""
        if tree.verdict == "changed" and cited and jaccard(cited.split(), tree.text.split()) < SIMILAR:
            tree = Found("gone")
        tree = tree._replace(text="")
        if tree.verdict in ("changed", "gone") and lines and REDACTED in _slice(lines, wanted):
            tree = None  # the build holds these lines without their credentials: they cannot be compared
    return Standing(citation if wanted.proof else f"{citation}~{proof}", build, tree)


def _known(knowledge: Knowledge, wanted: _Wanted) -> _Wanted:
    """With the path of the document, where a key was given."""
    try:
        document = knowledge.document(wanted.path, package=wanted.package)
    except DocumentNotFoundError:
        return wanted
    return wanted._replace(path=document.path) if document.key == wanted.path else wanted


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
    """The project's files as they are now: those the build knows, and new ones of their kinds beside them.

    No other file is read, links are not followed, and of what they hold only places are told: it was not
    looked through for credentials.
    """

    def __init__(self, knowledge: Knowledge, root: Path) -> None:
        self._root = root.resolve()
        rows = knowledge.database.rows(
            "SELECT DISTINCT file FROM documents WHERE package = ? ORDER BY file", [PROJECT_PACKAGE]
        )
        self._known = [str(file) for (file,) in rows]

    def lines(self, wanted: _Wanted) -> list[str] | None:
        return self._read(wanted.path) if wanted.path in self._known else None

    def others(self, wanted: _Wanted) -> Iterator[tuple[str, list[str]]]:
        del wanted  # any file may hold it now
        for file in [*self._known, *self._new()]:
            lines = self._read(file)
            if lines is not None:
                yield file, lines

    def _new(self) -> list[str]:
        kinds = {Path(file).suffix for file in self._known}
        found = {
            entry.relative_to(self._root).as_posix()
            for folder in {(self._root / file).parent for file in self._known}
            if folder.is_dir()
            for entry in folder.iterdir()
            if entry.suffix in kinds
        }
        return sorted(found - set(self._known))

    def _read(self, path: str) -> list[str] | None:
        file = self._root / path
        if file.resolve() != file or not file.is_file():
            return None
        with file.open(encoding="utf-8-sig", errors="replace", newline="") as handle:
            return handle.read().split("\n")


def _found(wanted: _Wanted, proof: str, place: _Build | _Tree) -> Found:
    lines = place.lines(wanted)
    text = _slice(lines, wanted) if lines is not None else ""
    if lines is not None:
        if proof_of(text) == proof:
            return Found("current")
        if here := _search(lines, wanted, proof):
            return Found("moved", f"{place_of(wanted.package, wanted.path)}{here}")
    for name, others in place.others(wanted):
        if here := _search(others, wanted, proof, least=TELLING_WORDS):
            return Found("moved", f"{name}{here}")
    if lines is None or not text.strip():
        return Found("gone")
    return Found("changed", f"{place_of(wanted.package, wanted.path)}#L{wanted.start}-L{wanted.end}", text)


def _search(lines: list[str], wanted: _Wanted, proof: str, *, least: int = 1) -> str:
    """`#La-Lb` of the lines that have the digest, the nearest to where they were; "" if none have.

    Passages of fewer than `least` words are not taken for the one that was cited.
    """
    count = wanted.end - wanted.start + 1
    words = [" ".join(line.split()) for line in lines]
    starts = sorted(range(max(0, len(lines) - count + 1)), key=lambda s: abs(s + 1 - wanted.start))
    for start in starts[: max(1, MOST_LINES // count)]:
        text = " ".join(filter(None, words[start : start + count]))
        if proof_of(text) == proof and text.count(" ") + 1 >= least:
            return f"#L{start + 1}-L{start + count}"
    return ""


def _slice(lines: list[str], wanted: _Wanted) -> str:
    return "\n".join(lines[wanted.start - 1 : wanted.end])


def _parsed(citation: str) -> _Wanted:
    text = normalize_path(citation)
    match = CITED_LINES.search(text)
    place = _PLACE.fullmatch(text[: match.start()]) if match else None
    if match is None or place is None:
        raise UsageError(
            f"{citation[:80]!r} is not a citation with lines", hint="give one as path#L12-L17, with ~digest or without"
        )
    start, end = int(match["start"]), int(match["end"] or match["start"])
    if not 1 <= start <= end:
        raise UsageError(f"lines {start}-{end} are not a range", hint="give one as path#L12-L17")
    return _Wanted(place["package"] or PROJECT_PACKAGE, place["path"], start, end, match["proof"] or "")
