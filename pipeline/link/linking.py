"""The link stage: raw mentions to relations with a closed vocabulary; dangling ones to diagnostics."""

from __future__ import annotations

import re
from typing import NamedTuple

import polars as pl
from pathspec import GitIgnoreSpec

from pipeline.extract.mentions import is_code_path, is_sample
from pipeline.extract.prp import DONE
from pipeline.ground.diagnostics import Diagnostic, Problem
from pipeline.ground.tables import from_rows
from pipeline.link.targets import Resolver, Target
from syntropy.contract.identity import PROJECT_PACKAGE, split_uid
from syntropy.contract.schema import DIAGNOSTICS, RELATIONS, UNRESOLVED

_MEMORY_KINDS = ("memory", "prp", "rule", "pattern")

_DANGLING = {
    "markdown-link": "links to {target}, which does not exist",
    "wikilink": "links to [[{target}]], which no document is called",
    "memory": "refers to mem:{target}, which is not a memory",
    "id": "refers to {target}, which no PRP claims",
    "metadata": "names {target}, which no document claims",
    "entry": "names {target}, which no entry or entity is called",
}


class Links(NamedTuple):
    """Explicit relations, what leads nowhere (`unresolved`), and how many claims were checked."""

    relations: pl.DataFrame
    unresolved: pl.DataFrame
    checked: int


RESOLVED_BY = ("document", "package", "path", "kind", "key", "title", "status")
"""Columns of documents that decide what a mention resolves to, and whether it promises anything."""


def link_mentions(resolver: Resolver, documents: pl.DataFrame, mentions: pl.DataFrame) -> Links:
    """Resolve mentions of some documents or all; `documents` has their kinds and status.

    A document's mention of itself is not a relation.
    """
    about = {uid: (kind, status) for uid, kind, status in documents.select("document", "kind", "status").iter_rows()}
    relations, unresolved = [], []
    checked = 0
    for uid, target, relation, origin, line, evidence in mentions.select(
        "document", "target", "type", "origin", "line", "evidence"
    ).iter_rows():
        package, path = split_uid(uid)
        kind, status = about[uid]
        found = _resolve(resolver, package, path, target, relation, origin)
        if found:
            checked += package == PROJECT_PACKAGE
            if found.uid != uid:
                relations.append((uid, relation, found.uid, found.path, origin, 1.0, line, evidence))
            continue
        if relation == "implements" and resolver.ends_somewhere(package, target):
            continue  # it is there, below another folder, more than once
        problem = _problem(target, relation, origin, kind, status, line)
        if problem:
            checked += package == PROJECT_PACKAGE
            unresolved.append((uid, target, *problem))
    frame = from_rows(RELATIONS, relations).unique(list(RELATIONS.key), keep="first", maintain_order=True)
    return Links(frame, from_rows(UNRESOLVED, unresolved).unique(list(UNRESOLVED.key), keep="first"), checked)


def link_diagnostics(
    documents: pl.DataFrame, unresolved: pl.DataFrame, rules: pl.DataFrame, sources: pl.DataFrame
) -> pl.DataFrame:
    """Diagnostics of what leads nowhere, once a target for a document and its copies; and of rules without files."""
    copies = _copies(documents)
    told: set[tuple[str, str, str]] = set()
    diagnostics = []
    rows = unresolved.sort("document", "line", "target", "code", "message").iter_rows()
    for uid, target, code, line, message, hint, severity in sorted(rows, key=lambda row: row[0] in copies):
        said = (copies.get(uid, uid), target, code)
        if said not in told:
            told.add(said)
            diagnostics.append(Problem(code, line, message, hint, severity).at("link", *split_uid(uid)))
    diagnostics += rules_without_files(rules, sources)
    return from_rows(DIAGNOSTICS, dict.fromkeys(diagnostics))


def _copies(documents: pl.DataFrame) -> dict[str, str]:
    """Document -> the one whose text it repeats: the project's own before a framework's copy of it."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    ordered = documents.select("document", "scope", "content_hash").sort(pl.col("scope") == "system", "document")
    for uid, _, digest in ordered.iter_rows():
        if (known := first.setdefault(digest, uid)) != uid:
            found[uid] = known
    return found


def rules_without_files(rules: pl.DataFrame, sources: pl.DataFrame) -> list[Diagnostic]:
    """A diagnostic for each file of the project's rules whose patterns match no file: an agent never reads it."""
    scoped: dict[str, list[str]] = {}
    for uid, patterns in rules.select("document", "applies_to").iter_rows():
        if patterns and not patterns[0].startswith("skill:") and split_uid(uid)[0] == PROJECT_PACKAGE:
            scoped.setdefault(uid, patterns)
    if not scoped:
        return []
    paths = sources.filter(pl.col("package") == PROJECT_PACKAGE)["path"].to_list()
    found = []
    for uid, patterns in scoped.items():
        spec = GitIgnoreSpec.from_lines(patterns)
        if not any(map(spec.match_file, paths)):
            message = f"is about {', '.join(patterns[:3])}, which no file of the project matches: it never applies"
            problem = Problem("rule-never-applies", 1, message, "fix its patterns, or delete it")
            found.append(problem.at("link", PROJECT_PACKAGE, split_uid(uid)[1]))
    return found


def _resolve(resolver: Resolver, package: str, path: str, target: str, relation: str, origin: str) -> Target | None:
    if origin == "memory":
        return resolver.memory(package, target)
    if origin == "entry":
        return resolver.entry(package, target)
    if origin == "wikilink":
        return resolver.wikilink(package, path, target)
    if origin == "id":
        return resolver.prp(package, target) if target.startswith("PRP-") else resolver.name(package, target)
    if origin == "metadata":
        if target.startswith("PRP-"):
            return resolver.prp(package, target)
        return resolver.name(package, target) or resolver.path(package, path, target)
    return resolver.path(package, path, target)


def _problem(target: str, relation: str, origin: str, kind: str, status: str, line: int) -> Problem | None:
    """What is wrong with an unresolved mention, or None where nothing was promised."""
    if relation == "implements" and is_code_path(target):
        if kind == "prp" and status in DONE and "/" in target and not is_sample(target):
            message = f"claims {target}, which does not exist"
            return Problem("missing-implementation", line, message, "fix the path, or the PRP's status")
        return None
    if origin == "memory" and (kind not in _MEMORY_KINDS or target.isupper()):
        return None  # prose about memories shows examples such as mem:NAME
    if origin == "markdown-link" and (not re.search(r"[./#]", target) or is_sample(target)):
        return None  # a label of the documentation system, or a placeholder such as (url)
    if origin == "path" or (origin == "id" and not target.startswith("PRP-")):
        return None
    if origin == "metadata" and not (target.startswith("PRP-") or "/" in target):
        return None
    illustrates = origin == "id" and (kind in ("example", "pattern") or status == "templates")
    severity = "info" if illustrates or (origin == "markdown-link" and target.startswith("/")) else "warning"
    message = _DANGLING[origin].format(target=target)
    return Problem("dangling-reference", line, message, "fix it, or write the document", severity)
