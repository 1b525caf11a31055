"""An end when a signal says so."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import anyio

GRACE_SECONDS = 1.0
"""After a signal: what still runs then is left behind. Nothing here is half written: notes are transactions."""


async def on_signal(stop: Callable[[], object]) -> None:
    """Wait for SIGINT or SIGTERM, then stop; where that does not end the process in time, end it."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            timer = threading.Timer(GRACE_SECONDS, os._exit, args=(0,))
            timer.daemon = True
            timer.start()
            stop()
            return
