"""The workspace as a Dagster resource: which project, where to, with which options."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import dagster as dg
from pydantic import PrivateAttr

from assets.clock import source_date, synced_at
from pipeline.engine.artifacts import Outputs
from pipeline.engine.history import record_failure
from pipeline.engine.steps import Steps
from pipeline.engine.workspace import Workspace, make_workspace
from pipeline.sources.protocol import Scan
from pipeline.store.lock import build_lock


class Reporter(Protocol):
    """Who is told how a build goes."""

    def stage(self, name: str) -> None:
        """A step begins."""

    def advance(self, done: int, total: int) -> None:
        """How far it is, in units of its own (characters, windows)."""

    def say(self, text: str) -> None:
        """One line for people."""


reporter: Reporter | None = None
"""The command line's (a resource cannot carry it)."""

known_scan: Scan | None = None
"""The scan the command line planned by, so that the run need not walk the project again."""


class WorkspaceResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """A project to build. `locked`: the caller holds the build lock already (the command line does)."""

    project: str
    out: str = ""
    full: bool = False
    locked: bool = False
    overrides_json: str = "{}"
    vectors_follow: bool = False
    started: float = 0.0
    _begun: float = PrivateAttr(default_factory=time.time)

    def workspace(self) -> Workspace:
        return make_workspace(self.project, self.out, full=self.full, overrides=json.loads(self.overrides_json),
                              vectors_follow=self.vectors_follow)  # fmt: skip

    def steps(self) -> Steps:
        return Steps(self.workspace(), progress=reporter.advance if reporter else None)

    def outputs(self) -> Outputs:
        return Outputs(
            self.steps(), synced_at=synced_at(), source_date=source_date(), clock=time.time, started=self._start
        )

    def failed(self, error: BaseException) -> None:
        """Note for `syntropy status` that the build failed."""
        record_failure(self.workspace(), str(error) or type(error).__name__, started=self._start, now=time.time())

    @property
    def _start(self) -> float:
        return self.started or self._begun

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[WorkspaceResource]:
        if self.locked:
            yield self
            return
        self._begun = time.time()
        workspace = self.workspace()
        with build_lock(workspace.cache), build_lock(workspace.out):
            yield self
