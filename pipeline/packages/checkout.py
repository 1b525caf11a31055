"""One package's files on disk: fetched partially and sparsely, never overwritten where somebody worked on them."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from pathlib import Path

from pipeline.packages.git import GitError, check_address, git
from pipeline.packages.manifest import Locked, Package
from syntropy.contract.config import GitConfig
from syntropy.contract.errors import SyntropyError

_LITTER = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
"""What file managers leave in folders they show: nobody's work."""

_SHA = re.compile(r"^[0-9a-f]{40}$|^[0-9a-f]{64}$")


class LocalChangesError(SyntropyError):
    """A package's folder holds work that an update would lose."""

    exit_code = 10


class Checkout:
    """The folder of one package."""

    def __init__(self, folder: Path, package: Package, settings: GitConfig) -> None:
        self.folder, self.package, self._settings = folder, package, settings

    def upstream(self) -> str:
        """Commit of the wanted version, by one `ls-remote`. Raises GitError, UsageError."""
        source = check_address(self.package.source, allow_file=self._settings.allow_file)
        version = self.package.version
        if _SHA.match(version):
            return version
        names = [f"refs/heads/{version}", f"refs/tags/{version}", f"refs/tags/{version}^{{}}"] if version else ["HEAD"]
        lines = self._run("ls-remote", "--", source, *names).decode("utf-8", "replace").splitlines()
        found = {name: commit for commit, _, name in (line.partition("\t") for line in lines)}
        for name in (names[0], names[-1], *names):
            if name in found:
                return found[name]
        raise GitError(
            f"{source} has no version {version or 'HEAD'!r}", hint="name a branch, a tag, or a commit by all its digits"
        )

    def install(self, commit: str) -> None:
        """Fetch the commit's folder into a new checkout beside, then put it into place. Raises GitError."""
        source = check_address(self.package.source, allow_file=self._settings.allow_file)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.folder.with_name(f".{self.folder.name}.{uuid.uuid4().hex[:8]}")
        try:
            fresh.mkdir()
            self._run("init", "--quiet", at=fresh)
            for entry in ("core.symlinks=false", "core.hooksPath=/dev/null", "core.autocrlf=false"):
                self._run("config", *entry.split("="), at=fresh)
            self._run("remote", "add", "origin", "--", source, at=fresh)
            self._fetch(commit, fresh)
            if self.package.path:
                self._run("sparse-checkout", "set", "--cone", "--", self.package.path, at=fresh)
            self._run("checkout", "--quiet", "-B", self._branch(), commit, at=fresh)
            if self.package.path and not (fresh / self.package.path).exists():
                raise GitError(f"{source} has no folder {self.package.path!r}", hint="fix the package's path")
            if self.folder.exists():
                former = self.folder.with_name(f".{self.folder.name}.{uuid.uuid4().hex[:8]}.former")
                self.folder.rename(former)
                fresh.rename(self.folder)
                shutil.rmtree(former, ignore_errors=True)
            else:
                fresh.rename(self.folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def refuse_local_work(self, locked: Locked | None) -> None:
        """Raises LocalChangesError where the folder holds anything that is not upstream.

        Looked for: changed, untracked and ignored files, files hidden from git's status, stashes, commits.
        """
        if not self.folder.exists():
            return
        if not (self.folder / ".git").is_dir():
            self._refuse(f"{self.folder} is not a checkout of ours")
        status = self._here("status", "--porcelain", "--ignored", "--untracked-files=all", "-z")
        rows = [row.decode("utf-8", "replace") for row in status.split(b"\0") if row]
        for row in rows:
            if not (row[:2] in ("??", "!!") and row.rpartition("/")[2].removeprefix(row[:3]) in _LITTER):
                self._refuse(f"{row[3:]} was changed or added")
        if self._here("stash", "list"):
            self._refuse("there are stashes")
        for line in self._here("ls-files", "-v", "-z").split(b"\0"):
            mark, _, name = line.partition(b" ")
            hidden = mark.islower() or (mark == b"S" and os.path.lexists(self.folder / os.fsdecode(name)))
            if name and hidden:
                self._refuse(f"{os.fsdecode(name)} is hidden from git's status")
        known = [locked.commit] if locked else []
        if self._here("rev-list", "HEAD", "--not", "--remotes=origin", *known, "--"):
            self._refuse("there are commits that were not pushed")

    def head(self) -> str:
        """The commit checked out; empty where there is no checkout."""
        try:
            return self._here("rev-parse", "HEAD").decode().strip() if (self.folder / ".git").is_dir() else ""
        except GitError:
            return ""

    def push(self, message: str, branch: str, locked: Locked) -> str:
        """Commit all changes to a new branch and push it; the branch. Raises GitError, LocalChangesError."""
        if self.upstream() != locked.commit and not _SHA.match(self.package.version):
            raise LocalChangesError(
                f"{self.package.alias}: its upstream has moved since it was installed",
                hint=f"save them (git -C {self.folder} diff HEAD > changes.patch), undo them (git -C {self.folder} "
                f"checkout .), update, and apply the patch",
            )
        self._here("add", "--all", "--", ".")
        if not self._here("status", "--porcelain") and self.head() == locked.commit:
            raise LocalChangesError(f"{self.package.alias} has no changes", hint=f"edit files in {self.folder}")
        taken = self._run("ls-remote", "--heads", "origin", f"{branch}*", at=self.folder).decode()
        name = next(n for n in (branch, *(f"{branch}-{i}" for i in range(2, 1000))) if f"refs/heads/{n}\n" not in taken)
        self._here("checkout", "--quiet", "-B", name)
        if self._here("status", "--porcelain"):
            self._here("commit", "--quiet", "--no-verify", "-m", message)
        self._here("push", "--quiet", "--no-verify", "origin", f"HEAD:refs/heads/{name}")
        return name

    def _fetch(self, commit: str, folder: Path) -> None:
        """The commit without its blobs; where a server gives no single commits, the version's tip."""
        common = ("fetch", "--quiet", "--depth", "1", "--no-tags", "--filter=blob:none", "origin")
        try:
            self._run(*common, commit, at=folder)
        except GitError as error:
            if error.denied or not self.package.version or _SHA.match(self.package.version):
                raise
            self._run(*common, self.package.version, at=folder)

    def _branch(self) -> str:
        version = self.package.version
        return version if version and not _SHA.match(version) else "syntropy-upstream"

    def _refuse(self, what: str) -> None:
        raise LocalChangesError(
            f"{self.package.alias}: {what}; nothing was touched",
            hint=f"commit or stash it elsewhere, or `syntropy package push {self.package.alias} -m …` ({self.folder})",
        )

    def _here(self, *arguments: str) -> bytes:
        return self._run(*arguments, at=self.folder)

    def _run(self, *arguments: str, at: Path | None = None) -> bytes:
        settings = self._settings
        return git(*arguments, cwd=at, timeout=settings.timeout_seconds, allow_file=settings.allow_file)
