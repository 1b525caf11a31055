"""The project's own files: a walk that stays inside, opens regular files only and loses nothing.

Every file met ends in one row: indexed by a source, excluded by a named rule, or rejected with a
diagnostic. Folders that are pruned whole (`.git`, ignored ones) are one row each. Links are followed
where they lead to a file or folder of the project, once, after everything else was met.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pathspec import GitIgnoreSpec

from pipeline.formats.entity_sections import kind_of
from pipeline.ground.diagnostics import Diagnostic
from pipeline.sources.canonical import Sidecars, canonical_json, content_hash
from pipeline.sources.layout import Assignment, Layout
from pipeline.sources.protocol import CHANGED, Scan, SourceFile, SourceText
from pipeline.sources.seen import SeenFiles, rules_digest
from pipeline.text.decode import UndecodableError, decode, is_clean_name
from syntropy.contract.config import CONFIG_NAME, SourcesConfig
from syntropy.contract.errors import BuildError
from syntropy.contract.identity import PROJECT_PACKAGE
from syntropy.contract.published import DATABASE, MANIFEST
from syntropy.contract.secrets import redact

_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
# O_NONBLOCK: opening a FIFO would otherwise wait forever for a writer.

_IgnoreStack = tuple[tuple[str, GitIgnoreSpec, str], ...]
"""(folder they hold below, rules, digest of these and all above) of each ignore file."""


class ProjectConnector:
    """Files below `root`, chosen by `[sources]`; `own` are our own outputs, relative, never seen.

    `package` names a package whose files lie there as the project keeps them, without git.
    """

    def __init__(
        self,
        root: Path,
        sources: SourcesConfig,
        *,
        own: Iterable[str] = (),
        package: str = PROJECT_PACKAGE,
        seen: SeenFiles | None = None,
    ) -> None:
        self.package = package
        self._root = root
        self._sources = sources
        self._layout = Layout(sources)
        self._own = {path.strip("/") for path in own if path}
        self._files: list[SourceFile] = []
        self._diagnostics: list[Diagnostic] = []
        self._sidecars = Sidecars(self._catalogue)
        self._seen = seen or SeenFiles()

    def scan(self) -> Scan:
        """Walk, assign and hash. Raises BuildError above `sources.max_files`."""
        self._files, self._diagnostics = [], []
        ignores: _IgnoreStack = ()
        if self._sources.respect_gitignore:
            ignores = self._with_ignore_file((), "", ".git/info/exclude")
        self._sidecars = Sidecars(self._catalogue)
        self._links: list[tuple[str, _IgnoreStack]] = []
        self._walk("", ignores)
        self._follow_links()
        self._diagnostics += [p.at("sources", self.package, path) for path, p in self._sidecars.problems()]
        self._files.sort(key=lambda f: f.path)
        return Scan(self._files, sorted(self._diagnostics))

    def read(self, paths: Iterable[str]) -> Iterator[SourceText | Diagnostic]:
        """See `protocol.Connector`."""
        for path in paths:
            assignment = self._layout.assign(path)
            assert assignment is not None  # the scan called it indexed
            try:
                data = read_regular_file(self._target(path))
                about = self._about(path, assignment)
                yield SourceText(
                    self.package,
                    path,
                    "",
                    kind_of(path, about) if about else assignment.kind,
                    assignment.scope,
                    content_hash(data, about),
                    decode(data).text,
                    canonical_json(about),
                )
            except (OSError, UndecodableError) as error:
                yield self._diagnostic(
                    "warning",
                    CHANGED,
                    path,
                    f"could be read a moment ago, now: {error}",
                    "build again",
                )

    def _walk(self, folder: str, ignores: _IgnoreStack) -> None:
        try:
            entries = sorted(os.scandir(self._root / folder), key=lambda e: e.name)
        except OSError as error:
            self._reject(folder, "unreadable", f"cannot list the folder: {error.strerror}", "check its permissions")
            return
        if self._sources.respect_gitignore:
            ignores = self._with_ignore_file(ignores, folder, ".gitignore")
        names = {entry.name for entry in entries}
        if folder and {DATABASE, MANIFEST} <= names:
            self._exclude(f"{folder}/", "syntropy-output")  # of another build: no source, either
            return
        if folder and ".git" in names and (reason := self._linked_tree(folder)):
            self._exclude(f"{folder}/", reason)
            return
        if folder and CONFIG_NAME in names:
            self._exclude(f"{folder}/", "project-of-its-own")
            return
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if path in self._own:
                continue  # not a source, and listing it would make the first build differ from the second
            if not is_clean_name(entry.name):
                shown = os.fsencode(path).decode("utf-8", "backslashreplace").encode("unicode_escape").decode()
                self._reject(shown, "bad-name", "the name holds control characters or is not UTF-8", "rename it")
            elif entry.is_symlink():
                self._links.append((path, ignores))
            elif entry.is_dir(follow_symlinks=False):
                reason = self._pruned(path, entry.name, ignores)
                if reason:
                    self._exclude(f"{path}/", reason)
                else:
                    self._walk(path, ignores)
            else:
                self._file(path, _stat(entry), ignores)
            if len(self._files) > self._sources.max_files:
                raise BuildError(
                    f"more than {self._sources.max_files} files below {self._root}",
                    hint="narrow [sources].include, or raise sources.max_files",
                )

    def _linked_tree(self, folder: str) -> str:
        """`worktree` or `submodule` where a folder's `.git` is a file that says so, and it is not wanted."""
        try:
            said = read_regular_file(self._root / folder / ".git").decode("utf-8", "replace")
        except OSError:
            return ""  # a folder: a repository of its own that lies here
        git = said.removeprefix("gitdir:").strip().replace("\\", "/")
        if "/worktrees/" in git:
            return "worktree"  # another branch's texts, or this one's again
        return "submodule" if "/modules/" in git and not self._sources.submodules else ""

    def _pruned(self, path: str, name: str, ignores: _IgnoreStack) -> str:
        if name == ".git":
            return "git-folder"
        if _ignored(f"{path}/", ignores):
            return "gitignore"
        return self._layout.excluded(f"{path}/")

    def _follow_links(self) -> None:
        """Index what links lead to, where that is the project's and not indexed as the same kind already."""
        met = {file.path: file for file in self._files}
        followed: set[str] = set()
        for path, ignores in self._links:
            target = self._inside(path)
            if target is None:
                self._leave_link(path, "leads out of the project, or nowhere")
            elif any(part in (".git", *self._own) for part in _prefixes(target)):
                self._exclude(path, "symlink")
            elif not (self._root / target).is_dir():
                self._linked_file(path, target, ignores, met)
            elif target in followed or f"{path}/".startswith(f"{target}/") or not target:
                self._leave_link(path, f"leads to {target or 'the project itself'}, which was met already")
            else:
                followed.add(target)
                self._exclude(f"{path}/", "symlink")
                for below in [name for name in met if name.startswith(f"{target}/") and not name.endswith("/")]:
                    self._linked_file(f"{path}{below[len(target) :]}", below, ignores, met)

    def _linked_file(self, path: str, target: str, ignores: _IgnoreStack, met: dict[str, SourceFile]) -> None:
        assignment, found = self._layout.assign(path), met.get(target)
        if found is None or assignment is None:
            unwanted = True  # in a folder that was left out whole, or of no source
        elif found.status == "indexed":
            unwanted = found.kind == assignment.kind
        else:  # a link makes no document of a hidden file such as .env
            unwanted = found.reason != "no-source" or target.rpartition("/")[2].startswith(".")
        if unwanted:
            self._exclude(path, "symlink")
        else:
            self._file(path, (self._root / target).stat(), ignores, self._root / target)

    def _inside(self, path: str) -> str | None:
        """Where a path leads to, relative to the project; None where that is not a file or folder of it."""
        real, root = os.path.realpath(self._root / path), os.path.realpath(self._root)
        if not os.path.exists(real) or os.path.commonpath([real, root]) != root:
            return None
        return os.path.relpath(real, root).replace(os.sep, "/") if real != root else ""

    def _target(self, path: str) -> Path:
        """The regular file that a path stands for. Raises OSError where a link leads out of the project."""
        inside = self._inside(path)
        if inside is None:
            raise OSError(0, "leads out of the project")
        return self._root / inside

    def _leave_link(self, path: str, why: str) -> None:
        self._exclude(path, "symlink")
        self._diagnostics.append(
            self._diagnostic("info", "symlink", path, f"is a link that {why}", "put the file itself there")
        )

    def _file(
        self, path: str, info: os.stat_result | OSError, ignores: _IgnoreStack, place: Path | None = None
    ) -> None:
        size = 0
        try:
            if isinstance(info, OSError):
                raise info
            size = info.st_size
            rules = ignores[-1][2] if ignores else ""
            if stat.S_ISREG(info.st_mode) and (known := self._seen.get(self.package, path, info, rules)):
                self._files.append(known)
                return
            if not stat.S_ISREG(info.st_mode):
                self._reject(path, "not-a-file", "is not a regular file (FIFO, socket or device)", "exclude it")
                return
            shown, findings = redact(path)
            if findings:
                self._reject(shown, "secret", "the name holds what looks like a credential", "rename it", size)
                return
            reason = "gitignore" if _ignored(path, ignores) else self._layout.excluded(path)
            assignment = None if reason else self._layout.assign(path)
            if assignment is None:
                self._exclude(path, reason or "no-source")
                return
            if size > self._sources.max_file_bytes:
                self._reject(
                    path,
                    "too-large",
                    f"has {size} bytes, more than {self._sources.max_file_bytes}",
                    "split it, or raise sources.max_file_bytes",
                    size,
                )
                return
            data = read_regular_file(place or self._root / path)
            if not data:
                self._reject(path, "empty", "is empty", "write it or delete it", size, "info")
                return
            problem = decode(data).problem
            if problem:
                self._diagnostics.append(problem.at("sources", self.package, path))
        except UndecodableError as error:
            found = error.problem
            self._reject(path, found.code, found.message, found.hint, size, line=found.line)
            return
        except OSError as error:
            self._reject(path, "unreadable", f"cannot be read: {error.strerror}", "check its permissions", size)
            return
        about = self._about(path, assignment)
        kind = kind_of(path, about) if about else assignment.kind
        digest = content_hash(data, about)
        row = SourceFile(self.package, path, "indexed", assignment.source, kind, assignment.scope, len(data), digest)
        self._files.append(row)
        if assignment.source != "canonical" and not problem:
            self._seen.put(row, info, rules)

    def _about(self, path: str, assignment: Assignment) -> dict[str, Any]:
        """What a canonical set says of one of its files."""
        return self._sidecars.of(path) if assignment.source == "canonical" else {}

    def _catalogue(self, path: str) -> str | None:
        try:
            data = read_regular_file(self._root / path)
            return decode(data).text if len(data) <= self._sources.max_file_bytes else ""
        except FileNotFoundError:
            return None
        except (OSError, UndecodableError):
            return ""  # reported as what it then is: no catalogue

    def _with_ignore_file(self, ignores: _IgnoreStack, folder: str, name: str) -> _IgnoreStack:
        path = self._root / folder / name
        try:
            data = read_regular_file(path)
            spec = GitIgnoreSpec.from_lines(data.decode("utf-8", "replace").splitlines())
        except OSError:
            return ignores  # absent, the common case; an unreadable one shows up as unreadable below
        except ValueError as error:
            self._diagnostics.append(
                self._diagnostic(
                    "warning",
                    "bad-gitignore",
                    f"{folder}/{name}".strip("/"),
                    f"not understood: {error}",
                    "fix the pattern",
                )
            )
            return ignores
        digest = rules_digest(ignores[-1][2] if ignores else "", folder, data)
        return (*ignores, (f"{folder}/" if folder else "", spec, digest))

    def _exclude(self, path: str, reason: str) -> None:
        # no size: the index does not depend on what it leaves out
        self._files.append(SourceFile(self.package, path, "excluded", reason, "", "", 0, ""))

    def _reject(
        self, path: str, code: str, message: str, hint: str, size: int = 0, severity: str = "warning", line: int = 0
    ) -> None:
        self._files.append(SourceFile(self.package, path or ".", "rejected", code, "", "", size, ""))
        self._diagnostics.append(self._diagnostic(severity, code, path or ".", message, hint, line))

    def _diagnostic(self, severity: str, code: str, path: str, message: str, hint: str, line: int = 0) -> Diagnostic:
        return Diagnostic("sources", severity, code, self.package, path, line, message, hint)


def read_regular_file(path: Path) -> bytes:
    """The bytes of a regular file; a link, FIFO or device at the last component is an OSError."""
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(0, "no regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as handle:
            return handle.read()
    finally:
        os.close(descriptor)


def _stat(entry: os.DirEntry[str]) -> os.stat_result | OSError:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError as error:
        return error


def _prefixes(path: str) -> list[str]:
    """`a/b/c` → a, a/b, a/b/c."""
    parts = path.split("/")
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _ignored(path: str, ignores: _IgnoreStack) -> bool:
    """gitignore's verdict: the deepest file that says anything about the path decides."""
    for base, spec, _ in reversed(ignores):
        if path.startswith(base):
            verdict = spec.check_file(path[len(base) :]).include
            if verdict is not None:
                return verdict
    return False
