"""A bound on the time that one document may take."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

DOCUMENT_SECONDS = 30
"""The largest accepted documents (2 MB) take two seconds; what takes fifteen times as long does not end."""


class DeadlineError(Exception):
    """The work took longer than it may."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise DeadlineError in the body after that many seconds.

    Only where the system has timers and in a process's main thread, as all builds run in; elsewhere nothing happens.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def expired(_number: int, _frame: FrameType | None) -> None:
        raise DeadlineError(f"took longer than {seconds:g} seconds")

    former = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


@contextmanager
def tried() -> Iterator[None]:
    """Give the body DOCUMENT_SECONDS and go on behind it whatever it raises.

    Only for work on a document that is done again where what it raises is reported.
    """
    with suppress(Exception), deadline(DOCUMENT_SECONDS):
        yield
