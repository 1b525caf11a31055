"""What a build leaves for readers to tell the truth by: what was published from what, and how it went.

Written by the publication itself (and by whatever fails), so that it is the same after the command
line, the schedule, the sensor and a click in the UI.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.engine.workspace import Workspace
from pipeline.ground.digests import code_digest, digest, known_sha256
from pipeline.packages.manifest import CONFIG, FOLDER, LOCK
from pipeline.sources.canonical import FILE as CATALOGUE
from syntropy.contract.config import CONFIG_NAME, json_schema
from syntropy.contract.errors import DatabaseError
from syntropy.contract.files import write_text
from syntropy.contract.identity import PROJECT_PACKAGE
from syntropy.contract.published import DATABASE, ENCODER, artifact_of, file_sha256, locate, logs_in, read_manifest
from syntropy.setup.scaffold import SCHEMA_FILE
from syntropy.store.freshness import NOTE, Seen, make_note
from syntropy.store.last_build import BuildState, last_build

if TYPE_CHECKING:
    from pipeline.sources.protocol import SourceFile


def wanted_digest(workspace: Workspace, scan: str) -> str:
    """Digest of all that decides a publication: sources and packages (`scan`), settings, golden queries, code."""
    golden = [_sha256(workspace.root / name) for name in _golden(workspace)]
    return digest(scan, workspace.config.canonical_json(), code_digest(), *golden)


def record_published(
    workspace: Workspace, files: Iterable[SourceFile], *, scan: str, outcome: str, started: float, now: float
) -> None:
    """Note what is published now, from which files, and that the build went well.

    `started`: when the build began to look at the sources; a file changed since then is looked at again.
    """
    note_sources(workspace, files, scan=scan, started=started, now=now)
    record_success(workspace, outcome, started=started, now=now)


def record_success(
    workspace: Workspace,
    outcome: str,
    *,
    started: float,
    now: float,
    changed: int = 0,
    steps: Mapping[str, float] | None = None,
) -> None:
    """Note that a build went well, and what it did."""
    BuildState(
        outcome,
        started,
        now - started,
        str(workspace.out),
        changed=changed,
        diagnostics=counted(workspace),
        steps=dict(steps or {}),
        published=now,
    ).save(workspace.cache)


def note_sources(workspace: Workspace, files: Iterable[SourceFile], *, scan: str, started: float, now: float) -> None:
    """Note sizes, times and digests of what was published; `started` as above."""
    own = [file for file in files if file.package == PROJECT_PACKAGE]
    seen = Seen(
        # an entity's digest covers what its set says of it, so the file's own is taken
        files={f.path: "" if f.reason == "canonical" else f.content_hash for f in own if f.status == "indexed"},
        others=[file.path for file in own if file.status != "indexed"],
        own=workspace.own_folders(),
        watched=[
            CONFIG_NAME,
            f"{FOLDER}/{CONFIG}",
            f"{FOLDER}/{LOCK}",
            *_golden(workspace),
            *_deciding(workspace, own),
        ],
        rejected=[file.path for file in own if file.status == "rejected"],
        published=wanted_digest(workspace, scan),
        out=str(workspace.out),
        build_id=_build_id(workspace),
    )
    workspace.cache.mkdir(parents=True, exist_ok=True)
    write_text(workspace.cache / NOTE, make_note(workspace.root, seen, started=started, now=now))
    for folder in (workspace.cache, workspace.out):  # what is made here is not for git, unless somebody says so
        if folder.is_dir() and not (folder / ".gitignore").exists():
            write_text(folder / ".gitignore", "*\n")
    schema = json.dumps(json_schema(), indent=2) + "\n"
    target = workspace.root / SCHEMA_FILE
    if target.parent == workspace.cache and not (target.is_file() and target.read_text(encoding="utf-8") == schema):
        write_text(target, schema)


def record_failure(workspace: Workspace, error: str, *, started: float, now: float) -> None:
    """Note that a build failed; what is published stays as it was."""
    former = last_build(workspace.cache)
    BuildState(
        "failed",
        started,
        max(0.0, now - started),
        str(workspace.out),
        error=error,
        diagnostics=former.diagnostics if former else {},
        published=former.published if former else 0.0,
    ).save(workspace.cache)


def counted(workspace: Workspace) -> dict[str, Any]:
    """Diagnostics by severity, as the `drift` step counted them."""
    record = workspace.records.get("drift")
    return dict(record.facts.get("counts", {})) if record else {}


def published_digest(workspace: Workspace, note: Mapping[str, Any]) -> str:
    """`wanted_digest` of what lies in the output folder now; empty where the note is of something else."""
    same = note.get("out") == str(workspace.out) and note.get("build_id") == _build_id(workspace) != ""
    return str(note.get("published", "")) if same else ""


def _build_id(workspace: Workspace) -> str:
    try:
        manifest = read_manifest(workspace.out)
    except DatabaseError:
        return ""
    return str(manifest.facts.get("build_id", "")) if manifest else ""


def _deciding(workspace: Workspace, own: Iterable[SourceFile]) -> list[str]:
    """Files that are not documents and decide what is one, or what is said of one."""
    names = (".gitignore", CATALOGUE)
    found = [file.path for file in own if file.path.rpartition("/")[2] in names and file.status != "indexed"]
    notes = [workspace.config.notes.path] if workspace.config.notes.in_build else []
    return [*found, f"{FOLDER}/{CONFIG}", f"{FOLDER}/{LOCK}", ".git/info/exclude", *notes]


def _golden(workspace: Workspace) -> list[str]:
    settings = workspace.config.eval
    return [settings.queries, settings.baseline] if settings.queries else []


def _sha256(path: Path) -> str:
    try:
        return file_sha256(path)
    except OSError:
        return ""


def published_inputs(workspace: Workspace) -> dict[str, str]:
    """Artifact -> input digest of what is published and whole (digests are taken once a file); `--full` trusts none."""
    out, cache = workspace.out, workspace.cache
    try:
        manifest = read_manifest(out) if workspace.fresh_only else None
    except DatabaseError:
        return {}  # damaged: everything is staged again
    if manifest is None:
        return {}
    intact = {
        name
        for name, (size, sha256) in manifest.artifacts.items()
        if (path := locate(out, name)).is_file() and path.stat().st_size == size and known_sha256(path, cache) == sha256
    }
    if logs_in(out):
        intact.discard(DATABASE)  # whoever left it there, readers refuse the pair
    inputs: dict[str, Any] = manifest.facts.get("inputs", {})
    return {
        name: str(value)
        for name, value in inputs.items()
        if all(part in intact for part in manifest.artifacts if artifact_of(part) == name)
        and any(artifact_of(part) == name for part in [*manifest.artifacts, *_optional(name)])
    }


def _optional(name: str) -> list[str]:
    """Without embeddings there is no encoder, and nothing of it can be missing."""
    return [ENCODER] if name == ENCODER else []
