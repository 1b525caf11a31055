"""The build as a Dagster resource: made once a run, under the locks of its folders."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from assets.clock import source_date, synced_at
from pipeline.engine.context import Build
from pipeline.engine.history import record_failure
from pipeline.engine.workspace import make_workspace
from pipeline.store.lock import build_lock
from syntropy.contract.errors import SyntropyError


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
            made = Build(workspace, synced_at=synced_at(), source_date=source_date(), started=started)
            try:
                yield made
            finally:
                made.close()

    return build


@contextmanager
def noting(build: Build, step: str) -> Iterator[None]:
    """Whatever ends the step is kept in its own form; an error of ours is shown in the UI by its own words."""
    try:
        yield
    except BaseException as error:
        note_failure(build, step, error)
        if isinstance(error, SyntropyError):
            raise dg.Failure(description=str(error)) from error
        raise


def note_failure(build: Build, step: str, error: BaseException) -> None:
    """Keep the first error (or the interrupt) with its step, and note for `syntropy status` that the build failed.

    Branches that do not depend on each other go on after one has failed, and may fail, too.
    """
    interrupted = isinstance(error, KeyboardInterrupt) or "Interrupt" in type(error).__name__
    if build.failure is None or interrupted:
        build.failure = step, error
    _, first = build.failure
    record_failure(build.workspace, str(first) or type(first).__name__, started=build.started, now=build.clock())
