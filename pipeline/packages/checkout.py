"""One package's files on disk: fetched partially and sparsely, never overwritten where somebody worked on them."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path

from pipeline.packages.git import GitError, check_address, git
from pipeline.packages.manifest import Locked, Package
from syntropy.contract.config import GitConfig
from syntropy.contract.errors import SyntropyError
from syntropy.contract.files import write_text

_LITTER = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
"""What file managers leave in folders they show: nobody's work."""

_BEGUN = (
    "MERGE_HEAD", "REBASE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply",
)  # fmt: skip
"""What git leaves in its folder while an operation is not ended."""

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
        ignore = self.folder.parent.parent / ".gitignore"
        if not ignore.exists():  # repositories inside a repository are not part of it
            write_text(ignore, f"/{self.folder.parent.name}/\n")
        fresh = self.folder.with_name(f".{self.folder.name}.{uuid.uuid4().hex[:8]}")
        try:
            fresh.mkdir()
            self._run("init", "--quiet", at=fresh)
            for entry in ("core.symlinks=false", "core.hooksPath=/dev/null", "core.autocrlf=false"):
                self._run("config", *entry.split("="), at=fresh)
            self._run("remote", "add", "origin", "--", source, at=fresh)
            self._fetch(commit, fresh)
            if self.package.path:
                self._run("sparse-checkout", "set", "--no-cone", f"/{_escaped(self.package.path)}/", at=fresh)
            self._run("checkout", "--quiet", "-B", self._branch(), commit, at=fresh)
            if self.package.path and not (fresh / self.package.path).exists():
                raise GitError(f"{source} has no folder {self.package.path!r}", hint="fix the package's path")
            if self.is_flattened():
                flatten(fresh, self.package.path)
                self._run("config", "--unset", "core.hooksPath", at=fresh)  # from here on it is as nocaap has it
            if self.folder.exists():
                former = self.folder.with_name(f".{self.folder.name}.{uuid.uuid4().hex[:8]}.former")
                self.folder.rename(former)
                fresh.rename(self.folder)
                shutil.rmtree(former, ignore_errors=True)
            else:
                fresh.rename(self.folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def is_flattened(self) -> bool:
        """Did nocaap put it here: a checkout whose package's folder was moved to its top?"""
        if not self.package.path or not (self.folder / ".git").is_dir() or (self.folder / self.package.path).exists():
            return False
        return not self._is_ours()

    def has(self, commit: str) -> bool:
        """Does it hold the commit's tree?"""
        try:
            self._here("cat-file", "-e", f"{commit}^{{tree}}")
        except GitError:
            return False
        return True

    def local_work(self, locked: Locked | None) -> str:
        """What the folder holds that is not upstream, in words; empty where there is nothing.

        Looked for: changed, untracked and ignored files, files whose change is hidden from git's status, stashes,
        commits on any ref or in a reflog, tags, submodules, other worktrees, operations that were begun.
        """
        if not self.folder.exists():
            return ""
        if not (self.folder / ".git").is_dir():
            return "it is not a git checkout: nobody can tell what was changed"
        changed = self._changed_since_flattening() if self.is_flattened() else self._changed()
        if changed:
            return changed
        if self._here("stash", "list"):
            return "there are stashes"
        known = [locked.commit] if locked and self.has(locked.commit) else []
        upstream = ("--not", "--remotes=origin", *known, "--")
        if self._here("rev-list", "--all", "HEAD", "--max-count=1", *upstream):
            return "there are commits that were not pushed"
        if self._here("rev-list", "--reflog", "--max-count=1", *upstream):
            return "there are commits in the reflog that were not pushed"
        tags = self._here("for-each-ref", "--format=%(objecttype) %(refname:short)", "refs/tags")
        for line in tags.decode("utf-8", "replace").splitlines():
            kind, _, name = line.partition(" ")
            if kind == "tag" or self._is_ours():  # we fetch no tags
                return f"the tag {name} may be here only"
        if len(self._here("worktree", "list", "--porcelain").split(b"\n\n")) > 2:
            return "other worktrees hang on it"
        for place in (".git/modules", ".git/worktrees"):
            if (self.folder / place).is_dir() and any((self.folder / place).iterdir()):
                return f"{place} holds repositories or worktrees of their own"
        for name in _BEGUN:
            if (self.folder / ".git" / name).exists():
                return f"an operation of git was begun and not ended ({name})"
        return ""

    def refuse_local_work(self, locked: Locked | None) -> None:
        """Raises LocalChangesError where the folder holds anything that is not upstream."""
        if what := self.local_work(locked):
            self._refuse(what)

    def _changed(self) -> str:
        status = self._here(
            "status", "--porcelain", "--ignored", "--untracked-files=all", "--ignore-submodules=none", "-z"
        )
        for row in (row.decode("utf-8", "replace") for row in status.split(b"\0") if row):
            if not (row[:2] in ("??", "!!") and row[3:].rpartition("/")[2] in _LITTER):
                return f"{row[3:]} was changed or added"
        for line in self._here("ls-files", "-v", "-z").split(b"\0"):
            mark, _, name = line.partition(b" ")
            hidden = mark.islower() or (mark == b"S" and os.path.lexists(self.folder / os.fsdecode(name)))
            if name and hidden:
                return f"{os.fsdecode(name)} is hidden from git's status"
        tracked: dict[str, str] = {}
        for line in self._here("ls-files", "-s", "-z").split(b"\0"):
            about, _, name = line.partition(b"\t")
            mode, oid = [*about.decode().split(), "", ""][:2]
            if mode == "160000" and any((self.folder / os.fsdecode(name)).glob(".git")):
                return f"the submodule {os.fsdecode(name)} is checked out"
            if mode.startswith("100") and (self.folder / os.fsdecode(name)).is_file():
                tracked[os.fsdecode(name)] = oid
        return next((f"{name} was changed" for name in self._differing(tracked)), "")

    def _differing(self, wanted: Mapping[str, str]) -> list[str]:
        """Files whose content is not the blob named, whatever times and sizes say."""
        names = sorted(wanted)
        if not names:
            return []
        if any("\n" in name for name in names):
            return [name for name in names if "\n" in name]
        differing = names
        for how in (["--no-filters"], []):  # as it lies there, then as git would store it (line ends, `ident`)
            listed = "\n".join(differing).encode("utf-8", "surrogateescape") + b"\n"
            oids = self._run("hash-object", *how, "--stdin-paths", at=self.folder, data=listed).decode().split()
            differing = [name for name, oid in zip(differing, oids, strict=True) if wanted[name] != oid]
            if not differing:
                break
        return differing

    def _changed_since_flattening(self) -> str:
        """Compare the files with the commit's folder that nocaap moved to the top."""
        wanted: dict[str, str] = {}
        for row in self._here("ls-tree", "-r", "-z", f"HEAD:{self.package.path}").split(b"\0"):
            about, _, name = row.partition(b"\t")
            if name:
                wanted[os.fsdecode(name)] = about.decode().split()[2]
        present: set[str] = set()
        for folder, names, files in os.walk(self.folder):
            if ".git" in names:
                names.remove(".git")
                if folder != str(self.folder):
                    return f"{os.path.relpath(folder, self.folder)} is a repository of its own"
            links = [name for name in names if (Path(folder) / name).is_symlink()]
            present |= {
                os.path.relpath(os.path.join(folder, n), self.folder).replace(os.sep, "/") for n in (*files, *links)
            }
        present = {name for name in present if name.rpartition("/")[2] not in _LITTER or name in wanted}
        if self._here("diff", "--cached", "--name-only"):
            return "something is staged"
        for added in sorted(present - wanted.keys()):
            return f"{added} was added"
        for gone in sorted(wanted.keys() - present):
            return f"{gone} was deleted"
        return next((f"{changed} was changed" for changed in self._differing(wanted)), "")

    def _is_ours(self) -> bool:
        """Was it made by `install` here, and not by nocaap or by hand?"""
        try:
            return self._here("config", "--local", "--get", "core.hooksPath").strip() == b"/dev/null"
        except GitError:
            return False

    def head(self) -> str:
        """The commit checked out; empty where there is no checkout."""
        try:
            return self._here("rev-parse", "HEAD").decode().strip() if (self.folder / ".git").is_dir() else ""
        except GitError:
            return ""

    def push(self, message: str, branch: str, locked: Locked) -> str:
        """Commit all changes to a new branch and push it; the branch. Raises GitError, LocalChangesError."""
        if not (self.folder / ".git").is_dir():
            self._refuse(f"{self.folder} is not a git checkout: there is nothing to push from")
        if self.upstream() != locked.commit and not _SHA.match(self.package.version):
            raise LocalChangesError(
                f"{self.package.alias}: its upstream has moved since it was installed",
                hint=f"save your changes (git -C {self.folder} diff {locked.commit[:12]} > changes.patch), "
                "remove the package with --force, add it again, and apply the patch",
            )
        if self.is_flattened():
            self._add_flattened()
        else:
            self._here("add", "--all", "--", ".")
        unpushed = self._here("rev-list", "--max-count=1", "HEAD", "--not", "--remotes=origin", locked.commit)
        if not self._here("diff", "--cached", "--name-only") and not unpushed:
            raise LocalChangesError(f"{self.package.alias} has no changes", hint=f"edit files in {self.folder}")
        taken = self._run("ls-remote", "--heads", "origin", f"{branch}*", at=self.folder).decode()
        name = next(n for n in (branch, *(f"{branch}-{i}" for i in range(2, 1000))) if f"refs/heads/{n}\n" not in taken)
        self._here("branch", "--force", name, "HEAD")
        self._here("symbolic-ref", "HEAD", f"refs/heads/{name}")
        if self._here("diff", "--cached", "--name-only"):
            self._here("commit", "--quiet", "--no-verify", "-m", message)
        self._here("push", "--quiet", "--no-verify", "origin", f"HEAD:refs/heads/{name}")
        self._here("reflog", "expire", "--expire=now", "--all")  # what was amended on the way to it is not missed
        return name

    def _add_flattened(self) -> None:
        """Stage the files at the top as those of the package's folder, where upstream has them."""
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / self.package.path
            folder.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns(".git", *_LITTER), symlinks=True)
            self._here(f"--work-tree={place}", "add", "--all", "--sparse", "--", self.package.path)

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

    def _run(self, *arguments: str, at: Path | None = None, data: bytes = b"") -> bytes:
        settings = self._settings
        # without its own .git a folder would be taken for a part of the project's repository
        above = {"GIT_CEILING_DIRECTORIES": str(at.resolve().parent)} if at is not None else None
        return git(
            *arguments, cwd=at, timeout=settings.timeout_seconds, allow_file=settings.allow_file,
            data=data, environment=above,
        )  # fmt: skip


def flatten(folder: Path, path: str) -> None:
    """Move a package's folder to the top of its checkout, as nocaap has it."""
    moved = folder.with_name(f"{folder.name}.flat")
    (folder / path).rename(moved)
    shutil.rmtree(folder / path.partition("/")[0], ignore_errors=True)
    for entry in list(moved.iterdir()):
        entry.rename(folder / entry.name)
    moved.rmdir()


def _escaped(path: str) -> str:
    """A path as a sparse-checkout pattern."""
    return re.sub(r"([\\*?\[\]!#])", r"\\\1", path)
