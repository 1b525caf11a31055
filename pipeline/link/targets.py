"""Resolving what a mention names: paths, ids, keys, wikilinks, memories, rule labels."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote

import polars as pl

from pipeline.extract.catalog import candidate_key
from pipeline.extract.prp import normalized_id
from syntropy.contract.identity import slugify, split_uid
from syntropy.contract.vocabulary import ENTITY_KINDS, ENTRY_KINDS

_SUFFIXES = ("", ".md", ".mdx", "/README.md", "/index.md", "/index.mdx", "/readme.md")
_LINE_SUFFIX = re.compile(r":\d+(?:[-:]\d+)?$")
_PRP = re.compile(r"^PRP-(?:\d+(?:\.\d+)*|[A-Z])$", re.IGNORECASE)


class Target(NamedTuple):
    """What a mention resolved to: a document (`uid`), or a plain file or folder (`uid` is None)."""

    uid: str | None
    path: str


class _Names(NamedTuple):
    """(package, name) -> uid."""

    prps: dict[tuple[str, str], str]
    memories: dict[tuple[str, str], str]
    names: dict[tuple[str, str], str]
    entries: dict[tuple[str, str], str]


class Resolver:
    """Lookup tables over all documents, rules and files of a project."""

    def __init__(self, documents: pl.DataFrame, rules: pl.DataFrame, sources: pl.DataFrame) -> None:
        """Names are looked through when the first mention gives one: most mentions are paths."""
        self._rows = documents.select("document", "package", "path", "kind", "key", "title")
        self._rules = rules
        self._documents: dict[tuple[str, str], str] = {
            (package, path): uid for uid, package, path in self._rows.select("document", "package", "path").iter_rows()
        }
        self._files: dict[str, set[str]] = defaultdict(set)
        self._folders: dict[str, set[str]] = defaultdict(set)
        self._tails: dict[str, dict[str, str]] = {}
        for package, path in sources.select("package", "path").iter_rows():
            if path.endswith("/"):
                self._folders[package].add(path.rstrip("/"))
                continue
            self._files[package].add(path)
            folder = path.rpartition("/")[0]
            while folder and folder not in self._folders[package]:
                self._folders[package].add(folder)
                folder = folder.rpartition("/")[0]

    @cached_property
    def _names_of(self) -> _Names:
        prps: dict[tuple[str, str], str] = {}
        memories: dict[tuple[str, str], str] = {}
        names: dict[tuple[str, str], str] = {}
        entries: dict[tuple[str, str], str] = {}
        for uid, package, path, kind, key, title in self._rows.iter_rows():
            claimed = candidate_key(key, path, package)
            stem = path.rpartition("/")[2].rpartition(".")[0]
            if kind == "prp":
                if _PRP.match(claimed):
                    prps.setdefault((package, normalized_id(claimed)), uid)
                else:
                    names.setdefault((package, slugify(claimed)), uid)
            if kind in (*ENTRY_KINDS, *ENTITY_KINDS):
                entries.setdefault((package, claimed), uid)
            if kind == "memory":
                memories.setdefault((package, claimed), uid)
                memories.setdefault((package, stem), uid)
            if kind in ("pattern", "example", "memory", *ENTRY_KINDS, *ENTITY_KINDS):
                names.setdefault((package, slugify(claimed)), uid)
            names.setdefault((package, "wiki:" + slugify(stem)), uid)
            names.setdefault((package, "wiki:" + slugify(title)), uid)
        for label, uid in self._rules.select("label", "document").iter_rows():
            package = split_uid(uid)[0]
            names.setdefault((package, label.removeprefix(f"{package}:")), uid)
        return _Names(prps, memories, names, entries)

    def path(self, package: str, from_path: str, target: str) -> Target | None:
        """A relative, root-relative or partial path as written in `from_path`, or None."""
        wanted = unquote(re.split(r"[#?]", target, maxsplit=1)[0]).replace("\\", "/")
        wanted = _LINE_SUFFIX.sub("", wanted)
        if not wanted:
            return self._hit(package, from_path)
        bases = (
            [wanted.lstrip("/")]
            if wanted.startswith("/")
            else [posixpath.join(posixpath.dirname(from_path), wanted), wanted]
        )
        for base in bases:
            if found := self._at(package, posixpath.normpath(base)):
                return found
        return self._by_suffix(package, wanted)

    def prp(self, package: str, prp_id: str) -> Target | None:
        """The document of a PRP id, in any spelling; None where no document claims it."""
        uid = self._names_of.prps.get((package, normalized_id(prp_id)))
        return Target(uid, split_uid(uid)[1]) if uid else None

    def memory(self, package: str, name: str) -> Target | None:
        """The memory of a name, as agents write it; None where there is none."""
        uid = self._names_of.memories.get((package, name.removesuffix(".md")))
        return Target(uid, split_uid(uid)[1]) if uid else None

    def entry(self, package: str, name: str) -> Target | None:
        """An entry or entity by its id."""
        uid = self._names_of.entries.get((package, name))
        return Target(uid, split_uid(uid)[1]) if uid else None

    def name(self, package: str, name: str) -> Target | None:
        """A pattern's, example's or memory's key, or a rule's label."""
        uid = self._names_of.names.get((package, slugify(name)))
        return Target(uid, split_uid(uid)[1]) if uid else None

    def wikilink(self, package: str, from_path: str, name: str) -> Target | None:
        """A key, file stem, title, id or path inside `[[…]]`."""
        if _PRP.match(name):
            return self.prp(package, name)
        names, slug = self._names_of.names, slugify(name)
        uid = names.get((package, slug)) or names.get((package, f"wiki:{slug}"))
        if uid:
            return Target(uid, split_uid(uid)[1])
        return self.path(package, from_path, name)

    def ends_somewhere(self, package: str, wanted: str) -> bool:
        """Does any file's path end in what is written?"""
        return posixpath.normpath(_LINE_SUFFIX.sub("", wanted).lstrip("/")) in self._tails_of(package)

    def _at(self, package: str, base: str) -> Target | None:
        if base.startswith(".."):
            return None
        stems = (base, base.removesuffix(".html")) if base.endswith(".html") else (base,)
        for stem in stems:
            for suffix in _SUFFIXES:
                if found := self._hit(package, stem + suffix):
                    return found
        if base in self._folders[package] or base == ".":
            return Target(None, base)
        return None

    def _hit(self, package: str, path: str) -> Target | None:
        if uid := self._documents.get((package, path)):
            return Target(uid, path)
        return Target(None, path) if path in self._files[package] else None

    def _by_suffix(self, package: str, wanted: str) -> Target | None:
        """The only file whose path ends in what is written (`tools/init.ts` for `src/tools/init.ts`)."""
        tail = posixpath.normpath(wanted.lstrip("/"))
        if not tail or tail == "." or tail.startswith(".."):
            return None
        path = self._tails_of(package).get(tail)
        return self._hit(package, path) if path else None

    def _tails_of(self, package: str) -> dict[str, str]:
        """Every end of a path -> the path; empty where several paths end so."""
        if package not in self._tails:
            tails: dict[str, str] = {}
            for path in self._files[package]:
                tail = path
                while tail:
                    tails[tail] = "" if tail in tails else path
                    tail = tail.partition("/")[2]
            self._tails[package] = tails
        return self._tails[package]
