"""Retry policy and circuit breaker for calls to carriers.

The policy is bounded by elapsed time, not by a number of attempts: an operator
can reason about "fifteen minutes", nobody can reason about "twenty-one tries".
See docs/guides/retries.md for the reasoning and PRP-29.3 for the requirement.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class RetryableError(Exception):
    """A failure that may succeed later: timeouts, 429, 502, 503, 504.

    ``trips_breaker`` is False for 429: being too quick is our own fault.
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after_s: float | None = None,
        trips_breaker: bool = True,
    ) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.trips_breaker = trips_breaker


class RetryBudgetExceeded(Exception):
    """The elapsed-time budget is spent; the last cause is chained."""


class CircuitOpenError(Exception):
    """The breaker refused the call; ``reopen_at`` says when to ask again."""

    def __init__(self, name: str, reopen_at: float) -> None:
        super().__init__(f"circuit {name!r} is open")
        self.reopen_at = reopen_at


@dataclass(frozen=True)
class RetryPolicy:
    """How long to keep trying, and how fast to slow down."""

    base_s: float = 0.5
    cap_s: float = 60.0
    max_elapsed_s: float = 900.0

    def __post_init__(self) -> None:
        if self.base_s <= 0 or self.cap_s < self.base_s:
            raise ValueError("need 0 < base_s <= cap_s")
        if self.max_elapsed_s < self.cap_s:
            raise ValueError("max_elapsed_s must be at least cap_s")

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> RetryPolicy:
        """Read RETRY_BASE_S, RETRY_CAP_S and RETRY_MAX_ELAPSED_S.

        A value that is present but not a number raises ValueError. It is never
        replaced by the default (rule "No Fishy Fallbacks").
        """
        return cls(
            base_s=float(env.get("RETRY_BASE_S", "0.5")),
            cap_s=float(env.get("RETRY_CAP_S", "60")),
            max_elapsed_s=float(env.get("RETRY_MAX_ELAPSED_S", "900")),
        )


def next_delay(
    policy: RetryPolicy,
    attempt: int,
    *,
    retry_after_s: float | None = None,
    rng: Callable[[float, float], float] = random.uniform,
) -> float:
    """Seconds to wait before attempt ``attempt + 1`` (attempts count from 1).

    Full jitter: a uniform draw between zero and the exponential ceiling. A
    ``Retry-After`` from the carrier is a floor and may go beyond ``cap_s``.
    """
    if attempt < 1:
        raise ValueError("attempt counts from 1")
    ceiling = min(policy.cap_s, policy.base_s * 2 ** min(attempt - 1, 32))
    delay = rng(0.0, ceiling)
    return max(delay, retry_after_s) if retry_after_s is not None else delay


def budget_left(policy: RetryPolicy, first_attempt_at: float, now: float) -> float:
    """Seconds left of the budget. Zero or less means: give up."""
    return policy.max_elapsed_s - (now - first_attempt_at)


class CircuitBreaker:
    """Stops calling a carrier that keeps failing. One instance per carrier."""

    def __init__(
        self,
        name: str,
        *,
        failure_threshold: int = 5,
        reset_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.failure_threshold = failure_threshold
        self.reset_s = reset_s
        self._clock = clock
        self._failures = 0
        self._opened_at: float | None = None

    @property
    def state(self) -> str:
        """``closed``, ``open`` or ``half-open``."""
        if self._opened_at is None:
            return "closed"
        waited = self._clock() - self._opened_at
        return "half-open" if waited >= self.reset_s else "open"

    def before_call(self) -> None:
        """Raise CircuitOpenError while the breaker is open."""
        if self.state == "open":
            assert self._opened_at is not None
            raise CircuitOpenError(self.name, self._opened_at + self.reset_s)

    def record_success(self) -> None:
        self._failures = 0
        self._opened_at = None

    def record_failure(self) -> None:
        self._failures += 1
        if self._failures >= self.failure_threshold:
            self._opened_at = self._clock()


def retry_call(
    fn: Callable[[], T],
    policy: RetryPolicy,
    *,
    breaker: CircuitBreaker | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """Call ``fn`` until it succeeds or the budget is spent.

    Only RetryableError is retried; every other exception propagates at once.
    Use this for short in-process work (label printing, quotes). Webhook events
    are retried by the inbox worker, which survives a restart.
    """
    started = clock()
    attempt = 0
    while True:
        attempt += 1
        if breaker is not None:
            breaker.before_call()
        try:
            result = fn()
        except RetryableError as exc:
            if breaker is not None and exc.trips_breaker:
                breaker.record_failure()
            delay = next_delay(policy, attempt, retry_after_s=exc.retry_after_s)
            if delay > budget_left(policy, started, clock()):
                raise RetryBudgetExceeded(f"gave up after {attempt} attempts") from exc
            sleep(delay)
        else:
            if breaker is not None:
                breaker.record_success()
            return result
