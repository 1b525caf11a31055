"""Written entries and generated ones: who wins, and what either side lacks."""

from __future__ import annotations

import json
from typing import NamedTuple

import polars as pl

from pipeline.extract.catalog import candidate_key
from pipeline.formats.console import command_words
from pipeline.formats.entries import GENERATED
from pipeline.ground.diagnostics import Diagnostic
from pipeline.ground.tables import from_rows
from syntropy.contract.schema import DIAGNOSTICS


class Written(NamedTuple):
    """Generated documents that give way, and what is undocumented or gone."""

    hidden: pl.Series
    diagnostics: pl.DataFrame


class _Entry(NamedTuple):
    uid: str
    package: str
    file: str
    key: str
    words: tuple[str, ...]
    spellings: tuple[str, ...] = ()
    """Other ways to type a command or operation, of generated entries: an alias of a written one may be any phrase."""

    @property
    def claims(self) -> set[tuple[str, str]]:
        return {(self.package, text) for text in (self.key, " ".join(self.words), *self.spellings)}

    @property
    def program(self) -> tuple[str, str]:
        return self.package, self.words[0] if self.words else ""


def prefer_written(documents: pl.DataFrame) -> Written:
    """A written entry wins over a generated one of the same id, command or operation.

    Where a program's commands are written by hand, one that is only in the source is undocumented, and
    one that is not in the source is gone.
    """
    generated, written = _entries(documents)
    by_hand = {claim for entry in written for claim in entry.claims}
    in_source = {claim for entry in generated for claim in entry.claims}
    documented = {entry.program for entry in written}
    programs = {entry.program for entry in generated}
    hidden, diagnostics = [], []
    for entry in generated:
        if entry.claims & by_hand:
            hidden.append(entry.uid)
        elif entry.program in documented:
            message = f"{' '.join(entry.words)!r} is in the source and in no written entry"
            hint = "write an entry for it; a generated one stands in"
            diagnostics.append(_diagnostic("undocumented-command", entry, message, hint))
    for entry in written:
        if entry.program in programs and not entry.claims & in_source:
            message = f"{' '.join(entry.words)!r} ({entry.key}) is documented and in no source"
            diagnostics.append(_diagnostic("gone-command", entry, message, "delete the entry, or fix its title"))
    return Written(pl.Series("document", hidden, pl.String), from_rows(DIAGNOSTICS, diagnostics))


def _entries(documents: pl.DataFrame) -> tuple[list[_Entry], list[_Entry]]:
    """(generated, written) commands and operations."""
    generated: list[_Entry] = []
    written: list[_Entry] = []
    rows = documents.filter(pl.col("kind").is_in(["command", "api"])).select(
        "document", "package", "file", "kind", "key", "title", "path", "frontmatter", "aliases"
    )
    for uid, package, file, kind, key, title, path, metadata, aliases in rows.iter_rows():
        origin = json.loads(metadata).get("source")
        words = command_words(title) if kind == "command" else tuple(title.split())
        is_generated = isinstance(origin, str) and origin.startswith(GENERATED)
        spelled = tuple(" ".join(command_words(a)) if kind == "command" else a for a in aliases) if is_generated else ()
        entry = _Entry(uid, package, file, candidate_key(key, path, package), words, spelled)
        (generated if is_generated else written).append(entry)
    return generated, written


def _diagnostic(code: str, entry: _Entry, message: str, hint: str) -> Diagnostic:
    return Diagnostic("catalog", "warning", code, entry.package, entry.file, 0, message, hint)
