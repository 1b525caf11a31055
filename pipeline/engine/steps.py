"""The build's steps: each reads its tables, calls one stage, saves what came out. Run by Dagster.

A step whose inputs are those of its record does nothing; one that has to work does so only for
documents that changed, and takes the rest from its former tables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from pipeline.chunk.chunking import Chunks, chunk_documents
from pipeline.chunk.cutting import prefix_budget
from pipeline.embed.cache import EmbeddingCache
from pipeline.embed.embedding import embed_windows
from pipeline.embed.model import Model, resolve_model
from pipeline.engine.plan import SCAN, STAGES, connectors, packages_of, scan_all, scan_digest, stage_inputs
from pipeline.engine.workspace import Record, Workspace, digest
from pipeline.extract import extraction
from pipeline.extract.catalog import unique_keys, unique_labels
from pipeline.extract.precedence import prefer_written
from pipeline.ground.diagnostics import Diagnostic
from pipeline.ground.parallel import Progress
from pipeline.ground.tables import conform, from_rows
from pipeline.link.drift import Drift, measure_drift
from pipeline.link.duplicates import duplicate_relations, near_duplicate_relations
from pipeline.link.entities import follow
from pipeline.link.linking import link_mentions
from pipeline.link.similar import similar_documents
from pipeline.sources.protocol import Scan, SourceText
from syntropy.contract.errors import BuildError
from syntropy.contract.identity import PROJECT_PACKAGE, split_uid
from syntropy.contract.schema import DIAGNOSTICS, FILES, SEVERITIES, SOURCES, TABLES
from syntropy.read.problems import DIAGNOSTIC_STAGES, Ignored

MAX_SHOWN = 1_000
"""Diagnostics that the record repeats for the command line; the table holds all."""


_WHERE = {
    "sources": SCAN,
    "chunks": "chunks",
    "windows": "chunks",
    "terms": "chunks",
    "relations": "relations",
    "diagnostics": "drift",
    "violations": "drift",
}
"""Tables that are not made by the `documents` step, and the step that makes them."""


class _StoredTables(Mapping[str, pl.DataFrame]):
    """Stage tables by name; none is kept, so that a large project's are never in memory together."""

    _NAMES = (
        "sources",
        "documents",
        "tags",
        "headings",
        "rules",
        "chunks",
        "windows",
        "terms",
        "relations",
        "diagnostics",
        "violations",
    )

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __getitem__(self, name: str) -> pl.DataFrame:
        return self._workspace.table(_WHERE.get(name, "documents"), name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._NAMES)

    def __len__(self) -> int:
        return len(self._NAMES)


@dataclass(frozen=True)
class StepResult:
    """What a step did: its record, whether it was up to date already, and figures for people."""

    name: str
    record: Record
    skipped: bool
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def data_version(self) -> str:
        """Digest of the step's tables: equal versions, equal content."""
        return digest(*(f"{k}={v}" for k, v in sorted(self.record.digests.items())))


class Steps:
    """The steps of one build of one workspace."""

    def __init__(self, workspace: Workspace, *, progress: Progress | None = None) -> None:
        self.workspace = workspace
        self._progress = progress

    @cached_property
    def model(self) -> Model:
        return resolve_model(self.workspace.config.embed)

    def source_files(self, scan: Scan | None = None) -> StepResult:
        """Scan (unless one is given), and store it where it differs from the former one."""
        scan = scan or scan_all(self.workspace)
        inputs = scan_digest(scan)
        known = self.workspace.up_to_date(SCAN, inputs)
        if known:
            return StepResult(SCAN, known, True)
        if not any(file.status == "indexed" for file in scan.files):
            raise BuildError(
                f"no file below {self.workspace.root} can be indexed ({len(scan.files)} were met)",
                hint="check [sources] in syntropy.toml; the former artifacts are untouched",
            )
        tables = {
            "sources": conform(SOURCES, from_rows(SOURCES, scan.files)),
            "diagnostics": conform(DIAGNOSTICS, from_rows(DIAGNOSTICS, dict.fromkeys(scan.diagnostics))),
        }
        return StepResult(SCAN, self.workspace.save(SCAN, inputs, tables, {"packages": packages_of(scan)}), False)

    def documents(self) -> StepResult:
        """Extract what is new or changed, take the rest from the former tables, make keys unique."""
        inputs, known = self._inputs("documents")
        if known:
            return StepResult("documents", known, True)
        wanted = self.workspace.table(SCAN, "sources").filter(pl.col("status") == "indexed")
        former = self._former("documents")
        files, kept = _unchanged(wanted, former)
        changed = wanted.join(files, on=["package", "path"], how="anti")
        found = extraction.extract_texts(
            self._texts(changed),
            self.workspace.config.secrets,
            total=int(changed["bytes"].sum()),
            progress=self._progress,
        )
        tables = {
            name: pl.concat([former[name].filter(pl.col("document").is_in(kept.implode())), getattr(found, name)])
            if former
            else getattr(found, name)
            for name in ("documents", "tags", "headings", "mentions", "rules", "outlines")
        }
        written = prefer_written(tables["documents"].sort("document"))
        hidden = pl.col("document").is_in(written.hidden.implode())
        # files with a hidden document are read again next time, when the entry that hides it may be gone
        giving_way = tables["documents"].filter(hidden).select("package", pl.col("file").alias("path"))
        # so are those that could not be read: a deadline or a lack of memory may not come again
        lost = found.diagnostics.filter(pl.col("code") == extraction.UNREADABLE).select("package", "path")
        giving_way = pl.concat([giving_way, lost])
        files = wanted.join(giving_way, on=["package", "path"], how="anti")
        tables = {name: frame.filter(~hidden) for name, frame in tables.items()}
        documents, clashes = unique_keys(tables["documents"].sort("document"))
        tables["documents"] = documents
        tables["rules"] = unique_labels(tables["rules"].sort("document", "line"))
        tables = {name: conform(TABLES[name], frame) for name, frame in tables.items()}
        tables["files"] = conform(FILES, files.select(c.name for c in FILES.columns))
        carried = _carried_diagnostics(former, wanted.join(changed, on=["package", "path"], how="anti"))
        tables["diagnostics"] = conform(
            DIAGNOSTICS, pl.concat([carried, found.diagnostics, clashes, written.diagnostics]).unique()
        )
        record = self.workspace.save("documents", inputs, tables)
        return StepResult("documents", record, False, {"extracted": changed.height, "reused": len(kept)})

    def _texts(self, files: pl.DataFrame) -> Iterator[SourceText | Diagnostic]:
        """What the connectors read of files, package by package."""
        for connector in connectors(self.workspace):
            wanted = files.filter(pl.col("package") == connector.package)["path"].to_list()
            if wanted:
                yield from connector.read(wanted)

    def chunks(self) -> StepResult:
        """Chunk documents whose text, title or tags changed."""
        inputs, known = self._inputs("chunks")
        if known:
            return StepResult("chunks", known, True)
        config = self.workspace.config
        documents = self.workspace.table("documents", "documents")
        tags = self.workspace.table("documents", "tags")
        former = self._former("chunks")
        keys = _chunk_keys(documents, tags)
        same = (
            keys.join(former["keys"], on=["document", "input"], how="semi")["document"]
            if former
            else keys["document"].clear()
        )
        changed = documents.filter(~pl.col("document").is_in(same.implode()))
        found = chunk_documents(
            changed,
            tags,
            self.workspace.table("documents", "headings"),
            self.workspace.table("documents", "outlines"),
            tokenizer=self.model.tokenizer,
            chunk=config.chunk,
            embed=config.embed,
            prefix_tokens=prefix_budget(config.embed, self.model.max_tokens),
            progress=self._progress,
        )
        found, rejected = _within_limit(found, config.chunk.max_chunks_per_document)
        frames = found._asdict()
        if former:
            keep = pl.col("document").is_in(same.implode())
            frames = {name: pl.concat([former[name].filter(keep), frame]) for name, frame in frames.items()}
            carried = former["diagnostics"].filter(_uid_column().is_in(same.implode()))
            rejected = pl.concat([carried, rejected])
        tables = {name: conform(TABLES[name], frame) for name, frame in frames.items()}
        tables |= {"diagnostics": conform(DIAGNOSTICS, rejected), "keys": keys.sort("document")}
        record = self.workspace.save("chunks", inputs, tables)
        return StepResult("chunks", record, False, {"chunked": changed.height, "reused": len(same)})

    def embeddings(self, engine: Callable[[Model], Any]) -> StepResult:
        """Encode windows the cache does not know. The vectors stay in the cache; the record names them."""
        inputs, known = self._inputs("embeddings")
        if known and self._vectors_present():
            return StepResult("embeddings", known, True)
        figures: dict[str, Any] = {"encoded": 0, "engine": "", "fingerprint": "", "model": "", "dimension": 0}
        if self.workspace.config.embed.enabled:
            model = self.model
            chunks, windows = self.workspace.table("chunks", "chunks"), self.workspace.table("chunks", "windows")
            cache = self.cache
            cache.adopt(self.workspace.cache)
            done = embed_windows(
                chunks,
                windows,
                cache,
                model=model,
                engine=lambda: engine(model),
                prefix_tokens=prefix_budget(self.workspace.config.embed, model.max_tokens),
                clock=time.perf_counter,
                progress=self._progress,
                all_anew=not self.workspace.fresh_only,
            )
            figures |= {
                "encoded": done.encoded,
                "engine": done.engine,
                "fingerprint": model.fingerprint(),
                "model": model.name,
                "max_tokens": model.max_tokens,
                "dimension": model.dimension or cache.dimension(),
                "windows": done.windows,
                "model_seconds": round(done.model_seconds, 3),
            }
        windows_record = self.workspace.record("chunks")
        assert windows_record is not None
        version = digest(windows_record.digests["windows"], str(figures["fingerprint"]))
        record = self.workspace.save(
            "embeddings",
            inputs,
            {},
            figures,
            digests={"vectors": version, "model": digest(str(figures["fingerprint"]))},
        )
        return StepResult("embeddings", record, False, figures)

    def relations(self) -> StepResult:
        """Explicit links, duplicates and see-also."""
        inputs, known = self._inputs("relations")
        if known:
            return StepResult("relations", known, True)
        documents = self.workspace.table("documents", "documents")
        links = link_mentions(
            documents,
            self.workspace.table("documents", "mentions"),
            self.workspace.table("documents", "rules"),
            self.workspace.table(SCAN, "sources"),
        )
        duplicates = duplicate_relations(documents)
        entities = follow(documents, links.relations)
        copies = pl.concat([duplicates, near_duplicate_relations(documents, duplicates)])
        similar = duplicates.clear()
        diagnostics = links.diagnostics
        limit = self.workspace.config.link.similar_max_documents
        if self.workspace.config.embed.enabled and documents.height > limit:
            diagnostics = pl.concat([diagnostics, _without_similar(documents.height, limit)])
        elif self.workspace.config.embed.enabled:
            windows = self.workspace.table("chunks", "windows")
            similar = similar_documents(windows, self.vectors(windows), self.workspace.config.link, duplicates=copies)
        tables = {
            "relations": conform(TABLES["relations"], pl.concat([links.relations, entities, copies, similar])),
            "diagnostics": conform(DIAGNOSTICS, diagnostics),
        }
        record = self.workspace.save("relations", inputs, tables, {"checked": links.checked})
        return StepResult("relations", record, False, {"checked references": links.checked})

    def drift(self) -> StepResult:
        """All diagnostics in one table, and drift."""
        inputs, known = self._inputs("drift")
        if known:
            return StepResult("drift", known, True)
        diagnostics = pl.concat(
            [self.workspace.table(stage, "diagnostics") for stage in (SCAN, "documents", "chunks", "relations")]
        ).unique()
        relations = self.workspace.record("relations")
        assert relations is not None
        found = measure_drift(
            self.workspace.table("documents", "documents", without="text"),
            diagnostics,
            references=int(relations.facts["checked"]),
        )
        tables = {
            "diagnostics": conform(DIAGNOSTICS, diagnostics),
            "violations": conform(TABLES["violations"], found.violations),
        }
        ignored = Ignored(self.workspace.config.problems.ignore)
        counted = worst_first(tables["diagnostics"])
        kept = [not ignored.holds(code, path) for code, path in counted.select("code", "path").iter_rows()]
        counted = counted.filter(pl.Series(kept, dtype=pl.Boolean))
        shown = counted.filter(pl.col("severity") != "info").head(MAX_SHOWN)
        counts = {s: int((counted["severity"] == s).sum()) for s in SEVERITIES}
        facts = {
            "score": found.score,
            "claims": found.claims,
            "diagnostics": [list(r) for r in shown.iter_rows()],
            "counts": counts,
        }
        record = self.workspace.save("drift", inputs, tables, facts)
        return StepResult("drift", record, False, {"score": found.score, "claims": found.claims})

    @property
    def cache(self) -> EmbeddingCache:
        return EmbeddingCache(self.workspace.shared, self.model.fingerprint())

    def _vectors_present(self) -> bool:
        """Somebody may have emptied the cache since the record was written."""
        if not self.workspace.config.embed.enabled:
            return True
        hashes = self.workspace.table("chunks", "windows", only="text_hash")["text_hash"].unique()
        return bool(self.cache.known(hashes).all())

    def vectors(self, windows: pl.DataFrame) -> pl.DataFrame:
        """`text_hash`, `vector` of all windows."""
        return self.cache.vectors(windows["text_hash"])

    def tables(self) -> Mapping[str, pl.DataFrame]:
        """Every table of the database in stage form, read from disk each time it is asked for."""
        return _StoredTables(self.workspace)

    def overview_tables(self) -> dict[str, pl.DataFrame]:
        """What the index and the overview need, texts left out."""
        tables = self.tables()
        stored = {name: tables[name] for name in ("tags", "rules", "relations", "diagnostics")}
        stored["documents"] = self.workspace.table("documents", "documents", without="text")
        return stored

    def measured_drift(self) -> Drift:
        """Drift as the last `drift` step found it."""
        record = self.workspace.record("drift")
        assert record is not None
        return Drift(record.facts["score"], record.facts["claims"], self.workspace.table("drift", "violations"))

    def _inputs(self, name: str) -> tuple[str, Record | None]:
        stage = next(s for s in STAGES if s.name == name)
        inputs = stage_inputs(self.workspace, stage)
        if inputs is None:
            raise FileNotFoundError(
                f"step {name} needs {', '.join(sorted({s for s, _ in stage.inputs}))} to be built first"
            )
        return inputs, self.workspace.up_to_date(name, inputs)

    def _former(self, stage: str) -> dict[str, pl.DataFrame]:
        """The former tables of a stage if our code and its configuration are the same; else none."""
        record = self.workspace.record(stage) if self.workspace.fresh_only else None
        if record is None or record.facts.get("method") != self.workspace.method(stage):
            return {}
        return {name: self.workspace.table(stage, name) for name in record.tables}


def worst_first(diagnostics: pl.DataFrame) -> pl.DataFrame:
    """Diagnostics by severity, then by stage: what keeps a file out comes before what a text says wrongly."""
    severity = pl.col("severity").replace_strict({name: n for n, name in enumerate(SEVERITIES)}, return_dtype=pl.Int8)
    stages = {name: n for n, name in enumerate(DIAGNOSTIC_STAGES)}
    stage = pl.col("stage").replace_strict(stages, default=len(stages), return_dtype=pl.Int8)
    return diagnostics.sort(severity, stage, "code", "package", "path", "line", "message")


def _uid_column() -> pl.Expr:
    return pl.col("package") + ":" + pl.col("path")


def _unchanged(wanted: pl.DataFrame, former: Mapping[str, pl.DataFrame]) -> tuple[pl.DataFrame, pl.Series]:
    """Files that are as they were when they were extracted, and the uids of their documents."""
    if not former:
        return wanted.clear(), pl.Series("document", [], pl.String)
    same = wanted.join(former["files"], on=[c.name for c in FILES.columns], how="semi")
    documents = former["documents"].join(same, left_on=["package", "file"], right_on=["package", "path"], how="semi")
    return same, documents["document"]


def _carried_diagnostics(former: Mapping[str, pl.DataFrame], kept: pl.DataFrame) -> pl.DataFrame:
    """Diagnostics of files that were not extracted again; what needs all documents is found anew."""
    if not former:
        return from_rows(DIAGNOSTICS, [])
    of_extraction = former["diagnostics"].filter(pl.col("stage") == "extract")
    return of_extraction.join(kept, on=["package", "path"], how="semi")


def _chunk_keys(documents: pl.DataFrame, tags: pl.DataFrame) -> pl.DataFrame:
    """`document`, `input`: what a document's chunks depend on (content, kind, names, summary, tags)."""
    joined = (
        tags.sort("document", "position").group_by("document", maintain_order=True).agg(pl.col("tag").str.join(" "))
    )
    frame = documents.select(
        "document", "content_hash", "kind", "title", "summary", pl.col("aliases", "keywords").list.join("\n")
    ).join(joined, on="document", how="left")
    return frame.select(
        "document",
        pl.concat_str(
            ["content_hash", "kind", "title", "aliases", "keywords", "summary", pl.col("tag").fill_null("")],
            separator="\x1f",
        ).alias("input"),
    )


def _without_similar(count: int, limit: int) -> pl.DataFrame:
    """What a project of so many documents goes without."""
    message = f"{count} documents are more than link.similar_max_documents ({limit}): none has see-also relations"
    return from_rows(
        DIAGNOSTICS,
        [
            Diagnostic(
                "link", "info", "no-see-also", PROJECT_PACKAGE, ".", 0, message, "raise it; cost grows by the square"
            )
        ],
    )


def _within_limit(found: Chunks, limit: int) -> tuple[Chunks, pl.DataFrame]:
    """Chunks without those of documents that have too many; a diagnostic for each such document."""
    counts = found.chunks.group_by("document").len().filter(pl.col("len") > limit).sort("document")
    rows = []
    for uid, count in counts.iter_rows():
        package, path = split_uid(uid)
        rows.append(
            (
                "chunk",
                "warning",
                "too-many-chunks",
                package,
                path,
                0,
                f"makes {count} chunks, more than {limit}",
                "split the file, exclude it, or raise chunk.max_chunks_per_document",
            )
        )
    if rows:
        over = pl.col("document").is_in(counts["document"].implode())
        found = Chunks(*(frame.filter(~over) for frame in found))
    return found, from_rows(DIAGNOSTICS, rows)
