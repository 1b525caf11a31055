"""The tools of the group `memory`: they write, and are offered only where that is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..memory import SAVED
from ..notes.insights import Insight
from ..notes.linking import Link
from ..tokens import cut
from ..untrusted import Data
from .desk import CONCISE_TOKENS, DETAILED_TOKENS, Desk, fitting, following, page, position

INSIGHT_TOKENS = 400
"""Of one insight in an answer; `get_entity` gives all of it."""


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
        found = memory.search_insights(query, limit=limit)
    insights = [{**_insight(one.insight), "score": one.score} for one in found]
    shown, more = fitting(insights, desk, position(desk, cursor), limit, CONCISE_TOKENS)
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
    return {"label": rule.label, "content": Data(rule.content)}


def delete_rule(desk: Desk, *, label: str) -> dict[str, Any]:
    """Delete a saved rule for good."""
    with desk.memory() as memory:
        memory.rules(write=True).delete(label)
    return {"deleted": label}


def list_rules(desk: Desk, *, detailed: bool = False, cursor: str = "") -> dict[str, Any]:
    """Saved rules; `detailed` adds those of the project's files."""
    with desk.memory() as memory:
        found = memory.all_rules()[0]
    rules = [
        {"label": rule.label, "content": Data(rule.text), **({"origin": rule.origin} if detailed else {})}
        for rule in found
        if detailed or rule.origin == SAVED
    ]
    room = DETAILED_TOKENS if detailed else CONCISE_TOKENS
    shown, more = fitting(rules, desk, position(desk, cursor), len(rules), room)
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
    """Notes, the newest first."""
    if desk.notes_file is not None and not desk.notes_file.is_file():
        return {"count": 0, "notes": Data("")}
    with desk.memory() as memory:
        found = memory.notes().all(since=since, kind=type, project=project, limit=limit)
    lines = [f"{n.id} {n.created_at[:16]} [{n.type}] {' '.join(n.content.split())}" for n in found]
    shown = page("\n".join(lines), desk, cursor, DETAILED_TOKENS if detailed else CONCISE_TOKENS)
    answer: dict[str, Any] = {"count": len(found), "notes": Data(shown.text)}
    return {**answer, **following(shown.next_cursor)}


def _link(link: Link) -> dict[str, Any]:
    return {"entity": link.entity, "title": link.title, "score": link.score}


def _insight(insight: Insight) -> dict[str, Any]:
    return {
        "id": insight.id,
        "text": Data(cut(insight.content, INSIGHT_TOKENS)),
        "confidence": insight.confidence,
        "tags": list(insight.tags),
        "relations": insight.relations,
        **({"superseded_by": insight.superseded_by} if insight.superseded_by else {}),
    }
