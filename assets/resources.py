"""The workspace as a Dagster resource: which project, where to, with which options."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dagster as dg

from assets.clock import source_date, synced_at
from pipeline.outputs import Outputs
from pipeline.sources.protocol import Scan
from pipeline.steps import Steps
from pipeline.store.lock import build_lock
from pipeline.workspace import Workspace, make_workspace

progress_sink: Callable[[int, int], None] | None = None
"""Where embedding progress goes; the command line sets it on a terminal (a resource cannot carry it)."""

known_scan: Scan | None = None
"""The scan the command line planned by, so that the run need not walk the project again."""


class WorkspaceResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """A project to build. `locked`: the caller holds the build lock already (the command line does)."""

    project: str
    out: str = ""
    full: bool = False
    locked: bool = False
    overrides_json: str = "{}"

    def workspace(self) -> Workspace:
        return make_workspace(self.project, self.out, full=self.full, overrides=json.loads(self.overrides_json))

    def steps(self) -> Steps:
        return Steps(self.workspace(), progress=progress_sink)

    def outputs(self) -> Outputs:
        return Outputs(self.steps(), synced_at=synced_at(), source_date=source_date())

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[WorkspaceResource]:
        if self.locked:
            yield self
            return
        workspace = self.workspace()
        with build_lock(workspace.cache), build_lock(workspace.out):
            yield self
