"""Export and import as JSON lines: lossless into an empty file, merged into any other.

Numbers are local to a file. What is the same thing is told by its identity (`identities`); anything else that
has a number already in use gets a new one here, everywhere it is named. Deletions are exchanged, too.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..contract.errors import UsageError
from .identities import INSIGHT, NOTE, RULE, drop, identify_missing, uid_of
from .lookup import index_missing
from .store import NotesStore

FORMAT = "syntropy-notes"
FORMAT_VERSION = 2
"""Version 1 had no identities and no deletions; it is read."""

_TABLES = ("user_entities", "user_relations", "user_embeddings", "insight_seq", "entries", "syntropy_gone")
_OWN = ("user_entities", "entries")
"""Tables whose rows have identities."""

MAX_NUMBER = 10**12
"""Numbers of notes and insights are below it: SQLite's own end leaves no room for the next one."""

_INSIGHT_ID = re.compile(r"[A-Za-z]{1,8}-[0-9]{1,9}")
_NUMBERS = frozenset({"val", "confidence", "evidence_count", "pinned", "access_count", "archived"})
_JSON_COLUMNS = ("tags", "relations", "link_provenance")

_READ = {
    "user_relations": "SELECT from_id, relation_type, to_id FROM user_relations ORDER BY from_id, relation_type, to_id"
}
"""Their numbers mean nothing."""

Row = dict[str, Any]


class Imported(NamedTuple):
    """Rows added or changed, rows that were there, and remarks: what differs, what got another number, what went."""

    added: int
    same: int
    conflicts: list[str]


def export_lines(store: NotesStore) -> Iterator[str]:
    """A head and a line for each row, in the order of their keys; each with the identity it has in every file."""
    yield _line({"format": FORMAT, "version": FORMAT_VERSION})
    uids = {(r["kind"], r["key"]): r["uid"] for r in store.rows("SELECT kind, key, uid FROM syntropy_identity")}
    for table in _TABLES:
        for row in store.rows(_READ.get(table, f"SELECT * FROM {table} ORDER BY 1")):
            values = {key: _plain(row[key]) for key in row.keys()}  # noqa: SIM118 (a Row is not a dict)
            uid = uids.get((_kind(table, values), str(values.get("id", ""))))
            yield _line({"table": table, **({"uid": uid} if uid else {}), **values})


def import_lines(store: NotesStore, lines: Iterable[str]) -> Imported:
    """Take in an export, all of it or nothing. Raises UsageError with the line that is not one.

    Of all versions of one thing the latest is kept, and a deletion is a version: so two files that take in each
    other's exports hold the same, in whichever order. The remarks say what was decided.
    """
    with store.writing() as connection:
        columns = {t: [r[1] for r in connection.execute(f"PRAGMA table_info({t})")] for t in _TABLES}
        tables = _parsed(lines, columns)
        identify_missing(connection)
        merge = _Merge(connection, tables)
        try:
            merge.run()
        except (sqlite3.Error, ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            hint = "give a file of `syntropy notes export`"
            raise UsageError(f"a row cannot be stored: {error}", hint=hint) from error
        index_missing(connection)
    return Imported(merge.added, merge.same, merge.conflicts)


class _Merge:
    """One import's state. A thing is told by its identity; ids of insights are mapped to those they have here."""

    def __init__(self, connection: sqlite3.Connection, tables: dict[str, list[Row]]) -> None:
        self._connection, self._tables = connection, tables
        self._names: dict[str, str] = {}
        """Id of an insight in the export -> its id here; empty where it was deleted."""
        self._theirs = {row["id"]: row["uid"] for row in tables["user_entities"]}
        self.added = self.same = 0
        self.conflicts: list[str] = []

    def run(self) -> None:
        """Insights with relations and vectors, then rules and notes, then what was deleted there."""
        find = self._connection.execute
        self._gone = {row["uid"]: row["deleted_at"] for row in find("SELECT uid, deleted_at FROM syntropy_gone")}
        for row in self._tables["syntropy_gone"]:
            self._gone[row["uid"]] = max(self._gone.get(row["uid"], ""), row["deleted_at"])
        counter = find("SELECT val FROM insight_seq WHERE key = 'TK'").fetchone()
        self._last = int(counter[0]) if counter else 0
        for row in self._tables["insight_seq"]:
            self._count(row)
        insights, entries = self._tables["user_entities"], self._tables["entries"]
        numbers = [int(row["id"][3:]) for row in insights if row["id"][3:].isdigit()]
        if numbers:  # ids given out below must not be those of rows still to come
            self._count({"key": "TK", "val": max(numbers)})
        self._bury()
        for row in insights:
            self._names[row["id"]] = self._name(row)
        vectors = {row["entity_id"]: row["embedding"] for row in self._tables["user_embeddings"]}
        for row in insights:
            self._insight(row, vectors)
        for row in self._tables["user_relations"]:
            if row["from_id"] not in self._names:
                find(
                    "INSERT OR IGNORE INTO user_relations (from_id, relation_type, to_id) VALUES (?, ?, ?)",
                    (row["from_id"], row["relation_type"], self._names.get(row["to_id"], row["to_id"])),
                )
        for row in entries:
            self._entry(row)

    def _bury(self) -> None:
        """Delete what was deleted there, unless it was changed here since; remember the latest deletions."""
        for uid, deleted_at in self._gone.items():
            here = self._here(uid)
            if here is not None and _outlives(uid, here, deleted_at):
                self.conflicts.append(f"{_label(here)} was deleted there; the one here is later and was kept")
                self._connection.execute("DELETE FROM syntropy_gone WHERE uid = ?", (uid,))
                continue
            kind = RULE if uid.startswith(f"{RULE}:") else INSIGHT if here is not None and "title" in here else NOTE
            if here is not None:
                self.conflicts.append(f"{_label(here)} was deleted there, and is deleted here now")
                drop(self._connection, kind, str(here["id"]), now=deleted_at)
            self._connection.execute("INSERT OR REPLACE INTO syntropy_gone VALUES (?, ?, ?)", (uid, kind, deleted_at))

    def _name(self, row: Row) -> str:
        """The id an insight has here, or will have; empty where it was deleted since."""
        here = self._here(row["uid"])
        if here is not None:
            return str(here["id"])
        if self._is_gone(row):
            return ""
        if row["uid"] in self._gone:
            self.conflicts.append(f"{row['id']} was deleted here; it was changed there since and is back")
        taken = self._connection.execute("SELECT 1 FROM user_entities WHERE id = ?", (row["id"],)).fetchone()
        given_out = row["id"][3:].isdigit() and int(row["id"][3:]) <= self._last  # a number is never given twice
        if not taken and not given_out and row["id"] not in self._names.values():
            return str(row["id"])
        from .insights import next_id

        return next_id(self._connection)

    def _insight(self, given: Row, vectors: Mapping[str, Any]) -> None:
        name = self._names[given["id"]]
        if not name:
            return
        relations: dict[str, list[str]] = {}
        for kind, targets in json.loads(given["relations"] or "{}").items():
            mapped = [self._names.get(target, target) for target in targets]
            relations[kind] = [target for target in mapped if target]
        relations = {kind: targets for kind, targets in relations.items() if targets}
        text = given["relations"]
        if relations != json.loads(text or "{}"):
            text = json.dumps(relations, ensure_ascii=False, sort_keys=True)
        told = json.loads(given.get("link_provenance") or "{}")
        mapped_told = {self._names.get(target, target): facts for target, facts in told.items()}
        if mapped_told.keys() != told.keys():
            kept = {target: facts for target, facts in mapped_told.items() if target}
            given = {**given, "link_provenance": json.dumps(kept, ensure_ascii=False, sort_keys=True)}
        if name != given["id"] and self._here(given["uid"]) is None:
            self.conflicts.append(f"{given['id']} is another insight here: it was added as {name}")
        if not self._put("user_entities", {**given, "id": name, "relations": text}, INSIGHT, given):
            return
        change = self._connection.execute
        change("DELETE FROM user_relations WHERE from_id = ?", (name,))
        self._connection.executemany(
            "INSERT OR IGNORE INTO user_relations (from_id, relation_type, to_id) VALUES (?, ?, ?)",
            [(name, kind, target) for kind, targets in relations.items() for target in targets],
        )
        change("DELETE FROM syntropy_terms WHERE kind = 'insight' AND key = ?", (name,))
        change("DELETE FROM user_embeddings WHERE entity_id = ?", (name,))
        if given["id"] in vectors:
            change("INSERT INTO user_embeddings VALUES (?, ?)", (name, vectors[given["id"]]))

    def _entry(self, row: Row) -> None:
        here = self._here(row["uid"])
        if here is None and self._is_gone(row):
            return
        kind = RULE if row["type"] == "rule" else NOTE
        number = here["id"] if here is not None else row["id"]
        if here is None and self._connection.execute("SELECT 1 FROM entries WHERE id = ?", (number,)).fetchone():
            number = 1 + int(self._connection.execute("SELECT max(id) FROM entries").fetchone()[0])
            if kind == NOTE:
                self.conflicts.append(f"note {row['id']} is another note here: it was added under a new number")
        if self._put("entries", {**row, "id": number}, kind, row):
            self._connection.execute("DELETE FROM syntropy_terms WHERE kind = 'note' AND key = ?", (str(number),))
            self._connection.execute("DELETE FROM syntropy_note_vectors WHERE entry_id = ?", (number,))

    def _count(self, row: Row) -> None:
        """The counter never goes back."""
        self._connection.execute(
            "INSERT INTO insight_seq VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET val = max(val, excluded.val)",
            (row["key"], row["val"]),
        )

    def _is_gone(self, row: Row) -> bool:
        uid = row["uid"]
        return uid in self._gone and not _outlives(uid, row, self._gone[uid])

    def _here(self, uid: str) -> Row | None:
        """The row of an identity in this file."""
        find = self._connection.execute
        found = find("SELECT kind, key FROM syntropy_identity WHERE uid = ?", (uid,)).fetchone()
        if found is None:
            return None
        table = "user_entities" if found[0] == INSIGHT else "entries"
        key = found[1] if found[0] == INSIGHT else int(found[1])
        row = find(f"SELECT * FROM {table} WHERE id = ?", (key,)).fetchone()
        return dict(row) if row is not None else None

    def _put(self, table: str, row: Row, kind: str, given: Row) -> bool:
        """Write a row; False where the one here stays."""
        uid = row.pop("uid")
        here = self._here(uid)
        if here is not None:
            if all(here[name] == value for name, value in row.items()):
                self.same += 1
                return False
            ours = (_stamp(here), self._told(here, self._uids_here()))
            if (_stamp(row), self._told({**given, "id": ""}, self._theirs)) <= ours:
                self.conflicts.append(f"{_label(here)} differs: the one here is later and was kept")
                return False
            self.conflicts.append(f"{_label(here)} differs: the later one was taken")
            self._connection.execute(f"DELETE FROM {table} WHERE id = ?", (here["id"],))
        names = list(row)
        marks = ", ".join("?" * len(names))
        self._connection.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", list(row.values()))
        self._connection.execute(
            "INSERT OR REPLACE INTO syntropy_identity (kind, key, uid) VALUES (?, ?, ?)", (kind, str(row["id"]), uid)
        )
        self._connection.execute("DELETE FROM syntropy_gone WHERE uid = ?", (uid,))
        self.added += 1
        return True

    def _uids_here(self) -> dict[str, str]:
        rows = self._connection.execute("SELECT key, uid FROM syntropy_identity WHERE kind = 'insight'")
        return {row[0]: row[1] for row in rows}

    def _told(self, row: Row, uids: Mapping[str, str]) -> str:
        """A row as text without what is local to a file, to settle a tie the same way everywhere."""
        plain = {name: value for name, value in row.items() if name not in ("id", "uid")}
        if "link_provenance" in plain:
            told = json.loads(plain["link_provenance"] or "{}")
            plain["link_provenance"] = {uids.get(target, target): facts for target, facts in told.items()}
        if "relations" in plain:
            relations = json.loads(plain["relations"] or "{}")
            plain["relations"] = {
                k: sorted(uids.get(t, t) for t in targets) for k, targets in sorted(relations.items())
            }
        return json.dumps(plain, ensure_ascii=False, sort_keys=True)


def _stamp(row: Mapping[str, Any]) -> str:
    return str(row.get("updated_at") or row.get("created_at") or "")


def _label(row: Mapping[str, Any]) -> str:
    if "title" in row:
        return str(row["id"])
    return f"rule {row['label']}" if row["type"] == "rule" else f"note {row['id']}"


def _outlives(uid: str, row: Mapping[str, Any], deleted_at: str) -> bool:
    """Was a row changed after it was deleted? A rule set again within the second has its old identity, and lives."""
    return _stamp(row) > deleted_at or (_stamp(row) == deleted_at and uid.startswith(f"{RULE}:"))


def _kind(table: str, row: Mapping[str, Any]) -> str:
    if table == "user_entities":
        return INSIGHT
    return RULE if row.get("type") == "rule" else NOTE


def _parsed(lines: Iterable[str], columns: dict[str, list[str]]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {table: [] for table in _TABLES}
    hint = "give a file of `syntropy notes export`"
    headed = False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            line.encode()
        except (ValueError, RecursionError) as error:
            raise UsageError(f"line {number} is not JSON: {error}", hint=hint) from error
        if not headed:
            if not isinstance(row, dict) or row.get("format") != FORMAT:
                raise UsageError(f"line {number} is not the head of an export", hint=hint)
            if row.get("version") not in (1, FORMAT_VERSION):
                raise UsageError(f"the export has version {row.get('version')}", hint="install a newer syntropy")
            headed = True
            continue
        table = row.pop("table", "") if isinstance(row, dict) else ""
        if (
            not isinstance(table, str)
            or table not in columns
            or set(row) - {*columns[table], *(("uid",) if table in _OWN else ())}
        ):
            raise UsageError(f"line {number} is not a row of notes", hint=hint)
        problem = _problem(table, row)
        if problem:
            raise UsageError(f"line {number}: {problem}", hint=hint)
        if table in _OWN and not row.get("uid"):
            label = str(row.get("label") or f"line-{number}")
            row["uid"] = uid_of(_kind(table, row), row["created_at"], row["content"], label)
        found[table].append(row)
    if not headed:
        raise UsageError("the export is empty", hint=hint)
    return found


def _problem(table: str, row: Row) -> str:
    """What is wrong with a row; vectors are decoded on the way."""
    texts = {
        "user_entities": ("id", "title", "content", "created_at"),
        "entries": ("type", "content", "created_at"),
        "syntropy_gone": ("uid", "kind", "deleted_at"),
    }
    for name in texts.get(table, ()):
        if not isinstance(row.get(name), str):
            return f"{name} is not text"
    if table == "entries" and not (isinstance(row.get("id"), int) and 0 < row["id"] < MAX_NUMBER):
        return f"id is not a number from 1 to {MAX_NUMBER - 1}"
    if table == "user_entities" and not _INSIGHT_ID.fullmatch(row["id"]):
        return f"id {row['id'][:20]!r} is not that of an insight"
    if table == "insight_seq" and not (isinstance(row.get("val"), int) and 0 <= row["val"] < MAX_NUMBER):
        return f"val is not a number from 0 to {MAX_NUMBER - 1}"
    if table == "user_relations" and not all(
        isinstance(row.get(k), str) for k in ("from_id", "relation_type", "to_id")
    ):
        return "a relation lacks one of its two ends, or its type"
    if table == "user_embeddings" and not isinstance(row.get("entity_id"), str):
        return "entity_id is not text"
    for name, value in row.items():
        if name == "id":
            continue  # each table has ids of its own kind, looked at above
        if name in _NUMBERS and not isinstance(value, int | float | None):
            return f"{name} is not a number"
        if name not in _NUMBERS and not isinstance(value, str | None):
            return f"{name} is not text"
    for name in _JSON_COLUMNS:
        if name in row:
            try:
                value = json.loads(row[name] or "null")
            except (ValueError, TypeError):
                return f"{name} is not JSON"
            if name != "tags" and not isinstance(value, dict | None):
                return f"{name} is not an object"
            if name == "tags" and table == "user_entities" and not _is_texts(value):
                return "tags is not a list of texts"
            if name == "relations" and not all(map(_is_texts, (value or {}).values())):
                return "relations are not lists of ids"
    if isinstance(row.get("embedding"), str):
        try:
            row["embedding"] = base64.b64decode(row["embedding"], validate=True)
        except (binascii.Error, ValueError):
            return "embedding is not base64"
    return ""


def _is_texts(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _line(value: Row) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
