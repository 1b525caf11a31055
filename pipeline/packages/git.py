"""The user's own git, run so that a hostile address or repository can do nothing.

Only https and ssh (and, where configured, file) addresses; no prompts, no hooks, no submodules, symbolic
links as plain files; a deadline that ends the whole process group.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from syntropy.contract.errors import SyntropyError, UsageError

_CONFIG = (
    "core.hooksPath=/dev/null", "core.symlinks=false", "core.fsmonitor=false", "core.autocrlf=false",
    "protocol.ext.allow=never", "submodule.recurse=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=30",
    "advice.detachedHead=false", "gc.auto=0",
)  # fmt: skip
_HTTPS = re.compile(r"^https://[^\s/@:]+(?::\d+)?/\S+$")
_SSH = re.compile(r"^(?:ssh://(?:\w[\w.-]*@)?\w[\w.-]*(?::\d+)?/\S+|\w[\w.-]*@\w[\w.-]*:(?!//)[^\s:-]\S*)$")
_FILE = re.compile(r"^file:///\S.*$")
_DENIED = re.compile(
    r"(?i)denied|forbidden|could not read (?:username|password)|authentication failed|not found|40[134]\b|publickey"
)


class GitError(SyntropyError):
    """A git command failed; `denied` where the address may not be read."""

    exit_code = 9

    def __init__(self, message: str, *, hint: str = "", denied: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.denied = denied


def check_address(address: str, *, allow_file: bool) -> str:
    """The address, if it is of a kind we allow. Raises UsageError: options, other transports, credentials."""
    text = address.strip()
    if allow_file and "://" not in text and not text.startswith("-") and Path(text).expanduser().is_dir():
        return Path(text).expanduser().resolve().as_uri()
    if text.startswith("-") or any(not c.isprintable() for c in text):
        raise UsageError(f"{address!r} is not a git address", hint="give an https or ssh address")
    if _HTTPS.match(text) or _SSH.match(text):
        return text
    if _FILE.match(text) and allow_file:
        return text
    if re.match(r"^https?://[^/]*@", text):
        raise UsageError("the address holds credentials", hint="use git's credential helper, and an address without")
    local = "" if allow_file else " (file:// with git.allow_file = true)"
    hint = f"allowed: https://…, ssh://…, git@host:path{local}"
    raise UsageError(f"{address!r} is not an address that is allowed", hint=hint)


def git(
    *arguments: str,
    cwd: Path | None = None,
    timeout: float,
    allow_file: bool,
    data: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> bytes:
    """Run git and return what it printed. Raises GitError with its message, or after the deadline."""
    command = ["git", *(part for entry in _CONFIG for part in ("-c", entry)), *arguments]
    try:
        process = subprocess.Popen(  # noqa: S603 (addresses are checked, and come behind `--`)
            command,
            cwd=cwd,
            env={**_environment(os.environ, allow_file=allow_file), **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise GitError("git is not installed", hint="install git; packages are fetched with it") from error
    try:
        output, errors = process.communicate(data, timeout=timeout)
    except subprocess.TimeoutExpired as error:
        _end(process)
        raise GitError(
            f"git {arguments[0]} took longer than {timeout:g} s", hint="raise git.timeout_seconds, or try later"
        ) from error
    except BaseException:
        _end(process)
        raise
    if process.returncode:
        lines = [line for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
        said = [line for line in lines if line.startswith(("fatal:", "error:", "ERROR:"))] or lines[-1:]
        message = said[0] if said else ""
        denied = bool(_DENIED.search(" ".join(lines)))
        raise GitError(
            f"git {arguments[0]}: {message.strip() or f'ended with {process.returncode}'}",
            hint="you may not read it: check the address and your git credentials" if denied else "",
            denied=denied,
        )
    return output


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _environment(given: Mapping[str, str], *, allow_file: bool) -> dict[str, str]:
    users = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
    kept = {k: v for k, v in given.items() if not k.startswith("GIT_") or k in users}
    return {
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=15",
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "https:ssh:file" if allow_file else "https:ssh",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C",
    }
