"""What each stage of the table does: its declared inputs to a pure stage, and what came out.

A function bears its stage's name. It loads nothing and saves nothing: `runner` does both.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.chunk.cutting import prefix_budget
from pipeline.embed import weights
from pipeline.embed.embedding import embed_windows
from pipeline.engine.context import AGAIN, Build, Inputs, is_whole, part_name
from pipeline.engine.facts import database_meta, measured_drift, project_name
from pipeline.engine.linked import CHECKED, KEYS, link_shards
from pipeline.engine.records import Part
from pipeline.engine.shard_store import store_in_shards
from pipeline.engine.shard_work import added_lengths, chunked
from pipeline.engine.sharded import chunk_in_shards, extract_in_shards, shard_count, tag_in_shards
from pipeline.extract.extraction import extract_texts, shared_of
from pipeline.extract.merge import files_read_otherwise, merge_documents, unchanged
from pipeline.formats.shared import KINDS
from pipeline.ground.digests import digest
from pipeline.ground.tables import from_rows
from pipeline.link.drift import measure_drift
from pipeline.link.duplicates import duplicate_relations, near_copies_within, near_duplicate_relations
from pipeline.link.entities import follow
from pipeline.link.findings import problem_figures
from pipeline.link.linking import link_diagnostics
from pipeline.link.similar import similar_documents, without_similar
from pipeline.render.index_json import index_document, render_json
from pipeline.render.index_md import estimate_tokens, render_index_md
from pipeline.render.query_script import render_query_script
from pipeline.sources.scan import packages_of, read_all
from pipeline.store.calibration import calibrated
from pipeline.store.inverted_index import averages_of
from pipeline.store.numbers import number_documents
from pipeline.store.writer import write_database
from pipeline.tag.tagging import tag_documents
from syntropy.contract.errors import BuildError
from syntropy.contract.published import DATABASE, ENCODER, INDEX_JSON, INDEX_MD, QUERY_SCRIPT
from syntropy.contract.schema import DIAGNOSTICS, SOURCES
from syntropy.search.profiles import resolved_profile
from syntropy.store.encoder import FACTS, GRAPH, TOKENIZER


@dataclass(frozen=True)
class Made:
    """`tables` by name, `parts` of tables that are stored already, `digests` of what is not a table, `facts` for the
    record, `figures` for people."""

    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    parts: Mapping[str, Sequence[Part]] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)


def source_files(build: Build, _: Inputs) -> Made:
    """What the connectors met. Raises BuildError where nothing of it can be indexed."""
    scan = build.scan
    if not any(file.status == "indexed" for file in scan.files):
        raise BuildError(
            f"no file below {build.workspace.root} can be indexed ({len(scan.files)} were met)",
            hint="check [sources] in syntropy.toml; the former artifacts are untouched",
        )
    tables = {
        "sources": from_rows(SOURCES, scan.files),
        "diagnostics": from_rows(DIAGNOSTICS, dict.fromkeys(scan.diagnostics)),
    }
    indexed = sum(file.status == "indexed" for file in scan.files)
    shards = shard_count(build.config.build, indexed)
    return Made(tables, facts={"packages": packages_of(scan), "scan": build.scan_digest, "shards": shards})


def documents(build: Build, inputs: Inputs) -> Made:
    """Extract what is new or changed, take the rest from the former tables."""
    if build.shards > 1:
        made = extract_in_shards(build, inputs, lambda files: _read_together(build, files))
        documents = build.records.read(made["parts"]["documents"], only=["package", "file", "content_hash"])
        diagnostics = build.records.read(made["parts"]["diagnostics"])
        other = files_read_otherwise(documents, diagnostics, inputs["sources"])
        files = made["files"].join(other, on=["package", "path"], how="anti")
        return Made({"files": files}, made["parts"], facts={AGAIN: other.height}, figures=made["figures"])
    wanted = inputs["sources"].filter(pl.col("status") == "indexed")
    kept = unchanged(wanted, inputs.former)
    changed = wanted.join(kept.files, on=["package", "path"], how="anti")
    paths = dict(changed.group_by("package", maintain_order=True).agg("path").iter_rows())
    shared = _read_together(build, changed.filter(pl.col("kind").is_in(sorted(KINDS))))
    texts = read_all(build.workspace.root, build.config, build.workspace.own_folders(), paths)
    total = int(changed["bytes"].sum())
    found = extract_texts(texts, build.config.secrets, shared=shared, total=total, progress=build.reporter.advance)
    tables = merge_documents(found, kept, wanted, inputs.former)
    other = files_read_otherwise(tables["documents"], tables["diagnostics"], wanted)
    tables["files"] = tables["files"].join(other, on=["package", "path"], how="anti")
    figures = {"extracted": changed.height, "reused": len(kept.documents)}
    return Made(tables, facts={AGAIN: other.height}, figures=figures)


def _read_together(build: Build, files: pl.DataFrame) -> dict[tuple[str, str], Any]:
    """What files of `formats.shared.KINDS` know together."""
    if not files.height:
        return {}
    grouped = dict(files.group_by("package", maintain_order=True).agg("path").iter_rows())
    texts = read_all(build.workspace.root, build.config, build.workspace.own_folders(), grouped)
    return shared_of(texts, build.config.secrets)


def tags(build: Build, inputs: Inputs) -> Made:
    """Tags of all documents."""
    if build.shards > 1:
        return Made(**tag_in_shards(build, inputs))
    found = tag_documents(inputs["tag_marks"], inputs["headings"], build.config.tags)
    return Made({"tags": found}, figures={"tagged": found["document"].n_unique()})


def chunks(build: Build, inputs: Inputs) -> Made:
    """Chunk documents whose text, names or tags changed."""
    if build.shards > 1:
        return Made(**chunk_in_shards(build, inputs))
    config, model = build.config, build.embedder.model
    tables, facts = chunked(
        inputs,
        inputs.former,
        tokenizer=model.tokenizer,
        chunk=config.chunk,
        embed=config.embed,
        prefix_tokens=prefix_budget(config.embed, model.max_tokens),
        progress=build.reporter.advance,
    )
    lengths = facts.pop("lengths")
    return Made(tables, facts={"lengths": [lengths]}, figures=facts)


def embeddings(build: Build, inputs: Inputs) -> Made:
    """Encode windows the cache does not know. The vectors stay in the cache; the record names them."""
    figures: dict[str, Any] = {"encoded": 0, "engine": "", "fingerprint": "", "model": "", "dimension": 0}
    if build.config.embed.enabled:
        model, cache = build.embedder.model, build.embedder.cache
        cache.adopt(build.workspace.cache)
        done = embed_windows(
            inputs["chunks"],
            inputs["windows"],
            cache,
            model=model,
            engine=build.embedder.engine,
            prefix_tokens=prefix_budget(build.config.embed, model.max_tokens),
            clock=time.perf_counter,
            progress=build.reporter.advance,
            all_anew=not build.workspace.fresh_only,
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
    fingerprint = str(figures["fingerprint"])
    of_windows = build.digest_of("windows")
    digests = {"vectors": digest(of_windows, fingerprint), "model": digest(fingerprint)}
    if build.shards > 1:
        windows = inputs.parts("windows")
        digests |= {part_name("vectors", n): digest(part.sha256, fingerprint) for n, part in enumerate(windows)}
    return Made(digests=digests, facts=figures, figures=figures)


def relations(build: Build, inputs: Inputs) -> Made:
    """Explicit links, what follows from them, copies and see-also."""
    documents, link = inputs.without("documents", "text"), build.config.link
    linked = link_shards(build, inputs, documents)
    links = build.records.read(linked.links)
    unresolved = build.records.read(linked.unresolved)
    told = link_diagnostics(documents, unresolved, inputs["rules"], inputs.only("sources", "package", "path"))
    duplicates = duplicate_relations(inputs.only("outlines", "document", "words"))
    several = documents["package"].n_unique() > 1
    near = near_duplicate_relations(_texts(inputs), duplicates) if several else duplicates.clear()
    copies = pl.concat([duplicates, near])
    found, diagnostics = [links, follow(documents, links), copies], [told]
    if build.config.embed.enabled and documents.height > link.similar_max_documents:
        diagnostics.append(without_similar(documents.height, link))
    elif build.config.embed.enabled:
        windows = inputs["windows"]
        vectors = build.embedder.cache.vectors(windows["text_hash"])
        similar = similar_documents(windows, vectors, link, duplicates=copies)
        within = near_copies_within(_texts(inputs), similar)
        for one, other in (("from", "to"), ("to", "from")):  # a copy is not a see-also of its original
            similar = similar.join(within, left_on=["from", "to"], right_on=[one, other], how="anti")
        found += [similar, within]
    tables = {"relations": pl.concat(found), "diagnostics": pl.concat(diagnostics)}
    parts = {"links": linked.links, "unresolved": linked.unresolved}
    checked = sum(linked.checked)
    facts = {"checked": checked, CHECKED: linked.checked, KEYS: linked.made_from}
    return Made(tables, parts, facts=facts, figures={"checked references": checked})


def _texts(inputs: Inputs) -> pl.DataFrame:
    return inputs.only("documents", "document", "package", "path", "text")


def drift(build: Build, inputs: Inputs) -> Made:
    """All diagnostics in one table, and drift."""
    diagnostics = pl.concat([inputs[name] for name in inputs if name.endswith(".diagnostics")]).unique()
    checked = int(build.facts_of("relations")["checked"])
    found = measure_drift(inputs.without("documents", "text"), diagnostics, references=checked)
    figures = {"score": found.score, "claims": found.claims}
    facts = {**figures, **problem_figures(diagnostics, build.config.problems.ignore)}
    return Made({"diagnostics": diagnostics, "violations": found.violations}, facts=facts, figures=figures)


def search_database(build: Build, inputs: Inputs) -> Made:
    """The search database, complete and closed, in the staging folder."""
    target = _target(build, DATABASE)
    meta = database_meta(build, inputs.digest)
    facts: dict[str, Any] = {}
    if build.shards > 1:
        whole = {name.rpartition(".")[2]: inputs[name] for name in inputs if is_whole(name)}
        stored, facts = store_in_shards(build, whole, target, meta)
    else:
        hashes = inputs["windows"]["text_hash"]
        vectors = build.embedder.cache.vectors(hashes) if build.config.embed.enabled and len(hashes) else None
        tables = {name.rpartition(".")[2]: inputs[name] for name in inputs if name != "vectors"}
        stored = write_database(
            target,
            tables,
            number_documents(tables["documents"]["document"]),
            vectors=vectors,
            averages=averages_of(added_lengths(build.facts_of("chunks")["lengths"])),
            ranking=build.config.ranking,
            store=build.config.store,
            meta=meta,
        )
    limits = calibrated(
        target,
        resolved_profile(build.config.search),
        build.embedder.query_encoder if stored.dimension else None,
        method=digest(build.config.canonical_json("ranking", "chunk", "embed")),
        former=build.facts_of("search_database").get("absence", {}),
    )
    facts |= {"rows": stored.rows, "hashes": stored.hashes, "hnsw": stored.hnsw, "absence": limits._asdict()}
    return Made(facts=facts, figures={"bytes": target.stat().st_size})


def index_json(build: Build, inputs: Inputs) -> Made:
    """syntropy-index.json."""
    tables = {name: inputs[name] for name in ("rules", "relations")}
    tables["documents"] = inputs.without("documents", "text")
    tables["tags"] = inputs["tags"].filter(pl.col("origin") != "inferred")
    text = render_json(index_document(tables, measured_drift(build), build.config, synced_at=build.synced_at))
    return _written(_target(build, INDEX_JSON), text, {"bytes": len(text.encode())})


def index_overview(build: Build, inputs: Inputs) -> Made:
    """INDEX.md."""
    tables = {"rules": inputs["rules"], "diagnostics": inputs["drift.diagnostics"]}
    tables["documents"] = inputs.without("documents", "text")
    text = render_index_md(
        tables,
        build.config,
        project=project_name(build),
        chunks=build.rows_of("chunks", "chunks"),
        drift_score=measured_drift(build).score,
    )
    return _written(_target(build, INDEX_MD), text, {"estimated tokens": estimate_tokens(text)})


def query_script(build: Build, _: Inputs) -> Made:
    """query.py."""
    return _written(_target(build, QUERY_SCRIPT), render_query_script(), {})


def query_encoder(build: Build, _: Inputs) -> Made:
    """The query encoder: graph and tokenizer of the bundled model, or a note that names another one."""
    if not build.config.embed.enabled:
        return Made()
    embed, model = build.config.embed, build.embedder.model
    facts = {
        "engine": model.provider or ("onnx" if model.is_bundled else "sentence-transformers"),
        "fingerprint": model.fingerprint(),
        "model": model.name,
        "max_tokens": model.max_tokens,
    }
    if model.is_bundled:
        shutil.copyfile(build.embedder.graph("int8"), _target(build, f"{ENCODER}/{GRAPH}"))
        shutil.copyfile(weights.tokenizer(), _target(build, f"{ENCODER}/{TOKENIZER}"))
        facts["precision"] = "int8 rows"
    else:
        facts |= {"source": embed.model, "revision": embed.revision}
    return _written(_target(build, f"{ENCODER}/{FACTS}"), json.dumps(facts, indent=2, sort_keys=True) + "\n", facts)


def _written(target: Path, text: str, figures: Mapping[str, Any]) -> Made:
    target.write_bytes(text.encode())
    return Made(figures=figures)


def _target(build: Build, name: str) -> Path:
    """Path in the staging folder, without what an earlier attempt left there."""
    path = build.workspace.staging / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return path
