"""Transactional outbox: change a row and announce it, or do neither.

Tags: outbox, notifications, postgres
Pattern: outbox
Use Case: a message must be sent exactly when a change was committed
Source: PRP-31
Implementation: src/acme_parcel/cli.py

``enqueue`` is called inside the transaction that changes the parcel. ``relay_once``
runs in another process, again and again. Delivery is at least once: a crash between
``publish`` and ``mark`` repeats a message, and the receiver removes doubles by
``message_id``.

The example uses sqlite3 so that it runs anywhere. On Postgres the relay adds
``FOR UPDATE SKIP LOCKED`` to its query, so that two relays do not wait for each other.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Callable

SCHEMA = """
CREATE TABLE parcels (id INTEGER PRIMARY KEY, status TEXT NOT NULL);
CREATE TABLE outbox (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id   TEXT NOT NULL UNIQUE,
    kind         TEXT NOT NULL,
    payload      TEXT NOT NULL,
    published_at TEXT
);
"""


def enqueue(db: sqlite3.Connection, kind: str, payload: dict[str, object]) -> str:
    """Add a message to the outbox and return its id. Does not commit."""
    message_id = str(uuid.uuid4())
    db.execute(
        "INSERT INTO outbox (message_id, kind, payload) VALUES (?, ?, ?)",
        (message_id, kind, json.dumps(payload)),
    )
    return message_id


def set_status(db: sqlite3.Connection, parcel_id: int, status: str) -> None:
    """Change a parcel and announce it in one transaction."""
    with db:
        db.execute("UPDATE parcels SET status = ? WHERE id = ?", (status, parcel_id))
        enqueue(db, status, {"parcel_id": parcel_id})


def relay_once(
    db: sqlite3.Connection,
    publish: Callable[[str, str, dict[str, object]], None],
    *,
    batch_size: int = 100,
) -> int:
    """Publish waiting messages in order; return how many were published.

    An exception from ``publish`` stops the batch, and the message stays in the
    outbox. Later messages wait, because the order matters to the recipient.
    """
    rows = db.execute(
        "SELECT id, message_id, kind, payload FROM outbox"
        " WHERE published_at IS NULL ORDER BY id LIMIT ?",
        (batch_size,),
    ).fetchall()
    for row_id, message_id, kind, payload in rows:
        publish(message_id, kind, json.loads(payload))
        with db:
            db.execute(
                "UPDATE outbox SET published_at = datetime('now') WHERE id = ?", (row_id,)
            )
    return len(rows)


if __name__ == "__main__":
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    connection.execute("INSERT INTO parcels (id, status) VALUES (1, 'in_transit')")
    set_status(connection, 1, "delivered")
    print(relay_once(connection, lambda mid, kind, data: print(kind, data)), "published")
