"""Export and import as JSON lines: lossless, and merged on the way in."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..errors import UsageError
from .store import NotesStore
from .terms import index_entry

FORMAT = "syntropy-notes"
FORMAT_VERSION = 1

_TABLES = ("user_entities", "user_relations", "user_embeddings", "insight_seq", "entries")


class Imported(NamedTuple):
    """Rows added, rows that were there, and conflicts: what differs and was left as it is here."""

    added: int
    same: int
    conflicts: list[str]


def export_lines(store: NotesStore) -> Iterator[str]:
    """A head and a line for each row, in the order of their keys."""
    yield _line({"format": FORMAT, "version": FORMAT_VERSION})
    for table in _TABLES:
        for row in store.rows(f"SELECT * FROM {table} ORDER BY 1"):
            values = {key: _plain(row[key]) for key in row.keys()}  # noqa: SIM118 (a Row is no dict)
            yield _line({"table": table, **values})


def import_lines(store: NotesStore, lines: Iterable[str]) -> Imported:
    """Take in an export, all of it or nothing. Raises UsageError for lines that are none.

    A row that exists with other values stays as it is here and is reported, unless the one to come
    was changed later.
    """
    added = same = 0
    conflicts: list[str] = []
    with store.writing() as connection:
        columns = {t: [r[1] for r in connection.execute(f"PRAGMA table_info({t})")] for t in _TABLES}
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            table, row = _parsed(line, number, columns)
            if not table:
                continue
            key = _key(table, row)
            where = " AND ".join(f"{name} = ?" for name in key)
            found = connection.execute(f"SELECT * FROM {table} WHERE {where}", [row[n] for n in key]).fetchone()
            values = {name: value for name, value in row.items() if not (table == "user_relations" and name == "id")}
            if table == "insight_seq":
                connection.execute(
                    "INSERT INTO insight_seq VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET val = max(val, excluded.val)",
                    (row["key"], row["val"]),
                )
                continue
            if found is not None:
                if all(found[name] == value for name, value in values.items()):
                    same += 1
                    continue
                newer = str(row.get("updated_at") or "") > str(dict(found).get("updated_at") or "")
                if not newer:
                    conflicts.append(f"{table} {' '.join(str(row[n]) for n in key)}: differs, the one here was kept")
                    continue
                conflicts.append(f"{table} {' '.join(str(row[n]) for n in key)}: differs, the later one was taken")
                connection.execute(f"DELETE FROM {table} WHERE {where}", [row[n] for n in key])
            names = list(values)
            connection.execute(
                f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
                list(values.values()),
            )
            added += 1
            if table == "user_entities":
                index_entry(connection, "insight", row["id"], row["content"], json.loads(row["tags"] or "[]"))
            elif table == "entries" and row["type"] != "rule":
                index_entry(connection, "note", str(row["id"]), row["content"], json.loads(row["tags"] or "[]"))
    return Imported(added, same, conflicts)


def _key(table: str, row: dict[str, Any]) -> tuple[str, ...]:
    if table == "entries":
        return ("type", "label") if row.get("type") == "rule" else ("id",)
    return {
        "user_entities": ("id",),
        "user_relations": ("from_id", "relation_type", "to_id"),
        "user_embeddings": ("entity_id",),
        "insight_seq": ("key",),
    }[table]


def _parsed(line: str, number: int, columns: dict[str, list[str]]) -> tuple[str, dict[str, Any]]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise UsageError(f"line {number} is no JSON: {error}", hint="give a file of `syntropy notes export`") from error
    if isinstance(row, dict) and row.get("format") == FORMAT:
        if row.get("version") != FORMAT_VERSION:
            raise UsageError(f"the export has version {row.get('version')}", hint="install a newer syntropy")
        return "", {}
    table = row.pop("table", "") if isinstance(row, dict) else ""
    if table not in columns or set(row) - set(columns[table]):
        raise UsageError(f"line {number} is no row of notes", hint="give a file of `syntropy notes export`")
    if isinstance(row.get("embedding"), str):
        row["embedding"] = base64.b64decode(row["embedding"])
    return table, row


def _plain(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
