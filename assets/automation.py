"""Job, schedule and sensor. Both are off until somebody switches them on."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import dagster as dg

from pipeline.engine.history import note_sources, published_digest, wanted_digest
from pipeline.engine.stages import SCAN
from pipeline.engine.workspace import Workspace, make_workspace
from pipeline.sources.scan import scan_all, scan_digest, seen_files
from syntropy.contract.config import ScheduleConfig, load_config
from syntropy.store.freshness import is_untouched, read_note

MAX_PAUSE = 3_600
"""Seconds between two attempts at the same failing sources, at most."""

build_job = dg.define_asset_job(
    "build",
    selection=dg.AssetSelection.all(),
    executor_def=dg.in_process_executor,
    description="Build and publish everything that changed.",
)


def automation(project: Path, out: str) -> dict[str, Any]:
    """Job, schedule (`schedule.cron`) and sensor of a project, as arguments of `dg.Definitions`."""
    config = load_config(project).schedule
    schedule = dg.ScheduleDefinition(
        name="rebuild", job=build_job, cron_schedule=config.cron, default_status=dg.DefaultScheduleStatus.STOPPED
    )
    return {"jobs": [build_job], "schedules": [schedule], "sensors": [make_sensor(project, out, config)]}


class _Cursor(NamedTuple):
    """What the sensor asked for last: the digest wanted, how often it was tried, a number no run had before."""

    wanted: str = ""
    attempts: int = 0
    serial: int = 0

    @property
    def run_key(self) -> str:
        return f"{self.wanted[:32]}-{self.serial}"


def make_sensor(project: Path, out: str, config: ScheduleConfig) -> dg.SensorDefinition:
    """A run whenever what should be published differs from what is.

    Sources, packages, configuration, golden queries and our own code count; a revert is a change, and what
    failed is tried again, after a pause that doubles. A tick on an untouched project is a `stat` a file. It reads
    the project itself: the workspace resource would take the build lock, and ticks go on while a build runs.
    """

    @dg.sensor(
        name="source_changes",
        job=build_job,
        minimum_interval_seconds=config.sensor_seconds,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="A run whenever what should be published differs from what is.",
    )
    def source_changes(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        workspace = make_workspace(project, out)
        last = _cursor(context.cursor)
        note = read_note(workspace.cache) or {}
        published = published_digest(workspace, note)
        wanted = _wanted(workspace, note, published)
        if wanted == published:
            return _skipped("what is published is what the sources say", last._replace(wanted="", attempts=0))
        if wanted == last.wanted:
            run = _run(context, last.run_key)
            if run is not None and not run.dagster_run.is_finished:
                return dg.SkipReason(f"run {run.dagster_run.run_id[:8]} is under way")
            if (
                run is not None
                and run.dagster_run.is_success
                and float(note.get("checked_at", 0)) <= (run.end_time or 0) + 1
            ):
                # its code is newer than this process's, whose digest of the code is of when it started
                return dg.SkipReason("the last run published it; reload the code location to compare with its code")
            ended = run.end_time or run.update_timestamp.timestamp() if run else 0.0
            pause = min(MAX_PAUSE, config.sensor_seconds * 2**last.attempts)
            if time.time() < ended + pause:
                return dg.SkipReason(f"the last attempt failed; the next one follows after {pause} s")
            asked = last._replace(attempts=last.attempts + 1, serial=last.serial + 1)
        else:
            asked = _Cursor(wanted, 0, last.serial + 1)
        return dg.SensorResult(run_requests=[dg.RunRequest(run_key=asked.run_key)], cursor=json.dumps(asked))

    return source_changes


def _wanted(workspace: Workspace, note: dict[str, object], published: str) -> str:
    """Digest of what should be published; files are read only where something was touched since the note."""
    if note and is_untouched(workspace.root, note):
        scan = workspace.records.get(SCAN)
        if scan is not None and wanted_digest(workspace, scan.facts["scan"]) == published:
            return published
    started = time.time()
    seen = seen_files(workspace.cache, workspace.config)
    found = scan_all(workspace.root, workspace.config, workspace.own_folders(), seen=seen)
    wanted = wanted_digest(workspace, scan_digest(found))
    if wanted == published:  # touched, not changed: the next tick need not read it again
        note_sources(workspace, found.files, scan=scan_digest(found), started=started, now=time.time())
    return wanted


def _skipped(why: str, cursor: _Cursor) -> dg.SensorResult:
    return dg.SensorResult(skip_reason=why, cursor=json.dumps(cursor))


def _run(context: dg.SensorEvaluationContext, run_key: str) -> dg.RunRecord | None:
    found = context.instance.get_run_records(dg.RunsFilter(tags={"dagster/run_key": run_key}), limit=1)
    return found[0] if found else None


def _cursor(text: str | None) -> _Cursor:
    try:
        return _Cursor(*json.loads(text or "[]"))
    except (ValueError, TypeError):
        return _Cursor()
