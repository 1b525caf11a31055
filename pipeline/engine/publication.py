"""Publication: every artifact of the present tables, checked, appears at once; readers are told from what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.engine import gate
from pipeline.engine.artifacts import database_files, files_of, place_of, require_staged
from pipeline.engine.context import Build
from pipeline.engine.facts import manifest_facts
from pipeline.engine.history import record_published
from pipeline.engine.runner import run_stage
from pipeline.engine.stages import ARTIFACTS, SCAN, STAGES
from pipeline.render.manifest_json import render_manifest
from pipeline.sources.protocol import SourceFile
from pipeline.store.publish import finish_publication, publish
from syntropy.contract.errors import BuildError
from syntropy.contract.files import write_text
from syntropy.contract.published import INDEX_JSON, MANIFEST, locate


def publish_build(build: Build) -> tuple[bool, dict[str, Any]]:
    """Publish what was staged, all at once; (False, …) where everything is published already.

    Raises BuildError where an artifact was neither staged nor published from the present tables, or where a
    blocking check has no recorded pass for it.
    """
    finish_publication(build.workspace.out)
    inputs: dict[str, str] = {}
    staged: list[str] = []
    for stage in ARTIFACTS:
        wanted = build.inputs_of(stage)
        is_published = wanted is not None and build.published.get(stage.artifact) == wanted
        record = build.records.get(stage.name)
        if wanted is None or not (is_published or (record is not None and record.inputs == wanted)):
            raise BuildError(
                f"{stage.artifact} was not built from the present tables",
                hint="materialize all assets, or run `syntropy build`",
            )
        inputs[stage.artifact] = wanted
        if not is_published:
            assert record is not None  # or it would have been refused
            require_staged(build, stage, record)
            staged.append(stage.artifact)
    gate.refuse_unchecked(build.workspace, lambda name: place_of(build, name), database_files(build))
    if staged:
        _publish_staged(build, inputs, staged)
    copied = _copy_index(build)
    _tell_readers(build, published=bool(staged) or copied)
    return bool(staged) or copied, {"published": staged, "unchanged": [a for a in inputs if a not in staged]}


def run_build(build: Build) -> bool:
    """All stages, checks and the publication, one after another, without Dagster; True where it published anew.

    Raises BuildError, as for a check that fails. What a scheduler adds (events, retries, a UI) is the shell's.
    """
    for stage in STAGES:
        run_stage(stage, build)
    for check in gate.CHECKS:
        found = gate.run_check(check, build)
        if not found.passed:
            raise gate.failure(check, found.figures)
    published, _ = publish_build(build)
    return published


def _publish_staged(build: Build, inputs: dict[str, str], staged: list[str]) -> None:
    staging, out = build.workspace.staging, build.workspace.out
    files: dict[str, Path] = {}
    for name in inputs:
        root = staging if name in staged else out
        files |= {path.relative_to(root).as_posix(): path for path in files_of(root, name)}
    for path in sorted(p for p in staging.rglob("*") if p.is_file()):
        if path.relative_to(staging).as_posix() not in files:
            path.unlink()  # of an earlier attempt
    (staging / MANIFEST).write_bytes(render_manifest(files, manifest_facts(build, inputs)).encode())
    publish(staging, out)


def _tell_readers(build: Build, *, published: bool) -> None:
    """Note what is published now, and from what."""
    scan = build.records.get(SCAN)
    assert scan is not None
    rows = build.table(SCAN, "sources").select(SourceFile._fields).iter_rows()
    record_published(
        build.workspace,
        [SourceFile(*row) for row in rows],
        scan=scan.facts["scan"],
        outcome="published" if published else "up-to-date",
        started=build.started,
        now=build.clock(),
    )


def _copy_index(build: Build) -> bool:
    """Write the index to its second place, if one is configured and differs."""
    copy = build.workspace.index_copy
    if copy is None:
        return False
    text = locate(build.workspace.out, INDEX_JSON).read_text(encoding="utf-8")
    if copy.is_file():
        present = copy.read_text(encoding="utf-8", errors="replace")
        if present == text:
            return False
        if '"synced_at"' not in present:
            raise BuildError(
                f"paths.index_copy: {copy} is there and is not a syntropy-index.json",
                hint="choose another path, or move that file away",
            )
    copy.parent.mkdir(parents=True, exist_ok=True)
    write_text(copy, text)
    return True
