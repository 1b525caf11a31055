"""Insights (`TK-001`): what was learned, linked to canonical entities, confirmed or rejected over time."""

from __future__ import annotations

import array
import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..contract.errors import UsageError
from ..contract.text import index_terms, jaccard, shortened
from ..contract.vocabulary import INSIGHT_RELATIONS
from .identities import INSIGHT, drop, identify, uid_of
from .lookup import blended, cosines, index_entry, lexical_shares
from .note_links import AUTO_LINK, Link, Linker
from .rules_and_notes import checked
from .store import NotesStore

CONFIDENCE = 0.5
"""Of a new insight (the seed)."""

CONFIRMED = 0.05
"""Added once for each confirmed link, up to 1 (the seed)."""

DUPLICATE = 0.6
"""Share of common terms (Jaccard) from which a new insight is called a copy of another one."""

CORRELATED = 0.3
"""Share of common links from which insights are correlated."""

MAX_LIMIT = 20

_TITLE_LENGTH = 80
_ID = re.compile(r"^TK-\d{3,}$")


_NEXT = (
    "INSERT INTO insight_seq VALUES ('TK', 1 + coalesce((SELECT max(CAST(substr(id, 4) AS INTEGER)) "
    "FROM user_entities WHERE id LIKE 'TK-%'), 0)) ON CONFLICT(key) DO UPDATE SET val = val + 1 RETURNING val"
)
"""The next number, inside the transaction that uses it; a file without a counter goes on behind its last id."""


@dataclass(frozen=True)
class Insight:
    """One row of `user_entities`, decoded. `superseded_by` names what replaced it."""

    id: str
    title: str
    content: str
    author: str
    confidence: float
    evidence_count: int
    last_validated: str
    tags: tuple[str, ...]
    relations: dict[str, list[str]]
    created_at: str
    updated_at: str
    provenance: dict[str, dict[str, Any]]
    superseded_by: str = ""

    def links(self) -> list[str]:
        """Ids of the canonical entities it is linked to."""
        return [target for kind in ("derives_from", "applies_to") for target in self.relations.get(kind, [])]

    def as_dict(self) -> dict[str, object]:
        """Its fields as plain data, for JSON."""
        return dict(vars(self)) | {"tags": list(self.tags)}


class Added(NamedTuple):
    """A new insight and what was found about it."""

    insight: Insight
    linked: list[Link]
    suggested: list[Link]
    duplicates: list[tuple[str, float]]
    correlations: list[tuple[str, float]]


class Found(NamedTuple):
    """A search hit: score 0-1."""

    insight: Insight
    score: float


class Insights:
    """The insights of one store. `known(id)` says whether a canonical entity exists."""

    def __init__(self, store: NotesStore) -> None:
        self._store = store

    def add(
        self,
        text: str,
        *,
        now: str,
        linker: Linker,
        known: Callable[[str], bool],
        project: str = "",
        tags: Sequence[str] = (),
        linked_entities: Sequence[str] = (),
        author: str = "user",
    ) -> Added:
        """Store an insight. Raises UsageError for a blank text or entities that do not exist."""
        content = checked(text, "insight")
        for entity in linked_entities:
            if not known(entity):
                raise UsageError(f"no entity is called {entity!r}", hint="`syntropy search WORDS --source entities`")
        explicit = list(dict.fromkeys(linked_entities))
        links = [link for link in linker.links(content) if link.entity not in explicit]
        auto = [link for link in links if link.score >= AUTO_LINK]
        relations = {"derives_from": [link.entity for link in auto], "applies_to": explicit}
        provenance = {link.entity: {"source": "auto", "score": link.score, "at": now, "state": "open"} for link in auto}
        provenance |= {e: {"source": "explicit", "score": 1.0, "at": now, "state": "open"} for e in explicit}
        names = _tags(tags, project)
        duplicates = self._alike(content)
        with self._store.writing() as connection:
            name = next_id(connection)
            connection.execute(
                "INSERT INTO user_entities (id, title, content, author, confidence, tags, relations, created_at, "
                "updated_at, link_provenance) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (name, _title(content), content, author, CONFIDENCE, _json(names), _json(_kept(relations)), now, now,
                 _json(provenance)),
            )  # fmt: skip
            _write_relations(connection, name, relations)
            _index(connection, name, content, names)
            identify(connection, INSIGHT, name, uid_of(INSIGHT, now, content))
        insight = self.get(name)
        return Added(
            insight,
            auto,
            [link for link in links if link.score < AUTO_LINK],
            duplicates,
            self.correlated(insight),
        )

    def get(self, name: str) -> Insight:
        """An insight by id. Raises UsageError."""
        rows = self._store.rows("SELECT * FROM user_entities WHERE id = ?", (name.strip().upper(),))
        if not rows:
            raise UsageError(f"no insight is called {name!r}", hint="`syntropy insight list`")
        return self._decoded(rows)[0]

    def all(self, *, superseded: bool = False) -> list[Insight]:
        """All, the newest first; those that were replaced only on request."""
        found = self._decoded(self._store.rows("SELECT * FROM user_entities ORDER BY created_at DESC, id DESC"))
        return [i for i in found if superseded or not i.superseded_by]

    def search(
        self, query: str, *, limit: int = 10, superseded: bool = False, vector: Sequence[float] = ()
    ) -> list[Found]:
        """The best insights for a query of any form; what was replaced is hidden unless asked for.

        With a query's `vector` those that have one are also found by meaning. Raises UsageError for a
        limit out of 1-20.
        """
        if not 1 <= limit <= MAX_LIMIT:
            raise UsageError(f"limit {limit} is out of range", hint=f"give 1 to {MAX_LIMIT}")
        shares = self._lexical(query)
        near = cosines(self._store.rows("SELECT entity_id, embedding FROM user_embeddings"), vector)
        scores = blended(shares, near) if vector else shares
        best = sorted(scores, key=lambda name: (-scores[name], name))[: limit * 4]
        marks = ", ".join("?" * len(best)) or "NULL"
        rows = self._store.rows(f"SELECT * FROM user_entities WHERE id IN ({marks})", best)
        by_id = {i.id: i for i in self._decoded(rows)}
        found = [Found(by_id[n], round(min(1.0, scores[n]), 4)) for n in best if n in by_id]
        fresh = [f for f in found if not f.insight.superseded_by]
        old = [f for f in found if f.insight.superseded_by]
        shown = {f.insight.id for f in fresh}
        for hit in old:  # what replaced a hit is the answer now
            successor = hit.insight
            while successor.superseded_by:
                successor = self.get(successor.superseded_by)
            if successor.id not in shown:
                shown.add(successor.id)
                fresh.append(Found(successor, hit.score))
        fresh.sort(key=lambda f: (-f.score, f.insight.id))
        return [*fresh, *(old if superseded else [])][:limit]

    def confirm(
        self,
        name: str,
        *,
        now: str,
        known: Callable[[str], bool],
        accepted: Sequence[str] = (),
        rejected: Sequence[str] = (),
        merged_with: str = "",
    ) -> Insight:
        """Accept or reject links; merge into another insight, which then supersedes this one.

        Each link raises the confidence once, however often it is confirmed; a rejected automatic link is
        removed and never made again. Raises UsageError for ids that do not exist.
        """
        insight = self.get(name)
        for entity in accepted:
            if entity not in insight.links() and not known(entity):
                raise UsageError(f"no entity is called {entity!r}", hint=f"{insight.id} has links to {insight.links()}")
        for entity in rejected:
            if entity not in insight.provenance and entity not in insight.links():
                raise UsageError(f"{insight.id} has no link to {entity!r}", hint=f"its links: {insight.links()}")
        if set(accepted) & set(rejected):
            raise UsageError("a link cannot be accepted and rejected", hint="name it once")
        target = self.get(merged_with) if merged_with else None
        if target is not None and (target.id == insight.id or self._replaces(insight.id, target.id)):
            raise UsageError(f"{insight.id} supersedes {target.id} itself", hint="name another insight")
        if target is not None and insight.superseded_by and insight.superseded_by != target.id:
            hint = f"merge {insight.superseded_by} instead"
            raise UsageError(f"{insight.id} is superseded by {insight.superseded_by} already", hint=hint)
        with self._store.writing() as connection:
            row = connection.execute("SELECT * FROM user_entities WHERE id = ?", (insight.id,)).fetchone()
            relations, provenance = json.loads(row["relations"]), json.loads(row["link_provenance"])
            confidence, evidence = float(row["confidence"]), int(row["evidence_count"])
            for entity in dict.fromkeys(accepted):
                facts = provenance.setdefault(entity, {"source": "confirmed", "score": 1.0, "at": now, "state": "open"})
                if facts.get("state") != "accepted":
                    confidence, evidence = min(1.0, confidence + CONFIRMED), evidence + 1
                facts |= {"state": "accepted", "confirmed_at": now}
                if entity not in [t for targets in relations.values() for t in targets]:
                    relations.setdefault("derives_from", []).append(entity)
            for entity in dict.fromkeys(rejected):
                former = provenance.setdefault(entity, {"source": "auto", "score": 0.0, "at": now})
                if former.get("state") == "accepted":  # what it had added is taken back
                    confidence, evidence = max(0.0, confidence - CONFIRMED), max(0, evidence - 1)
                provenance[entity] |= {"state": "rejected", "rejected_at": now}
                relations = {kind: [t for t in targets if t != entity] for kind, targets in relations.items()}
            connection.execute(
                "UPDATE user_entities SET relations = ?, link_provenance = ?, confidence = ?, evidence_count = ?, "
                "last_validated = ?, updated_at = ? WHERE id = ?",
                (_json(_kept(relations)), _json(provenance), round(confidence, 4), evidence, now, now, insight.id),
            )
            _write_relations(connection, insight.id, relations)
            if target is not None:
                theirs = json.loads(
                    connection.execute("SELECT relations FROM user_entities WHERE id = ?", (target.id,)).fetchone()[0]
                )
                theirs.setdefault("supersedes", [])
                theirs["supersedes"] = list(dict.fromkeys([*theirs["supersedes"], insight.id]))
                connection.execute(
                    "UPDATE user_entities SET relations = ?, updated_at = ? WHERE id = ?",
                    (_json(theirs), now, target.id),
                )
                _write_relations(connection, target.id, theirs)
        return self.get(insight.id)

    def edit(
        self,
        name: str,
        *,
        now: str,
        text: str = "",
        tags: Sequence[str] | None = None,
        linker: Linker | None = None,
    ) -> Insight:
        """Change text or tags. With a new text, automatic links that nobody confirmed are found anew, and it
        counts as not validated. Raises UsageError where nothing is to be changed.
        """
        insight = self.get(name)
        if not text.strip() and tags is None:
            raise UsageError(f"nothing of {insight.id} is to be changed", hint="give --text or --tags")
        content = checked(text, "insight") if text else insight.content
        names = list(insight.tags) if tags is None else _tags(tags, "")
        with self._store.writing() as connection:
            connection.execute(
                "UPDATE user_entities SET title = ?, content = ?, tags = ?, updated_at = ? WHERE id = ?",
                (_title(content), content, _json(names), now, insight.id),
            )
            connection.execute("DELETE FROM user_embeddings WHERE entity_id = ? AND ?", (insight.id, bool(text)))
            _index(connection, insight.id, content, names)
            if text.strip() and linker is not None:
                self._relink(connection, insight, linker.links(content), now)
        return self.get(insight.id)

    def _relink(self, connection: sqlite3.Connection, insight: Insight, links: Sequence[Link], now: str) -> None:
        provenance = dict(insight.provenance)
        loose = {e for e, facts in provenance.items() if facts.get("source") == "auto" and facts.get("state") == "open"}
        relations = {kind: [t for t in targets if t not in loose] for kind, targets in insight.relations.items()}
        provenance = {entity: facts for entity, facts in provenance.items() if entity not in loose}
        for link in links:
            if link.score >= AUTO_LINK and link.entity not in provenance:
                relations.setdefault("derives_from", []).append(link.entity)
                provenance[link.entity] = {"source": "auto", "score": link.score, "at": now, "state": "open"}
        connection.execute(
            "UPDATE user_entities SET relations = ?, link_provenance = ?, last_validated = '' WHERE id = ?",
            (_json(_kept(relations)), _json(provenance), insight.id),
        )
        _write_relations(connection, insight.id, relations)

    def relate(self, name: str, kind: str, target: str, *, now: str, known: Callable[[str], bool]) -> Insight:
        """Relate an insight to another one, or to an entity or document. Raises UsageError: unknown ids or kinds."""
        if kind not in INSIGHT_RELATIONS:
            raise UsageError(f"unknown relation {kind!r}", hint=f"choose from: {', '.join(INSIGHT_RELATIONS)}")
        insight = self.get(name)
        is_insight = _ID.match(target.strip().upper()) is not None
        wanted = self.get(target).id if is_insight else target
        if wanted == insight.id:
            raise UsageError(f"{insight.id} cannot be related to itself", hint="name another insight or entity")
        if not is_insight and not known(target):
            raise UsageError(f"no insight or entity is called {target!r}", hint="`syntropy insight list`")
        relations = {**insight.relations, kind: list(dict.fromkeys([*insight.relations.get(kind, []), wanted]))}
        facts = {"source": "explicit", "score": 1.0, "at": now, "state": "open"}
        provenance = {**insight.provenance, wanted: insight.provenance.get(wanted, facts)}
        with self._store.writing() as connection:
            connection.execute(
                "UPDATE user_entities SET relations = ?, link_provenance = ?, updated_at = ? WHERE id = ?",
                (_json(relations), _json(provenance), now, insight.id),
            )
            _write_relations(connection, insight.id, relations)
        return self.get(insight.id)

    def delete(self, name: str, *, now: str) -> list[str]:
        """Remove an insight, its relations and vector; its number is never given again.

        Returns the insights that it superseded and that are current again.
        """
        insight = self.get(name)
        with self._store.writing() as connection:
            drop(connection, INSIGHT, insight.id, now=now)
        return insight.relations.get("supersedes", [])

    def embed_missing(self, encode: Callable[[str], Sequence[float]], *, limit: int = 1_000) -> int:
        """Vectors (float32, little-endian) for insights without one; how many were made."""
        rows = self._store.rows(
            "SELECT id, content FROM user_entities WHERE id NOT IN (SELECT entity_id FROM user_embeddings) "
            "ORDER BY id LIMIT ?",
            (limit,),
        )
        for row in rows:
            vector = array.array("f", encode(row["content"]))
            with self._store.writing() as connection:
                connection.execute(
                    "INSERT OR REPLACE INTO user_embeddings VALUES (?, ?)", (row["id"], vector.tobytes())
                )
        return len(rows)

    def correlated(self, insight: Insight) -> list[tuple[str, float]]:
        """Other insights by the share of links in common."""
        links = insight.links()
        if not links:
            return []
        marks = ", ".join("?" * len(links))
        rows = self._store.rows(
            f"SELECT DISTINCT from_id FROM user_relations WHERE to_id IN ({marks}) AND from_id <> ?",
            [*links, insight.id],
        )
        scores = [(row[0], round(jaccard(links, self.get(row[0]).links()), 4)) for row in rows if _ID.match(row[0])]
        return sorted((s for s in scores if s[1] >= CORRELATED), key=lambda s: (-s[1], s[0]))[:5]

    def _alike(self, content: str) -> list[tuple[str, float]]:
        """Insights that say nearly the same."""
        terms = set(index_terms(content))
        near = sorted(self._lexical(content).items(), key=lambda s: -s[1])[:20]
        found = []
        for name, _ in near:
            rows = self._store.rows("SELECT content FROM user_entities WHERE id = ?", (name,))
            share = jaccard(terms, index_terms(rows[0]["content"])) if rows else 0.0
            if share >= DUPLICATE:
                found.append((name, round(share, 4)))
        return sorted(found, key=lambda s: (-s[1], s[0]))

    def _lexical(self, query: str) -> dict[str, float]:
        """Share of the query's information that each insight carries."""
        return lexical_shares(self._store, "insight", query)

    def _replaces(self, newer: str, older: str) -> bool:
        """Does one already supersede the other, directly or not?"""
        waiting, seen = [newer], set()
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            rows = self._store.rows(
                "SELECT to_id FROM user_relations WHERE from_id = ? AND relation_type = 'supersedes'", (current,)
            )
            waiting += [row[0] for row in rows]
        return older in seen

    def _decoded(self, rows: Sequence[Any]) -> list[Insight]:
        relations = "SELECT to_id, from_id FROM user_relations WHERE relation_type = 'supersedes' ORDER BY id"
        replaced = {row[0]: row[1] for row in self._store.rows(relations)}
        return [
            Insight(
                row["id"],
                row["title"],
                row["content"],
                row["author"],
                float(row["confidence"]),
                int(row["evidence_count"]),
                row["last_validated"],
                tuple(json.loads(row["tags"] or "[]")),
                json.loads(row["relations"] or "{}"),
                row["created_at"],
                row["updated_at"],
                json.loads(row["link_provenance"] or "{}"),
                replaced.get(row["id"], ""),
            )
            for row in rows
        ]


def next_id(connection: sqlite3.Connection) -> str:
    """The next id; within the transaction that uses it."""
    return f"TK-{connection.execute(_NEXT).fetchone()[0]:03d}"


def _index(connection: Any, name: str, content: str, tags: Sequence[str]) -> None:
    index_entry(connection, "insight", name, content, tags)


def _write_relations(connection: Any, name: str, relations: dict[str, list[str]]) -> None:
    connection.execute("DELETE FROM user_relations WHERE from_id = ?", (name,))
    connection.executemany(
        "INSERT OR IGNORE INTO user_relations (from_id, relation_type, to_id) VALUES (?, ?, ?)",
        [(name, kind, target) for kind, targets in relations.items() for target in targets],
    )


def _title(content: str) -> str:
    line = " ".join(content.splitlines()[0].split())
    return shortened(line, _TITLE_LENGTH)


def _tags(tags: Sequence[str], project: str) -> list[str]:
    """Lower case and distinct; the project is a tag of its own form."""
    named = [f"project:{project}"] if project else []
    return list(dict.fromkeys([*(tag.strip().lower() for tag in tags if tag.strip()), *named]))


def _kept(relations: dict[str, list[str]]) -> dict[str, list[str]]:
    return {kind: targets for kind, targets in relations.items() if targets}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
