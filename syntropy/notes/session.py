"""What an agent is told when a session starts (Synaptic's seed, parts 2.6 and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import NamedTuple

from ..contract.budget import SESSION_TOKENS
from ..contract.text import index_terms, jaccard, shortened
from .rules_and_notes import Maintenance, Note

HEADING = "# Rules (ALWAYS follow, NO exceptions)"
CHARS_PER_TOKEN = 4
RECENT_DAYS = 3
RECENT_NOTES = 20
SAME = 0.8
"""Share of common words from which a handoff repeats recent context."""

_LINE = 200


class Session(NamedTuple):
    """The sections, best first; `left_out` lines did not fit the budget."""

    rules: list[str]
    recent: list[str]
    handoff: str
    maintenance: str
    left_out: int

    def as_dict(self) -> dict[str, object]:
        """Its fields as plain data, for JSON."""
        return dict(self._asdict())

    def text(self) -> str:
        """Markdown; a section without lines has no heading."""
        parts = []
        if self.rules:
            parts.append("\n".join([HEADING, *(f"- {rule}" for rule in self.rules)]))
        if self.recent:
            parts.append("\n".join(["# Recent context", *self.recent]))
        if self.handoff:
            parts.append(f"# Last handoff\n{self.handoff}")
        if self.maintenance:
            parts.append(f"# Maintenance\n{self.maintenance}")
        return "\n\n".join(parts)


def session(
    rules: Sequence[str],
    recent: Sequence[Note],
    handoff: Note | None,
    maintenance: Maintenance,
    *,
    budget: int = SESSION_TOKENS,
    zone: tzinfo | None = None,
) -> Session:
    """Rules in full; then as much of the rest as the budget (tokens) holds, cut from the bottom."""
    lines = [note_line(note, zone) for note in recent if handoff is None or note.id != handoff.id]
    last = note_line(handoff, zone) if handoff is not None else ""
    if handoff is not None and any(
        jaccard(index_terms(handoff.content), index_terms(n.content)) >= SAME for n in recent if n.id != handoff.id
    ):
        last = ""
    done = ""
    if maintenance.happened:
        done = (
            f"- archived {maintenance.decayed}, moved down {maintenance.demoted}, moved up {maintenance.promoted} notes"
        )
    whole = Session([" ".join(rule.split()) for rule in rules], lines, last, done, 0)
    limit = budget * CHARS_PER_TOKEN
    while len(whole.text()) > limit:
        if whole.maintenance:
            whole = whole._replace(maintenance="")
        elif whole.handoff:
            whole = whole._replace(handoff="", left_out=whole.left_out + 1)
        elif whole.recent:
            whole = whole._replace(recent=whole.recent[:-1], left_out=whole.left_out + 1)
        else:
            break
    return whole


def note_line(note: Note, zone: tzinfo | None = None) -> str:
    """`- 02-15 21:07 [issue] …` in local time, on one line."""
    text = " ".join(note.content.split())
    text = shortened(text, _LINE)
    return f"- {_local(note.created_at, zone)} [{note.type}] {text}"


def _local(stamp: str, zone: tzinfo | None) -> str:
    try:
        when = datetime.fromisoformat(stamp)
    except ValueError:
        return "--"
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return when.astimezone(zone).strftime("%m-%d %H:%M")
