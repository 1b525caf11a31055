"""Resources: the overview, the manifest, figures, and every document; and completions of their names."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import unquote

from ..contract.errors import DocumentNotFoundError
from ..contract.published import INDEX_MD, MANIFEST, locate
from ..contract.untrusted import fenced, visible
from ..tools.desk import Desk
from ..tools.edition import Edition
from ..tools.knowledge_tools import get_overview, published

SCHEME = "syntropy://"
DOCUMENT = "syntropy://document/{package}/{+path}"
MAX_COMPLETIONS = 100
"""Values of one completion at most (Model Context Protocol, completion/complete)."""


class Resource(NamedTuple):
    """A fixed resource."""

    name: str
    about: str
    mime_type: str
    read: Callable[[Edition], str]

    @property
    def uri(self) -> str:
        """Its address, as clients ask for it."""
        return SCHEME + self.name


def read(edition: Edition, uri: str) -> tuple[str, str]:
    """(text, MIME type) of a resource. Raises DocumentNotFoundError."""
    for resource in RESOURCES:
        if uri == resource.uri:
            return resource.read(edition), resource.mime_type
    prefix = f"{SCHEME}document/"
    package, slash, path = uri.removeprefix(prefix).partition("/")
    if not uri.startswith(prefix) or not slash:
        known = ", ".join([*(resource.uri for resource in RESOURCES), DOCUMENT])
        raise DocumentNotFoundError(f"there is no resource {uri!r}", hint=f"there are: {known}")
    document = edition.knowledge.document(unquote(path), package=unquote(package))
    return fenced(document.text), "text/markdown"


def complete(edition: Edition, argument: str, value: str, *, package: str = "") -> list[str]:
    """Names that hold the value, those that begin with it first: packages, paths, tags, commands."""
    names = _names(edition, argument, package)
    wanted = value.lower()
    found = [name for name in names if wanted in name.lower()]
    return sorted(map(visible, found), key=lambda name: (not name.lower().startswith(wanted), name))


def _names(edition: Edition, argument: str, package: str) -> list[str]:
    if argument == "command":
        return [command.title for command in edition.commands.all]
    sql = {
        "package": "SELECT DISTINCT package FROM documents",
        "path": "SELECT path FROM documents WHERE ? = '' OR package = ?",
        "page": "SELECT path FROM documents WHERE package = 'project'",
        "tag": "SELECT DISTINCT tag FROM tags",
    }.get(argument, "")
    if not sql:
        return []
    return [name for (name,) in edition.knowledge.database.rows(sql, [package, package] if argument == "path" else [])]


def _index(edition: Edition) -> str:
    manifest = edition.knowledge.database.manifest
    if manifest is not None:
        file = locate(edition.knowledge.database.folder, INDEX_MD)
        expected = manifest.artifacts.get(INDEX_MD)
        with contextlib.suppress(OSError):  # a publication may be moving it
            text = file.read_bytes()
            if expected and hashlib.sha256(text).hexdigest() == expected[1]:  # that of this edition, no newer one
                return fenced(text.decode("utf-8"))
    overview = get_overview(Desk(edition), detailed=True)
    return fenced(str(overview["documents"]))


def _manifest(edition: Edition) -> str:
    manifest = edition.knowledge.database.manifest
    facts = manifest.facts if manifest is not None else {MANIFEST: None, **edition.knowledge.meta}
    return visible(json.dumps(facts, indent=2, ensure_ascii=False, sort_keys=True))


def _stats(edition: Edition) -> str:
    rows = edition.knowledge.database.rows("SELECT kind, count(*) FROM documents GROUP BY kind ORDER BY kind")
    meta = edition.knowledge.meta
    facts = {
        "project": meta["project"],
        "documents": int(meta["documents"]),
        "chunks": int(meta["chunks"]),
        "windows": int(meta["windows"]),
        "kinds": dict(rows),
        "drift": float(meta["drift_score"]),
        "model": meta["model"],
        "build_id": meta["build_id"],
        "published": published(edition.knowledge.database),
    }
    return visible(json.dumps(facts, indent=2, ensure_ascii=False))


RESOURCES = (
    Resource("index", "INDEX.md: what there is, document by document", "text/markdown", _index),
    Resource("manifest", "the published artifacts with sizes and digests", "application/json", _manifest),
    Resource("stats", "counts by kind, model, drift", "application/json", _stats),
)
