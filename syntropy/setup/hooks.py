"""Hooks: a rebuild after each commit, and what an agent runs when a session starts."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..contract.config import load_config
from ..contract.errors import UsageError
from ..contract.files import write_text

EVENTS = ("post-commit", "post-merge")
"""Commits, and pulls that bring some."""

LOG = "hook.log"
MARK = "written by `syntropy init --hooks`"


def install_git_hooks(root: Path, program: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """(written, left alone): hooks that were missing, or ours for another place; and those of somebody else.

    `program` is the command of `syntropy`. Raises UsageError outside of a git repository, and where the folder
    of hooks is shared with other repositories.
    """
    folder = _hooks_folder(root, build_line(root, program))
    text = _script(root, program)
    written, foreign = [], []
    folder.mkdir(parents=True, exist_ok=True)
    for event in EVENTS:
        target = folder / event
        present = target.read_text(encoding="utf-8", errors="replace") if target.is_file() else ""
        if os.path.lexists(target) and MARK not in present:
            foreign.append(target)
        elif present != text:
            write_text(target, text)
            target.chmod(0o755)
            written.append(target)
    return written, foreign


def session_hook(root: Path, program: Sequence[str]) -> dict[str, Any]:
    """For `.claude/settings.json`: what is printed when a session starts is put before the agent."""
    command = shlex.join([*program, "session-start", "--project", str(root)])
    start = [
        {"matcher": "startup|resume|clear|compact", "hooks": [{"type": "command", "command": command, "timeout": 10}]}
    ]
    return {"hooks": {"SessionStart": start}}


def _hooks_folder(root: Path, line: str) -> Path:
    """Where git looks for hooks: `core.hooksPath` and work trees included."""
    folder, common, top = (
        (root / path).resolve()
        for path in _git(root, "rev-parse", "--git-path", "hooks", "--git-common-dir", "--show-toplevel")
    )
    if not (folder.is_relative_to(common) or folder.is_relative_to(top)):
        raise UsageError(
            f"{folder} serves other repositories, too (core.hooksPath): nothing was written",
            hint=f"run this in a hook of your own: {line}",
        )
    return folder


def _git(root: Path, *arguments: str) -> list[str]:
    try:
        done = subprocess.run(  # noqa: S603 (no shell; the folder is an argument)
            ["git", "-C", str(root), *arguments],  # noqa: S607 (the user's own git)
            capture_output=True, text=True, check=False, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"git cannot be run: {error}", hint="install git") from error
    if done.returncode:
        raise UsageError(f"{root} is in no git repository", hint="run `git init` first, or leave out --hooks")
    return done.stdout.splitlines()


def hook_log(root: Path) -> Path:
    """Where a hook's build says how it went: below `paths.cache`."""
    return (root / load_config(root).paths.cache).resolve() / LOG


def build_line(root: Path, program: Sequence[str]) -> str:
    """The command that rebuilds, for a hook of one's own."""
    return shlex.join([*program, "build", "--project", str(root)])


def _script(root: Path, program: Sequence[str]) -> str:
    log = hook_log(root)
    return (
        "#!/bin/sh\n"
        f"# {MARK}: rebuilds the knowledge in the background; the log says how it went\n"
        "unset $(git rev-parse --local-env-vars)\n"
        f"mkdir -p {shlex.quote(str(log.parent))}\n"
        "(\n"
        "  for attempt in 1 2 3 4 5 6 7 8 9 10; do\n"
        f"    {build_line(root, program)}\n"
        "    [ $? -eq 8 ] || break  # 8: another build is running; it may have missed this commit\n"
        "    sleep 3\n"
        "  done\n"
        f") >{shlex.quote(str(log))} 2>&1 </dev/null &\n"
    )
