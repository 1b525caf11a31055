"""One asset a stage, derived from the table of stages, and the publication behind them."""

from __future__ import annotations

import time
from typing import Any

import dagster as dg

from assets.metadata import result_metadata, schema_metadata
from assets.resource import noting
from pipeline.engine.context import Build
from pipeline.engine.publication import publish_build
from pipeline.engine.runner import run_stage
from pipeline.engine.stages import ARTIFACTS, PUBLICATION, STAGES, Stage
from pipeline.ground.digests import code_digest

OWNERS = ["team:knowledge"]


def _asset(stage: Stage) -> dg.AssetsDefinition:
    """The asset of a stage: its edges, columns and description are the table's."""

    @dg.asset(
        name=stage.name,
        description=stage.about,
        group_name=stage.group,
        kinds=set(stage.kinds),
        owners=OWNERS,
        deps=[dg.AssetKey(name) for name in stage.upstream],
        metadata=schema_metadata(stage),
        code_version=code_digest()[:16],
    )
    def run(build: dg.ResourceParam[Build]) -> dg.MaterializeResult[None]:
        started = time.perf_counter()
        with noting(build, stage.name):
            result = run_stage(stage, build)
            metadata = result_metadata(stage, result, build, seconds=time.perf_counter() - started)
        return dg.MaterializeResult[None](metadata=metadata, data_version=dg.DataVersion(result.data_version))

    return run


@dg.asset(
    name=PUBLICATION,
    description="The manifest, and the one rename that makes all artifacts visible together.",
    group_name=PUBLICATION,
    kinds={"file"},
    owners=OWNERS,
    deps=[dg.AssetKey(stage.name) for stage in ARTIFACTS],
)
def publication(build: dg.ResourceParam[Build]) -> dg.MaterializeResult[None]:
    """Publish what was staged and checked."""
    with noting(build, PUBLICATION):
        changed, figures = publish_build(build)
    metadata: dict[str, Any] = {
        "published anew": changed,
        "out": dg.MetadataValue.path(str(build.workspace.out)),
        **{name: ", ".join(value) for name, value in figures.items()},
    }
    return dg.MaterializeResult[None](metadata=metadata)


ALL_ASSETS = [*(_asset(stage) for stage in STAGES), publication]
