"""Times as all of the artifacts and notes write them: ISO 8601, UTC, to the second."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def iso(moment: datetime) -> str:
    """A moment in UTC as text; texts compare as the moments do."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def now() -> datetime:
    """The present, in UTC."""
    return datetime.fromtimestamp(time.time(), UTC)
