"""Tracking numbers and the parcel status model."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from enum import IntEnum

_SEPARATORS = re.compile(r"[\s\-\u2010-\u2015.]+")
_CANONICAL = re.compile(r"[A-Z0-9]{8,35}")

_CARRIER_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ups", re.compile(r"1Z[A-Z0-9]{16}")),
    ("dhl", re.compile(r"JJD[0-9]{16,18}")),
    ("nordpost", re.compile(r"NP[0-9]{10}[A-Z]{2}")),
)


class InvalidTrackingNumber(ValueError):
    """The text cannot be a tracking number. Maps to error code ``bad_tracking_no``."""


class ParcelStatus(IntEnum):
    """Ordered so that "further along" is a plain comparison."""

    ANNOUNCED = 10
    ACCEPTED = 20
    IN_TRANSIT = 30
    OUT_FOR_DELIVERY = 40
    READY_FOR_PICKUP = 45
    DELIVERED = 50
    RETURNED = 60


def normalize_tracking_no(raw: str) -> str:
    """Return the canonical, upper-case form of a tracking number.

    Removes white space, hyphens and dots, folds full-width characters (NFKC)
    and converts to upper case. The ASCII check runs before ``upper()``, because
    ``"ß".upper()`` would otherwise turn into two letters that look valid.

    >>> normalize_tracking_no(" jjd 0140-4655 0512 3456 7 ")
    'JJD01404655051234567'
    """
    text = _SEPARATORS.sub("", unicodedata.normalize("NFKC", raw))
    if not text.isascii():
        raise InvalidTrackingNumber(f"not ASCII after folding: {raw!r}")
    text = text.upper()
    if not _CANONICAL.fullmatch(text):
        raise InvalidTrackingNumber(f"need 8 to 35 letters or digits: {raw!r}")
    return text


def detect_carrier(tracking_no: str) -> str | None:
    """Guess the carrier from a canonical number; None when no shape matches."""
    for carrier, shape in _CARRIER_SHAPES:
        if shape.fullmatch(tracking_no):
            return carrier
    return None


def merge_status(
    current: tuple[ParcelStatus, datetime],
    incoming: tuple[ParcelStatus, datetime],
) -> tuple[ParcelStatus, datetime]:
    """Combine two observations of one parcel.

    A status never moves backwards, with one exception: RETURNED can be followed
    by IN_TRANSIT when the carrier's own timestamp is later (a re-shipment).
    """
    (old, old_at), (new, new_at) = current, incoming
    if old is ParcelStatus.RETURNED and new is ParcelStatus.IN_TRANSIT and new_at > old_at:
        return incoming
    if new > old:
        return incoming
    return current
