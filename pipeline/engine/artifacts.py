"""What a build publishes: each artifact is staged where its inputs changed, then all appear at once."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.checks import golden, parity
from pipeline.checks import integrity as checks
from pipeline.checks.integrity import CheckResult
from pipeline.embed import weights
from pipeline.embed.engines import Engine, EngineEncoder, make_engine
from pipeline.embed.model import Model
from pipeline.embed.onnx_graph import Precision, build_graph
from pipeline.engine import gate
from pipeline.engine.history import counted, record_published
from pipeline.engine.plan import ARTIFACTS, SCAN, extra_inputs, package_sources, published_inputs, stage_inputs
from pipeline.engine.steps import StepResult, Steps
from pipeline.engine.workspace import Record, Workspace
from pipeline.render.index_json import index_document, render_json
from pipeline.render.index_md import estimate_tokens, render_index_md
from pipeline.render.manifest_json import render_manifest
from pipeline.render.query_script import render_query_script
from pipeline.sources.protocol import SourceFile
from pipeline.store.digests import known_sha256
from pipeline.store.publish import finish_publication, publish
from pipeline.store.writer import build_database
from syntropy import __version__
from syntropy.contract.errors import BuildError
from syntropy.contract.files import write_atomically, write_text
from syntropy.contract.published import (
    DATABASE,
    ENCODER,
    INDEX_JSON,
    INDEX_MD,
    MANIFEST,
    QUERY_SCRIPT,
    locate,
    read_manifest,
)
from syntropy.contract.schema import SCHEMA_VERSION
from syntropy.store.encoder import FACTS, GRAPH, TOKENIZER, QueryEncoder


class Outputs:
    """Stages artifacts of one build.

    `synced_at`: ISO time for the index; `source_date`: what fixed it, or ''; `started`: when the build began, and
    `clock`: seconds since 1970, for what readers are told.
    """

    def __init__(
        self,
        steps: Steps,
        *,
        synced_at: str,
        source_date: str = "",
        clock: Callable[[], float] = time.time,
        started: float | None = None,
    ) -> None:
        self.steps = steps
        self.workspace: Workspace = steps.workspace
        self._synced_at = synced_at
        self._extra = extra_inputs(self.workspace, source_date)
        self._clock, self._started = clock, clock() if started is None else started

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
                shutil.copyfile(self.graph("int8"), self._target(f"{ENCODER}/{GRAPH}"))
                shutil.copyfile(weights.tokenizer(), self._target(f"{ENCODER}/{TOKENIZER}"))
                facts["precision"] = "int8 rows"
            else:
                facts |= {"source": embed.model, "revision": embed.revision}
            self._target(f"{ENCODER}/{FACTS}").write_bytes(
                (json.dumps(facts, indent=2, sort_keys=True) + "\n").encode()
            )
            return facts

        return self._staged(ENCODER, stage)

    def publish(self) -> tuple[bool, dict[str, Any]]:
        """Publish what was staged, all at once; (False, …) where everything is published already.

        Raises BuildError where an artifact was neither staged nor published from the present tables, or where a
        blocking check has no recorded pass for it.
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
                assert record is not None  # or it would have been refused
                self._require_staged(artifact.name, record)
                staged.append(artifact.name)
        gate.refuse_unchecked(self.workspace, self._place)
        if staged:
            self._publish_staged(inputs, staged)
        copied = self._copy_index()
        self._note(staged, copied)
        return bool(staged) or copied, {"published": staged, "unchanged": [a for a in inputs if a not in staged]}

    def run_check(self, check: gate.Check) -> CheckResult:
        """Run a blocking check on what is staged, or else published; a pass for the same bytes is not run again."""
        path = self._place(check.artifact)
        key = gate.key_of(check, self.workspace, path)
        former = gate.passed_before(check, self.workspace, key)
        if former is not None:
            return CheckResult(True, {**former, "unchanged since it passed": True})
        found = RUNNERS[check.name](path, self)
        gate.record(check, self.workspace, key, passed=found.passed, figures=found.figures)
        return found

    def _place(self, name: str) -> Path:
        """Where an artifact of the present tables lies: published already, or else staged."""
        artifact = next(a for a in ARTIFACTS if a.name == name)
        wanted = stage_inputs(self.workspace, artifact, self._extra.get(name, ()))
        published = wanted is not None and self._published.get(name) == wanted
        return locate(self.workspace.out, name) if published else self.workspace.staging / name

    def _require_staged(self, name: str, record: Record) -> None:
        """Raises BuildError where the staged files are not those that were recorded: of another folder, or attempt."""
        staging = self.workspace.staging
        for path, sha256 in record.facts.get("files", {}).items():
            if not (staging / path).is_file() or known_sha256(staging / path, self.workspace.cache) != sha256:
                raise BuildError(
                    f"{name} is not staged in {staging}: {path} is missing or of another build",
                    hint="materialize all assets, or run `syntropy build`",
                )

    def _files_of(self, root: Path, name: str) -> list[Path]:
        """The files of an artifact: one, or those of a folder."""
        found = sorted((root / name).iterdir()) if (root / name).is_dir() else [root / name]
        return [path for path in found if path.is_file()]

    def _note(self, staged: list[str], copied: bool) -> None:
        """Tell readers what is published now, and from what."""
        scan = self.workspace.record(SCAN)
        assert scan is not None
        files = [
            SourceFile(*row) for row in self.workspace.table(SCAN, "sources").select(SourceFile._fields).iter_rows()
        ]
        record_published(
            self.workspace,
            files,
            scan=scan.inputs,
            outcome="published" if staged or copied else "up-to-date",
            started=self._started,
            now=self._clock(),
            diagnostics=counted(self.workspace),
        )

    def graph(self, precision: Precision = "fp32") -> Path:
        """The bundled model's ONNX file, made once and kept in the user's cache under its weights' digest."""
        name = f"{weights.SHA256[weights.WEIGHTS][:16]}-{precision}-{GRAPH_VERSION}.onnx"
        path = self.workspace.shared / "models" / name
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            data = build_graph(weights.weights(self.workspace.config.embed.weights), precision)
            write_atomically(path, lambda temporary: temporary.write_bytes(data))
        return path

    def query_encoder(self) -> QueryEncoder | EngineEncoder:
        """What encodes queries as a reader of this build will."""
        model = self.steps.model
        if not model.is_bundled:
            return EngineEncoder(self.engine(model))
        files = {GRAPH: self.graph("int8"), TOKENIZER: weights.tokenizer()}
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
            for leftover in self._files_of(self.workspace.staging, name):
                leftover.unlink()  # of an attempt that was not published
            record = self.workspace.record(_record_name(name)) or Record(inputs, {}, {name: inputs}, {}, {})
            return StepResult(name, record, True)
        facts = stage(inputs)
        staging = self.workspace.staging
        facts["files"] = {
            path.relative_to(staging).as_posix(): known_sha256(path, self.workspace.cache)
            for path in self._files_of(staging, name)
        }
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
            files |= {path.relative_to(root).as_posix(): path for path in self._files_of(root, name)}
        for path in sorted(p for p in staging.rglob("*") if p.is_file()):
            if path.relative_to(staging).as_posix() not in files:
                path.unlink()  # of an earlier attempt
        manifest = render_manifest(files, self._facts(inputs))
        (staging / MANIFEST).write_bytes(manifest.encode())
        publish(staging, out)

    def _facts(self, inputs: dict[str, str]) -> dict[str, Any]:
        stored = self.workspace.record(_record_name(DATABASE))
        if stored is not None and stored.inputs == inputs[DATABASE]:
            tables = {
                name: {"rows": stored.facts["rows"][name], "hash": found}
                for name, found in stored.facts["hashes"].items()
            }
            hnsw = stored.facts["hnsw"]
        else:
            former = read_manifest(self.workspace.out)
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
            "vectors": self._vectors(facts),
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
            "vectors": self._vectors(facts),
            "model_fingerprint": str(facts.get("fingerprint", "")),
            "ranking": self.workspace.config.canonical_json("ranking", "chunk", "synonyms"),
            "synonyms": json.dumps(self.workspace.config.synonyms, sort_keys=True, ensure_ascii=False),
            "drift_score": str(drift.score),
            "drift_claims": str(drift.claims),
            "duckdb_version": version("duckdb"),
        }

    def _vectors(self, facts: dict[str, Any]) -> str:
        """follow: a second publication brings them; whole; none: they were not asked for."""
        return "follow" if self.workspace.vectors_follow else "whole" if facts.get("fingerprint") else "none"

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


def _of_the_file(check: Callable[[Path], CheckResult]) -> Callable[[Path, Outputs], CheckResult]:
    return lambda path, _: check(path)


RUNNERS: dict[str, Callable[[Path, Outputs], CheckResult]] = {
    **{name: _of_the_file(check) for name, check in checks.DATABASE_CHECKS.items()},
    "full_text_parity": lambda path, outputs: parity.full_text_parity(path, outputs.workspace.config.ranking),
    "golden_queries": golden.golden_queries,
    "overview_budget": lambda path, outputs: checks.overview_budget(
        path, outputs.workspace.config.render.index_max_tokens
    ),
}
"""How each check of `gate.CHECKS` is run."""

GRAPH_VERSION = 4
"""Names the graph's form in the cache: raise it when `embed.graph` writes other operators."""


def _record_name(artifact: str) -> str:
    return f"artifact-{artifact.replace('/', '-')}"
