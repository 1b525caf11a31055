"""The extract stage: source texts to the stage tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from pipeline.extract.document import Extracted, extract
from pipeline.formats.entity_sections import SECTIONS
from pipeline.formats.expand import expand
from pipeline.formats.shared import Shared, gather
from pipeline.ground.deadline import DOCUMENT_SECONDS, deadline, tried
from pipeline.ground.diagnostics import Diagnostic
from pipeline.ground.parallel import Progress, map_batches
from pipeline.ground.tables import collected, from_rows, packed
from pipeline.sources.canonical import canonical_json
from pipeline.sources.protocol import SourceText
from pipeline.text.decode import well_formed
from syntropy.contract.config import SecretsConfig
from syntropy.contract.schema import DIAGNOSTICS, DOCUMENTS, HEADINGS, MENTIONS, OUTLINES, RULES, TAG_MARKS
from syntropy.contract.secrets import Finding, redact

UNREADABLE = "unreadable-document"
"""Code of the diagnostic of a file whose reader failed."""


class Documents(NamedTuple):
    """The stage's tables; keys and labels are candidates until `catalog` made them unique."""

    documents: pl.DataFrame
    tag_marks: pl.DataFrame
    headings: pl.DataFrame
    mentions: pl.DataFrame
    rules: pl.DataFrame
    diagnostics: pl.DataFrame
    outlines: pl.DataFrame


TABLES = (DOCUMENTS, TAG_MARKS, HEADINGS, MENTIONS, RULES, DIAGNOSTICS, OUTLINES)


def extract_texts(
    texts: Iterable[SourceText | Diagnostic],
    secrets: SecretsConfig,
    *,
    shared: Shared | None = None,
    total: int = 0,
    progress: Progress | None = None,
) -> Documents:
    """Rows of each text, credentials replaced; diagnostics among the input (files gone since the scan) pass through.

    `shared` is what files of one kind know together; `total` is about the texts' size in bytes: much of it is
    worth more than one process.
    """
    lost: list[Diagnostic] = []
    work = partial(_extract_batch, secrets, shared or {})
    batches = map_batches(work, _texts_of(texts, lost), _size, total=total, progress=progress)
    found = Documents(*collected(TABLES, batches))
    return found._replace(diagnostics=pl.concat([found.diagnostics, from_rows(DIAGNOSTICS, lost)]))


def shared_of(texts: Iterable[SourceText | Diagnostic], secrets: SecretsConfig) -> dict[tuple[str, str], Any]:
    """What the texts of `formats.shared.KINDS` know together, credentials replaced."""
    files: list[tuple[str, str, str, str]] = []
    for given in texts:
        if isinstance(given, SourceText):
            with tried():
                text = redact(given.text, secrets.allow)[0] if secrets.redact else given.text
                files.append((given.package, given.kind, given.path, text))
    return gather(files)


def _texts_of(items: Iterable[SourceText | Diagnostic], lost: list[Diagnostic]) -> Iterator[SourceText]:
    for item in items:
        if isinstance(item, Diagnostic):
            lost.append(item)
        else:
            yield item


def _size(source: SourceText) -> int:
    return len(source.text)


def _extract_batch(secrets: SecretsConfig, shared: Shared, batch: list[SourceText]) -> list[bytes]:
    rows: list[list[Any]] = [[] for _ in TABLES]
    for given in batch:
        parts: list[list[Any]] = [[] for _ in TABLES]
        try:
            with deadline(DOCUMENT_SECONDS):
                _read(given, secrets, shared, parts)
        except Exception as error:  # whatever one document's reader raises, the others are read
            parts = [[] for _ in TABLES]
            parts[TABLES.index(DIAGNOSTICS)] = [_unreadable(given, error)]
        for position, members in enumerate(parts):
            rows[position] += members
    return [packed(from_rows(table, members)) for table, members in zip(TABLES, rows, strict=True)]


def _read(given: SourceText, secrets: SecretsConfig, shared: Shared, rows: list[list[Any]]) -> None:
    """Rows of one file, in the order of `TABLES`."""
    diagnostics: list[Any] = []
    source = _redacted(given, secrets, diagnostics) if secrets.redact else given
    about = json.loads(source.metadata)
    entities = about.pop(SECTIONS, [])
    source = source._replace(metadata=canonical_json(about)) if entities else source
    found = expand(source.text, source.path, source.kind, shared.get((source.package, source.kind)), entities)
    diagnostics += [problem.at("extract", source.package, source.path) for problem in found.problems]
    for page in found.pages:
        _add(rows, extract(source, page._replace(id=well_formed(page.id), text=well_formed(page.text))))
    rows[TABLES.index(DIAGNOSTICS)] += diagnostics
    for members in rows:
        members[:] = [tuple(_storable(value) for value in row) for row in members]


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    return [_storable(item) for item in value] if isinstance(value, list) else value


def _unreadable(source: SourceText, error: Exception) -> Diagnostic:
    what = "".join(f"{type(error).__name__}: {error}".splitlines())[:200]
    return Diagnostic(
        "extract", "error", UNREADABLE, source.package, source.path, 0,
        f"cannot be read and is not indexed ({well_formed(what)})",
        "simplify the file, exclude it, or report this with the file",
    )  # fmt: skip


def _redacted(source: SourceText, secrets: SecretsConfig, diagnostics: list[Any]) -> SourceText:
    """The text without credentials; each is reported by its rule and line, never by its value."""
    spared: list[Finding] = []
    text, findings = redact(source.text, secrets.allow, spared)
    for finding in spared:
        message = f"shows what looks like a credential ({finding.rule}) and like an example; it stays"
        hint = "if it is a real one, remove it and make a new one"
        diagnostics.append(
            Diagnostic("extract", "info", "example-secret", source.package, source.path, finding.line, message, hint)
        )
    for finding in findings:
        message = f"holds what looks like a credential ({finding.rule}); it was redacted"
        hint = "remove it and make a new one, or list it in secrets.allow"
        diagnostics.append(
            Diagnostic("extract", "warning", "secret", source.package, source.path, finding.line, message, hint)
        )
    return source._replace(text=text) if findings else source


def _words_digest(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


def _add(rows: list[list[Any]], found: Extracted) -> None:
    parts: tuple[list[Any], ...] = (
        [tuple(found.document[column.name] for column in DOCUMENTS.columns)],
        found.tag_marks,
        found.headings,
        found.mentions,
        found.rules,
        found.diagnostics,
        [(*found.outline, _words_digest(found.document["text"]))],
    )
    for position, part in enumerate(parts):
        rows[position].extend(part)
