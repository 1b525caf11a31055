"""The database of several shards: those that changed are written by workers, the others linked; and the catalogue."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.engine import shard_work
from pipeline.engine.context import Build
from pipeline.engine.records import Receipt, Records
from pipeline.engine.sharded import made_from
from pipeline.engine.tasks import naming
from pipeline.ground.digests import digest, known_sha256
from pipeline.store.inverted_index import averages_of
from pipeline.store.numbers import number_documents
from pipeline.store.writer import Stored, added, write_catalogue
from syntropy import __version__
from syntropy.contract.published import file_sha256, locate, read_manifest
from syntropy.contract.schema import SCHEMA_VERSION
from syntropy.contract.shards import shard_file

IN_A_SHARD = ("documents", "tags", "headings", "rules", "chunks", "windows", "terms")


@dataclass(frozen=True)
class _Store:
    """A shard's database to be written; see `shard_work.store_shard`."""

    target: Path
    folder: Path
    shard: int
    inputs: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        return f"shard {self.shard} of the database"


def _store(task: _Store) -> Receipt:
    records = Records(task.folder)
    known = records.receipt("search_database", task.shard, task.inputs)
    if known and task.target.is_file() and file_sha256(task.target) == known.facts["sha256"]:
        return known
    task.target.parent.mkdir(parents=True, exist_ok=True)
    temporary = task.target.with_name(f".{task.target.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    with naming(task):
        stored = shard_work.store_shard(temporary, records, **task.arguments)
    temporary.replace(task.target)
    receipt = Receipt(task.shard, task.inputs, {}, {**stored, "sha256": file_sha256(task.target)})
    records.sign("search_database", receipt)
    return receipt


def store_in_shards(
    build: Build, tables: Mapping[str, pl.DataFrame], target: Path, meta: Mapping[str, str]
) -> tuple[Stored, dict[str, Any]]:
    """Shards that changed, written by workers; the others linked from what is published; the catalogue at `target`.

    What is stored over all, and facts for the record: each shard's own.
    """
    shards, folder = build.shards, target.parent
    chunk_facts = build.facts_of("chunks")
    averages = averages_of(shard_work.added_lengths(chunk_facts["lengths"]))
    ids = [digest(key, json.dumps(averages)) for key in made_from(build, "search_database")]
    before: list[dict[str, Any]] = build.facts_of("search_database").get("shards", [])
    known = (
        {number: facts for number, facts in enumerate(before) if facts["build_id"] == ids[number]}
        if len(before) == shards
        else {}
    )
    linked = {number: facts for number, facts in known.items() if _link(build, folder, number, str(facts["sha256"]))}
    documents = build.records_of("documents").tables
    chunks = build.records_of("chunks").tables
    tags = build.records_of("tags").tables
    dimension = int(build.facts_of("embeddings")["dimension"])
    cache = (build.workspace.shared, build.embedder.model.fingerprint(), dimension) if dimension else None
    own_meta = {"schema_version": str(SCHEMA_VERSION), "generator": f"syntropy {__version__}"}
    tasks = [
        _Store(
            folder / shard_file(number),
            build.records.folder,
            number,
            ids[number],
            {
                "parts": {name: {**documents, **chunks, **tags}[name][number] for name in IN_A_SHARD},
                "cache": cache,
                "shard": number,
                "shards": shards,
                "averages": averages,
                "ranking": build.config.ranking,
                "store": build.config.store,
                "meta": {**own_meta, "build_id": ids[number], "shard": str(number), "shards_in_all": str(shards)},
            },
        )
        for number in range(shards)
        if number not in linked
    ]
    found = dict(linked)
    for receipt in build.workers.map(_store, tasks):
        found[receipt.shard] = {**receipt.facts, "build_id": receipt.inputs}
        build.reporter.advance(len(found), shards)
    numbered = number_documents(build.table("documents", "documents", only=["document"])["document"], shards)
    each = [found[number] for number in range(shards)]
    counted = ("documents", "chunks", "windows")
    listed = [
        {"shard": number, "build_id": facts["build_id"], **{name: facts["rows"][name] for name in counted}}
        for number, facts in enumerate(each)
    ]
    hnsw = all(facts["hnsw"] for facts in each)
    about = {
        **meta,
        "shards": json.dumps(listed),
        "hnsw": str(hnsw).lower(),
        "vector_dimension": str(dimension),
        "averages": json.dumps(averages),
    }
    stored = write_catalogue(target, tables, numbered, store=build.config.store, meta=about)
    names = list(each[0]["hashes"])
    rows = {name: sum(facts["rows"][name] for facts in each) for name in names} | stored.rows
    hashes = {name: added(facts["hashes"][name] for facts in each) for name in names} | stored.hashes
    return Stored(rows, hashes, hnsw, dimension), {"shards": each}


def _link(build: Build, folder: Path, number: int, sha256: str) -> bool:
    """Give the staging folder a published shard, if it is the one and whole."""
    name = shard_file(number)
    manifest = read_manifest(build.workspace.out) if build.published else None
    if manifest is None or manifest.artifacts.get(name, (0, ""))[1] != sha256:
        return False
    source, target = locate(build.workspace.out, name), folder / name
    if not source.is_file() or known_sha256(source, build.workspace.cache) != sha256:
        return False  # gone, or damaged since
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:  # a file system without links
        shutil.copy2(source, target)
    return True
