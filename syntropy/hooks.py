"""Hooks: a rebuild after each commit, and what an agent runs when a session starts."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import UsageError
from .files import write_new

EVENTS = ("post-commit", "post-merge")
"""Commits, and pulls that bring some."""

MARK = "written by `syntropy init --hooks`"


def install_git_hooks(root: Path, program: Sequence[str]) -> list[Path]:
    """Write the hooks that are missing; `program` is the command line of `syntropy`.

    Raises UsageError outside of a git repository, and where another hook is in the way (it stays).
    """
    folder = _hooks_folder(root)
    text = _script(root, program)
    for event in EVENTS:
        target = folder / event
        if target.exists() and MARK not in target.read_text(encoding="utf-8", errors="replace"):
            raise UsageError(
                f"{target} exists and is not ours: nothing was written",
                hint=f"add this line to it: {_build_line(root, program)}",
            )
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for event in EVENTS:
        if write_new(folder / event, text):
            (folder / event).chmod(0o755)
            written.append(folder / event)
    return written


def session_hook(root: Path, program: Sequence[str]) -> dict[str, Any]:
    """For `.claude/settings.json`: what is printed when a session starts is put before the agent."""
    command = shlex.join([*program, "session-start", "--project", str(root)])
    start = [
        {"matcher": "startup|resume|clear|compact", "hooks": [{"type": "command", "command": command, "timeout": 10}]}
    ]
    return {"hooks": {"SessionStart": start}}


def _hooks_folder(root: Path) -> Path:
    """Where git looks for hooks: `core.hooksPath` and work trees included."""
    try:
        done = subprocess.run(  # noqa: S603 (no shell; the folder is an argument)
            ["git", "-C", str(root), "rev-parse", "--git-path", "hooks"],  # noqa: S607 (the user's own git)
            capture_output=True, text=True, check=False, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"git cannot be run: {error}", hint="install git") from error
    if done.returncode:
        raise UsageError(f"{root} is in no git repository", hint="run `git init` first, or leave out --hooks")
    return (root / done.stdout.rstrip("\n")).resolve()


def _build_line(root: Path, program: Sequence[str]) -> str:
    return shlex.join([*program, "build", "--project", str(root), "--quiet"])


def _script(root: Path, program: Sequence[str]) -> str:
    log = shlex.quote(str(root / ".syntropy" / "hook.log"))
    return (
        "#!/bin/sh\n"
        f"# {MARK}: rebuilds the knowledge in the background; the log says how it went\n"
        "unset $(git rev-parse --local-env-vars)\n"
        f"mkdir -p {shlex.quote(str(root / '.syntropy'))}\n"
        "(\n"
        "  for attempt in 1 2 3 4 5 6 7 8 9 10; do\n"
        f"    {_build_line(root, program)}\n"
        "    [ $? -eq 8 ] || break  # 8: another build is running; it may have missed this commit\n"
        "    sleep 3\n"
        "  done\n"
        f") >{log} 2>&1 </dev/null &\n"
    )
