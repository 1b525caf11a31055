"""Export and import as JSON lines: lossless into an empty file, merged into any other.

Numbers are local to a file. What is the same thing is told by its time of creation and, for rules, by
the label; anything else that has a number already in use gets a new one here, everywhere it is named.
"""

from __future__ import annotations

import base64
import binascii
import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..contract.errors import UsageError
from .lookup import index_missing
from .store import NotesStore

FORMAT = "syntropy-notes"
FORMAT_VERSION = 1

_TABLES = ("user_entities", "user_relations", "user_embeddings", "insight_seq", "entries")
_JSON_COLUMNS = ("tags", "relations", "link_provenance")

_READ = {
    "user_relations": "SELECT from_id, relation_type, to_id FROM user_relations ORDER BY from_id, relation_type, to_id"
}
"""Their numbers mean nothing."""

Row = dict[str, Any]


class Imported(NamedTuple):
    """Rows added, rows that were there, and remarks: what differs, what got another number."""

    added: int
    same: int
    conflicts: list[str]


def export_lines(store: NotesStore) -> Iterator[str]:
    """A head and a line for each row, in the order of their keys."""
    yield _line({"format": FORMAT, "version": FORMAT_VERSION})
    for table in _TABLES:
        for row in store.rows(_READ.get(table, f"SELECT * FROM {table} ORDER BY 1")):
            values = {key: _plain(row[key]) for key in row.keys()}  # noqa: SIM118 (a Row is not a dict)
            yield _line({"table": table, **values})


def import_lines(store: NotesStore, lines: Iterable[str]) -> Imported:
    """Take in an export, all of it or nothing. Raises UsageError with the line that is none.

    Of two versions of one thing the later one is kept; the remarks say which.
    """
    with store.writing() as connection:
        columns = {t: [r[1] for r in connection.execute(f"PRAGMA table_info({t})")] for t in _TABLES}
        tables = _parsed(lines, columns)
        merge = _Merge(connection)
        try:
            names = merge.insights(tables["user_entities"], tables["user_embeddings"])
            merge.relations(tables["user_relations"], names)
            for row in tables["insight_seq"]:
                merge.count(row)
            for row in tables["entries"]:
                merge.entry(row)
        except sqlite3.IntegrityError as error:
            hint = "give a file of `syntropy notes export`"
            raise UsageError(f"a row cannot be stored: {error}", hint=hint) from error
        index_missing(connection)
    return Imported(merge.added, merge.same, merge.conflicts)


class _Merge:
    """One import's state."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.added = self.same = 0
        self.conflicts: list[str] = []

    def relations(self, rows: list[Row], names: dict[str, str]) -> None:
        """Relations that start at no insight of the export; those of insights came with them."""
        for row in rows:
            if row["from_id"] not in names:
                self._connection.execute(
                    "INSERT OR IGNORE INTO user_relations (from_id, relation_type, to_id) VALUES (?, ?, ?)",
                    (row["from_id"], row["relation_type"], names.get(row["to_id"], row["to_id"])),
                )

    def insights(self, rows: list[Row], vectors: list[Row]) -> dict[str, str]:
        """Insights with their relations and vectors, under the ids they have here; id there -> id here."""
        numbers = [int(row["id"][3:]) for row in rows if row["id"][3:].isdigit()]
        if numbers:  # ids given out below must not be those of rows still to come
            self.count({"key": "TK", "val": max(numbers)})
        names = {row["id"]: self._name(row) for row in rows}
        embeddings = {row["entity_id"]: row["embedding"] for row in vectors}
        for given in rows:
            relations = {
                kind: [names.get(target, target) for target in targets]
                for kind, targets in json.loads(given["relations"] or "{}").items()
            }
            name = names[given["id"]]
            same = relations == json.loads(given["relations"] or "{}")
            text = given["relations"] if same else json.dumps(relations, ensure_ascii=False, sort_keys=True)
            row = {**given, "id": name, "relations": text}
            if name != given["id"]:
                self.conflicts.append(f"{given['id']} is another insight here: it was added as {name}")
            if self._put("user_entities", ("id",), row, name):
                self._connection.execute("DELETE FROM user_relations WHERE from_id = ?", (name,))
                self._connection.executemany(
                    "INSERT OR IGNORE INTO user_relations (from_id, relation_type, to_id) VALUES (?, ?, ?)",
                    [(name, kind, target) for kind, targets in relations.items() for target in targets],
                )
                self._connection.execute("DELETE FROM syntropy_terms WHERE kind = 'insight' AND key = ?", (name,))
                self._connection.execute("DELETE FROM user_embeddings WHERE entity_id = ?", (name,))
                if given["id"] in embeddings:
                    vector = embeddings[given["id"]]
                    self._connection.execute("INSERT INTO user_embeddings VALUES (?, ?)", (name, vector))
        return names

    def count(self, row: Row) -> None:
        """The counter never goes back."""
        self._connection.execute(
            "INSERT INTO insight_seq VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET val = max(val, excluded.val)",
            (row["key"], row["val"]),
        )

    def entry(self, row: Row) -> None:
        """A rule by its label, a note by its time, type and text or number."""
        find = self._connection.execute
        if row["type"] == "rule":
            found = find("SELECT id FROM entries WHERE type = 'rule' AND label = ?", (row["label"],)).fetchone()
        else:
            found = find(
                "SELECT id FROM entries WHERE type = ? AND created_at = ? AND (id = ? OR content = ?) ORDER BY id <> ?",
                (row["type"], row["created_at"], row["id"], row["content"], row["id"]),
            ).fetchone()
        taken = find("SELECT 1 FROM entries WHERE id = ?", (row["id"],)).fetchone()
        number = found[0] if found else None if taken else row["id"]
        label = f"rule {row['label']}" if row["type"] == "rule" else f"note {row['id']}"
        if number is None and row["type"] != "rule":
            self.conflicts.append(f"{label} is another note here: it was added under a new number")
        if self._put("entries", ("id",), {**row, "id": number}, label) and number is not None:
            find("DELETE FROM syntropy_terms WHERE kind = 'note' AND key = ?", (str(number),))

    def _name(self, row: Row) -> str:
        """The id an insight has here."""
        find = self._connection.execute
        found = find(
            "SELECT id FROM user_entities WHERE created_at = ? AND (id = ? OR content = ?) ORDER BY id <> ?",
            (row["created_at"], row["id"], row["content"], row["id"]),
        ).fetchone()
        if found:
            return str(found[0])
        if not find("SELECT 1 FROM user_entities WHERE id = ?", (row["id"],)).fetchone():
            return str(row["id"])
        from .insights import next_id

        return next_id(self._connection)

    def _put(self, table: str, key: tuple[str, ...], row: Row, label: str) -> bool:
        """Insert or replace a row; False where the one here stays."""
        where = " AND ".join(f"{name} = ?" for name in key)
        values = [row[name] for name in key]
        found = self._connection.execute(f"SELECT * FROM {table} WHERE {where}", values).fetchone()
        if found is not None:
            if all(found[name] == value for name, value in row.items()):
                self.same += 1
                return False
            if str(row.get("updated_at") or "") <= str(found["updated_at"] or ""):
                self.conflicts.append(f"{label} differs: the one here is later and was kept")
                return False
            self.conflicts.append(f"{label} differs: the later one was taken")
            self._connection.execute(f"DELETE FROM {table} WHERE {where}", values)
        names = list(row)
        marks = ", ".join("?" * len(names))
        self._connection.execute(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", list(row.values()))
        self.added += 1
        return True


def _parsed(lines: Iterable[str], columns: dict[str, list[str]]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {table: [] for table in _TABLES}
    hint = "give a file of `syntropy notes export`"
    headed = False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UsageError(f"line {number} is not JSON: {error}", hint=hint) from error
        if not headed:
            if not isinstance(row, dict) or row.get("format") != FORMAT:
                raise UsageError(f"line {number} is not the head of an export", hint=hint)
            if row.get("version") != FORMAT_VERSION:
                raise UsageError(f"the export has version {row.get('version')}", hint="install a newer syntropy")
            headed = True
            continue
        table = row.pop("table", "") if isinstance(row, dict) else ""
        if table not in columns or set(row) - set(columns[table]):
            raise UsageError(f"line {number} is not a row of notes", hint=hint)
        problem = _problem(table, row)
        if problem:
            raise UsageError(f"line {number}: {problem}", hint=hint)
        found[table].append(row)
    if not headed:
        raise UsageError("the export is empty", hint=hint)
    return found


def _problem(table: str, row: Row) -> str:
    """What is wrong with a row; vectors are decoded on the way."""
    texts = {"user_entities": ("id", "title", "content", "created_at"), "entries": ("type", "content", "created_at")}
    for name in texts.get(table, ()):
        if not isinstance(row.get(name), str):
            return f"{name} is not text"
    if table == "entries" and not isinstance(row.get("id"), int):
        return "id is not a number"
    for name in _JSON_COLUMNS:
        if name in row:
            try:
                value = json.loads(row[name] or "null")
            except (ValueError, TypeError):
                return f"{name} is not JSON"
            if name != "tags" and not isinstance(value, dict | None):
                return f"{name} is not an object"
    if isinstance(row.get("embedding"), str):
        try:
            row["embedding"] = base64.b64decode(row["embedding"], validate=True)
        except (binascii.Error, ValueError):
            return "embedding is not base64"
    return ""


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _line(value: Row) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
