"""Artifacts: which are published from what, which are staged, and where the present one of each lies."""

from __future__ import annotations

from pathlib import Path

from pipeline.engine.context import Build
from pipeline.engine.records import Record
from pipeline.engine.stages import ARTIFACTS, Stage
from pipeline.ground.digests import known_sha256
from syntropy.contract.errors import BuildError
from syntropy.contract.published import DATABASE, PUBLISHING, locate
from syntropy.contract.shards import FOLDER as SHARDS
from syntropy.contract.shards import shard_file


def is_published(build: Build, stage: Stage, inputs: str) -> bool:
    """Is the stage's artifact published from these inputs?"""
    return build.published.get(stage.artifact) == inputs


def place_of(build: Build, name: str) -> Path:
    """Where an artifact of the present tables lies: published already, or else staged."""
    stage = next(stage for stage in ARTIFACTS if stage.artifact == name)
    inputs = build.inputs_of(stage)
    published = inputs is not None and is_published(build, stage, inputs)
    return locate(build.workspace.out, name) if published else build.workspace.staging / name


def files_of(root: Path, name: str) -> list[Path]:
    """The files of an artifact: one, those of a folder, or one and its shards."""
    found = sorted((root / name).iterdir()) if (root / name).is_dir() else [root / name]
    return [path for path in [*found, *(shards_of(root) if name == DATABASE else ())] if path.is_file()]


def shards_of(root: Path) -> list[Path]:
    """The databases of shards below a folder, whole ones."""
    return sorted((root / SHARDS).glob("*.duckdb"))


def database_files(build: Build) -> list[Path]:
    """Files that hold documents: the shards, or the database itself where there are none."""
    path = place_of(build, DATABASE)
    root = path.parent if path.parent.name != PUBLISHING else path.parent.parent
    return [locate(root, shard_file(n)) for n in range(build.shards)] if build.shards > 1 else [path]


def staged_files(build: Build, stage: Stage) -> dict[str, str]:
    """Path below the staging folder -> SHA-256, of all files of a staged artifact."""
    staging = build.workspace.staging
    return {
        path.relative_to(staging).as_posix(): known_sha256(path, build.workspace.cache)
        for path in files_of(staging, stage.artifact)
    }


def drop_staged(build: Build, stage: Stage) -> None:
    """Remove what an attempt that was not published left in the staging folder."""
    for leftover in files_of(build.workspace.staging, stage.artifact):
        leftover.unlink()


def require_staged(build: Build, stage: Stage, record: Record) -> None:
    """Raises BuildError where the staged files are not those that were recorded: of another folder, or attempt."""
    staging = build.workspace.staging
    for path, sha256 in record.facts.get("files", {}).items():
        if not (staging / path).is_file() or known_sha256(staging / path, build.workspace.cache) != sha256:
            raise BuildError(
                f"{stage.artifact} is not staged in {staging}: {path} is missing or of another build",
                hint="materialize all assets, or run `syntropy build`",
            )
