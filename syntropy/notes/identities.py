"""Who is who across files: numbers are local to one, identities hold in all that exchange exports.

An identity is made of what a row was when it was written: kind, time and text (a rule's: its label). It stays
when the text is edited, and outlives the row: what was deleted is remembered, and does not come back.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3

INSIGHT, NOTE, RULE = "insight", "note", "rule"


def uid_of(kind: str, created_at: str, content: str, label: str = "") -> str:
    """The identity of a row that was just written."""
    if kind == RULE:
        return f"{RULE}:{label}"
    return hashlib.sha256("\0".join((kind, created_at, content)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def identify(connection: sqlite3.Connection, kind: str, key: str, uid: str) -> None:
    """Give a row its identity; a second row of the same second and text gets one beside it."""
    taken = connection.execute("SELECT 1 FROM syntropy_identity WHERE uid = ? AND key <> ?", (uid, key))
    number = 1
    own = uid
    while taken.fetchone():
        number += 1
        own = f"{uid}~{number}"
        taken = connection.execute("SELECT 1 FROM syntropy_identity WHERE uid = ? AND key <> ?", (own, key))
    connection.execute("INSERT OR REPLACE INTO syntropy_identity (kind, key, uid) VALUES (?, ?, ?)", (kind, key, own))
    connection.execute("DELETE FROM syntropy_gone WHERE uid = ?", (own,))


def identify_missing(connection: sqlite3.Connection) -> None:
    """Identities of rows that another program, or an older version, wrote."""
    rows = connection.execute(
        "SELECT 'insight', id, created_at, content, '' FROM user_entities "
        "WHERE id NOT IN (SELECT key FROM syntropy_identity WHERE kind = 'insight') UNION ALL "
        "SELECT CASE type WHEN 'rule' THEN 'rule' ELSE 'note' END, CAST(id AS TEXT), created_at, content, label "
        "FROM entries WHERE CAST(id AS TEXT) NOT IN (SELECT key FROM syntropy_identity WHERE kind <> 'insight') "
        "ORDER BY 1, 2"
    ).fetchall()
    for kind, key, created_at, content, label in rows:
        identify(connection, kind, key, uid_of(kind, str(created_at or ""), str(content or ""), str(label or "")))


def forget(connection: sqlite3.Connection, kind: str, key: str, *, now: str) -> None:
    """Remember that a row was deleted."""
    row = connection.execute("SELECT uid FROM syntropy_identity WHERE kind = ? AND key = ?", (kind, key)).fetchone()
    if row is not None:
        connection.execute("INSERT OR REPLACE INTO syntropy_gone VALUES (?, ?, ?)", (row[0], kind, now))
        connection.execute("DELETE FROM syntropy_identity WHERE kind = ? AND key = ?", (kind, key))


def drop(connection: sqlite3.Connection, kind: str, key: str, *, now: str) -> None:
    """Delete a row with all that hangs on it, and remember that."""
    forget(connection, kind, key, now=now)
    if kind != INSIGHT:
        connection.execute("DELETE FROM entries WHERE id = ?", (int(key),))
        connection.execute("DELETE FROM syntropy_note_vectors WHERE entry_id = ?", (int(key),))
        connection.execute("DELETE FROM syntropy_terms WHERE kind = 'note' AND key = ?", (key,))
        return
    connection.execute("DELETE FROM user_entities WHERE id = ?", (key,))
    connection.execute("DELETE FROM user_relations WHERE from_id = ? OR to_id = ?", (key, key))
    connection.execute("DELETE FROM user_embeddings WHERE entity_id = ?", (key,))
    connection.execute("DELETE FROM syntropy_terms WHERE kind = 'insight' AND key = ?", (key,))
    rows = connection.execute(
        "SELECT id, relations FROM user_entities WHERE instr(relations, ?)", (f'"{key}"',)
    ).fetchall()
    for other, relations in rows:
        kept = {kind: [t for t in targets if t != key] for kind, targets in json.loads(relations).items()}
        text = json.dumps({k: t for k, t in kept.items() if t}, ensure_ascii=False, sort_keys=True)
        connection.execute("UPDATE user_entities SET relations = ? WHERE id = ?", (text, other))
