"""Testing with interchangeable strategies instead of mocks.

Tags: testing, strategy, fakes
Pattern: strategy-testing
Use Case: test a pipeline whose steps talk to the outside world
Source: PRP-1
Implementation: src/acme_parcel/webhooks.py

A step is an object with one method, described by a Protocol. Production passes
the real strategy, a test passes a fake that behaves like the real one and keeps
a record of what happened. Nothing is patched, so a renamed method fails in the
type checker (gate L1) and not in a mock that accepts everything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


class StatusSource(Protocol):
    """Where the status of a parcel comes from."""

    def status_of(self, tracking_no: str) -> str: ...


@dataclass
class RecordedSource:
    """A fake that answers from a recording and fails on anything else.

    Failing on an unknown number is the point: a fake with a default answer
    would hide that the code under test asked for the wrong parcel.
    """

    answers: dict[str, str]
    asked: list[str] = field(default_factory=list)

    def status_of(self, tracking_no: str) -> str:
        self.asked.append(tracking_no)
        return self.answers[tracking_no]


@dataclass
class FailingSource:
    """A fake that fails a given number of times before it answers."""

    failures: int
    answer: str

    def status_of(self, tracking_no: str) -> str:
        if self.failures > 0:
            self.failures -= 1
            raise TimeoutError(tracking_no)
        return self.answer


def summarize(source: StatusSource, numbers: list[str]) -> dict[str, int]:
    """The code under test: count parcels per status."""
    counts: dict[str, int] = {}
    for number in numbers:
        status = source.status_of(number)
        counts[status] = counts.get(status, 0) + 1
    return counts


def test_counts_each_status() -> None:
    source = RecordedSource({"A": "delivered", "B": "in_transit", "C": "delivered"})
    assert summarize(source, ["A", "B", "C"]) == {"delivered": 2, "in_transit": 1}
    assert source.asked == ["A", "B", "C"]


def test_a_timeout_is_not_swallowed() -> None:
    source = FailingSource(failures=1, answer="delivered")
    try:
        summarize(source, ["A"])
    except TimeoutError:
        return
    raise AssertionError("the timeout disappeared")
