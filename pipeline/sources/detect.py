"""What kinds of sources a project holds, found by content: the proposal that `syntropy init` writes down.

The walk and its rules are those of a build. Files that no source takes, or that are taken as plain documents,
are looked into: a file is of a kind where the kind's own reader finds enough in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pipeline.formats import console, entries, glossary, help_content, openapi, openapi_parts, python_cli, script_cli
from pipeline.formats.entity_sections import KIND_OF_TYPE
from pipeline.formats.page import Pages
from pipeline.ground.deadline import deadline
from pipeline.sources.canonical import FILE as CATALOGUE
from pipeline.sources.canonical import PLACES, read_catalogue
from pipeline.sources.layout import SUFFIXES, Layout
from pipeline.sources.project import ProjectConnector, read_regular_file
from pipeline.sources.protocol import SourceFile
from pipeline.text.decode import UndecodableError, decode
from pipeline.text.frontmatter import read_frontmatter
from syntropy.contract.config import SourcesConfig
from syntropy.contract.vocabulary import ENTRY_KINDS

_T = TypeVar("_T")

MAX_BYTES = 2_000_000
"""Sources are looked into up to this size; generated ones are larger."""

SECONDS = 5.0
"""A look into one file takes at most so long."""

FEW_ENTRIES = 3
"""A data file of fewer entries or rows is more likely something else."""

FEW_COMMANDS = 4
"""A source that tests a typed line for fewer words is more likely no console."""

MANY_FILES = 12
"""Above this, files are named by patterns of their folders."""

_SCRIPTS = (".ts", ".tsx", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs")
_NOT_PRODUCT = re.compile(
    r"(?:^|/)(?:tests?|__tests__|__mocks__|fixtures?|e2e|testing|node_modules|dist|build|vendor|third_party|site-packages)/"
    r"|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$|\.(?:test|spec|stories|min|d)\.[cm]?[jt]sx?$"
)
_TYPED_LINE = re.compile(
    r"""\.split\(\s*(?:['"`]\s+['"`]|/.{0,8}(?:\\s| ))|process\.argv|Deno\.args|\.match\(/\\S\+/g"""
)
_OPENAPI_DATA = re.compile(r"""^\s*["']?openapi["']?\s*:\s*["']?3\.|[{,]\s*"openapi"\s*:\s*"3\.""", re.MULTILINE)
_SWAGGER_DATA = re.compile(r"""^\s*["']?swagger["']?\s*:\s*["']?2|[{,]\s*"swagger"\s*:\s*"2""", re.MULTILINE)
_OPENAPI_SOURCE = re.compile(r"@(?:openapi|swagger)\b|\bopenapi\s*:\s*['\"]3\.")
_PYTHON_CLI = re.compile(r"^\s*(?:import|from)\s+(?:argparse|click|typer|rich_click)\b", re.MULTILINE)
_TYPED_ENTRY = re.compile(rf"""["']?type["']?\s*:\s*["']?(?:{"|".join(ENTRY_KINDS)})\b""")
_REFERENCE = re.compile(r"""\$ref["']?\s*:\s*["']?([^"'#\s]+\.(?:ya?ml|json))""")


class Found(NamedTuple):
    """Files of one source: its key in `[sources]`, the patterns that take them, and what will come of them."""

    source: str
    patterns: tuple[str, ...]
    files: tuple[str, ...]
    yields: str


@dataclass
class Detection:
    """What was found, and what is left out: (what, why) in words for people."""

    found: list[Found] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def lacking(self, sources: SourcesConfig) -> list[Found]:
        """What was found and the configuration does not take as what it is: the files that it lacks."""
        layout = Layout(sources)
        lacking = []
        for found in self.found:
            files = tuple(p for p in found.files if (t := layout.assign(p)) is None or t.source != found.source)
            if files and found.patterns:
                lacking.append(found._replace(files=files))
        return lacking

    def proposed(self, sources: SourcesConfig) -> dict[str, tuple[str, ...]]:
        """Keys of `[sources]` with the patterns they lack; a file that is taken already proposes nothing."""
        layout = Layout(sources)
        new: dict[str, tuple[str, ...]] = {}
        for found in self.found:
            if any((taken := layout.assign(path)) is None or taken.source != found.source for path in found.files):
                present = getattr(sources, found.source)
                new[found.source] = (*present, *(p for p in found.patterns if p not in present))
        return new


def detect(root: Path, sources: SourcesConfig, own: Iterable[str]) -> Detection:
    """Look at a project; `own` are our outputs in it, relative. Raises what a scan raises."""
    scan = ProjectConnector(root, sources, own=own).scan()
    looks = _Looks(root, scan.files)
    found = Detection()
    kinds = (looks.openapi, looks.consoles, looks.command_lines, looks.canonical, looks.entries, looks.glossaries)
    found.found += [one for look in kinds for one in look()]
    taken = {path for one in found.found for path in one.files}
    present = Counter(file.reason for file in scan.files if file.status == "indexed" and file.path not in taken)
    for name in sorted(present):
        files = tuple(f.path for f in scan.files if f.status == "indexed" and f.reason == name and f.path not in taken)
        found.found.append(Found(name, (), files, _PLAIN.get(name, "documents")))
    found.left_out = [*looks.refused, *_left_out(scan.files, taken)]
    return found


def configured(sources: SourcesConfig, detection: Detection) -> SourcesConfig:
    """The sources with everything that was proposed."""
    proposed: Mapping[str, Any] = detection.proposed(sources)
    return replace(sources, **proposed)


_PLAIN = {
    "rules": "rules with their scope",
    "system_rules": "the framework's rules",
    "prps": "PRPs with status and implementations",
    "system_prps": "the framework's PRPs",
    "memories": "agent memories by topic",
    "examples": "examples and patterns",
    "system_examples": "the framework's examples",
    "canonical": "patterns, refactorings, laws and smells",
}


class _Looks:
    """Looks into the files of one project, each read once."""

    def __init__(self, root: Path, files: Iterable[SourceFile]) -> None:
        self._root = root
        self._reasons = {f.path: f.reason for f in files if f.status == "indexed" or f.reason == "no-source"}
        self._texts: dict[str, str] = {}
        self.refused: list[tuple[str, str]] = []
        """(path, why) of files of a known kind that cannot be read."""

    def openapi(self) -> list[Found]:
        """Descriptions, the files they refer to, sources with `@openapi` comments, definitions for swagger-jsdoc."""
        found: dict[str, str] = {}
        for path in self._of(".yaml", ".yml", ".json"):
            text = self._text(path)
            if _OPENAPI_DATA.search(text[:4000]):
                found[path] = text
            elif _SWAGGER_DATA.search(text[:4000]):
                self.refused.append((path, "is Swagger 2; convert it to OpenAPI 3"))
        for path in self._of(*_SCRIPTS):
            if _OPENAPI_SOURCE.search(text := self._text(path)):
                comments = self._tried(openapi_parts.read_comments, text, path)
                said = comments.description if comments else {"paths": {}, "components": {}}
                if said["paths"] or said["components"] or len(said) > 2:  # servers, security, info
                    found[path] = text
        for path, text in list(found.items()):  # what a description refers to, by path
            for reference in _REFERENCE.findall(text):
                place = openapi_parts.beside(path, reference)
                if place in self._reasons and place not in found:
                    found[place] = self._text(place)
        parts = openapi_parts.gather([(text, path) for path, text in sorted(found.items())])
        count = sum(self._count(openapi.pages, text, path, parts) for path, text in found.items())
        return self._named("openapi", list(found), _counted(count, "API operation")) if count else []

    def consoles(self) -> list[Found]:
        """Sources that test the words of a typed line, and help for them in other files."""
        found: dict[str, str] = {}
        others: list[str] = []
        for path in self._of(*_SCRIPTS):
            text = self._text(path)
            if _TYPED_LINE.search(text) and not script_cli.used_library(text):
                commands = self._count(console.pages, text, path)
                if commands >= FEW_COMMANDS:
                    found[path] = text
                    continue
            if re.search(r"\b(?:command|cmd|usage)\s*:\s*['\"`]|<code>|command", text) and "escription" in text:
                others.append(path)
        if not found:
            return []
        known = console.gather([(text, path) for path, text in found.items()]).known
        for path in others:
            told = self._tried(console.gather, [(self._text(path), path)])
            rows = told.rows if told else {}
            if rows and sum(words in known for words in rows) >= max(FEW_COMMANDS, len(rows) // 2):
                found[path] = self._text(path)
        shared = console.gather([(text, path) for path, text in sorted(found.items())])
        count = sum(self._count(console.pages, text, path, shared) for path, text in found.items())
        return self._named("consoles", list(found), _counted(count, "command"), exact=True)

    def command_lines(self) -> list[Found]:
        """Python and TypeScript sources whose library for command lines is known."""
        found: dict[str, int] = {}
        for path in self._of(".py", *_SCRIPTS):
            text = self._text(path)
            if path.endswith(".py"):
                wanted = _PYTHON_CLI.search(text) is not None
                count = self._count(python_cli.pages, text, path) if wanted else 0
            else:
                wanted = bool(script_cli.used_library(text)) or "exports.command" in text or "const command =" in text
                count = self._count(script_cli.pages, text, path) if wanted else 0
            if count:
                found[path] = count
        return self._named("command_lines", list(found), _counted(sum(found.values()), "command")) if found else []

    def canonical(self) -> list[Found]:
        """Markdown files that a `relations.json` beside them, or in `meta/`, names as entities."""
        found: list[str] = []
        count = 0
        for path in (p for p in self._all() if p.rpartition("/")[2] == CATALOGUE):
            catalogue = read_catalogue(self._text(path))
            said = [str(entity.get("type", "")) for many in catalogue.entries.values() for entity in many]
            kinds = {name.lower().replace("-", "_") for name in said}
            if not catalogue.entries or kinds.isdisjoint(KIND_OF_TYPE):
                continue
            place = next(p for p in reversed(PLACES) if path == p or path.endswith(f"/{p}"))
            folder = path.removesuffix(place)
            for text in (p for p in self._of(".md", ".mdx", ".markdown") if p.startswith(folder)):
                parts = text.removeprefix(folder).split("/")
                tails = ("/".join(parts[cut:]) for cut in range(len(parts)))
                if named := next((tail for tail in tails if tail in catalogue.entries), ""):
                    found.append(text)
                    count += len(catalogue.entries[named])
        yields = f"{_counted(count, 'entity', 'entities')} with their relations"
        return self._named("canonical", found, yields) if found else []

    def entries(self) -> list[Found]:
        """Data files of entries, help articles in TypeScript, folders of Markdown with an entry's frontmatter."""
        found: list[str] = []
        count = 0
        for path in self._of(".json", ".yaml", ".yml"):
            text = self._text(path)
            if '"id"' in text[:20_000] or re.search(r"^\s*-?\s*id\s*:", text[:20_000], re.MULTILINE):
                pages = self._tried(entries.pages, text, path)
                worse = sum(problem.severity != "info" for problem in pages.problems) if pages else 0
                few = 1 if _TYPED_ENTRY.search(text) else FEW_ENTRIES
                if pages and len(pages.pages) >= few and worse <= len(pages.pages):
                    found.append(path)
                    count += len(pages.pages)
        for path in self._of(*_SCRIPTS):
            text = self._text(path)
            if re.search(r"\bid\s*:", text) and re.search(r"\bcontent\s*:\s*['\"`]", text) and "title" in text:
                pages = self._tried(help_content.pages, text, path)
                told = [p for p in pages.pages if len(p.text) > 200] if pages else []
                if len(told) >= FEW_ENTRIES:
                    found.append(path)
                    count += len(told)
        written = [p for p in self._of(".md", ".mdx") if self._reasons[p] in ("docs", "no-source", "entries")]
        for path in written:
            front = self._tried(read_frontmatter, self._text(path))
            about = front.metadata if front else {}
            if about.get("type") in ENTRY_KINDS and about.get("id"):
                found.append(path)
                count += 1
        return self._named("entries", found, _counted(count, "entry", "entries")) if found else []

    def glossaries(self) -> list[Found]:
        """Tables with a column of terms and one of definitions."""
        found: list[str] = []
        count = 0
        for path in self._of(".csv", ".tsv"):
            head = next(iter(self._text(path).splitlines()), "").lower()
            if re.search(r"\bterm\b", head) and re.search(r"\b(?:definition|meaning|description)\b", head):
                found.append(path)
                count += self._count(glossary.pages, self._text(path), path)
        return self._named("glossaries", found, _counted(count, "term")) if count else []

    def _named(self, source: str, files: list[str], yields: str, *, exact: bool = False) -> list[Found]:
        files = sorted(set(files))
        for path in files:
            self._reasons.pop(path, None)  # one file, one kind
        if len(files) <= MANY_FILES or exact:
            return [Found(source, tuple(_literal(path) for path in files), tuple(files), yields)]
        patterns: list[str] = []
        for folder in sorted({path.rpartition("/")[0] for path in files}):
            here = [path for path in files if path.rpartition("/")[0] == folder]
            for suffix in sorted({Path(path).suffix for path in here}):
                same = [path for path in here if Path(path).suffix == suffix]
                beside = [p for p in self._reasons if p.rpartition("/")[0] == folder and Path(p).suffix == suffix]
                whole = len(same) > 2 and len(beside) <= len(same)
                patterns += [f"/{folder}/*{suffix}" if folder else f"/*{suffix}"] if whole else map(_literal, same)
        return [Found(source, tuple(patterns), tuple(files), yields)]

    def _of(self, *suffixes: str) -> list[str]:
        return [p for p in self._all() if p.lower().endswith(suffixes) and not _NOT_PRODUCT.search(p)]

    def _all(self) -> list[str]:
        return list(self._reasons)

    def _text(self, path: str) -> str:
        if path not in self._texts:
            try:
                data = read_regular_file(self._root / path)
                self._texts[path] = decode(data).text if len(data) <= MAX_BYTES else ""
            except (OSError, UndecodableError):
                self._texts[path] = ""
        return self._texts[path]

    def _count(self, read: Callable[..., Pages], *given: Any) -> int:
        found = self._tried(read, *given)
        return len(found.pages) if found else 0

    @staticmethod
    def _tried(read: Callable[..., _T], *given: Any) -> _T | None:
        """What a reader finds; None where it fails or takes too long."""
        with suppress(Exception), deadline(SECONDS):
            return read(*given)
        return None


def _counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def _literal(path: str) -> str:
    """A pattern for one path from the project's root."""
    return "/" + re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)


def _left_out(files: Iterable[SourceFile], taken: set[str]) -> list[tuple[str, str]]:
    unread: Counter[str] = Counter()
    reasons: Mapping[str, Counter[str]] = {"excluded": Counter(), "rejected": Counter()}
    readable = {suffix for suffixes in SUFFIXES.values() for suffix in suffixes}
    for file in files:
        if file.path in taken or file.status == "indexed":
            continue
        if file.reason == "no-source":
            unread[Path(file.path).suffix or "no ending"] += 1
        else:
            reasons[file.status][file.reason] += 1
    told = []
    if unread:
        some = ", ".join(f"{count} {suffix}" for suffix, count in unread.most_common(6))
        more = ", …" if len(unread) > 6 else ""
        code = " (sources are read for what they say of commands and APIs only)" if readable & set(unread) else ""
        told.append((f"{_counted(sum(unread.values()), 'file')} ({some}{more})", f"no source takes them{code}"))
    for status, counter in reasons.items():
        for why, number in counter.most_common():
            told.append((_counted(number, "file or folder", "files or folders"), f"{status} by {why}"))
    return told
