"""Inbound carrier webhooks: verify, store, answer, process later.

The request handler does three things only: check the signature, insert one row
into ``webhook_inbox`` and answer 202. Everything that can fail happens in the
worker, where it can be retried (docs/guides/webhooks.md).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from .retry import (
    CircuitBreaker,
    CircuitOpenError,
    RetryableError,
    RetryPolicy,
    budget_left,
    next_delay,
)
from .tracking import InvalidTrackingNumber, ParcelStatus, normalize_tracking_no

MAX_SKEW_S = 300


class WebhookRejected(Exception):
    """The request is answered with ``status`` and is not stored."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code


class BadPayload(Exception):
    """The event can never be processed; it goes to ``dead`` without a retry."""


@dataclass(frozen=True)
class CarrierEvent:
    carrier: str
    event_id: str
    tracking_no: str
    status: ParcelStatus
    occurred_at: datetime


@dataclass
class InboxRow:
    id: int
    carrier: str
    body: bytes
    attempts: int
    first_attempt_at: float | None


class Inbox(Protocol):
    """The statements the worker needs; implemented on Postgres."""

    def insert(self, carrier: str, event_id: str, body: bytes) -> bool: ...
    def mark_done(self, row_id: int) -> None: ...
    def mark_retrying(
        self, row: InboxRow, next_attempt_at: float, last_error: str
    ) -> None: ...
    def mark_dead(self, row_id: int, last_error: str) -> None: ...
    def find_dead(self, carrier: str, since: float, limit: int) -> list[int]: ...
    def requeue(self, row_ids: list[int]) -> int: ...


def verify_signature(
    body: bytes, header: str, secret: bytes, *, now: float, max_skew_s: int = MAX_SKEW_S
) -> None:
    """Check ``t=<unix>,v1=<hex>`` against HMAC-SHA256 of ``<t>.<body>``.

    Raises WebhookRejected(401). The comparison takes constant time, and a stale
    timestamp is refused so that a recorded request cannot be sent again.
    """
    parts = dict(p.split("=", 1) for p in header.split(",") if "=" in p)
    stamp, given = parts.get("t", ""), parts.get("v1", "")
    if not stamp.isdecimal() or not given.isascii():
        raise WebhookRejected(401, "signature_malformed")
    expected = hmac.new(secret, stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected, given):
        raise WebhookRejected(401, "signature_mismatch")
    if abs(now - int(stamp)) > max_skew_s:
        raise WebhookRejected(401, "signature_stale")


def parse_event(carrier: str, body: bytes) -> CarrierEvent:
    """Turn a carrier's JSON into our event, or raise BadPayload."""
    try:
        data: dict[str, Any] = json.loads(body)
        return CarrierEvent(
            carrier=carrier,
            event_id=str(data["event_id"]),
            tracking_no=normalize_tracking_no(data["tracking_no"]),
            status=ParcelStatus[data["status"].upper()],
            occurred_at=datetime.fromisoformat(data["occurred_at"]),
        )
    except InvalidTrackingNumber as exc:
        raise BadPayload(f"tracking number: {exc}") from exc
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise BadPayload(f"{type(exc).__name__}: {exc}") from exc


def receive(inbox: Inbox, carrier: str, event_id: str, body: bytes) -> dict[str, Any]:
    """Store a verified event. A repeated event id is accepted and ignored."""
    stored = inbox.insert(carrier, event_id, body)
    return {"accepted": True, "duplicate": not stored}


def process_row(
    row: InboxRow,
    inbox: Inbox,
    handle: Callable[[CarrierEvent], None],
    *,
    policy: RetryPolicy,
    breaker: CircuitBreaker,
    clock: Callable[[], float] = time.time,
) -> str:
    """Process one inbox row and return its new state."""
    first = row.first_attempt_at if row.first_attempt_at is not None else clock()
    row.first_attempt_at = first
    try:
        breaker.before_call()
        handle(parse_event(row.carrier, row.body))
    except BadPayload as exc:
        inbox.mark_dead(row.id, str(exc))
        return "dead"
    except (RetryableError, CircuitOpenError) as exc:
        if isinstance(exc, RetryableError):
            row.attempts += 1
            if exc.trips_breaker:
                breaker.record_failure()
            delay = next_delay(policy, row.attempts, retry_after_s=exc.retry_after_s)
        else:
            delay = breaker.reset_s
        if delay > budget_left(policy, first, clock()):
            inbox.mark_dead(row.id, f"retry budget exceeded: {exc}")
            return "dead"
        inbox.mark_retrying(row, clock() + delay, str(exc))
        return "retrying"
    breaker.record_success()
    inbox.mark_done(row.id)
    return "done"


def replay_dead_letters(
    inbox: Inbox, carrier: str, *, since: float, limit: int, dry_run: bool
) -> dict[str, Any]:
    """Put dead events back into the queue with a fresh retry budget.

    With ``dry_run`` nothing is written; the answer lists what would be replayed.
    """
    ids = inbox.find_dead(carrier, since, limit)
    requeued = 0 if dry_run else inbox.requeue(ids)
    return {"matched": len(ids), "requeued": requeued, "dry_run": dry_run, "ids": ids}
