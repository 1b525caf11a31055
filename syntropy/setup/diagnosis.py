"""What can be looked at without building: the installation, the project, what is published, who reads it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from ..contract.config import load_config
from ..contract.distribution import DISTRIBUTION, install_command
from ..contract.errors import SyntropyError
from ..contract.folders import cache_folder
from ..contract.published import read_manifest, verify_files
from ..store.freshness import check_staleness
from ..store.last_build import builder_of, last_build
from . import launcher

_EXTRAS = {
    "semantic": ("search by meaning", ("numpy", "onnxruntime", "tokenizers")),
    "build-lite": ("building", ("dagster", "polars", "pyarrow", "jinja2", "pyromark", "pathspec", "onnx")),
    "ui": ("the Dagster UI", ("dagster_webserver",)),
    "serve": ("serving agents", ("mcp", "jsonschema")),
    "chat": ("the chat", ("openai",)),
    "providers": ("embedding endpoints", ("httpx", "tenacity")),
}
"""Extra -> what it is for, and the modules that come with it (pyproject.toml)."""

_CLIENT_FILES = (".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".zed/settings.json")
"""Where clients keep a project's servers."""


class Finding(NamedTuple):
    """`verdict`: ok, note (something is missing that not everybody needs) or wrong."""

    verdict: str
    subject: str
    text: str
    hint: str = ""


def examine(root: Path | None) -> list[Finding]:
    """Findings about this installation and the project at `root` (None: there is none here)."""
    found = [_python(), *_extras(), _weights(root), _cache()]
    if root is None:
        return [
            *found,
            Finding("note", "project", "no syntropy.toml here or above", "go to a project, or `syntropy init` one"),
        ]
    try:
        config = load_config(root)
    except SyntropyError as error:
        return [*found, Finding("wrong", "configuration", error.message, error.advice())]
    cache = root / config.paths.cache
    last = last_build(cache)
    out = Path(last.out) if last else root / config.paths.out
    return [
        *found,
        Finding("ok", "project", str(root)),
        *_published(out),
        *_build(root, cache),
        *_packages(root),
        *_clients(root),
    ]


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    return Finding("ok", "Python", f"{version}, {DISTRIBUTION} {__version__} at {Path(__file__).parent.parent}")


def _extras() -> list[Finding]:
    found = []
    for extra, (what, modules) in _EXTRAS.items():
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        if missing:
            found.append(
                Finding("note", f"[{extra}]", f"{what}: {', '.join(missing)} not installed", install_command(extra))
            )
        else:
            found.append(Finding("ok", f"[{extra}]", what))
    return found


def _weights(root: Path | None) -> Finding:
    try:
        named = load_config(root).embed.weights
        at_hand = launcher.builder_module("pipeline.embed.weights").at_hand(named)
    except SyntropyError as error:
        return Finding("note", "model", error.message, error.advice())
    if at_hand:
        return Finding("ok", "model", "the weights are on this machine")
    return Finding(
        "note", "model", "the weights are not on this machine", "the next build fetches them once (84 MB, with pip)"
    )


def _cache() -> Finding:
    folder = cache_folder()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0
    writable = os.access(folder if folder.is_dir() else next(p for p in folder.parents if p.is_dir()), os.W_OK)
    text = f"{folder} ({size / 1e6:.0f} MB, shared by all projects)"
    hint = "set SYNTROPY_CACHE_HOME to a folder you may write to"
    return Finding("ok", "cache", text) if writable else Finding("wrong", "cache", f"{text} cannot be written", hint)


def _published(out: Path) -> list[Finding]:
    try:
        manifest = read_manifest(out)
        if manifest is None:
            return [Finding("note", "published", f"nothing in {out}", "run `syntropy build`")]
        problems = verify_files(out)
    except SyntropyError as error:
        return [Finding("wrong", "published", error.message, error.advice())]
    if problems:
        return [Finding("wrong", "published", "; ".join(problems), "run `syntropy build`")]
    return [Finding("ok", "published", f"{out}: {len(manifest.artifacts)} artifacts, all digests hold")]


def _build(root: Path, cache: Path) -> list[Finding]:
    last = last_build(cache)
    found = []
    if last is not None and last.outcome == "failed":
        found.append(Finding("wrong", "last build", f"failed: {last.error.splitlines()[0]}", "run `syntropy build`"))
    stale = check_staleness(root, cache, now=time.time(), stale_after=0, out=Path(last.out) if last else None)
    if stale is not None and stale.stale:
        found.append(Finding("note", "sources", stale.message(), "run `syntropy build`"))
    elif stale is not None:
        found.append(Finding("ok", "sources", "as they were published"))
    if process := builder_of(cache):
        found.append(Finding("note", "lock", f"process {process} is building", "wait for it"))
    return found


def _packages(root: Path) -> list[Finding]:
    try:
        packages = launcher.builder_module("pipeline.packages.manifest").load_packages(root, load_config(root))
    except SyntropyError as error:
        return [Finding("note", "packages", error.message, error.advice())]
    found = []
    for package in packages.wanted:
        locked = packages.locked.get(package.alias)
        if locked is None or not packages.checkout(package.alias).is_dir():
            hint = "run `syntropy package install`"
            found.append(Finding("wrong", "package", f"{package.alias} is listed and not installed", hint))
        elif locked.path != package.path:
            hint = f"run `syntropy package update {package.alias}`"
            found.append(
                Finding("wrong", "package", f"{package.alias}: its path was changed since it was installed", hint)
            )
        else:
            found.append(Finding("ok", "package", f"{package.alias} at {locked.commit[:12]}"))
    return found


def _clients(root: Path) -> list[Finding]:
    """Entries of agents' clients that start us: does what they start exist?"""
    found = []
    for name in _CLIENT_FILES:
        try:
            entries = json.loads((root / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            found.append(
                Finding("note", name, f"was not looked into: {error}", "comments and trailing commas end this look")
            )
            continue
        for server, entry in _servers(entries):
            command, arguments = (
                str(entry.get("command", "")),
                [str(a) for a in entry.get("args") or [] if isinstance(a, str | int)],
            )
            if "syntropy" not in " ".join([server, command, *arguments]):
                continue
            again = "print the entry again: `syntropy serve --print-config CLIENT`"
            if command and shutil.which(command) is None:
                found.append(Finding("wrong", name, f"{server}: {command} does not exist", again))
                continue
            folders = [b for a, b in pairwise(arguments) if a in ("--project", "--out", "--db")]
            plain = [folder for folder in folders if "://" not in folder and "${" not in folder]
            gone = [folder for folder in plain if not (root / folder).exists()]
            if gone:
                found.append(Finding("wrong", name, f"{server}: {gone[0]} does not exist", again))
            else:
                found.append(Finding("ok", name, f"{server} starts {command}"))
    return found


def _servers(entries: Any) -> list[tuple[str, dict[str, Any]]]:
    """(name, entry) below the keys that clients use."""
    if not isinstance(entries, dict):
        return []
    tables = [entries.get(key) for key in ("mcpServers", "servers", "context_servers")]
    return [
        (name, e) for table in tables if isinstance(table, dict) for name, e in table.items() if isinstance(e, dict)
    ]
