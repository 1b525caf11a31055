"""Commands that build, and the one that tells how building went."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from syntropy import launcher
from syntropy.artifacts import read_manifest
from syntropy.cli.output import print_json, printable, warn
from syntropy.config import CONFIG_NAME, load_config, require_project
from syntropy.errors import UsageError
from syntropy.hooks import build_line, install_git_hooks, session_hook
from syntropy.scaffold import detect_layout, write_config
from syntropy.staleness import check_staleness
from syntropy.state import last_build

_SHOWN_PROBLEMS = 20


def init(given: argparse.Namespace) -> int:
    """Configure and build; an initialised project stays as it is."""
    root = Path(given.path)
    if not root.is_dir():
        raise UsageError(f"{root} is no folder", hint="name the project's folder")
    if (root / CONFIG_NAME).exists():
        stays = "it stays" if given.hooks else "nothing to do"
        print(f"{root / CONFIG_NAME} exists: {stays} (`syntropy build` builds)")
        return _hooks(root.resolve()) if given.hooks else 0
    landmarks = detect_layout(root)
    written = write_config(root, landmarks)
    print(f"wrote {written}")
    for path, what in landmarks:
        print(f"  {path}: {what}")
    print("  (artifacts go to build/, caches to .syntropy/, saved rules and notes to .context/:")
    print("  add them to .gitignore, except for what you mean to commit)")
    code = 0 if given.no_build else _build(root, given, out="")
    return max(code, _hooks(root.resolve())) if given.hooks else code


def _hooks(root: Path) -> int:
    """Install git's hooks, and say what an agent needs; 1 where another hook is in the way."""
    program = launcher.program()
    written, foreign = install_git_hooks(root, program)
    for target in written:
        print(f"wrote {target} (rebuilds in the background; .syntropy/hook.log says how it went)")
    if not written and not foreign:
        print("git hooks: already there")
    for target in foreign:
        warn(f"{target} is not ours and stays; add this line to it: {build_line(root, program)} &")
    print("for an agent's session start, in .claude/settings.json:")
    print_json(session_hook(root, program))
    return 1 if foreign else 0


def build(given: argparse.Namespace) -> int:
    """Build the project around this folder, or the one named."""
    root = Path(given.project or os.environ.get("SYNTROPY_PROJECT") or ".")
    if not root.is_dir():
        raise UsageError(f"{root} is no folder", hint="name the project's folder with --project")
    root = require_project(root)
    return _build(root, given, out=given.out or os.environ.get("SYNTROPY_OUT", ""))


def _build(root: Path, given: argparse.Namespace, *, out: str) -> int:
    gc.set_threshold(200_000, 50, 50)  # Dagster's objects live to the end: looking at them again took 1 s of 9
    overrides: dict[str, dict[str, Any]] = {}
    if getattr(given, "hnsw", None):
        overrides["store"] = {"hnsw": given.hnsw}
    if getattr(given, "no_embeddings", False):
        overrides["embed"] = {"enabled": False}
    with _Progress() as progress:
        report = launcher.builder().build(
            root,
            out=out,
            full=getattr(given, "full", False),
            dry_run=getattr(given, "dry_run", False),
            overrides=overrides,
            progress=progress.update,
        )
    if getattr(given, "json", False):
        print_json(
            {
                "outcome": report.outcome,
                "out": str(report.out),
                "seconds": round(report.seconds, 3),
                "files": report.files,
                "changed": report.changed,
                "steps": report.steps,
                "diagnostics": report.diagnostics,
                "problems": [dict(zip(p._fields, p, strict=True)) for p in report.problems],
            }
        )
    else:
        _print_report(report, quiet=getattr(given, "quiet", False))
    return 1 if getattr(given, "strict", False) and report.problems else 0


def _print_report(report: Any, *, quiet: bool) -> None:
    shown = report.problems[:_SHOWN_PROBLEMS] if report.outcome == "published" else []
    for problem in shown:
        place = f"{problem.path}:{problem.line}" if problem.line else problem.path
        print(printable(f"{problem.severity}: {place}: {problem.message} ({problem.hint})"), file=sys.stderr)
    if len(report.problems) > len(shown):
        more = "more problems" if shown else "problems, as before"
        warn(f"{len(report.problems) - len(shown)} {more}; `syntropy build --json` lists all")
    if quiet:
        return
    files = ", ".join(f"{count} {fate}" for fate, count in sorted(report.files.items(), reverse=True))
    if report.outcome == "planned":
        print(f"would run: {', '.join(report.steps)}")
        print(f"{len(report.changed)} source file(s) differ from the last build ({files})")
        for path in report.changed[:_SHOWN_PROBLEMS]:
            print(f"  {printable(path)}")
    elif report.outcome == "up-to-date":
        print(f"up to date: {report.out} ({files}; {report.seconds:.1f} s)")
    else:
        print(f"published {report.out} ({files}; {report.seconds:.1f} s)")


def status(given: argparse.Namespace) -> int:
    """Last build, staleness by content, last error. 1 if nothing is published or the last build failed."""
    root = require_project(Path(given.project or os.environ.get("SYNTROPY_PROJECT") or "."))
    config = load_config(root)
    cache = root / config.paths.cache
    last = last_build(cache)
    out = Path(given.out) if given.out else Path(last.out) if last else root / config.paths.out
    manifest = read_manifest(out)
    stale = check_staleness(root, cache, now=time.time(), stale_after=0)
    failed = last is not None and last.outcome == "failed"
    facts = {
        "project": str(root),
        "out": str(out),
        "published": manifest is not None,
        "last_build": None
        if last is None
        else {
            "outcome": last.outcome,
            "started": _time(last.started),
            "seconds": round(last.seconds, 3),
            "error": last.error,
            "published": _time(last.published) if last.published else None,
            "diagnostics": last.diagnostics,
        },
        "stale": bool(stale and stale.stale),
        "changed": list(stale.changed) if stale else [],
        "changed_count": stale.count if stale else 0,
        "documents": manifest.facts["tables"]["documents"]["rows"] if manifest else 0,
        "drift": manifest.facts["drift"]["score"] if manifest else None,
    }
    if given.json:
        print_json(facts)
    else:
        _print_status(facts)
    return 0 if manifest is not None and not failed else 1


def _print_status(facts: dict[str, Any]) -> None:
    last = facts["last_build"]
    print(f"project    {facts['project']}")
    print(
        f"artifacts  {facts['out']}"
        + (f" ({facts['documents']} documents)" if facts["published"] else " (nothing published)")
    )
    if last is None:
        print("last build none: run `syntropy build`")
    else:
        print(f"last build {last['started']}: {last['outcome']} in {last['seconds']:.1f} s")
        if last["error"]:
            print(f"last error {last['error']}")
        counts = ", ".join(f"{n} {name}" for name, n in sorted(last["diagnostics"].items()) if n)
        print(f"problems   {counts or 'none'}")
    if facts["published"]:
        changed = ", ".join(facts["changed"])
        print(
            "sources    "
            + (f"{facts['changed_count']} changed since: {changed}" if facts["stale"] else "unchanged since the build")
        )
        print(f"drift      {facts['drift']:.4f}")


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")


class _Progress:
    """A bar for the embeddings on a terminal; nothing in logs and pipes."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self.update: Callable[[int, int], None] | None = self._show if sys.stderr.isatty() else None

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _show(self, done: int, total: int) -> None:
        if self._bar is None:
            from rich.console import Console  # 0.1 s, and only people at a terminal look at it
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("embedding"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("embedding", total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done)
