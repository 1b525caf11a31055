"""What a build publishes: each artifact is staged where its inputs changed, then all appear at once."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.embed.engines import Engine, EngineEncoder, make_engine
from pipeline.embed.graph import build_graph
from pipeline.embed.model import Model
from pipeline.embed.weights import verified
from pipeline.plan import ARTIFACTS, extra_inputs, package_sources, published_inputs, stage_inputs
from pipeline.render.index_json import index_document, render_json
from pipeline.render.index_md import estimate_tokens, render_index_md
from pipeline.render.manifest import render_manifest
from pipeline.render.query_script import render_query_script
from pipeline.steps import StepResult, Steps
from pipeline.store.database import build_database
from pipeline.store.publish import finish_publication, publish
from pipeline.workspace import Record, Workspace
from syntropy import __version__
from syntropy.artifacts import DATABASE, ENCODER, INDEX_JSON, INDEX_MD, MANIFEST, QUERY_SCRIPT, locate, read_manifest
from syntropy.encoder import FACTS, GRAPH, TOKENIZER, QueryEncoder
from syntropy.errors import BuildError
from syntropy.files import write_atomically, write_text
from syntropy.schema import SCHEMA_VERSION


class Outputs:
    """Stages artifacts of one build. `synced_at`: ISO time for the index; `source_date`: what fixed it, or ''."""

    def __init__(self, steps: Steps, *, synced_at: str, source_date: str = "") -> None:
        self.steps = steps
        self.workspace: Workspace = steps.workspace
        self._synced_at = synced_at
        self._extra = extra_inputs(self.workspace, source_date)

    def database(self) -> StepResult:
        """The search database, complete and closed, in the staging folder."""

        def stage(inputs: str) -> dict[str, Any]:
            tables = self.steps.tables()
            config = self.workspace.config
            vectors = self.steps.vectors(tables["windows"]) if config.embed.enabled else None
            target = self._target(DATABASE)
            stored = build_database(
                target, tables, vectors, ranking=config.ranking, store=config.store, meta=self._meta(inputs)
            )
            return {"rows": stored.rows, "hashes": stored.hashes, "hnsw": stored.hnsw, "bytes": target.stat().st_size}

        return self._staged(DATABASE, stage)

    def index_json(self) -> StepResult:
        """syntropy-index.json."""

        def stage(_: str) -> dict[str, Any]:
            text = render_json(
                index_document(
                    self.steps.overview_tables(),
                    self.steps.measured_drift(),
                    self.workspace.config,
                    synced_at=self._synced_at,
                )
            )
            self._target(INDEX_JSON).write_bytes(text.encode())
            return {"bytes": len(text.encode())}

        return self._staged(INDEX_JSON, stage)

    def index_md(self) -> StepResult:
        """INDEX.md."""

        def stage(_: str) -> dict[str, Any]:
            text = render_index_md(
                self.steps.overview_tables(),
                self.workspace.config,
                project=self._project_name(),
                chunks=self._rows("chunks", "chunks"),
                drift_score=self.steps.measured_drift().score,
            )
            self._target(INDEX_MD).write_bytes(text.encode())
            return {"estimated tokens": estimate_tokens(text)}

        return self._staged(INDEX_MD, stage)

    def query_script(self) -> StepResult:
        """query.py."""

        def stage(_: str) -> dict[str, Any]:
            self._target(QUERY_SCRIPT).write_bytes(render_query_script().encode())
            return {}

        return self._staged(QUERY_SCRIPT, stage)

    def encoder(self) -> StepResult:
        """The query encoder: graph and tokenizer of the bundled model, or a note that names another one."""

        def stage(_: str) -> dict[str, Any]:
            embed = self.workspace.config.embed
            if not embed.enabled:
                return {}
            model = self.steps.model
            engine = model.provider or ("onnx" if model.is_bundled else "sentence-transformers")
            facts = {
                "engine": engine,
                "fingerprint": model.fingerprint(),
                "model": model.name,
                "max_tokens": model.max_tokens,
            }
            if model.is_bundled:
                shutil.copyfile(self.graph(), self._target(f"{ENCODER}/{GRAPH}"))
                shutil.copyfile(verified("tokenizer.json"), self._target(f"{ENCODER}/{TOKENIZER}"))
            else:
                facts |= {"source": embed.model, "revision": embed.revision}
            self._target(f"{ENCODER}/{FACTS}").write_bytes(
                (json.dumps(facts, indent=2, sort_keys=True) + "\n").encode()
            )
            return facts

        return self._staged(ENCODER, stage)

    def publish(self) -> tuple[bool, dict[str, Any]]:
        """Publish what was staged, all at once; (False, …) where everything is published already.

        Raises BuildError where an artifact was neither staged nor published from the present tables.
        """
        finish_publication(self.workspace.out)
        published = self._published
        inputs: dict[str, str] = {}
        staged: list[str] = []
        for artifact in ARTIFACTS:
            wanted = stage_inputs(self.workspace, artifact, self._extra.get(artifact.name, ()))
            record = self.workspace.record(_record_name(artifact.name))
            if wanted is None or (
                published.get(artifact.name) != wanted and (record is None or record.inputs != wanted)
            ):
                raise BuildError(
                    f"{artifact.name} was not built from the present tables",
                    hint="materialize all assets, or run `syntropy build`",
                )
            inputs[artifact.name] = wanted
            if published.get(artifact.name) != wanted:
                staged.append(artifact.name)
        if staged:
            self._publish_staged(inputs, staged)
        copied = self._copy_index()
        return bool(staged) or copied, {"published": staged, "unchanged": [a for a in inputs if a not in staged]}

    def graph(self) -> Path:
        """The bundled model's ONNX file, made once and kept in the cache under its weights' name."""
        path = self.workspace.cache / "models" / f"{verified('model.safetensors').stem}-{GRAPH_VERSION}.onnx"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            data = build_graph(verified("model.safetensors"))
            write_atomically(path, lambda temporary: temporary.write_bytes(data))
        return path

    def query_encoder(self) -> QueryEncoder | EngineEncoder:
        """What encodes queries as a reader of this build will."""
        model = self.steps.model
        if not model.is_bundled:
            return EngineEncoder(self.engine(model))
        files = {GRAPH: self.graph(), TOKENIZER: verified("tokenizer.json")}
        return QueryEncoder({"max_tokens": model.max_tokens}, files.__getitem__)

    def engine(self, model: Model) -> Engine:
        """The configured engine, loaded."""
        return make_engine(self.workspace.config.embed, model, self.graph)

    @cached_property
    def _published(self) -> dict[str, str]:
        return published_inputs(self.workspace) if self.workspace.fresh_only else {}

    def _staged(self, name: str, stage: Callable[[str], dict[str, Any]]) -> StepResult:
        artifact = next(a for a in ARTIFACTS if a.name == name)
        inputs = stage_inputs(self.workspace, artifact, self._extra.get(name, ()))
        if inputs is None:
            raise BuildError(f"{name} needs tables that were never built", hint="materialize its upstream assets first")
        if self._published.get(name) == inputs:
            record = self.workspace.record(_record_name(name)) or Record(inputs, {}, {name: inputs}, {}, {})
            return StepResult(name, record, True)
        facts = stage(inputs)
        record = self.workspace.save(_record_name(name), inputs, {}, facts, digests={name: inputs})
        return StepResult(name, record, False, facts)

    def _target(self, name: str) -> Path:
        """Path in the staging folder, without what an earlier attempt left there."""
        path = self.workspace.staging / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        return path

    def _publish_staged(self, inputs: dict[str, str], staged: list[str]) -> None:
        staging, out = self.workspace.staging, self.workspace.out
        files: dict[str, Path] = {}
        for name in inputs:
            root = staging if name in staged else out
            found = sorted((root / name).iterdir()) if (root / name).is_dir() else [root / name]
            for path in found:
                if path.is_file():
                    files[path.relative_to(root).as_posix()] = path
        for path in sorted(p for p in staging.rglob("*") if p.is_file()):
            if path.relative_to(staging).as_posix() not in files:
                path.unlink()  # of an earlier attempt
        manifest = render_manifest(files, self._facts(inputs))
        (staging / MANIFEST).write_bytes(manifest.encode())
        publish(staging, out)

    def _facts(self, inputs: dict[str, str]) -> dict[str, Any]:
        stored = self.workspace.record(_record_name(DATABASE))
        former = read_manifest(self.workspace.out)
        if stored is not None and stored.inputs == inputs[DATABASE]:
            tables = {
                name: {"rows": stored.facts["rows"][name], "hash": found}
                for name, found in stored.facts["hashes"].items()
            }
            hnsw = stored.facts["hnsw"]
        else:
            assert former is not None  # the database is published, or it would have been staged
            tables, hnsw = former.facts["tables"], former.facts["hnsw"]
        diagnostics = self.workspace.table("drift", "diagnostics")
        drift = self.steps.measured_drift()
        embedded = self.workspace.record("embeddings")
        facts = embedded.facts if embedded else {}
        return {
            "generator": f"syntropy {__version__}",
            "schema_version": SCHEMA_VERSION,
            "build_id": inputs[DATABASE],
            "inputs": inputs,
            "project": self._project_name(),
            "tables": tables,
            "hnsw": hnsw,
            "model": {"name": facts.get("model", ""), "fingerprint": facts.get("fingerprint", "")},
            "diagnostics": {
                s: diagnostics.filter(pl.col("severity") == s).height for s in ("error", "warning", "info")
            },
            "drift": {"score": drift.score, "claims": drift.claims, "violations": drift.violations.height},
            "versions": {name: version(name) for name in ("duckdb", "polars", "pyarrow")},
        }

    def _meta(self, inputs: str) -> dict[str, str]:
        embedded = self.workspace.record("embeddings")
        facts = embedded.facts if embedded else {}
        drift = self.steps.measured_drift()
        scan = self.workspace.record("source_files")
        return {
            "schema_version": str(SCHEMA_VERSION),
            "generator": f"syntropy {__version__}",
            "build_id": inputs,
            "project": self._project_name(),
            "packages": package_sources(self.workspace),
            "documents": str(self._rows("documents", "documents")),
            "chunks": str(self._rows("chunks", "chunks")),
            "windows": str(self._rows("chunks", "windows")),
            "inputs_digest": scan.inputs if scan else "",
            "config_digest": hashlib.sha256(self.workspace.config.canonical_json().encode()).hexdigest(),
            "model": str(facts.get("model", "")),
            "model_fingerprint": str(facts.get("fingerprint", "")),
            "ranking": self.workspace.config.canonical_json("ranking", "chunk", "synonyms"),
            "synonyms": json.dumps(self.workspace.config.synonyms, sort_keys=True, ensure_ascii=False),
            "drift_score": str(drift.score),
            "drift_claims": str(drift.claims),
            "duckdb_version": version("duckdb"),
        }

    def _rows(self, stage: str, table: str) -> int:
        record = self.workspace.record(stage)
        return record.rows[table] if record else 0

    def _project_name(self) -> str:
        return self.workspace.config.project.name or self.workspace.root.name

    def _copy_index(self) -> bool:
        """Write the index to its second place, if one is configured and differs."""
        copy = self.workspace.index_copy
        if copy is None:
            return False
        text = locate(self.workspace.out, INDEX_JSON).read_text(encoding="utf-8")
        if copy.is_file():
            present = copy.read_text(encoding="utf-8", errors="replace")
            if present == text:
                return False
            if '"synced_at"' not in present:
                raise BuildError(
                    f"paths.index_copy: {copy} is there and is no syntropy-index.json",
                    hint="choose another path, or move that file away",
                )
        copy.parent.mkdir(parents=True, exist_ok=True)
        write_text(copy, text)
        return True


GRAPH_VERSION = "fp32-2"
"""Names the graph's form in the cache: raise it when `embed.graph` writes other operators."""


def _record_name(artifact: str) -> str:
    return f"artifact-{artifact.replace('/', '-')}"
