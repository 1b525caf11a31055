"""Rules and notes: rows of Synaptic's `entries`.

A rule has a label of its own, is long-term and pinned, and is never embedded. A note has a type and a tier
that follows its age and use.
"""

from __future__ import annotations

import array
import contextlib
import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from ..contract.errors import UsageError
from ..contract.identity import slugify
from ..contract.times import iso
from .identities import NOTE, RULE, drop, identify, uid_of
from .lookup import blended, cosines, index_entry, lexical_shares
from .store import NotesError, NotesStore

TYPES = ("decision", "progress", "issue", "handoff", "insight", "reference", "checkpoint")
TIERS = ("ephemeral", "working", "longterm")
_BORN = {
    "handoff": "ephemeral",
    "checkpoint": "ephemeral",
    "progress": "ephemeral",
    "decision": "longterm",
    "reference": "longterm",
}
"""Tier of a new note by its type; `working` for the others."""

EPHEMERAL_DAYS = 7
WORKING_DAYS = 30
PROMOTE_AT = 5
"""Uses from which a note moves up a tier."""

MAX_TEXT = 20_000
MAX_LIMIT = 1_000


@dataclass(frozen=True)
class Note:
    """One entry; times are ISO 8601, UTC."""

    id: int
    type: str
    content: str
    project: str
    tags: tuple[str, ...]
    tier: str
    pinned: bool
    access_count: int
    last_accessed: str
    archived: bool
    created_at: str
    updated_at: str
    label: str

    def as_dict(self) -> dict[str, object]:
        """Its fields as plain data, for JSON."""
        return dict(vars(self)) | {"tags": list(self.tags)}


class Maintenance(NamedTuple):
    """How many notes were archived for age, moved down, and moved up."""

    decayed: int
    demoted: int
    promoted: int

    @property
    def happened(self) -> bool:
        """Was anything put away?"""
        return any(self)


class Conflict(NamedTuple):
    """Two rules that contradict each other, and why."""

    label: str
    text: str
    other: str
    other_text: str
    why: str


class Rules:
    """The saved rules of one store."""

    def __init__(self, store: NotesStore) -> None:
        self._store = store

    def save(self, label: str, content: str, *, now: str) -> Note:
        """Write a rule; one of the same label is replaced. Raises UsageError for blank ones."""
        name = slugify(label)
        if not name:
            raise UsageError(f"{label!r} is not a label", hint='use a short key, e.g. "commit-messages"')
        text = checked(content, "rule")
        with self._store.writing() as connection:
            connection.execute(
                "INSERT INTO entries (type, content, tier, pinned, created_at, updated_at, label) "
                "VALUES ('rule', ?, 'longterm', 1, ?, ?, ?) ON CONFLICT(label) WHERE type = 'rule' "
                "DO UPDATE SET content = excluded.content, updated_at = excluded.updated_at, tier = 'longterm', "
                "pinned = 1, archived = 0",
                (text, now, now, name),
            )
            number = connection.execute("SELECT id FROM entries WHERE type = 'rule' AND label = ?", (name,)).fetchone()[
                0
            ]
            identify(connection, RULE, str(number), uid_of(RULE, now, text, name))
        return next(rule for rule in self.all() if rule.label == name)

    def delete(self, label: str, *, now: str) -> None:
        """Delete a rule for good. Raises UsageError: rule not found."""
        with self._store.writing() as connection:
            find = "SELECT id FROM entries WHERE type = 'rule' AND label = ?"
            row = connection.execute(find, (slugify(label),)).fetchone()
            if row is not None:
                drop(connection, RULE, str(row[0]), now=now)
        if row is None:
            known = ", ".join(rule.label for rule in self.all()) or "none"
            raise UsageError(f"rule not found: {label!r}", hint=f"saved rules: {known}")

    def all(self) -> list[Note]:
        """All active rules by label."""
        rows = self._store.rows("SELECT * FROM entries WHERE type = 'rule' AND NOT archived ORDER BY label")
        return [decoded(row) for row in rows]


class Notes:
    """The notes of one store."""

    def __init__(self, store: NotesStore) -> None:
        self._store = store

    def save(
        self, kind: str, content: str, *, now: str, project: str = "", tags: Sequence[str] = (), tier: str = ""
    ) -> Note:
        """Write a note. Raises UsageError for unknown types or tiers and blank texts."""
        _known("type", kind, TYPES)
        if tier:
            _known("tier", tier, TIERS)
        text = checked(content, "note")
        names = _names(tags)
        with self._store.writing() as connection:
            number = connection.execute(
                "INSERT INTO entries (type, content, project, tags, tier, created_at, updated_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
                (
                    kind,
                    text,
                    project,
                    json.dumps(names, ensure_ascii=False),
                    tier or _BORN.get(kind, "working"),
                    now,
                    now,
                ),
            ).fetchone()[0]
            index_entry(connection, "note", str(number), text, names)
            identify(connection, NOTE, str(number), uid_of(NOTE, now, text))
        return self.get(number)

    def edit(
        self, number: int, *, now: str, text: str = "", tags: Sequence[str] | None = None, pinned: bool | None = None
    ) -> Note:
        """Change text, tags or whether it is pinned (kept from ageing). Raises UsageError where nothing changes."""
        note = self.get(number)
        if not text.strip() and tags is None and pinned is None:
            raise UsageError(
                f"nothing of note {number} is to be changed", hint="give a text, tags, or whether to pin it"
            )
        content = checked(text, "note") if text.strip() else note.content
        pin = int(note.pinned if pinned is None else pinned)
        names = list(note.tags) if tags is None else _names(tags)
        with self._store.writing() as connection:
            connection.execute(
                "UPDATE entries SET content = ?, tags = ?, pinned = ?, updated_at = ? WHERE id = ?",
                (content, json.dumps(names, ensure_ascii=False), pin, now, number),
            )
            if text.strip():
                connection.execute("DELETE FROM syntropy_note_vectors WHERE entry_id = ?", (number,))
            index_entry(connection, "note", str(number), content, names)
        return self.get(number)

    def get(self, number: int) -> Note:
        """A note by number. Raises UsageError."""
        rows = self._store.rows("SELECT * FROM entries WHERE id = ? AND type <> 'rule'", (number,))
        if not rows:
            raise UsageError(f"there is no note {number}", hint="`syntropy notes list`")
        return decoded(rows[0])

    def all(
        self, *, since: str = "", kind: str = "", project: str = "", archived: bool = False, limit: int = 1_000
    ) -> list[Note]:
        """Notes, the newest first. `since`: ISO 8601."""
        if kind:
            _known("type", kind, TYPES)
        rows = self._store.rows(
            "SELECT * FROM entries WHERE type <> 'rule' AND created_at >= ? AND (? = '' OR type = ?) "
            "AND (? = '' OR project = ?) AND (? OR NOT archived) ORDER BY created_at DESC, id DESC LIMIT ?",
            (since, kind, kind, project, project, archived, limit),
        )
        return [decoded(row) for row in rows]

    def archive(self, number: int, *, now: str, archived: bool = True) -> Note:
        """Hide a note from lists and searches, or show it again; it is kept."""
        self.get(number)
        with self._store.writing() as connection:
            connection.execute("UPDATE entries SET archived = ?, updated_at = ? WHERE id = ?", (archived, now, number))
        return self.get(number)

    def search(self, query: str, *, limit: int = 10, vector: Sequence[float] = ()) -> list[tuple[Note, float]]:
        """Notes for a query of any form, with a score of 0-1: the share of its information, and with the query's
        `vector` also the likeness of meaning. Raises UsageError: limit.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise UsageError(f"limit {limit} is out of range", hint=f"give 1 to {MAX_LIMIT}")
        scores = lexical_shares(self._store, "note", query)
        if vector:
            rows = self._store.rows("SELECT entry_id, embedding FROM syntropy_note_vectors")
            scores = blended(scores, cosines(rows, vector))
        shown = self._store.rows("SELECT id FROM entries WHERE NOT archived AND type <> 'rule'")
        kept = {str(row["id"]) for row in shown}
        best = sorted((key for key in scores if key in kept), key=lambda key: (-scores[key], -int(key)))[:limit]
        marks = ", ".join("?" * len(best)) or "NULL"
        rows = self._store.rows(f"SELECT * FROM entries WHERE id IN ({marks})", [int(key) for key in best])
        by_id = {str(row["id"]): decoded(row) for row in rows}
        return [(by_id[key], round(scores[key], 4)) for key in best if key in by_id]

    def embed_missing(self, encode: Callable[[str], Sequence[float]], *, limit: int = 1_000) -> int:
        """Vectors (float32, little-endian) for notes without one; how many were made."""
        rows = self._store.rows(
            "SELECT id, content FROM entries WHERE type <> 'rule' AND NOT archived "
            "AND id NOT IN (SELECT entry_id FROM syntropy_note_vectors) ORDER BY id DESC LIMIT ?",
            (limit,),
        )
        for row in rows:
            vector = array.array("f", encode(row["content"])).tobytes()
            with self._store.writing() as connection:
                connection.execute("INSERT OR REPLACE INTO syntropy_note_vectors VALUES (?, ?)", (row["id"], vector))
        return len(rows)

    def used(self, numbers: Sequence[int], *, now: str) -> None:
        """Count an access of all given notes, in one statement."""
        if not numbers:
            return
        marks = ", ".join("?" * len(numbers))
        with contextlib.suppress(NotesError), self._store.writing(wait=0.1) as connection:  # not worth waiting for
            connection.execute(
                f"UPDATE entries SET access_count = access_count + 1, last_accessed = ? WHERE id IN ({marks})",
                (now, *numbers),
            )

    def maintain(self, *, now: datetime, force: bool = False) -> Maintenance:
        """Once a day: archive old ephemeral notes, move unused ones down, used ones up."""
        stamp, day = iso(now), now.date().isoformat()
        with self._store.writing() as connection:
            last = connection.execute("SELECT value FROM syntropy_state WHERE key = 'maintained'").fetchone()
            if last is not None and last[0] >= day and not force:
                return Maintenance(0, 0, 0)
            seen = "max(created_at, last_accessed)"
            free = "type <> 'rule' AND NOT pinned AND NOT archived"
            promoted = connection.execute(
                "UPDATE entries SET tier = CASE tier WHEN 'ephemeral' THEN 'working' ELSE 'longterm' END, "
                f"access_count = 0, updated_at = ? WHERE {free} AND tier <> 'longterm' AND access_count >= ?",
                (stamp, PROMOTE_AT),
            ).rowcount
            decayed = connection.execute(
                f"UPDATE entries SET archived = 1, updated_at = ? WHERE {free} AND tier = 'ephemeral' "
                f"AND max(updated_at, {seen}) < ?",  # a note that was moved down yesterday has its days before it
                (stamp, iso(now - timedelta(days=EPHEMERAL_DAYS))),
            ).rowcount
            demoted = connection.execute(
                f"UPDATE entries SET tier = 'ephemeral', updated_at = ? "
                f"WHERE {free} AND tier = 'working' AND {seen} < ?",
                (stamp, iso(now - timedelta(days=WORKING_DAYS))),
            ).rowcount
            connection.execute("INSERT OR REPLACE INTO syntropy_state VALUES ('maintained', ?)", (day,))
        return Maintenance(decayed, demoted, promoted)


def contradictions(rules: Sequence[tuple[str, str]]) -> list[Conflict]:
    """Rules (label, text) of one label with different texts, or of one directive with opposite polarity."""
    found = []
    by_label: dict[str, tuple[str, str]] = {}
    by_directive: dict[tuple[str, ...], tuple[str, str, bool]] = {}
    for label, text in rules:
        if label in by_label and by_label[label][1] != text:
            found.append(Conflict(label, text, *by_label[label], "the same label says two things"))
        by_label.setdefault(label, (label, text))
        for clause in re.split(r"[;.!?\n]+", text):
            directive, forbids = _directive(clause)
            if not directive:
                continue
            known = by_directive.setdefault(directive, (label, text, forbids))
            if known[2] != forbids:
                found.append(Conflict(label, text, known[0], known[1], "one demands what the other forbids"))
    return found


_NEGATIVE = frozenset({"never", "not", "no", "don't", "dont", "avoid", "forbidden", "without"})
_EMPTY = frozenset({
    "always", "do", "must", "should", "please", "you", "we", "your", "our", "i", "it", "the", "a", "an", "to", "only",
    "be", "is", "ever", "that", "has", "have", "been",
})  # fmt: skip


def _directive(text: str) -> tuple[tuple[str, ...], bool]:
    """The words of a rule without its polarity, sorted; and whether it forbids."""
    words = [word.strip(".,;:!?\"'`()*").lower().replace("\u2019", "'") for word in text.split()]
    forbids = sum(word in _NEGATIVE for word in words) % 2 == 1
    return tuple(sorted(w for w in words if w and w not in _NEGATIVE and w not in _EMPTY)), forbids


def decoded(row: sqlite3.Row) -> Note:
    """A row of `entries`."""
    try:
        tags = json.loads(row["tags"] or "[]")
    except ValueError:
        tags = str(row["tags"]).split(",")  # files of other programs
    return Note(
        int(row["id"]),
        row["type"],
        row["content"],
        row["project"] or "",
        tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        row["tier"] or "working",
        bool(row["pinned"]),
        int(row["access_count"] or 0),
        row["last_accessed"] or "",
        bool(row["archived"]),
        row["created_at"] or "",
        row["updated_at"] or "",
        row["label"] or "",
    )


def checked(text: str, what: str) -> str:
    """A text that can be stored, credentials replaced. Raises UsageError for blank and overlong ones."""
    from ..contract.secrets import redact  # 30 ms of patterns, and only who writes needs them

    content = redact(text.encode("utf-8", "replace").decode().replace("\0", "").strip())[0]
    if not content:
        raise UsageError(f"the {what} is empty", hint="write its text")
    if len(content) > MAX_TEXT:
        raise UsageError(f"the {what} has {len(content)} characters, more than {MAX_TEXT}", hint="write a document")
    return content


def _names(tags: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(tag.strip().lower() for tag in tags if tag.strip()))


def _known(what: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise UsageError(f"unknown {what} {name!r}", hint=f"choose from: {', '.join(names)}")
