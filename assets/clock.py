"""The one clock of a build: what `synced_at` says, fixed by SOURCE_DATE_EPOCH where it is set."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

from syntropy.contract.errors import ConfigError
from syntropy.contract.times import iso


def source_date() -> str:
    """SOURCE_DATE_EPOCH as given, or an empty string (reproducible-builds.org). Raises ConfigError if bad."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given and not given.isdigit():
        raise ConfigError(
            f"SOURCE_DATE_EPOCH={given!r} is not a number of seconds", hint="give seconds since 1970, or unset it"
        )
    return given


def synced_at() -> str:
    """UTC time for `synced_at`, to the second."""
    moment = int(source_date() or time.time())
    return iso(datetime.fromtimestamp(moment, UTC))
