"""A build without Dagster, for tests that look at what was built and not at how: half a second instead of two."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Built(NamedTuple):
    """Where it was published, how it ended, and what was wrong (diagnostics)."""

    out: Path
    outcome: str
    problems: list[Any]


def build(project: Path, *, out: str = "", full: bool = False) -> Built:
    """Build and publish a project; the test is skipped where only a reader is installed. Raises what a build raises."""
    pytest.importorskip("polars", reason="needs the builder")
    from assets.clock import source_date, synced_at
    from pipeline.engine.context import Build
    from pipeline.engine.history import record_failure
    from pipeline.engine.publication import run_build
    from pipeline.engine.workspace import make_workspace

    run = Build(make_workspace(project, out, full=full), synced_at=synced_at(), source_date=source_date())
    try:
        published = run_build(run)
    except BaseException as error:
        record_failure(run.workspace, str(error), started=run.started, now=run.clock())
        raise
    return Built(run.workspace.out, "published" if published else "up-to-date", run.problems)
