"""The living layer as a source: what was written since the last build, as Markdown documents.

Read only, and only where `notes.in_build` says so; documents lie below the virtual folder `notes/`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.formats.page import markdown
from pipeline.ground.diagnostics import Diagnostic
from pipeline.sources.protocol import Scan, SourceFile, SourceText
from syntropy.contract.identity import PROJECT_PACKAGE
from syntropy.notes.insights import Insights
from syntropy.notes.rules_and_notes import Notes
from syntropy.notes.store import NotesError, NotesStore

PACKAGE = "notes"
"""Alias under which insights and notes are cited."""


class NotesConnector:
    """Current insights and notes of one file."""

    package = PACKAGE

    def __init__(self, path: Path) -> None:
        self._path = path

    def scan(self) -> Scan:
        """One row an insight or note; a file that cannot be read is a diagnostic."""
        try:
            texts = self._texts()
        except NotesError as error:
            problem = Diagnostic("sources", "warning", "notes", PROJECT_PACKAGE, ".", 0, error.message, error.hint)
            return Scan([], [problem])
        return Scan(
            [
                SourceFile(self.package, path, "indexed", "notes", "memory", "user", len(text), _digest(text))
                for path, text in sorted(texts.items())
            ],
            [],
        )

    def read(self, paths: Iterable[str]) -> Iterator[SourceText | Diagnostic]:
        """See `protocol.Connector`."""
        texts = self._texts()
        for path in paths:
            if path in texts:
                text = texts[path]
                yield SourceText(self.package, path, "", "memory", "user", _digest(text), text)

    def _texts(self) -> dict[str, str]:
        with NotesStore(self._path) as store:
            found = {}
            for insight in Insights(store).all():
                metadata = {
                    "id": insight.id,
                    "tags": list(insight.tags),
                    "created": insight.created_at,
                    "updated": insight.last_validated or insight.updated_at,
                    "confidence": str(insight.confidence),
                    "related": insight.links(),
                }
                found[f"{insight.id}.md"] = markdown(metadata, insight.title, insight.content)
            for note in Notes(store).all():
                metadata = {"type": note.type, "tags": [note.type, *note.tags], "created": note.created_at}
                title = f"{note.type.capitalize()} of {note.created_at[:10]}"
                found[f"note-{note.id}.md"] = markdown(metadata, title, note.content)
            return found


def _digest(text: str) -> str:
    return hashlib.sha256(json.dumps(text).encode()).hexdigest()
