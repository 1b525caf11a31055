"""Commands that build, and the one that tells how building went."""

from __future__ import annotations

import argparse
import gc
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from syntropy.cli.output import print_json, printable, show, warn
from syntropy.cli.place import locate
from syntropy.cli.terminal import Progress
from syntropy.contract.config import CONFIG_NAME, Config, PathsConfig, SourcesConfig, load_config
from syntropy.contract.distribution import install_command
from syntropy.contract.errors import MissingDependencyError, UsageError
from syntropy.contract.files import write_new, write_text
from syntropy.contract.identity import place_of
from syntropy.contract.published import read_manifest
from syntropy.setup import launcher
from syntropy.setup.hooks import build_line, hook_log, install_git_hooks, session_hook
from syntropy.setup.scaffold import free_output, sources_lines, updated_config, write_config
from syntropy.store.freshness import check_staleness
from syntropy.store.last_build import builder_of, last_build

_SHOWN_PROBLEMS = 20
_SHOWN_FILES = 3
_SHOWN_LACKING = 20


def init(given: argparse.Namespace) -> int:
    """Configure and build; an initialised project stays as it is."""
    root = Path(given.path)
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder", hint="name the project's folder")
    if given.agent or given.remove:
        from syntropy.cli.agent_setup import agent

        return agent(root.resolve(), given.clients, remove=given.remove)
    if given.update:
        return _update(root, apply=given.yes)
    if (root / CONFIG_NAME).exists():
        stays = "it stays" if given.hooks else "nothing to do"
        more = "`syntropy build` builds, `syntropy init --update` looks for more"
        print(f"{root / CONFIG_NAME} exists: {stays} ({more})")
        return _hooks(root.resolve()) if given.hooks else 0
    out = free_output(root)
    detected = _detected(root, load_config(root), out)
    if not detected.found and not (root / ".context" / "context.config.json").is_file():
        raise UsageError(f"{root} holds nothing that can be indexed", hint="write a README.md, or name another folder")
    rows = _rows(detected)
    written = write_config(root, rows, out=out, sources=detected.proposed(SourcesConfig()))
    print(f"wrote {written}")
    for line in rows:
        print(f"  {line}")
    _print_left_out(detected)
    if out != PathsConfig().out:
        print(f"  ({PathsConfig().out}/ is taken, so paths.out is {out}/)")
    print(f"  (artifacts go to {out}/, caches to .syntropy/: git ignores both; saved rules and notes to .context/)")
    code = 0 if given.no_build else _build(root, given, out="")
    return max(code, _hooks(root.resolve())) if given.hooks else code


def _update(root: Path, *, apply: bool) -> int:
    """Say what has appeared that the configuration does not take; write it only where asked to."""
    target = root / CONFIG_NAME
    if not target.exists():
        raise UsageError(f"{target} does not exist", hint="`syntropy init` writes it")
    config = load_config(root)
    detected = _detected(root, config, config.paths.out)
    proposed = detected.proposed(config.sources)
    if not proposed:
        print(f"{target} takes everything that was recognised ({sum(len(f.files) for f in detected.found)} files)")
        _print_left_out(detected)
        return 0
    print("recognised, and not taken by the configuration as what they are:")
    for lacking in detected.lacking(config.sources):
        more = ", …" if len(lacking.files) > _SHOWN_LACKING else ""
        print(f"  {lacking.source}: {', '.join(lacking.files[:_SHOWN_LACKING])}{more}")
    if apply:
        write_text(target, updated_config(target.read_text(encoding="utf-8"), proposed))
        print(f"wrote {target}; `syntropy build` builds")
        return 0
    print(f"to take them, set in [sources] of {target} (or run again with --yes):")
    for line in sources_lines(proposed):
        print(f"  {line}")
    return 0


def _detected(root: Path, config: Config, out: str) -> Any:
    """`pipeline.sources.detect.Detection` of a project."""
    own = [out, config.paths.out, config.paths.cache, *filter(None, [config.paths.index_copy])]
    return launcher.builder_module("pipeline.sources.detect").detect(root.resolve(), config.sources, own)


def _rows(detected: Any) -> list[str]:
    """A line a kind of source: kind, files, what comes of them, where."""
    rows = []
    for one in detected.found:
        some = ", ".join(one.files[:_SHOWN_FILES]) + (", …" if len(one.files) > _SHOWN_FILES else "")
        files = f"{len(one.files):>5} {'file ' if len(one.files) == 1 else 'files'}"
        rows.append(f"{one.source:<14} {files} → {one.yields} ({some})")
    return rows


def _print_left_out(detected: Any) -> None:
    if detected.left_out:
        print("left out:")
        for what, why in detected.left_out:
            print(f"  {what}: {why}")


def _hooks(root: Path) -> int:
    """Install git's hooks, and say what an agent needs; 1 where another hook is in the way."""
    program = launcher.program()
    written, foreign = install_git_hooks(root, program)
    for target in written:
        print(f"wrote {target} (rebuilds in the background; {hook_log(root)} says how it went)")
    if not written and not foreign:
        print("git hooks: already there")
    for target in foreign:
        warn(f"{target} is not ours and stays; add this line to it: {build_line(root, program)} &")
    print("for an agent's session start, in .claude/settings.json:")
    print_json(session_hook(root, program))
    return 1 if foreign else 0


def build(given: argparse.Namespace) -> int:
    """Build the project around this folder, or the one named."""
    place = locate(given)
    return _build(place.root, given, out=place.out)


def _build(root: Path, given: argparse.Namespace, *, out: str) -> int:
    gc.set_threshold(200_000, 50, 50)  # Dagster's objects live to the end: looking at them again took 1 s of 9
    overrides: dict[str, dict[str, Any]] = {}
    if getattr(given, "hnsw", None):
        overrides["store"] = {"hnsw": given.hnsw}
    if getattr(given, "no_embeddings", False):
        overrides["embed"] = {"enabled": False}
    if getattr(given, "allow_missing", False):
        overrides["git"] = {"allow_missing": True}
    as_json = getattr(given, "json", False)
    progress = Progress(quiet=getattr(given, "quiet", False) or as_json, verbose=getattr(given, "verbose", False))
    with progress:
        try:
            report = launcher.builder().build(
                root,
                out=out,
                full=getattr(given, "full", False),
                dry_run=getattr(given, "dry_run", False),
                overrides=overrides,
                reporter=progress,
                words_first=_words_first(given),
            )
        except KeyboardInterrupt:
            if as_json:
                print_json({"outcome": "interrupted"})
            raise
    if as_json:
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


def _words_first(given: argparse.Namespace) -> bool:
    """People at a terminal can ask by words while vectors are made; a workflow wants one publication, whole."""
    return not getattr(given, "wait", False) and sys.stderr.isatty() and not os.environ.get("CI")


def _print_report(report: Any, *, quiet: bool) -> None:
    new = [problem for problem in report.problems if problem not in report.known]
    for problem in new[:_SHOWN_PROBLEMS]:
        path = place_of(problem.package, problem.path)
        place = f"{path}:{problem.line}" if problem.line else path
        print(printable(f"{problem.severity}: {place}: {problem.message} ({problem.hint})"), file=sys.stderr)
    if len(new) > _SHOWN_PROBLEMS:
        warn(f"{len(new) - _SHOWN_PROBLEMS} more problems; `syntropy problems` lists all")
    elif len(report.problems) > len(new):
        warn(f"{len(report.problems) - len(new)} problems as before; `syntropy problems` lists all")
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


def dev(given: argparse.Namespace) -> int:
    """Open the Dagster UI on the project; returns when it ends."""
    place = locate(given)
    root = place.root.resolve()
    config = load_config(root)
    launcher.builder()
    if importlib.util.find_spec("dagster_webserver") is None:
        raise MissingDependencyError("the UI needs dagster-webserver", hint=install_command("ui"))
    home = Path(os.environ.get("DAGSTER_HOME") or root / config.paths.cache / "dagster")
    home.mkdir(parents=True, exist_ok=True)
    write_new(root / config.paths.cache / ".gitignore", "*\n")
    location = launcher.code_location()
    if not (home / "dagster.yaml").exists():
        shutil.copyfile(location / "assets" / "dagster.yaml", home / "dagster.yaml")
    env = {**os.environ, "SYNTROPY_PROJECT": str(root), "DAGSTER_HOME": str(home), "DAGSTER_DISABLE_TELEMETRY": "yes"}
    if place.out:
        env["SYNTROPY_OUT"] = str(Path(place.out).resolve())
    warn(f"the UI on {root}: http://{given.host}:{given.port} (Ctrl-C ends it)")
    command = [sys.executable, "-m", "dagster", "dev", "-w", str(location / "workspace.yaml"), "-h", given.host]
    try:
        return subprocess.run([*command, "-p", str(given.port)], env=env, check=False, cwd=root).returncode  # noqa: S603
    except KeyboardInterrupt:
        return 0


def status(given: argparse.Namespace) -> int:
    """Last build, staleness by content, last error. 1 if nothing is published or the last build failed."""
    place = locate(given)
    root = place.root
    config = load_config(root)
    cache = root / config.paths.cache
    last = last_build(cache)
    out = Path(place.out) if place.out else Path(last.out) if last else root / config.paths.out
    manifest = read_manifest(out)
    stale = check_staleness(root, cache, now=time.time(), stale_after=0, out=out)
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
        "compared": stale is not None,
        "stale": bool(stale and stale.stale),
        "changed": list(stale.changed) if stale else [],
        "changed_count": stale.count if stale else 0,
        "documents": manifest.facts["tables"]["documents"]["rows"] if manifest else 0,
        "building": bool(builder_of(cache)),
        "vectors": manifest.facts.get("vectors", "none") if manifest else "none",
        "drift": manifest.facts["drift"]["score"] if manifest else None,
    }
    show(given, facts, lambda: _print_status(facts))
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
        if facts["published"]:
            print(f"problems   {counts + ' (`syntropy problems`)' if counts else 'none'}")
    if facts["published"]:
        if facts["vectors"] == "follow":
            print("vectors    " + ("on their way: words are found already" if facts["building"] else
                                   "none: the build was cut short; run `syntropy build`"))  # fmt: skip
        if last and last["published"]:
            print(f"published  {last['published']}")
        if not facts["compared"]:
            print("sources    not compared: the last build went to another folder, or left no note")
        elif facts["stale"]:
            print(f"sources    {facts['changed_count']} changed since: {', '.join(facts['changed'])}")
        else:
            print("sources    unchanged since the build")
        print(f"drift      {facts['drift']:.4f}")


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")
