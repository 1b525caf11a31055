"""Job, schedule and sensor. Both are off until somebody switches them on."""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from pipeline.plan import scan_all, scan_digest
from pipeline.workspace import make_workspace
from syntropy.config import ScheduleConfig

build_job = dg.define_asset_job(
    "build",
    selection=dg.AssetSelection.all(),
    executor_def=dg.in_process_executor,
    description="Build and publish everything that changed.",
)


def make_schedule(config: ScheduleConfig) -> dg.ScheduleDefinition:
    """The rebuild at `schedule.cron`."""
    return dg.ScheduleDefinition(
        name="rebuild", job=build_job, cron_schedule=config.cron, default_status=dg.DefaultScheduleStatus.STOPPED
    )


def make_sensor(project: Path, out: str, config: ScheduleConfig) -> dg.SensorDefinition:
    """A run for each change of the sources' content, and none without.

    It reads the project itself: the workspace resource would take the build lock, and ticks go on
    while a build runs.
    """

    @dg.sensor(
        name="source_changes",
        job=build_job,
        minimum_interval_seconds=config.sensor_seconds,
        default_status=dg.DefaultSensorStatus.STOPPED,
    )
    def source_changes(
        context: dg.SensorEvaluationContext,
    ) -> dg.SensorResult | dg.SkipReason:
        digest = scan_digest(scan_all(make_workspace(project, out)))
        if digest == context.cursor:
            return dg.SkipReason("the sources are as they were")
        return dg.SensorResult(run_requests=[dg.RunRequest(run_key=digest)], cursor=digest)

    return source_changes
