"""Which source takes a path: the project layout of the knowledge-index seed, as gitignore patterns.

The first source that matches wins; kind and scope follow from it and, for PRPs and examples, from
the file's type.
"""

from __future__ import annotations

from typing import NamedTuple

from pathspec import GitIgnoreSpec

from syntropy.config import SourcesConfig

MARKDOWN = frozenset({".md", ".mdx", ".markdown"})
SOURCE_CODE = frozenset({
    ".py", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".go", ".rs", ".java", ".kt", ".rb", ".php", ".c", ".h", ".cc", ".cpp",
    ".hpp", ".cs", ".swift", ".scala", ".sh", ".bash", ".zsh", ".sql", ".lua", ".pl", ".r", ".jl", ".ex", ".exs",
    ".erl", ".hs", ".ml", ".clj", ".dart", ".vue", ".yaml", ".yml", ".toml",
})  # fmt: skip

_PATTERN_FOLDERS = frozenset({"patterns", "pattern"})


class Assignment(NamedTuple):
    """The source that takes a file, with the kind and scope its documents get."""

    source: str
    kind: str
    scope: str


class Layout:
    """Compiled `[sources]`: `assign(path)` says who takes a file, `excluded(path)` who forbids it."""

    def __init__(self, sources: SourcesConfig) -> None:
        self._include = GitIgnoreSpec.from_lines(sources.include)
        self._exclude = GitIgnoreSpec.from_lines(sources.exclude)
        self._sources = [
            (name, scope, kind, GitIgnoreSpec.from_lines(getattr(sources, name)))
            for name, scope, kind in (
                ("system_rules", "system", "rule"),
                ("system_prps", "system", "prp"),
                ("system_examples", "system", "example"),
                ("system_docs", "system", "doc"),
                ("rules", "user", "rule"),
                ("memories", "user", "memory"),
                ("prps", "user", "prp"),
                ("examples", "user", "example"),
                ("docs", "user", "doc"),
            )
        ]

    def excluded(self, path: str) -> str:
        """The rule that forbids a path (a folder's ends in `/`), or an empty string."""
        if self._exclude.match_file(path):
            return "sources.exclude"
        if not path.endswith("/") and not self._include.match_file(path):
            return "sources.include"
        return ""

    def assign(self, path: str) -> Assignment | None:
        """The source of a file, or None where no source takes it."""
        folder, _, name = path.rpartition("/")
        suffix = "." + name.rpartition(".")[2].lower() if "." in name else ""
        if suffix not in MARKDOWN and suffix not in SOURCE_CODE:
            return None
        for source, scope, kind, spec in self._sources:
            if not spec.match_file(path):
                continue
            if kind == "example":
                in_patterns = not _PATTERN_FOLDERS.isdisjoint(folder.lower().split("/"))
                return Assignment(source, "pattern" if in_patterns else "example", scope)
            if suffix in MARKDOWN:
                return Assignment(source, kind, scope)
        return None
