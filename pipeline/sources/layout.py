"""Which source takes a path: the project layout of the knowledge-index seed, as gitignore patterns.

The first source that matches wins; kind and scope follow from it and, for PRPs and examples, from
the file's type.
"""

from __future__ import annotations

from typing import NamedTuple

from pathspec import GitIgnoreSpec

from pipeline.formats.entity_sections import kind_of
from syntropy.contract.config import SourcesConfig

MARKDOWN = frozenset({".md", ".mdx", ".markdown", ".mdc", ".cursorrules", ".windsurfrules", ".clinerules"})
"""The last four are rules for agents; those without a stem are called so as a whole."""

SOURCE_CODE = frozenset({
    ".py", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".go", ".rs", ".java", ".kt", ".rb", ".php", ".c", ".h", ".cc", ".cpp",
    ".hpp", ".cs", ".swift", ".scala", ".sh", ".bash", ".zsh", ".sql", ".lua", ".pl", ".r", ".jl", ".ex", ".exs",
    ".erl", ".hs", ".ml", ".clj", ".dart", ".vue", ".yaml", ".yml", ".toml",
})  # fmt: skip

TEXTS = frozenset({".rst", ".rest", ".adoc", ".asciidoc", ".txt"})
"""Taken as text with headings, where a source names them."""

NOTEBOOK = ".ipynb"
_DOCUMENTS = MARKDOWN | TEXTS | {NOTEBOOK}
_SCRIPTS = frozenset({".ts", ".tsx", ".js", ".jsx", ".mts", ".cts", ".mjs"})
_DATA = frozenset({".json", ".yaml", ".yml"})

SUFFIXES = {
    "entries": MARKDOWN | _DATA | _SCRIPTS,
    "console": _SCRIPTS,
    "cli": frozenset({".py"}) | _SCRIPTS,
    "openapi": _DATA | _SCRIPTS,
    "glossary": frozenset({".csv", ".tsv"}),
    "canonical": MARKDOWN,
}
"""What each source can read; all others read documents, and examples source code, too."""

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
                ("entries", "user", "entries"),
                ("consoles", "user", "console"),
                ("command_lines", "user", "cli"),
                ("openapi", "user", "openapi"),
                ("canonical", "user", "canonical"),
                ("glossaries", "user", "glossary"),
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
        for source, scope, kind, spec in self._sources:
            taken = SUFFIXES.get(kind, _DOCUMENTS | SOURCE_CODE if kind == "example" else _DOCUMENTS)
            if suffix not in taken or not spec.match_file(path):
                continue
            if kind == "canonical":
                kind = kind_of(path, {}) or "doc"
            if kind == "example":
                in_patterns = not _PATTERN_FOLDERS.isdisjoint(folder.lower().split("/"))
                return Assignment(source, "pattern" if in_patterns else "example", scope)
            return Assignment(source, kind, scope)
        return None
