"""Which stages a build would run now. Loads nothing heavy: with nothing to do, a build is over in a moment."""

from __future__ import annotations

from pipeline.engine import gate
from pipeline.engine.artifacts import is_published
from pipeline.engine.context import Build
from pipeline.engine.stages import PUBLICATION, SCAN, STAGES


def pending(build: Build) -> list[str]:
    """Names of stages a build would run; empty: everything is up to date.

    A stage behind a pending one is pending: what it will read is not known yet.
    """
    scan = STAGES[0]
    if not build.up_to_date(scan, build.inputs_of(scan) or ""):
        return [SCAN, *(stage.name for stage in STAGES[1:]), PUBLICATION]
    waiting: list[str] = []
    for stage in STAGES[1:]:
        inputs = None if any(name in waiting for name in stage.upstream) else build.inputs_of(stage)
        if inputs is None or not (
            is_published(build, stage, inputs) if stage.artifact else build.up_to_date(stage, inputs)
        ):
            waiting.append(stage.name)
    if not waiting:
        waiting += gate.unchecked(build.workspace)
    copy = build.workspace.index_copy
    if waiting or (copy is not None and not copy.is_file()):
        waiting.append(PUBLICATION)
    return waiting
