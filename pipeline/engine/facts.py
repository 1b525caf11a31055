"""What the database's `meta` and the manifest say of a build."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from pipeline.engine.context import Build
from pipeline.link.drift import Drift
from syntropy import __version__
from syntropy.contract.published import DATABASE, read_manifest
from syntropy.contract.schema import SCHEMA_VERSION
from syntropy.contract.synonyms import synonym_groups


def database_meta(build: Build, inputs: str) -> dict[str, str]:
    """Rows of `meta`; `inputs` is the digest of all that decides the database."""
    embedded = build.facts_of("embeddings")
    drift = build.facts_of("drift")
    return {
        "schema_version": str(SCHEMA_VERSION),
        "generator": f"syntropy {__version__}",
        "build_id": inputs,
        "project": project_name(build),
        "packages": build.packages,
        "documents": str(build.rows_of("documents", "documents")),
        "chunks": str(build.rows_of("chunks", "chunks")),
        "windows": str(build.rows_of("chunks", "windows")),
        "inputs_digest": str(build.facts_of("source_files")["scan"]),
        "config_digest": hashlib.sha256(build.config.canonical_json().encode()).hexdigest(),
        "model": str(embedded.get("model", "")),
        "vectors": _vectors(build),
        "model_fingerprint": str(embedded.get("fingerprint", "")),
        "ranking": build.config.canonical_json("ranking", "chunk", "synonyms"),
        "synonym_groups": json.dumps(synonym_groups(build.config.synonyms), ensure_ascii=False),
        "drift_score": str(drift["score"]),
        "drift_claims": str(drift["claims"]),
        "duckdb_version": version("duckdb"),
    }


def manifest_facts(build: Build, inputs: Mapping[str, str]) -> dict[str, Any]:
    """The manifest's facts; `inputs` are the digests of what decides each artifact."""
    tables, hnsw = _stored(build, inputs[DATABASE])
    embedded = build.facts_of("embeddings")
    drift = build.facts_of("drift")
    return {
        "generator": f"syntropy {__version__}",
        "schema_version": SCHEMA_VERSION,
        "build_id": inputs[DATABASE],
        "inputs": dict(inputs),
        "project": project_name(build),
        "tables": tables,
        "hnsw": hnsw,
        "model": {
            "name": embedded.get("model", ""),
            "fingerprint": embedded.get("fingerprint", ""),
            "dimension": embedded.get("dimension", 0),
        },
        "vectors": _vectors(build),
        "diagnostics": drift["severities"],
        "drift": {
            "score": drift["score"],
            "claims": drift["claims"],
            "violations": build.rows_of("drift", "violations"),
        },
        "versions": {name: version(name) for name in ("duckdb", "polars", "pyarrow")},
    }


def measured_drift(build: Build) -> Drift:
    """Drift as the last `drift` stage found it."""
    facts = build.facts_of("drift")
    return Drift(facts["score"], facts["claims"], build.table("drift", "violations"))


def project_name(build: Build) -> str:
    """The configured name, or the folder's."""
    return build.config.project.name or build.workspace.root.name


def _stored(build: Build, wanted: str) -> tuple[dict[str, Any], bool]:
    """Rows and hashes of the database's tables, and whether it has a vector index: as staged, or as published."""
    record = build.records.get("search_database")
    if record is not None and record.inputs == wanted:
        rows, hashes = record.facts["rows"], record.facts["hashes"]
        return {name: {"rows": rows[name], "hash": found} for name, found in hashes.items()}, record.facts["hnsw"]
    former = read_manifest(build.workspace.out)
    assert former is not None  # the database is published, or it would have been staged
    return former.facts["tables"], former.facts["hnsw"]


def _vectors(build: Build) -> str:
    """follow: a second publication brings them; whole; none: they were not asked for."""
    if build.workspace.vectors_follow:
        return "follow"
    return "whole" if build.facts_of("embeddings").get("fingerprint") else "none"
