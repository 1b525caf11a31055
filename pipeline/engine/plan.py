"""Stages, what each depends on, and which of them a build would have to run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pipeline.engine.gate import unchecked
from pipeline.engine.workspace import WINDOWS_OF, Workspace, code_digest, digest, digest_rows
from pipeline.ground.diagnostics import Diagnostic
from pipeline.packages.manifest import CHECKOUTS, FOLDER, Packages, load_packages
from pipeline.sources.notes import NotesConnector
from pipeline.sources.package import PackageConnector
from pipeline.sources.project import ProjectConnector
from pipeline.sources.protocol import Connector, Scan
from pipeline.store.digests import known_sha256
from syntropy.contract.errors import DatabaseError
from syntropy.contract.identity import PROJECT_PACKAGE
from syntropy.contract.published import (
    DATABASE,
    ENCODER,
    INDEX_JSON,
    INDEX_MD,
    MANIFEST,
    QUERY_SCRIPT,
    locate,
    log_beside,
    read_manifest,
)


@dataclass(frozen=True)
class Stage:
    """`inputs`: (stage, table) it reads; `sections`: configuration it depends on."""

    name: str
    inputs: tuple[tuple[str, str], ...]
    sections: tuple[str, ...] = ()


SCAN = "source_files"

STAGES = (
    Stage("documents", ((SCAN, "sources"),), ("secrets",)),
    Stage(
        "chunks",
        (("documents", "documents"), ("documents", "tags"), ("documents", "headings"), ("documents", "outlines")),
        ("chunk", *WINDOWS_OF),
    ),
    Stage("embeddings", (("chunks", "windows"),), ("embed.enabled", *WINDOWS_OF)),
    Stage(
        "relations",
        (
            ("documents", "documents"),
            ("documents", "mentions"),
            ("documents", "rules"),
            (SCAN, "sources"),
            ("chunks", "windows"),
            ("embeddings", "vectors"),
        ),
        ("link", "embed.enabled"),
    ),
    Stage(
        "drift",
        (
            ("documents", "documents"),
            ("documents", "diagnostics"),
            (SCAN, "diagnostics"),
            ("chunks", "diagnostics"),
            ("relations", "diagnostics"),
            ("relations", "relations"),
        ),
        ("problems",),
    ),
)
"""Stages with tables, in order; the scan comes before and is always run."""

_EVERYTHING = (
    (SCAN, "sources"),
    ("documents", "documents"),
    ("documents", "tags"),
    ("documents", "headings"),
    ("documents", "rules"),
    ("chunks", "chunks"),
    ("chunks", "windows"),
    ("chunks", "terms"),
    ("embeddings", "vectors"),
    ("relations", "relations"),
    ("drift", "diagnostics"),
    ("drift", "violations"),
)

ARTIFACTS = (
    Stage(DATABASE, _EVERYTHING, ("ranking", "store", "embed.enabled", "project", "synonyms")),
    Stage(
        INDEX_JSON,
        (
            ("documents", "documents"),
            ("documents", "tags"),
            ("documents", "rules"),
            ("relations", "relations"),
            ("drift", "violations"),
        ),
        ("project", "sources"),
    ),
    Stage(
        INDEX_MD,
        (
            ("documents", "documents"),
            ("documents", "rules"),
            ("chunks", "chunks"),
            ("drift", "violations"),
            ("drift", "diagnostics"),
        ),
        ("project", "render"),
    ),
    Stage(QUERY_SCRIPT, ()),
    Stage(ENCODER, (("embeddings", "model"),)),
)
"""What is published; staged only where its inputs differ from the published ones."""


def stage_inputs(workspace: Workspace, stage: Stage, extra: tuple[str, ...] = ()) -> str | None:
    """The digest of all that decides a stage's result; None where an input was never made."""
    parts = [
        stage.name,
        code_digest(),
        workspace.config.canonical_json(*stage.sections) if stage.sections else "",
        *extra,
    ]
    for source, table in stage.inputs:
        record = workspace.record(source)
        if record is None or table not in record.digests:
            return None
        parts.append(record.digests[table])
    return digest(*parts)


def published_inputs(workspace: Workspace) -> dict[str, str]:
    """Artifact -> input digest of what is published and whole (digests are taken once a file)."""
    try:
        manifest = read_manifest(workspace.out)
    except DatabaseError:
        return {}  # damaged: everything is staged again
    if manifest is None:
        return {}
    intact = {
        name
        for name, (size, sha256) in manifest.artifacts.items()
        if (path := locate(workspace.out, name)).is_file()
        and path.stat().st_size == size
        and known_sha256(path, workspace.cache) == sha256
    }
    if log_beside(locate(workspace.out, DATABASE)).exists():
        intact.discard(DATABASE)  # whoever left it there, readers refuse the pair
    inputs: dict[str, Any] = manifest.facts.get("inputs", {})
    return {
        name: str(value)
        for name, value in inputs.items()
        if all(part in intact for part in manifest.artifacts if part == name or part.startswith(f"{name}/"))
        and any(part == name or part.startswith(f"{name}/") for part in [*manifest.artifacts, *_optional(name)])
    }


def _optional(name: str) -> list[str]:
    """Without embeddings there is no encoder, and nothing of it can be missing."""
    return [ENCODER] if name == ENCODER else []


def pending(workspace: Workspace, *, extra: dict[str, tuple[str, ...]]) -> list[str]:
    """Names of stages and artifacts a build would run now; empty: everything is up to date.

    The scan's record must be current. `extra` adds inputs that are no tables (`source-date` for
    the index). A stage behind a pending one is pending: what it will read is not known yet.
    """
    waiting: list[str] = []
    for stage in STAGES:
        inputs = (
            None
            if any(s in waiting for s, _ in stage.inputs)
            else stage_inputs(workspace, stage, extra.get(stage.name, ()))
        )
        if inputs is None or workspace.up_to_date(stage.name, inputs) is None:
            waiting.append(stage.name)
    published = published_inputs(workspace) if workspace.fresh_only else {}
    for artifact in ARTIFACTS:
        behind = any(s in waiting for s, _ in artifact.inputs)
        inputs = None if behind else stage_inputs(workspace, artifact, extra.get(artifact.name, ()))
        if inputs is None or published.get(artifact.name) != inputs:
            waiting.append(artifact.name)
    if not waiting:
        waiting += unchecked(workspace)
    copy = workspace.index_copy
    if any(a.name in waiting for a in ARTIFACTS) or (copy is not None and not copy.is_file()):
        waiting.append(MANIFEST)
    return waiting


def connectors(workspace: Workspace) -> list[Connector]:
    """The project's own files, our outputs left out, and its installed packages. Raises ConfigError."""
    return _connectors(workspace, load_packages(workspace.root, workspace.config))


def scan_all(workspace: Workspace) -> Scan:
    """What all connectors met; a listed package that is not installed is a diagnostic."""
    packages = load_packages(workspace.root, workspace.config)
    readers = _connectors(workspace, packages)
    scans = [connector.scan() for connector in readers]
    installed = {connector.package for connector in readers}
    missing = [
        Diagnostic(
            "sources",
            "warning",
            "package",
            package.alias,
            ".",
            0,
            f"package {package.alias} is listed and not installed",
            "`syntropy package install`",
        )
        for package in packages.wanted
        if package.alias not in installed
    ]
    return Scan([f for scan in scans for f in scan.files], [*(d for scan in scans for d in scan.diagnostics), *missing])


def _without_credentials(address: str) -> str:
    """An address as it may be published: `git@host:path` stays; of a URL neither user nor query."""
    scheme, found, rest = address.partition("://")
    if not found:
        return address
    place = rest.partition("?")[0].partition("#")[0]
    return f"{scheme}://{place.rpartition('@')[2]}"


def _connectors(workspace: Workspace, packages: Packages) -> list[Connector]:
    config = workspace.config
    own = [*workspace.own_folders(), f"{FOLDER}/{CHECKOUTS}"]
    found: list[Connector] = [ProjectConnector(workspace.root, config.sources, own=own)]
    for package in packages.wanted:
        locked, checkout = packages.locked.get(package.alias), packages.checkout(package.alias)
        if locked is not None and (checkout / ".git").is_dir():
            found.append(
                PackageConnector(package.alias, checkout, locked.commit, locked.path, config.sources, config.git)
            )
    notes = workspace.root / config.notes.path
    if config.notes.in_build and notes.is_file():
        found.append(NotesConnector(notes))
    return found


def packages_of(scan: Scan) -> dict[str, str]:
    """Alias -> digest of what was met of a package."""
    rows: dict[str, list[Any]] = {}
    for file in scan.files:
        if file.package != PROJECT_PACKAGE:
            rows.setdefault(file.package, []).append(file)
    return {alias: digest_rows(files) for alias, files in rows.items()}


def scan_digest(scan: Scan) -> str:
    """Digest of a scan's rows, cheap enough to be taken before anything is loaded."""
    return digest(digest_rows(scan.files), digest_rows(scan.diagnostics))


def extra_inputs(workspace: Workspace, source_date: str) -> dict[str, tuple[str, ...]]:
    """Inputs that are no tables: where packages come from; a SOURCE_DATE_EPOCH decides `synced_at`."""
    packages = package_sources(workspace)
    vectors = ("vectors follow",) if workspace.vectors_follow else ()
    return {
        **({INDEX_JSON: (f"source-date {source_date}",)} if source_date else {}),
        DATABASE: ((f"packages {packages}",) if packages != "{}" else ()) + vectors,
    }


def package_sources(workspace: Workspace) -> str:
    """JSON of what is installed: {alias: {source, path, version}}, addresses without credentials."""
    packages = load_packages(workspace.root, workspace.config)
    installed = {
        package.alias: {
            "source": _without_credentials(package.source),
            "path": package.path,
            "version": package.version,
        }
        for package in packages.wanted
        if package.alias in packages.locked
    }
    return json.dumps(installed, sort_keys=True, ensure_ascii=False)
