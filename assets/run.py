"""`syntropy build`: plan first, and load Dagster only if something has to be done."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assets.clock import source_date
from pipeline import parallel
from pipeline.diagnostics import Diagnostic
from pipeline.plan import SCAN, extra_inputs, pending, scan_all, scan_digest
from pipeline.sources.protocol import Scan
from pipeline.store.lock import build_lock
from pipeline.store.publish import finish_publication
from pipeline.workspace import Workspace, make_workspace
from syntropy.config import Overrides
from syntropy.errors import BuildError, SyntropyError
from syntropy.files import write_text
from syntropy.ids import PROJECT_PACKAGE
from syntropy.staleness import NOTE, make_note
from syntropy.state import BuildState, last_build

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class BuildReport:
    """What a build did or, for a dry run, would do.

    `outcome`: published, up-to-date or planned; `steps`: name -> seconds (planned: 0); `changed`: source
    files that are new, changed or gone; `diagnostics`: counts by severity; `problems`: those that
    are no mere information.
    """

    outcome: str
    out: Path
    seconds: float
    files: dict[str, int]
    changed: list[str]
    steps: dict[str, float] = field(default_factory=dict)
    diagnostics: dict[str, int] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)


def build(
    project: Path,
    *,
    out: str = "",
    full: bool = False,
    dry_run: bool = False,
    overrides: Overrides | None = None,
    progress: Progress | None = None,
) -> BuildReport:
    """Build and publish a project's knowledge, as far as it is not published already.

    `full` uses no cache; `dry_run` changes nothing. Raises ConfigError, LockHeldError,
    BuildError (with the former artifacts untouched).
    """
    started = time.time()
    workspace = make_workspace(project, out, full=full, overrides=overrides)
    source_date()
    if dry_run:
        return _planned(workspace, started)
    with build_lock(workspace.cache), build_lock(workspace.out):
        try:
            return _build(workspace, started, overrides, progress)
        except BaseException as error:
            former = last_build(workspace.cache)
            BuildState(
                "failed",
                started,
                time.time() - started,
                str(workspace.out),
                error="interrupted" if isinstance(error, KeyboardInterrupt) else str(error) or type(error).__name__,
                published=former.published if former else 0.0,
            ).save(workspace.cache)
            raise


def _build(workspace: Workspace, started: float, overrides: Overrides | None, progress: Progress | None) -> BuildReport:
    finish_publication(workspace.out)
    scan, changed, waiting = _look(workspace)
    steps: dict[str, float] = {}
    if waiting:
        to_read = set(changed) if workspace.fresh_only else {f.path for f in scan.files if f.status == "indexed"}
        parallel.warm_up(sum(f.bytes for f in scan.files if f.path in to_read))
        steps = _run_dagster(workspace, scan, overrides, progress)
    problems, counts = _diagnostics(workspace)
    own = [file for file in scan.files if file.package == PROJECT_PACKAGE]  # packages change by an update only
    indexed = {f.path: f.content_hash for f in own if f.status == "indexed"}
    write_text(
        workspace.cache / NOTE,
        make_note(workspace.root, indexed, [f.path for f in own if f.status != "indexed"], now=started),
    )
    (workspace.cache / ".gitignore").write_text("*\n", encoding="utf-8")
    outcome = "published" if waiting else "up-to-date"
    seconds = time.time() - started
    BuildState(
        outcome,
        started,
        seconds,
        str(workspace.out),
        changed=len(changed),
        diagnostics=counts,
        steps=steps,
        published=time.time(),
    ).save(workspace.cache)
    return BuildReport(outcome, workspace.out, seconds, _fates(scan), changed, steps, counts, problems)


def _planned(workspace: Workspace, started: float) -> BuildReport:
    scan, changed, waiting = _look(workspace)
    return BuildReport(
        "planned" if waiting else "up-to-date",
        workspace.out,
        time.time() - started,
        _fates(scan),
        changed,
        dict.fromkeys(waiting, 0.0),
    )


def _look(workspace: Workspace) -> tuple[Scan, list[str], list[str]]:
    """The scan, source files that differ from the last build's, and the steps to run."""
    scan = scan_all(workspace)
    if workspace.up_to_date(SCAN, scan_digest(scan)):
        return scan, [], pending(workspace, extra=extra_inputs(workspace, source_date()))
    from pipeline.plan import ARTIFACTS, STAGES  # names only; polars is not loaded

    return scan, _changed_files(workspace, scan), [SCAN, *(s.name for s in (*STAGES, *ARTIFACTS)), "publication"]


def _changed_files(workspace: Workspace, scan: Scan) -> list[str]:
    try:
        noted: dict[str, Any] = json.loads((workspace.cache / NOTE).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError):
        noted = {}
    now = {f.path: f.content_hash for f in scan.files if f.status == "indexed"}
    return sorted({p for p, h in now.items() if p not in noted or noted[p][2] != h} | (set(noted) - set(now)))


def _fates(scan: Scan) -> dict[str, int]:
    counts: dict[str, int] = {}
    for file in scan.files:
        counts[file.status] = counts.get(file.status, 0) + 1
    return counts


def _diagnostics(workspace: Workspace) -> tuple[list[Diagnostic], dict[str, int]]:
    """Problems and counts; read from a small file beside the tables, so that nothing heavy is loaded."""
    record = workspace.record("drift")
    if record is None:
        return [], {}
    rows = [Diagnostic(*row) for row in record.facts.get("diagnostics", [])]
    return [d for d in rows if d.severity != "info"], record.facts.get("counts", {})


def _run_dagster(
    workspace: Workspace, scan: Scan, overrides: Overrides | None, progress: Progress | None
) -> dict[str, float]:
    """All assets and checks in this process, with an instance of its own that leaves nothing behind."""
    os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "yes")
    import dagster as dg

    from assets import resources
    from assets.assets import ALL_ASSETS
    from assets.automation import build_job
    from assets.checks import ALL_CHECKS

    resource = resources.WorkspaceResource(
        project=str(workspace.root),
        out=str(workspace.out),
        full=not workspace.fresh_only,
        locked=True,
        overrides_json=json.dumps(overrides or {}),
    )
    definitions = dg.Definitions(
        assets=ALL_ASSETS, asset_checks=ALL_CHECKS, jobs=[build_job], resources={"workspace": resource}
    )
    resources.progress_sink, resources.known_scan = progress, scan
    try:
        with dg.DagsterInstance.ephemeral() as instance:
            result = definitions.resolve_job_def("build").execute_in_process(
                instance=instance,
                raise_on_error=False,
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            )
    finally:
        resources.progress_sink = resources.known_scan = None
        parallel.shutdown()
    if not result.success:
        raise _failure(result)
    return {
        event.step_key or "": round(float(event.step_success_data.duration_ms) / 1000, 3)
        for event in result.all_events
        if event.event_type_value == "STEP_SUCCESS"
    }


_CHECK_HINTS = {
    "golden_queries": "mend what fell (`syntropy eval --misses`), raise eval.tolerance, or delete the baseline and "
    "store a new one with `syntropy eval --save`",
}


def _failure(result: Any) -> SyntropyError:
    """The first thing that went wrong, in our own words where they are ours."""
    for event in result.all_events:
        if event.event_type_value == "ASSET_CHECK_EVALUATION":
            found = event.asset_check_evaluation_data
            if not found.passed and found.blocking:
                figures = ", ".join(f"{name}: {value.value}" for name, value in sorted(found.metadata.items()))
                return BuildError(
                    f"check {found.check_name} failed ({figures}); nothing was published",
                    hint=_CHECK_HINTS.get(
                        found.check_name, "the former artifacts are untouched; please report this with the input"
                    ),
                )
    for event in result.all_events:
        if event.event_type_value == "STEP_FAILURE":
            data = event.event_specific_data
            failure = data.user_failure_data
            text = (
                failure.description
                if failure and failure.description
                else str(data.error.message if data.error else "")
            )
            cause = data.error.cause if data.error else None
            while cause is not None and not failure:
                text, cause = cause.message, cause.cause
            if "DagsterExecutionInterruptedError" in text or "KeyboardInterrupt" in text:
                raise KeyboardInterrupt
            message, _, hint = text.strip().partition("\n  ")
            return BuildError(
                f"step {event.step_key} failed: {message}",
                hint=hint or "the former artifacts are untouched; `syntropy build --full` starts from scratch",
            )
    return BuildError("the build failed for a reason Dagster did not tell", hint="run it in the UI: make dev")
