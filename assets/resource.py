"""The build as a Dagster resource: made once a run, under the locks of its folders."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from assets.clock import source_date, synced_at
from pipeline.engine.context import Build
from pipeline.engine.history import record_failure
from pipeline.engine.workspace import make_workspace
from pipeline.store.lock import build_lock


def build_resource(project: Path, out: str = "") -> dg.ResourceDefinition:
    """A build of `project`; `full` in a run's configuration uses no cache."""

    @dg.resource(
        config_schema={"full": dg.Field(bool, default_value=False, description="use no cache")},
        description=f"{project}, built incrementally",
    )
    def build(context: dg.InitResourceContext) -> Iterator[Build]:
        workspace = make_workspace(project, out, full=context.resource_config["full"])
        started = time.time()
        with build_lock(workspace.cache), build_lock(workspace.out):
            yield Build(workspace, synced_at=synced_at(), source_date=source_date(), started=started)

    return build


def note_failure(build: Build, error: BaseException) -> None:
    """Keep the error in its own form, and note for `syntropy status` that the build failed."""
    build.failure = error
    record_failure(build.workspace, str(error) or type(error).__name__, started=build.started, now=build.clock())
