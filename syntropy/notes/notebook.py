"""The living layer as one object: insights, rules, notes and the graph over both layers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from ..contract.config import Config, find_project, load_config
from ..contract.errors import DatabaseError, EncoderError, ProjectNotFoundError
from ..contract.folders import data_folder
from ..contract.published import DATABASE
from ..contract.text import shortened
from ..contract.times import iso, now
from ..contract.vocabulary import ENTITY_KINDS
from ..read.graph import Graph, UserRelation
from ..read.knowledge import Knowledge, open_knowledge
from ..search.passages import Hit
from .insights import Added, Found, Insight, Insights
from .note_links import Entity, Linker
from .rules_and_notes import Conflict, Maintenance, Note, Notes, Rules, contradictions
from .session import RECENT_DAYS, RECENT_NOTES, Session, session
from .store import NotesError, NotesStore

SAVED = "saved"
"""Origin of a rule that was saved; others stand in files."""


class AnyRule(NamedTuple):
    """A rule of the project's files or a saved one; `origin` is `path:line` or `saved`, `applies_to` as in `Rule`."""

    label: str
    text: str
    origin: str
    applies_to: tuple[str, ...] = ()


class Fresh(NamedTuple):
    """A hit of the living layer."""

    layer: str
    name: str
    kind: str
    title: str
    text: str
    score: float
    created_at: str
    last_validated: str
    superseded_by: str


@dataclass(frozen=True)
class Recall:
    """Fresh hits, best first, and what could not be read."""

    hits: list[Fresh]
    warning: str = ""


def open_notes(
    project: str | Path | None = None, *, user: bool = False, alone: bool = False, file: Path | None = None
) -> Notebook:
    """The living layer of a project (the one around this folder by default), with its published knowledge.

    `alone` leaves the knowledge closed; where there is none, the notes stand alone. `user`: the notes that follow a
    person; `file`: those of this file. Raises ConfigError,
    ProjectNotFoundError.
    """
    root = find_project(Path(project) if project is not None else Path.cwd())
    if root is None and not user and file is None:
        where = project if project is not None else Path.cwd()
        hint = "run `syntropy init` there, or use your own notes (--user)"
        raise ProjectNotFoundError(f"no project at {where}", hint=hint)
    config = load_config(root)
    knowledge: Knowledge | None = None
    problem = ""
    if root is not None and not alone:
        try:
            knowledge = open_knowledge(project=root, config=config)
        except DatabaseError as error:
            if (root / config.paths.out / DATABASE).exists():
                problem = f"the published knowledge was left out: {error.message}"
    notebook = Notebook(file or notes_path(config, root, user=user), knowledge)
    notebook.problem = problem
    return notebook


def merged(hits: Sequence[Hit], fresh: Sequence[Fresh]) -> list[Hit | Fresh]:
    """Both layers by score, the fresh one first where they tie; what was replaced comes last."""
    old = [hit for hit in fresh if hit.superseded_by]
    current = [hit for hit in fresh if not hit.superseded_by]
    both: list[Hit | Fresh] = [*current, *hits]
    return [*sorted(both, key=lambda hit: -hit.score), *old]


def now_utc() -> str:
    """The present second, ISO 8601."""
    return iso(now())


def notes_path(config: Config, project: Path | None, *, user: bool = False) -> Path:
    """Where the notes lie: below the project, or those that follow a person."""
    if user or project is None:
        return data_folder() / "notes.sqlite"
    return project / config.notes.path


class Notebook:
    """The notes at a path beside the canonical knowledge, which may be missing. A context manager."""

    def __init__(
        self, path: Path, knowledge: Knowledge | None, *, clock: Callable[[], str] = now_utc, borrowed: bool = False
    ) -> None:
        """`borrowed`: the knowledge stays open when this is closed."""
        self.path, self._knowledge, self._clock, self._borrowed = path, knowledge, clock, borrowed
        self.problem = ""
        """Why there is no knowledge although something is published; empty where nothing is wrong."""

    def __enter__(self) -> Notebook:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, and the knowledge unless it is borrowed."""
        for name in ("writer", "reader"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()
        if self._knowledge is not None and not self._borrowed:
            self._knowledge.close()

    @cached_property
    def writer(self) -> NotesStore:
        """The file for writing, made if it is missing. Raises NotesError."""
        return NotesStore(self.path, write=True)

    @cached_property
    def reader(self) -> NotesStore:
        """The file for reading. Raises NotesError: missing, damaged, newer."""
        return self.__dict__.get("writer") or NotesStore(self.path)

    def add_insight(
        self, text: str, *, project: str = "", tags: Sequence[str] = (), linked_entities: Sequence[str] = ()
    ) -> Added:
        """Store what was learned, linked to canonical entities. Raises UsageError, NotesError."""
        return Insights(self.writer).add(
            text,
            now=self._clock(),
            linker=self.linker,
            known=self.known,
            project=project,
            tags=tags,
            linked_entities=[self.resolved(name) for name in linked_entities],
        )

    def edit_insight(self, insight_id: str, *, text: str = "", tags: Sequence[str] | None = None) -> Insight:
        """Change text or tags; a new text is linked anew. Raises UsageError, NotesError."""
        insights = Insights(self.writer)
        return insights.edit(insight_id, now=self._clock(), text=text, tags=tags, linker=self.linker)

    def confirm_links(
        self, insight_id: str, *, accepted: Sequence[str] = (), rejected: Sequence[str] = (), merged_with: str = ""
    ) -> Insight:
        """Accept or reject links, or merge into another insight. Raises UsageError, NotesError."""
        return Insights(self.writer).confirm(
            insight_id,
            now=self._clock(),
            known=self.known,
            accepted=[self.resolved(name) for name in accepted],
            rejected=[self.resolved(name) for name in rejected],
            merged_with=merged_with,
        )

    def search_insights(
        self, query: str, *, limit: int = 10, superseded: bool = False, semantic: bool | None = None
    ) -> list[Found]:
        """Insights by words and by meaning: vectors that are missing are made first.

        `semantic`: False for words only, True where meaning must be had; by default where an encoder is at hand.
        Raises UsageError for a limit out of 1-20; EncoderError where `semantic` has no encoder.
        """
        vector = self._vector(query, semantic)
        return self.insights().search(query, limit=limit, superseded=superseded, vector=vector)

    def search_notes(self, query: str, *, limit: int = 10, semantic: bool | None = None) -> list[tuple[Note, float]]:
        """Notes by words and by meaning, as `search_insights`; those found count as used."""
        found = self.notes().search(query, limit=limit, vector=self._vector(query, semantic))
        self._count_use([note.id for note, _ in found])
        return found

    def _vector(self, query: str, semantic: bool | None) -> Sequence[float]:
        """The query's vector, and vectors for what has none yet; empty where words must do."""
        if semantic is False:
            return ()
        self.reader.rows("SELECT 1")  # a damaged file is said to be one, before anybody writes
        if self._knowledge is None:
            if semantic:
                message = "there is no built knowledge whose encoder could be used"
                raise EncoderError(message, hint="run `syntropy build`")
            return ()
        try:
            vector = self._knowledge.encode(query)
        except EncoderError:
            if semantic:
                raise
            return ()
        with contextlib.suppress(NotesError):  # a file that can only be read is searched as it is
            self.insights(write=True).embed_missing(self._knowledge.encode)
            self.notes(write=True).embed_missing(self._knowledge.encode)
        return vector

    def _count_use(self, numbers: Sequence[int]) -> None:
        with contextlib.suppress(NotesError):
            self.notes(write=True).used(numbers, now=self._clock())

    def relate(self, insight_id: str, kind: str, target: str) -> Insight:
        """Relate an insight to another one, an entity or a document. Raises UsageError, NotesError."""
        insights = Insights(self.writer)
        return insights.relate(insight_id, kind, self.resolved(target), now=self._clock(), known=self.known)

    def insights(self, *, write: bool = False) -> Insights:
        """The insights, to read or to change."""
        return Insights(self.writer if write else self.reader)

    def rules(self, *, write: bool = False) -> Rules:
        """The saved rules, to read or to change."""
        return Rules(self.writer if write else self.reader)

    def notes(self, *, write: bool = False) -> Notes:
        """The notes, to read or to change."""
        return Notes(self.writer if write else self.reader)

    @cached_property
    def linker(self) -> Linker:
        """Over the canonical entities of the database; empty without one."""
        if self._knowledge is None:
            return Linker([])
        kinds = ", ".join(f"'{kind}'" for kind in ENTITY_KINDS)
        database = self._knowledge.database
        tags: dict[int, list[str]] = {}
        for number, tag in database.rows("SELECT document_id, tag FROM tags ORDER BY document_id, position"):
            tags.setdefault(number, []).append(tag)
        rows = database.rows(
            "SELECT document_id, key, title, aliases, keywords, summary FROM documents "
            f"WHERE kind IN ({kinds}) ORDER BY key"
        )
        return Linker(
            [
                Entity(key, title, tuple(a for a in aliases if a != key), (*tags.get(number, ()), *keywords), summary)
                for number, key, title, aliases, keywords, summary in rows
            ]
        )

    def known(self, name: str) -> bool:
        """Is there a canonical entity, entry or other document of this id or path?"""
        if self._knowledge is None:
            return False
        return bool(self._knowledge.database.rows("SELECT 1 FROM documents WHERE key = ? OR path = ?", [name, name]))

    def resolved(self, name: str) -> str:
        """An id as the database spells it; upper and lower case do not matter."""
        if self._knowledge is None or self.known(name):
            return name
        rows = self._knowledge.database.rows("SELECT key FROM documents WHERE lower(key) = lower(?) LIMIT 2", [name])
        return str(rows[0][0]) if len(rows) == 1 else name

    def all_rules(self) -> tuple[list[AnyRule], list[Conflict]]:
        """Saved rules and those of the project's files, each with its origin; and what contradicts what."""
        found: list[AnyRule] = []
        with contextlib.suppress(NotesError):
            found += [AnyRule(rule.label, rule.content, SAVED) for rule in self.rules().all()]
        if self._knowledge is not None:
            found += [
                AnyRule(rule.label, rule.text, f"{rule.path}:{rule.line}", rule.applies_to)
                for rule in self._knowledge.rules()
            ]
        return found, contradictions([(rule.label, rule.text) for rule in found])

    def saved_rules(self) -> list[str]:
        """The texts of the saved rules; none where there is no file."""
        if not self.path.is_file() and "writer" not in self.__dict__:
            return []
        return [rule.content for rule in self.rules().all()]

    def recall(self, query: str, *, limit: int = 10, semantic: bool | None = None) -> Recall:
        """Insights and notes for a query; a missing file is not a hit, a damaged one a warning.

        What is shown counts as used, whoever asked. `semantic` as in `search_insights`.
        """
        if not self.path.is_file() and "writer" not in self.__dict__:
            return Recall([])
        try:
            vector = self._vector(query, semantic)
            hits = [
                Fresh(
                    "tacit", i.id, "insight", i.title, i.content, score, i.created_at, i.last_validated, i.superseded_by
                )
                for i, score in self.insights().search(query, limit=min(limit, 20), vector=vector)
            ]
            found = self.notes().search(query, limit=limit, vector=vector)
        except NotesError as error:
            return Recall([], f"the notes were left out: {error.message}")
        for note, score in found:
            title = shortened(" ".join(note.content.split()), 80)
            fresh = Fresh("tacit", f"note {note.id}", note.type, title, note.content, score, note.created_at, "", "")
            hits.append(fresh)
        hits.sort(key=lambda hit: (bool(hit.superseded_by), -hit.score, hit.name))
        shown = {hit.name for hit in hits[:limit]}
        self._count_use([note.id for note, _ in found if f"note {note.id}" in shown])
        return Recall(hits[:limit])

    def graph(self) -> Graph:
        """Both layers as they are now. Raises NotesError where there is a file that cannot be read."""
        insights: list[tuple[str, str]] = []
        relations: list[UserRelation] = []
        if self.path.is_file() or "writer" in self.__dict__:
            for insight in self.insights().all(superseded=True):
                insights.append((insight.id, insight.title))
                for kind, targets in insight.relations.items():
                    for target in targets:
                        facts = insight.provenance.get(target, {})
                        origin = str(facts.get("source", "user"))
                        relations.append(UserRelation(insight.id, kind, target, origin, insight.confidence))
        return Graph(self._knowledge.database if self._knowledge else None, insights, relations)

    def session(self, *, budget: int, now: datetime, maintain: bool = True) -> Session:
        """What an agent is told when a session starts: saved rules (those of files it reads itself), recent notes.

        Runs the daily maintenance, which writes, unless told not to.
        """
        if not self.path.is_file():
            return Session([], [], "", "", 0)
        rules = [rule.content for rule in self.rules().all()]
        maintenance = Maintenance(0, 0, 0)
        with contextlib.suppress(NotesError):  # a file that can only be read is read
            if maintain:
                maintenance = self.notes(write=True).maintain(now=now)
        notes = self.notes()
        since = iso(now - timedelta(days=RECENT_DAYS))
        recent = [n for n in notes.all(since=since, limit=RECENT_NOTES * 2) if n.type != "handoff"]
        recent += [_as_note(insight) for insight in self.insights().all() if insight.created_at >= since]
        recent.sort(key=lambda note: note.created_at, reverse=True)
        handoffs = notes.all(kind="handoff", limit=1)
        return session(rules, recent[:RECENT_NOTES], handoffs[0] if handoffs else None, maintenance, budget=budget)


def _as_note(insight: Insight) -> Note:
    """An insight among the notes of a session's start; its number is not a note's."""
    return Note(
        id=-int(insight.id.rpartition("-")[2]),
        type=f"insight {insight.id}",
        content=insight.content,
        project="",
        tags=insight.tags,
        tier="longterm",
        pinned=False,
        access_count=0,
        last_accessed="",
        archived=False,
        created_at=insight.created_at,
        updated_at=insight.updated_at,
        label="",
    )
