"""The gate before publication: a recorded pass of every blocking check, for the very bytes to be published.

A pass is recorded under the SHA-256 of the artifact it was given for and of all else that decided it.
Publishing demands one for each artifact that will be visible, whoever asks for it and in whatever order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pipeline.checks.result import CheckResult, Subject
from pipeline.engine.artifacts import database_files, place_of
from pipeline.engine.context import Build
from pipeline.engine.workspace import Workspace
from pipeline.ground.digests import code_digest, digest, known_sha256
from syntropy.contract.config import Config
from syntropy.contract.errors import BuildError
from syntropy.contract.files import write_text
from syntropy.contract.published import DATABASE, INDEX_MD, artifact_of, read_manifest

_FILE = "checks.json"


def _golden_inputs(workspace: Workspace) -> str:
    settings = workspace.config.eval
    if not settings.queries:
        return ""
    texts = [(workspace.root / name) for name in (settings.queries, settings.baseline)]
    found = [path.read_text(encoding="utf-8", errors="replace") if path.is_file() else "" for path in texts]
    return digest(workspace.config.canonical_json("eval", "search"), *found)


@dataclass(frozen=True)
class Check:
    """A blocking check of one artifact: the function of this name in `pipeline.checks.<module>`.

    `inputs` names what else decides the outcome; `hint` what to do if it fails; `each`: it looks at every database
    file by itself, each shard where there are shards, and at one that passed before not again.
    """

    name: str
    module: str
    artifact: str
    inputs: Callable[[Workspace], str] = lambda _: ""
    hint: str = "the former artifacts are untouched; please report this with the input"
    each: bool = False

    @property
    def run(self) -> Callable[[Subject], CheckResult]:
        """Its function; loaded only when it is run."""
        found: Callable[[Subject], CheckResult] = getattr(import_module(f"pipeline.checks.{self.module}"), self.name)
        return found


CHECKS: tuple[Check, ...] = (
    *(
        Check(name, "integrity", DATABASE, each=True)
        for name in ("unique_ids", "referential_integrity", "spans_re_read", "vector_norms")
    ),
    Check("whole_agrees", "whole", DATABASE),
    Check("search_smoke", "integrity", DATABASE),
    Check("full_text_parity", "parity", DATABASE, each=True),
    Check(
        "golden_queries",
        "golden",
        DATABASE,
        _golden_inputs,
        "fix what fell (`syntropy eval --misses`), raise eval.tolerance, or delete the baseline and store a new one "
        "with `syntropy eval --save`",
    ),
    Check("overview_budget", "integrity", INDEX_MD, lambda workspace: workspace.config.canonical_json("render")),
)


def run_check(check: Check, build: Build) -> CheckResult:
    """Run a blocking check on what is staged, or else published; a pass for the same bytes is not run again.

    Raises BuildError where the artifact was never made.
    """
    workspace, path = build.workspace, place_of(build, check.artifact)
    key = key_of(check, workspace, path, database_files(build) if check.each else ())
    former = passed_before(check, workspace, key)
    if former is not None:
        return CheckResult(True, {**former, "unchanged since it passed": True})
    if check.each:
        files = database_files(build)
        found, parts = _run_each(check, build, files)
    else:
        subject = Subject(path, build.config, workspace.root, lambda: build.embedder.query_encoder())
        found, parts = check.run(subject), {}
    record(check, workspace, key, passed=found.passed, figures=found.figures, parts=parts)
    return found


def _run_each(check: Check, build: Build, files: list[Path]) -> tuple[CheckResult, dict[str, dict[str, Any]]]:
    """Run a check on every file that did not pass it before; its result, and figures by the key of each that passed."""
    workspace = build.workspace
    passed = _recorded(workspace).get(check.name, {}).get("parts", {})
    keys = {file: key_of(check, workspace, file) for file in files}
    waiting = [(check.name, file, build.config, workspace.root) for file in files if keys[file] not in passed]
    found = dict(build.workers.map(_checked, waiting))
    figures: dict[str, Any] = {}
    for file in files:
        own = found[file].figures if file in found else passed[keys[file]]
        for name, value in own.items():  # numbers add up, and of words the first ones will do
            is_number = isinstance(value, int | float)
            figures[name] = figures.get(name, 0) + value if is_number else figures.get(name) or value
    kept = {
        keys[file]: found[file].figures if file in found else passed[keys[file]]
        for file in files
        if file not in found or found[file].passed
    }
    return CheckResult(all(result.passed for result in found.values()), figures), kept


def _checked(task: tuple[str, Path, Config, Path]) -> tuple[Path, CheckResult]:
    name, path, config, root = task
    check = next(check for check in CHECKS if check.name == name)
    return path, check.run(Subject(path, config, root))


def key_of(check: Check, workspace: Workspace, path: Path, parts: Sequence[Path] = ()) -> str:
    """Under what an outcome for the artifact at `path` is recorded, or for its `parts`. Raises BuildError for none."""
    found = list(parts) or [path]
    if not all(one.is_file() for one in (path, *found)):
        raise BuildError(f"{check.artifact} was neither staged nor published", hint="materialize it first")
    return _key(check, workspace, [known_sha256(one, workspace.cache) for one in found])


def passed_before(check: Check, workspace: Workspace, key: str) -> dict[str, Any] | None:
    """The figures of a recorded pass under this key, or None."""
    former = _recorded(workspace).get(check.name)
    return dict(former["figures"]) if former and former["key"] == key and former["passed"] else None


def record(
    check: Check,
    workspace: Workspace,
    key: str,
    *,
    passed: bool,
    figures: Mapping[str, Any],
    parts: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Note an outcome, and the figures of `parts` that passed by the key of each."""
    entry = {"key": key, "passed": passed, "figures": dict(figures), "parts": dict(parts or {})}
    workspace.records.folder.mkdir(parents=True, exist_ok=True)
    write_text(_file(workspace), json.dumps({**_recorded(workspace), check.name: entry}, sort_keys=True, default=str))


def refuse_unchecked(workspace: Workspace, place: Callable[[str], Path], parts: Sequence[Path]) -> None:
    """Raises BuildError where a check has no recorded pass for what is about to be visible at `place(artifact)`.

    `parts`: the files of the database that hold documents.
    """
    recorded = _recorded(workspace)
    for check in CHECKS:
        key = key_of(check, workspace, place(check.artifact), parts if check.each else ())
        former = recorded.get(check.name)
        if former is None or former["key"] != key:
            raise BuildError(
                f"check {check.name} has not passed for this {check.artifact}; nothing was published",
                hint="run it first: materialize all assets with their checks, or `syntropy build`",
            )
        if not former["passed"]:
            raise failure(check, former["figures"])


def failure(check: Check, figures: Mapping[str, Any]) -> BuildError:
    """What a failed check says to people."""
    shown = ", ".join(f"{name}: {value}" for name, value in sorted(figures.items()))
    return BuildError(f"check {check.name} failed ({shown}); nothing was published", hint=check.hint)


def unchecked(workspace: Workspace) -> list[str]:
    """Names of checks without a recorded pass for what is published."""
    manifest, recorded = read_manifest(workspace.out), _recorded(workspace)
    unpassed = []
    for check in CHECKS:
        former = recorded.get(check.name)
        artifacts = manifest.artifacts if manifest else {}
        shards = sorted(name for name in artifacts if name != DATABASE and artifact_of(name) == DATABASE)
        names = shards if check.each and shards else [check.artifact]
        sums = [artifacts.get(name, (0, ""))[1] for name in names]
        if former is None or not former["passed"] or former["key"] != _key(check, workspace, sums):
            unpassed.append(check.name)
    return unpassed


def _key(check: Check, workspace: Workspace, sha256: Sequence[str]) -> str:
    return digest(check.name, code_digest(), *sha256, check.inputs(workspace))


def _file(workspace: Workspace) -> Path:
    return workspace.records.folder / _FILE


def _recorded(workspace: Workspace) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(_file(workspace).read_text(encoding="utf-8"))
        return {name: entry for name, entry in found.items() if {"key", "passed", "figures"} <= entry.keys()}
    except (OSError, ValueError, AttributeError):
        return {}
