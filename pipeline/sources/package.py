"""A context package as a source: its files at the locked commit, read from git and never from the work tree.

So local edits, symbolic links, hooks and submodules play no part, and a citation names its commit.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pipeline.formats.entity_sections import kind_of
from pipeline.ground.diagnostics import Diagnostic, Problem
from pipeline.packages.git import GitError, git
from pipeline.sources.canonical import Sidecars, canonical_json, content_hash
from pipeline.sources.layout import Layout
from pipeline.sources.protocol import Scan, SourceFile, SourceText
from pipeline.text.decode import UndecodableError, decode, is_clean_name
from syntropy.contract.config import GitConfig, SourcesConfig
from syntropy.contract.secrets import redact

SHA256_DIGITS = 64

SHORT_COMMIT = 12
"""Characters of a commit in citations."""


class _Entry(NamedTuple):
    mode: str
    kind: str
    oid: str


class PackageConnector:
    """The files of one installed package below `path`, chosen by `[sources]` like the project's own."""

    def __init__(
        self, package: str, checkout: Path, commit: str, path: str, sources: SourcesConfig, settings: GitConfig
    ) -> None:
        self.package = package
        self._checkout, self._commit, self._path = checkout, commit, path
        self._sources, self._settings = sources, settings
        self._layout = Layout(sources)
        self._listed: dict[str, _Entry] | None = None
        self._sidecars = Sidecars(self._catalogue)

    def scan(self) -> Scan:
        """List the commit's tree; every blob that a source takes is read, decoded and hashed."""
        files: list[SourceFile] = []
        diagnostics: list[Diagnostic] = []

        def report(path: str, code: str, message: str, hint: str, line: int = 0) -> None:
            diagnostics.append(Diagnostic("sources", "warning", code, self.package, path, line, message, hint))

        def reject(path: str, code: str, message: str, hint: str, line: int = 0) -> None:
            files.append(SourceFile(self.package, path, "rejected", code, "", "", 0, ""))
            report(path, code, message, hint, line)

        try:
            listed = self._entries()
            wanted: list[str] = []
            for path, entry in sorted(listed.items()):
                if not is_clean_name(path):
                    shown = path.encode("utf-8", "backslashreplace").decode("utf-8").encode("unicode_escape").decode()
                    reject(shown, "bad-name", "the name holds control characters or is not UTF-8", "rename it upstream")
                elif redact(path)[1]:
                    reject(
                        redact(path)[0], "secret", "the name holds what looks like a credential", "rename it upstream"
                    )
                elif reason := self._reason(path, entry):
                    files.append(SourceFile(self.package, path, "excluded", reason, "", "", 0, ""))
                else:
                    wanted.append(path)
            for path, data, size in self._blobs(wanted):
                if data is None:
                    limit = self._sources.max_file_bytes
                    reject(path, "too-large", f"has {size} bytes, more than {limit}", "raise sources.max_file_bytes")
                    continue
                try:
                    if not data:
                        raise UndecodableError(Problem("empty", 0, "is empty", "write it upstream"))
                    problem = decode(data).problem
                except UndecodableError as error:
                    files.append(SourceFile(self.package, path, "rejected", error.problem.code, "", "", 0, ""))
                    diagnostics.append(error.problem.at("sources", self.package, path))
                    continue
                if problem:
                    diagnostics.append(problem.at("sources", self.package, path))
                files.append(self._file(path, data))
        except GitError as error:
            hint = f"`syntropy package update {self.package} --force`"
            message = f"cannot be read at {self._commit[:SHORT_COMMIT]}: {error.message}"
            diagnostics.append(Diagnostic("sources", "error", "package", self.package, ".", 0, message, hint))
        diagnostics += [problem.at("sources", self.package, path) for path, problem in self._sidecars.problems()]
        return Scan(sorted(files, key=lambda f: f.path), sorted(diagnostics))

    def read(self, paths: Iterable[str]) -> Iterator[SourceText | Diagnostic]:
        """See `protocol.Connector`."""
        for path, data, _ in self._blobs(list(paths)):
            assert data is not None  # the scan called it indexed, and a commit does not change
            file = self._file(path, data)
            about = self._sidecars.of(path) if file.reason == "canonical" else {}
            yield SourceText(
                self.package, path, self._commit[:SHORT_COMMIT], file.kind, file.scope, file.content_hash,
                decode(data).text, canonical_json(about),
            )  # fmt: skip

    def _file(self, path: str, data: bytes) -> SourceFile:
        assignment = self._layout.assign(path)
        assert assignment is not None
        about = self._sidecars.of(path) if assignment.source == "canonical" else {}
        kind = kind_of(path, about) if about else assignment.kind
        # the commit is part of the hash: documents carry it, and must be made anew when it moves
        digest = hashlib.sha256(f"{self._commit} {content_hash(data, about)}".encode()).hexdigest()
        return SourceFile(self.package, path, "indexed", assignment.source, kind, assignment.scope, len(data), digest)

    def _reason(self, path: str, entry: _Entry) -> str:
        """The rule that leaves a file out, or an empty string."""
        if entry.mode == "120000":
            return "symlink"
        if entry.kind != "blob":
            return "submodule"
        folders = path.split("/")[:-1]
        for depth in range(1, len(folders) + 1):
            if reason := self._layout.excluded("/".join(folders[:depth]) + "/"):
                return reason
        return self._layout.excluded(path) or ("" if self._layout.assign(path) else "no-source")

    def _entries(self) -> dict[str, _Entry]:
        if self._listed is None:
            self._listed = {}
            below = ["--", f":(top,literal){self._path}"] if self._path else []
            for row in self._run("ls-tree", "-r", "-z", "--full-tree", self._commit, *below).split(b"\0"):
                about, _, name = row.partition(b"\t")
                if name:
                    mode, kind, oid = about.decode().split()
                    self._listed[name.decode("utf-8", "surrogateescape")] = _Entry(mode, kind, oid)
        return self._listed

    def _blobs(self, paths: list[str]) -> Iterator[tuple[str, bytes | None, int]]:
        """(path, content, size); None for the content of files above the limit."""
        if not paths:
            return
        listed = self._entries()
        oids = [listed[path].oid for path in paths]
        sizes = [
            int(row.split()[2])
            for row in self._run("cat-file", "--batch-check", data="\n".join(oids).encode() + b"\n").splitlines()
        ]
        small = [oid for oid, size in zip(oids, sizes, strict=True) if size <= self._sources.max_file_bytes]
        output = self._run("cat-file", "--batch", data="\n".join(small).encode() + b"\n") if small else b""
        position = 0
        for path, size in zip(paths, sizes, strict=True):
            if size > self._sources.max_file_bytes:
                yield path, None, size
                continue
            start = output.index(b"\n", position) + 1
            yield path, output[start : start + size], size
            position = start + size + 1

    def _catalogue(self, path: str) -> str | None:
        if path not in self._entries() or self._entries()[path].kind != "blob":
            return None
        for _, data, _ in self._blobs([path]):
            try:
                return decode(data).text if data is not None else ""
            except UndecodableError:
                return ""
        return None

    def has_commit(self) -> bool:
        """Is the locked commit here? Nothing is fetched to answer that, or to read."""
        try:
            self._run("cat-file", "-e", f"{self._commit}^{{tree}}")
        except GitError:
            return False
        return True

    def _run(self, *arguments: str, data: bytes = b"") -> bytes:
        """Git over the package's objects, with a configuration of our own: that of the package may run commands."""
        with tempfile.TemporaryDirectory() as clean:
            for name in ("objects", "refs"):
                (Path(clean) / name).mkdir()
            (Path(clean) / "HEAD").write_text("ref: refs/heads/none\n")
            kind = "\n[extensions]\n\tobjectFormat = sha256\n" if len(self._commit) == SHA256_DIGITS else "\n"
            core = f"[core]\n\trepositoryformatversion = {int(len(kind) > 1)}\n\tbare = true"
            (Path(clean) / "config").write_text(core + kind)
            return git(
                *arguments,
                cwd=Path(clean),
                timeout=self._settings.timeout_seconds,
                allow_file=False,
                data=data,
                environment={
                    "GIT_DIR": clean,
                    "GIT_OBJECT_DIRECTORY": str((self._checkout / ".git" / "objects").resolve()),
                    "GIT_ALLOW_PROTOCOL": "none",
                    "GIT_NO_LAZY_FETCH": "1",
                },
            )
