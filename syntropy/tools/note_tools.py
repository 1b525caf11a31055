"""The tools of the group `notes`: they write, and are offered only where that is wanted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..contract.errors import UsageError
from ..contract.untrusted import Data
from ..notes.insights import Insight
from ..notes.note_links import Link
from ..notes.notebook import SAVED
from ..notes.store import NotesError
from .desk import CONCISE_TOKENS, DETAILED_TOKENS, Desk, fit, fitting, following, position

_SINCE = re.compile(r"\d{4}-\d{2}-\d{2}")

INSIGHT_TOKENS = 400
RULE_TOKENS, NOTE_TOKENS = 300, 60
"""Of one insight, rule or note in an answer; `get_entity` and `detailed` give more."""

MOST_INSIGHTS = 20
"""The seed's limit of a search."""


def add_insight(
    desk: Desk, *, text: str, project: str = "", tags: Sequence[str] = (), linked_entities: Sequence[str] = ()
) -> dict[str, Any]:
    """Store an insight and link it."""
    with desk.memory() as memory:
        added = memory.add_insight(text, project=project, tags=tags, linked_entities=linked_entities)
    answer: dict[str, Any] = {
        "id": added.insight.id,
        "confidence": added.insight.confidence,
        "linked": [_link(link) for link in added.linked],
        "suggested": [_link(link) for link in added.suggested],
        "relations": added.insight.relations,
        "duplicates": [name for name, _ in added.duplicates],
        "correlated": [name for name, _ in added.correlations],
    }
    if added.linked or added.suggested:
        answer["next"] = "confirm_links accepts or rejects the links"
    return answer


def search_insights(desk: Desk, *, query: str, limit: int = 10, cursor: str = "") -> dict[str, Any]:
    """Insights for a query, best first."""
    if desk.notes_file is not None and not desk.notes_file.is_file():
        return {"insights": []}
    with desk.memory() as memory:
        found = memory.search_insights(query, limit=MOST_INSIGHTS)
    insights = [{**_insight(one.insight), "score": one.score} for one in found]
    listing = " ".join(one.insight.id for one in found)
    start = position(desk, cursor, listing=listing)
    shown, more = fitting(insights, desk, start, limit, CONCISE_TOKENS, listing=listing)
    return {"insights": shown, **following(more)}


def confirm_links(
    desk: Desk, *, insight_id: str, accepted: Sequence[str], rejected: Sequence[str] = (), merged_with: str = ""
) -> dict[str, Any]:
    """Accept and reject links; or say which insight replaces this one."""
    with desk.memory() as memory:
        return _insight(memory.confirm_links(insight_id, accepted=accepted, rejected=rejected, merged_with=merged_with))


def save_rule(desk: Desk, *, label: str, content: str) -> dict[str, Any]:
    """Write a rule, over one of the same label."""
    with desk.memory() as memory:
        rule = memory.rules(write=True).save(label, content, now=desk.clock())
        conflicts = [c for c in memory.all_rules()[1] if rule.label in (c.label, c.other)]
    desk.warnings += [f"{c.label} and {c.other}: {c.why}" for c in conflicts]
    return {"label": rule.label, "content": Data(fit(rule.content, RULE_TOKENS))}


def delete_rule(desk: Desk, *, label: str) -> dict[str, Any]:
    """Delete a saved rule for good."""
    with desk.memory() as memory:
        memory.rules(write=True).delete(label, now=desk.clock())
    return {"deleted": label}


def list_rules(desk: Desk, *, detailed: bool = False, cursor: str = "") -> dict[str, Any]:
    """Saved rules; `detailed` adds those of the project's files."""
    with desk.memory() as memory:
        if memory.path.is_file():
            try:
                memory.rules()
            except NotesError as error:
                if not detailed:
                    raise
                desk.warnings.append(f"saved rules were left out: {error.message}")
        found = memory.all_rules()[0]
    rules = [
        {
            "label": rule.label,
            "content": Data(fit(rule.text, RULE_TOKENS)),
            **({"origin": rule.origin} if detailed else {}),
            **({"applies_to": Data(", ".join(rule.applies_to))} if rule.applies_to else {}),
        }
        for rule in found
        if detailed or rule.origin == SAVED
    ]
    listing = " ".join(f"{rule['label']}" for rule in rules)
    start = position(desk, cursor, listing=listing)
    room = DETAILED_TOKENS if detailed else CONCISE_TOKENS
    shown, more = fitting(rules, desk, start, len(rules), room, listing=listing)
    return {"rules": shown, **following(more)}


def save_note(
    desk: Desk,
    *,
    type: str,  # noqa: A002 (the name that agents see)
    content: str,
    project: str = "",
    tags: Sequence[str] = (),
) -> dict[str, Any]:
    """Write a note."""
    with desk.memory() as memory:
        note = memory.notes(write=True).save(type, content, now=desk.clock(), project=project, tags=tags)
    return {"id": note.id, "type": note.type, "tier": note.tier}


def list_notes(
    desk: Desk,
    *,
    type: str = "",  # noqa: A002 (the tool's name)
    since: str = "",
    project: str = "",
    limit: int = 20,
    detailed: bool = False,
    cursor: str = "",
) -> dict[str, Any]:
    """Notes, the newest first. Raises UsageError."""
    if since and not _SINCE.match(since):
        raise UsageError(f"since {since[:40]!r} is not a date", hint="give it as 2026-11-22")
    if desk.notes_file is not None and not desk.notes_file.is_file():
        return {"count": 0, "notes": []}
    with desk.memory() as memory:
        found = memory.notes().all(since=since, kind=type, project=project)
    listing = " ".join(str(note.id) for note in found)
    start = position(desk, cursor, listing=listing)
    notes = [
        {
            "id": note.id,
            "created": note.created_at[:16],
            "type": note.type,
            "text": Data(fit(" ".join(note.content.split()), RULE_TOKENS if detailed else NOTE_TOKENS)),
        }
        for note in found
    ]
    room = DETAILED_TOKENS if detailed else CONCISE_TOKENS
    shown, more = fitting(notes, desk, start, limit, room, listing=listing)
    return {"count": len(found), "notes": shown, **following(more)}


def _link(link: Link) -> dict[str, Any]:
    return {"entity": link.entity, "title": link.title, "score": link.score}


def _insight(insight: Insight) -> dict[str, Any]:
    return {
        "id": insight.id,
        "text": Data(fit(insight.content, INSIGHT_TOKENS)),
        "confidence": insight.confidence,
        "tags": list(insight.tags),
        "relations": insight.relations,
        **({"superseded_by": insight.superseded_by} if insight.superseded_by else {}),
    }
