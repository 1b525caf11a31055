"""Staging and publication: nothing half written is ever visible (see `syntropy.contract.published`)."""

from __future__ import annotations

import shutil
from pathlib import Path

from syntropy.contract.files import sync_file, sync_folder
from syntropy.contract.published import ENCODER, MANIFEST, PUBLISHING, logs_in, read_manifest
from syntropy.contract.shards import FOLDER as SHARDS


def publish(staging: Path, out: Path) -> None:
    """Make the staged files, manifest among them, the published ones.

    The rename of the staging folder is the commit; what comes after can be repeated.
    """
    finish_publication(out)
    for path in sorted(staging.rglob("*")):
        if path.is_file():
            sync_file(path)
    for folder in [*(p for p in staging.rglob("*") if p.is_dir()), staging]:
        sync_folder(folder)
    staging.rename(out / PUBLISHING)
    sync_folder(out)
    finish_publication(out)


def finish_publication(out: Path) -> None:
    """Move committed files into place, the manifest last; also completes a publication cut short."""
    publishing = out / PUBLISHING
    if not publishing.is_dir():
        return
    new = read_manifest(out)
    names = sorted(
        (p.relative_to(publishing).as_posix() for p in publishing.rglob("*") if p.is_file()),
        key=lambda name: (name == MANIFEST, name),
    )
    for log in logs_in(out):  # of a tool that wrote to the former database
        log.unlink(missing_ok=True)
    for name in names:
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (publishing / name).replace(target)
    shutil.rmtree(publishing, ignore_errors=True)
    sync_folder(out)
    _remove_obsolete(out, set(new.artifacts) if new else set())


def _remove_obsolete(out: Path, current: set[str]) -> None:
    """Encoder files and shards of a former build: what a build may stop making."""
    for folder in (out / ENCODER, out / SHARDS):
        if current and folder.is_dir():
            for path in folder.iterdir():
                if path.relative_to(out).as_posix() not in current:
                    path.unlink()
            if not any(folder.iterdir()):
                folder.rmdir()
