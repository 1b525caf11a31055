"""What must hold over all shards together, asked through the reader as one; where there are none, of the one file."""

from __future__ import annotations

import json

from pipeline.checks.result import CheckResult, Subject
from pipeline.store.inverted_index import Lengths, averages_of
from syntropy.contract.identity import document_uid
from syntropy.contract.shards import STRIDE, shard_of
from syntropy.store.database import Database

_OFFENDERS = {
    "document keys": "SELECT count(*) - count(DISTINCT (scope, kind, key)) FROM documents",
    "rule labels": "SELECT count(*) - count(DISTINCT label) FROM rules",
    "relations.from_id": "SELECT count(*) FROM relations WHERE from_id NOT IN (SELECT document_id FROM documents)",
    "relations.to_id": "SELECT count(*) FROM relations WHERE to_id IS NOT NULL "
    "AND to_id NOT IN (SELECT document_id FROM documents)",
}


def whole_agrees(subject: Subject) -> CheckResult:
    """Keys, labels and relations agree over all shards; each document lies where its name says; sums are the parts'."""
    database = Database(subject.path)
    try:
        figures = {name: int(database.rows(sql)[0][0]) for name, sql in _OFFENDERS.items()}
        shards = len(database.shards)
        figures["documents elsewhere"] = sum(
            number // STRIDE != shard_of(document_uid(package, path), shards)
            for number, package, path in database.rows("SELECT document_id, package, path FROM documents")
        )
        for name in ("documents", "chunks", "windows"):
            counted = int(database.rows(f"SELECT count(*) FROM {name}")[0][0])
            listed = sum(getattr(shard, name) for shard in database.shards)
            figures[f"{name} not counted"] = abs(counted - listed) + abs(counted - int(database.meta[name]))
        lengths = [
            Lengths.stored(str(database.rows(f"SELECT value FROM {shard.schema}.meta WHERE key = 'lengths'")[0][0]))
            for shard in database.shards
        ]
        averages = list(averages_of(lengths))
        figures["averages that differ"] = sum(
            json.loads(str(value)) != averages
            for shard in database.shards
            for (value,) in database.rows(f"SELECT value FROM {shard.schema}.meta WHERE key = 'averages'")
        )
    finally:
        database.close()
    return CheckResult(not any(figures.values()), dict(figures))
