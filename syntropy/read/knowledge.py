"""The Python API: `syntropy.open(path)` and what it gives."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ..contract.config import Config, load_config, require_project
from ..contract.errors import EncoderError, MissingDependencyError, UsageError
from ..contract.published import DATABASE
from ..search.engine import Engine, EngineName, make_engine
from ..search.filters import SOURCES, Filters
from ..search.passages import Hit
from ..search.profiles import resolved_profile
from ..search.ranking import Request, Results, run
from ..store.database import Database, open_database
from ..store.freshness import Staleness, check_staleness
from . import documents
from .documents import Document, Excerpt

if TYPE_CHECKING:
    from ..store.encoder import Encoder

SEED_LIMIT = 20
"""Default limit of the knowledge-index seed's `knowledge_search`."""

SEED_THRESHOLD = 0.1
"""Score from which `knowledge_search` returns a hit. The seed had 0.3 on a scale of its own; here 0.1
leaves out passages that carry less than a tenth of the query's information."""


RECHECK_SECONDS = 30.0
"""Between two looks at the sources in one process: a look is a `stat` of every file."""


@dataclass(frozen=True)
class Rule:
    """A directive of a rule file. `applies_to`: gitignore patterns of what it is about, or `skill:NAME`; empty: all."""

    label: str
    severity: str
    scope: str
    text: str
    heading: str
    path: str
    line: int
    applies_to: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Its fields as plain data, for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class Violation:
    """A claim that does not hold."""

    type: str
    path: str
    line: int
    message: str

    def as_dict(self) -> dict[str, object]:
        """Its fields as plain data, for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class DriftReport:
    """Drift as measured by the build, and whether the sources have moved on since."""

    score: float
    claims: int
    violations: list[Violation]

    def as_dict(self) -> dict[str, object]:
        """Its fields as plain data, for JSON."""
        return {"score": self.score, "claims": self.claims, "violations": [v.as_dict() for v in self.violations]}


class SearchOptions(TypedDict, total=False):
    """Options of a search; see `Knowledge.request`."""

    mode: str
    sources: Sequence[str]
    kinds: Sequence[str]
    scope: str
    packages: Sequence[str]
    tags: Sequence[str]
    all_tags: Sequence[str]
    path: str
    where: Sequence[tuple[str, str]] | Mapping[str, str]
    since: str
    until: str
    category: str
    limit: int | None
    threshold: float | None
    hits_per_document: int | None
    synonyms: bool | None
    profile: str
    neighbors: int


class Knowledge:
    """A published database with its project, if it has one here. A context manager; any thread may ask.

    `engine` is made by its name (`search.engine`) when it is first asked.
    """

    def __init__(
        self,
        database: Database,
        config: Config,
        project: Path | None,
        *,
        encoder: Encoder | None = None,
        engine: EngineName = "auto",
    ) -> None:
        self._database = database
        self._config = config
        self._project = project
        self._lock = threading.RLock()
        self._loading = threading.Lock()  # apart: nothing but a search by meaning waits for the encoder
        self.turns = threading.BoundedSemaphore(os.cpu_count() or 1)
        """One for each search under way: more at a time only wait for each other."""
        self._encoder = encoder
        self._engine: Engine | None = None
        self._engine_name: EngineName = engine
        self._warned_at = -RECHECK_SECONDS
        self._warning = ""

    def __enter__(self) -> Knowledge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def database(self) -> Database:
        """The open database, for a second set of settings over the same file."""
        return self._database

    @property
    def engine(self) -> Engine:
        """What ranks; made when it is first asked for. Raises UsageError, MissingDependencyError."""
        with self._lock:
            if self._engine is None:
                self._engine = make_engine(self._engine_name, self._database)
            return self._engine

    @property
    def project(self) -> Path | None:
        """The project's folder, where there is one here."""
        return self._project

    @property
    def config(self) -> Config:
        """The settings it is read with."""
        return self._config

    @property
    def meta(self) -> dict[str, str]:
        """Facts about the build: schema version, digests, counts, the model and its fingerprint."""
        return dict(self._database.meta)

    def search(self, query: str, **options: Unpack[SearchOptions]) -> Results:
        """The best passages for a query; `options` are those of `request`.

        Raises UsageError; EncoderError where `semantic` has no encoder.
        """
        request = self.request(query, **options)
        warning = self.stale_warning()
        with self.turns:
            found = run(self.engine, request, encoder=self.query_encoder)
        return replace(found, warning="; ".join(filter(None, (found.warning, warning, self._database.notice))))

    def request(
        self,
        query: str,
        *,
        mode: str = "",
        sources: Sequence[str] = (),
        kinds: Sequence[str] = (),
        scope: str = "",
        packages: Sequence[str] = (),
        tags: Sequence[str] = (),
        all_tags: Sequence[str] = (),
        path: str = "",
        where: Sequence[tuple[str, str]] | Mapping[str, str] = (),
        since: str = "",
        until: str = "",
        category: str = "",
        limit: int | None = None,
        threshold: float | None = None,
        hits_per_document: int | None = None,
        synonyms: bool | None = None,
        profile: str = "",
        neighbors: int = 0,
    ) -> Request:
        """A query with all that decides its answer.

        `mode` is fast (BM25), semantic (vectors), hybrid or auto; the filters are those of
        `syntropy.search.filters.Filters` (`tags`: any of them); `neighbors` chunks around each hit. What is not
        given comes from `[search]`. Words in double quotes must stand next to each other.
        """
        given = {
            "mode": mode or None,
            "limit": limit,
            "threshold": threshold,
            "hits_per_document": hits_per_document,
            "synonyms": synonyms,
            "profile": profile or None,
        }
        settings = replace(self._config.search, **{k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]
        pairs = tuple(where.items()) if isinstance(where, Mapping) else tuple(where)
        filters = Filters(sources, kinds, scope, packages, tags, all_tags, path, pairs, since, until, category)
        return Request(query, settings, filters, neighbors)

    def search_many(self, queries: Sequence[str], **options: Any) -> list[Results]:
        """`search` for each query, in their order, with the same options; tables and encoder are loaded once."""
        return [self.search(query, **options) for query in queries]

    def texts(self) -> list[tuple[str, str]]:
        """(path, text in lower case) of all documents."""
        return self._database.rows("SELECT path, lower(text) FROM documents ORDER BY document_id")

    def ranking_digest(self) -> str:
        """Digest of what decides an order of hits besides the texts: settings of search and postings."""
        settings = replace(resolved_profile(self._config.search), limit=0, mode="hybrid")
        whole = f"{sorted(vars(settings).items())} {self._database.meta.get('ranking', '')}"
        return hashlib.sha256(whole.encode()).hexdigest()[:16]

    def knowledge_search(
        self,
        query: str,
        sources: Sequence[str] | None = None,
        limit: int = SEED_LIMIT,
        *,
        threshold: float = SEED_THRESHOLD,
    ) -> dict[str, Any]:
        """The knowledge-index seed's tool: one result a document, `{success, query, count, results}`.

        Results have `key, source, excerpt, tags, score` and the citation. Rules carry the label of the
        rule nearest to the passage.
        """
        found = self.search(
            query, sources=sources or tuple(SOURCES), limit=limit, threshold=threshold, hits_per_document=1
        )
        results = [
            {
                "key": self._rule_key(hit) if hit.kind == "rule" else hit.key,
                "source": hit.citation.path,
                "excerpt": hit.snippet,
                "tags": list(hit.tags),
                "score": round(hit.score, 4),
                "citation": str(hit.citation),
            }
            for hit in found.hits
        ]
        answer = {"success": True, "query": query, "count": len(results), "results": results}
        return {**answer, "warning": found.warning} if found.warning else answer

    def document(self, path: str, *, package: str = "") -> Document:
        """A document by path, `package:path`, citation or unique key. Raises DocumentNotFoundError."""
        return documents.get_document(self._database, path, package=package)

    def system_doc(self, path: str) -> Document:
        """A framework document, path below `.ce/`."""
        return documents.get_system_document(self._database, path)

    def user_doc(self, path: str) -> Document:
        """A project document, path below the project's root."""
        return documents.get_user_document(self._database, path)

    def section(self, path: str, heading: str) -> Excerpt:
        """The section under a heading, subsections included."""
        return documents.get_section(self._database, path, heading)

    def lines(self, path: str, start: int, end: int) -> Excerpt:
        """Lines of a document, from 1, both ends included."""
        return documents.get_lines(self._database, path, start, end)

    def rules(self, *, scope: str = "", severity: str = "") -> list[Rule]:
        """Rules by file and line, the framework's first."""
        rows = self._database.rows(
            "SELECT label, severity, r.scope, r.text, heading, "
            "if(package = 'project', path, package || ':' || path) AS path, line, applies_to "
            "FROM rules r JOIN documents USING (document_id) "
            "WHERE (? = '' OR r.scope = ?) AND (? = '' OR severity = ?) ORDER BY r.scope, path, line",
            [scope, scope, severity, severity],
        )
        return [Rule(*(*row[:7], tuple(row[7]))) for row in rows]

    def drift(self) -> DriftReport:
        """Drift of the build; changed sources add a `stale-index` violation (and one claim)."""
        rows = self._database.rows(
            "SELECT type, path, line, message FROM violations ORDER BY path, line, type, message"
        )
        violations = [Violation(*row) for row in rows]
        claims = int(self._database.meta["drift_claims"])
        stale = self.staleness(stale_after=0)
        if stale is not None and stale.stale:
            violations.insert(0, Violation("stale-index", "", 0, stale.message()))
            claims += 1
        return DriftReport(round(len(violations) / claims, 4) if claims else 0.0, claims, violations)

    def staleness(self, *, stale_after: int | None = None) -> Staleness | None:
        """Whether sources changed since the build; None where that is not asked (see `reader.stale_after`)."""
        if self._project is None:
            return None
        limit = self._config.reader.stale_after if stale_after is None else stale_after
        return check_staleness(
            self._project,
            self._project / self._config.paths.cache,
            now=time.time(),
            stale_after=limit,
            out=self._database.folder,
        )

    def close(self) -> None:
        """Close the database; the object is of no use afterwards."""
        with self._lock:
            self._database.close()

    def stale_warning(self) -> str:
        """What to say about staleness; the sources are looked at now and then, not on every query."""
        now = time.monotonic()
        if now - self._warned_at >= RECHECK_SECONDS:
            found = self.staleness()
            self._warning = found.message() if found is not None else ""
            self._warned_at = now
        return self._warning

    def encode(self, query: str) -> list[float]:
        """The query's vector. Raises EncoderError, MissingDependencyError where there is no encoder."""
        return list(self.query_encoder().encode(query))

    def prewarm(self) -> None:
        """Load the encoder and the engine now, so that no query waits for them. Never raises for a missing encoder."""
        self.engine.load(vectors=False)
        try:
            self.query_encoder().encode("warm up")
        except (EncoderError, MissingDependencyError):
            return
        self.engine.load(vectors=True)

    @property
    def has_encoder(self) -> bool:
        """Is the query encoder loaded?"""
        return self._encoder is not None

    def inherit(self, former: Knowledge) -> None:
        """Take the loaded encoder of a former publication, where it is the one for these vectors, too."""
        if self.meta.get("model_fingerprint") == former.meta.get("model_fingerprint"):
            self._encoder = former._encoder

    def query_encoder(self) -> Encoder:
        """What encodes queries; loaded when it is first asked for. Raises EncoderError, MissingDependencyError."""
        with self._loading:
            if self._encoder is None:
                from ..store.encoder import (  # ONNX Runtime takes 0.2 s, and only vectors need it
                    CachedEncoder,
                    load_encoder,
                )

                self._encoder = CachedEncoder(load_encoder(self._database, self._config.embed))
            return self._encoder

    def _rule_key(self, hit: Hit) -> str:
        rows = self._database.rows(
            "SELECT label FROM rules JOIN documents USING (document_id) WHERE path = ? AND package = ? AND line <= ? "
            "ORDER BY line >= ? DESC, abs(line - ?) LIMIT 1",
            [
                hit.citation.path,
                hit.citation.package,
                hit.citation.line_end,
                hit.citation.line_start,
                hit.citation.line_start,
            ],
        )
        return str(rows[0][0]) if rows else hit.key


def open_knowledge(
    path: str | Path | None = None,
    *,
    project: str | Path | None = None,
    out: str | Path | None = None,
    db: str | Path | None = None,
    config: Config | None = None,
    engine: EngineName = "auto",
) -> Knowledge:
    """Open published knowledge.

    `path` may be a project, a folder of artifacts or a database file; `project`, `out` and `db` say which
    it is. A project beside `out` or `db` gives its settings, notes and sources. Without any, the project
    around the current folder. `engine`: "sql" where little is asked, "memory" where much is; "auto" is
    memory where numpy is installed. Raises UsageError, ProjectNotFoundError, DatabaseError.
    """
    if (path is not None and (project, out, db) != (None, None, None)) or (out is not None and db is not None):
        raise UsageError("more than one of path, out and db was given", hint="give one")
    if path is not None:
        place = Path(path)
        if place.is_file():
            db = place
        elif (place / DATABASE).exists() or (place / ".publish").exists():
            out = place
        else:
            project = place
    root = None
    if project is not None or (out is None and db is None):
        root = require_project(Path(project) if project is not None else Path.cwd())
    settings = config or load_config(root)
    if db is not None:
        return Knowledge(
            open_database(db=Path(db), memory_limit=settings.reader.memory_limit), settings, root, engine=engine
        )
    place = Path(out) if out is not None else Path(root or "") / settings.paths.out
    return Knowledge(open_database(out=place, memory_limit=settings.reader.memory_limit), settings, root, engine=engine)
