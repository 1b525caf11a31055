"""Error recovery with exponential backoff and a circuit breaker.

Tags: resilience, retry, circuit-breaker
Pattern: error-recovery
Use Case: calls to a system that we do not own and that fails for minutes at a time
Source: PRP-14
Implementation: src/acme_parcel/retry.py

When to use it:
    - the operation is idempotent, or carries an idempotency key
    - the failure is temporary by nature (timeout, overload, restart)

When not to use it:
    - the input is wrong; it will be wrong again in a minute
    - a person waits for the answer; fail fast and say so

The pattern has three parts that are useful on their own: a backoff that produces
waiting times, a breaker that refuses calls, and a function that combines them
under one budget of elapsed time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Temporary(Exception):
    """Raised by the operation to say: this may work later."""


class GaveUp(Exception):
    """The budget is spent. The last Temporary is chained as the cause."""


class Refused(Exception):
    """The circuit breaker is open and the operation was not called."""


class ExponentialBackoff:
    """Endless waiting times with full jitter.

    ``base * 2**n`` grows until it reaches ``cap``; each wait is drawn uniformly
    between zero and that ceiling, so that many clients do not return in step.
    """

    def __init__(self, base: float = 0.5, cap: float = 60.0) -> None:
        self.base = base
        self.cap = cap

    def __iter__(self) -> Iterator[float]:
        ceiling = self.base
        while True:
            yield random.uniform(0.0, ceiling)
            ceiling = min(self.cap, ceiling * 2)


class CircuitBreaker:
    """Refuses calls after ``threshold`` consecutive failures.

    closed -> open       after ``threshold`` failures in a row
    open -> half-open    after ``reset`` seconds
    half-open -> closed  after one success
    half-open -> open    after one failure
    """

    def __init__(self, threshold: int = 5, reset: float = 30.0) -> None:
        self.threshold = threshold
        self.reset = reset
        self.failures = 0
        self.opened_at: float | None = None

    def allows(self, now: float) -> bool:
        """True when a call may be made at the time ``now``."""
        return self.opened_at is None or now - self.opened_at >= self.reset

    def report(self, ok: bool, now: float) -> None:
        """Tell the breaker how the call ended."""
        if ok:
            self.failures, self.opened_at = 0, None
            return
        self.failures += 1
        if self.failures >= self.threshold:
            self.opened_at = now


def call_with_recovery(
    operation: Callable[[], T],
    *,
    budget: float,
    backoff: ExponentialBackoff,
    breaker: CircuitBreaker,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """Run ``operation`` until it succeeds, the breaker refuses or time is up.

    Raises Refused when the breaker is open, and GaveUp when the next wait would
    go beyond ``budget`` seconds. Any exception but Temporary passes through.
    """
    deadline = clock() + budget
    for wait in backoff:
        if not breaker.allows(clock()):
            raise Refused("circuit breaker is open")
        try:
            result = operation()
        except Temporary as exc:
            breaker.report(False, clock())
            if clock() + wait > deadline:
                raise GaveUp(f"no success within {budget:g} s") from exc
            sleep(wait)
        else:
            breaker.report(True, clock())
            return result
    raise AssertionError("the backoff is endless")


if __name__ == "__main__":
    answers = iter([Temporary("busy"), Temporary("busy"), "delivered"])

    def flaky() -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    print(
        call_with_recovery(
            flaky,
            budget=10.0,
            backoff=ExponentialBackoff(base=0.01),
            breaker=CircuitBreaker(),
        )
    )
