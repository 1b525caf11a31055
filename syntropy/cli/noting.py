"""The living layer: `insight`, `rules save|delete`, `notes`, `graph`, `session-start`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from syntropy.cli.output import print_json, printable, warn
from syntropy.contract.config import find_project
from syntropy.contract.errors import ProjectNotFoundError, UsageError
from syntropy.contract.times import iso, now
from syntropy.notes import transfer
from syntropy.notes.notebook import Notebook, now_utc, open_notes
from syntropy.notes.rules_and_notes import Conflict
from syntropy.notes.store import NotesError

MAX_DAYS = 36_500


def insight_add(given: argparse.Namespace) -> int:
    """Store an insight."""
    with _memory(given) as memory:
        added = memory.add_insight(
            given.text, project=given.for_project, tags=_split(given.tags), linked_entities=_split(",".join(given.link))
        )
    if given.json:
        print_json(
            {
                "insight": added.insight.as_dict(),
                "linked": [link._asdict() for link in added.linked],
                "suggested": [link._asdict() for link in added.suggested],
                "duplicates": [{"id": name, "share": share} for name, share in added.duplicates],
                "correlations": [{"id": name, "share": share} for name, share in added.correlations],
            }
        )
        return 0
    print(f"added {added.insight.id} (confidence {added.insight.confidence})")
    for kind, targets in added.insight.relations.items():
        print(printable(f"  {kind}: {', '.join(targets)}"))
    for link in added.suggested:
        print(printable(f"  perhaps {link.entity} {link.title} ({link.score}): syntropy insight confirm …"))
    for name, share in added.duplicates:
        warn(f"{name} says nearly the same ({share:.0%} of the words)")
    for name, share in added.correlations:
        print(f"  correlated with {name} ({share:.0%} of the links)")
    return 0


def insight_search(given: argparse.Namespace) -> int:
    """Find insights."""
    with _memory(given) as memory:
        found = memory.search_insights(
            given.query, limit=given.limit, superseded=given.superseded, semantic=given.semantic
        )
    if given.json:
        print_json([{**f.insight.as_dict(), "score": f.score} for f in found])
    for hit in found if not given.json else ():
        _show_insight(hit.insight, f"{hit.score:.3f}  ")
    return 0 if found else 1


def insight_confirm(given: argparse.Namespace) -> int:
    """Accept or reject links, or merge."""
    with _memory(given) as memory:
        insight = memory.confirm_links(
            given.id, accepted=_split(given.accept), rejected=_split(given.reject), merged_with=given.merge
        )
    if given.json:
        print_json(insight.as_dict())
    else:
        _show_insight(insight, "")
    return 0


def insight_list(given: argparse.Namespace) -> int:
    """All insights."""
    with _memory(given) as memory:
        found = memory.insights().all(superseded=given.superseded)
    if given.json:
        print_json([insight.as_dict() for insight in found])
    for insight in found if not given.json else ():
        _show_insight(insight, "")
    return 0 if found else 1


def insight_show(given: argparse.Namespace) -> int:
    """One insight with everything known of it."""
    with _memory(given) as memory:
        insight = memory.insights().get(given.id)
    if given.json:
        print_json(insight.as_dict())
        return 0
    _show_insight(insight, "")
    print(printable(insight.content))
    for entity, facts in sorted(insight.provenance.items()):
        told = ", ".join(f"{key} {value}" for key, value in facts.items())
        print(printable(f"  {entity}: {told}"))
    return 0


def insight_edit(given: argparse.Namespace) -> int:
    """Change text or tags."""
    with _memory(given) as memory:
        tags = _split(given.tags) if given.tags is not None else None
        insight = memory.edit_insight(given.id, text=given.text, tags=tags)
    _show_insight(insight, "")
    return 0


def insight_delete(given: argparse.Namespace) -> int:
    """Delete an insight."""
    with _memory(given) as memory:
        current_again = memory.insights(write=True).delete(given.id)
    print(f"deleted {given.id}")
    if current_again:
        print(f"  {', '.join(current_again)} superseded by it: current again")
    return 0


def rules_save(given: argparse.Namespace) -> int:
    """Write a rule."""
    with _memory(given) as memory:
        known = {rule.label: rule.content for rule in memory.rules(write=True).all()}
        rule = memory.rules(write=True).save(given.label, given.text, now=now_utc())
        _, conflicts = memory.all_rules()
    print(printable(f"saved rule {rule.label}: {rule.content}"))
    if rule.label in known:
        print(printable(f"  in place of: {known[rule.label]}"))
    for conflict in conflicts:
        if rule.label in (conflict.label, conflict.other):
            _warn_of(conflict)
    return 0


def rules_delete(given: argparse.Namespace) -> int:
    """Delete a saved rule."""
    with _memory(given) as memory:
        memory.rules(write=True).delete(given.label)
    print(f"deleted rule {given.label}")
    return 0


def rules_list(given: argparse.Namespace) -> int:
    """Saved rules and those of the project's files."""
    with _memory(given) as memory:
        rules, conflicts = memory.all_rules()
    if given.json:
        print_json({"rules": [r._asdict() for r in rules], "conflicts": [c._asdict() for c in conflicts]})
        return 0
    for rule in rules:
        print(printable(f"{rule.label}  [{rule.origin}]  {' '.join(rule.text.split())}"))
    for conflict in conflicts:
        _warn_of(conflict)
    return 0 if rules else 1


def notes_save(given: argparse.Namespace) -> int:
    """Write a note."""
    with _memory(given) as memory:
        note = memory.notes(write=True).save(
            given.type, given.text, now=now_utc(), project=given.for_project, tags=_split(given.tags)
        )
    print(f"saved note {note.id} [{note.type}, {note.tier}]")
    return 0


def notes_list(given: argparse.Namespace) -> int:
    """Notes, the newest first."""
    since = ""
    if not 0 <= given.days <= MAX_DAYS:
        raise UsageError(f"{given.days} days are out of range", hint=f"give 1 to {MAX_DAYS}")
    if given.days:
        since = iso(now() - timedelta(days=given.days))
    with _memory(given) as memory:
        found = memory.notes().all(since=since, kind=given.type, project=given.for_project, archived=given.archived)
    return _show_notes([(note, None) for note in found], given)


def notes_search(given: argparse.Namespace) -> int:
    """Find notes; what was found counts as used."""
    with _memory(given) as memory:
        found = memory.notes().search(given.query, limit=given.limit)
        shown = _show_notes(list(found), given)
        sys.stdout.flush()
        with contextlib.suppress(NotesError):  # after the answer, which is worth more than the count
            memory.notes(write=True).used([note.id for note, _ in found], now=now_utc())
    return shown


def notes_archive(given: argparse.Namespace) -> int:
    """Hide a note."""
    with _memory(given) as memory:
        known = memory.notes(write=True).get(given.id)
        note = memory.notes(write=True).archive(given.id, now=now_utc())
    print(f"note {note.id} was archived already" if known.archived else f"archived note {note.id}")
    return 0


def notes_export(given: argparse.Namespace) -> int:
    """All insights, rules and notes as JSON lines."""
    with _memory(given) as memory:
        lines = list(transfer.export_lines(memory.reader))
    if given.file:
        Path(given.file).write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {len(lines) - 1} rows to {given.file}")
    else:
        print("\n".join(lines))
    return 0


def notes_import(given: argparse.Namespace) -> int:
    """Merge an export."""
    with _memory(given) as memory:
        try:
            text = Path(given.file).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            hint = "give a file of `syntropy notes export`"
            raise UsageError(f"{given.file} is no text: {error}", hint=hint) from error
        done = transfer.import_lines(memory.writer, text.splitlines())
    print(f"added {done.added} rows, {done.same} were there")
    for conflict in done.conflicts:
        warn(printable(conflict))
    return 1 if done.conflicts else 0


def graph_entity(given: argparse.Namespace) -> int:
    """A node with its relations."""
    with _memory(given) as memory:
        graph = memory.graph()
        node = graph.entity(given.name)
        around = graph.neighbors(given.name)
    if given.json:
        print_json({**node._asdict(), "relations": [_edge(edge, other) for _, edge, other in around]})
        return 0
    print(printable(f"{node.name}  [{node.kind}, {node.layer}]  {node.title}  {node.path}"))
    for _, edge, other in around:
        print(printable(f"  {edge.type} {other.name} {other.title} ({edge.origin})"))
    return 0


def graph_neighbors(given: argparse.Namespace) -> int:
    """What is near a node."""
    with _memory(given) as memory:
        found = memory.graph().neighbors(
            given.name, types=_split(given.type), direction=given.direction, depth=given.depth
        )
    if given.json:
        print_json([{"hops": hops, **_edge(edge, node)} for hops, edge, node in found])
    for hops, edge, node in found if not given.json else ():
        print(printable(f"{hops}  {edge.start} {edge.type} {node.name}  [{node.kind}] {node.title} ({edge.origin})"))
    return 0 if found else 1


def graph_path(given: argparse.Namespace) -> int:
    """The shortest way between two nodes."""
    with _memory(given) as memory:
        found = memory.graph().path(given.start, given.end, max_depth=given.max_depth, weighted=given.weighted)
    if found is None:
        print(f"no path within {given.max_depth} steps")
        return 1
    if given.json:
        steps = [_edge(edge, node) for edge, node in zip(found.edges, found.nodes[1:], strict=True)]
        print_json({"length": found.length, "start": found.nodes[0]._asdict(), "steps": steps})
        return 0
    first = found.nodes[0]
    print(printable(f"{first.name}  [{first.kind}] {first.title}"))
    for edge, node in zip(found.edges, found.nodes[1:], strict=True):
        print(printable(f"  {edge.type} ({edge.origin})\n{node.name}  [{node.kind}] {node.title}"))
    return 0


def graph_related(given: argparse.Namespace) -> int:
    """Nodes with neighbours in common, and similar ones."""
    with _memory(given) as memory:
        found = memory.graph().related(given.name, limit=given.limit)
    if given.json:
        print_json([{**node._asdict(), "score": score, "why": why} for node, score, why in found])
    for node, score, why in found if not given.json else ():
        print(printable(f"{score:.3f}  {node.name}  [{node.kind}] {node.title} (by {', '.join(why[:4])})"))
    return 0 if found else 1


def session_start(given: argparse.Namespace) -> int:
    """What an agent is told at the start; silent where there is nothing to tell."""
    with _memory(given, alone=True) as memory:
        told = memory.session(budget=given.budget, now=now())
    if given.json:
        print_json(told.as_dict())
    elif text := told.text():
        print(text)
    return 0


def _memory(given: argparse.Namespace, *, alone: bool = False) -> Notebook:
    """The notes, with the project's published knowledge where there is some, unless they stand `alone`."""
    named = getattr(given, "project", "") or os.environ.get("SYNTROPY_PROJECT")
    if named and find_project(Path(named)) is None:
        raise ProjectNotFoundError(f"no project at {named}", hint="run `syntropy init` there, or leave out --project")
    memory = open_notes(named or None, user=given.user or bool(given.file_path), alone=alone)
    if given.file_path:
        memory.path = Path(given.file_path)
    return memory


def _warn_of(conflict: Conflict) -> None:
    left, right = f"{conflict.label} ({conflict.text})", f"{conflict.other} ({conflict.other_text})"
    warn(printable(f"{left} and {right}: {conflict.why}"))


def _split(text: str) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _edge(edge: Any, node: Any) -> dict[str, object]:
    return {
        "from": edge.start,
        "type": edge.type,
        "name": node.name,
        "title": node.title,
        "kind": node.kind,
        "layer": node.layer,
        "origin": edge.origin,
        "confidence": edge.confidence,
        "evidence": edge.evidence,
    }


def _show_insight(insight: Any, lead: str) -> None:
    seen = f"confirmed {insight.last_validated[:10]}" if insight.last_validated else "never confirmed"
    old = f"  superseded by {insight.superseded_by}" if insight.superseded_by else ""
    about = f"confidence {insight.confidence:.2f}, added {insight.created_at[:10]}, {seen}"
    print(printable(f"{lead}{insight.id}  {insight.title}  ({about}){old}"))
    if insight.links():
        print(printable(f"       links: {', '.join(insight.links())}"))


def _show_notes(found: list[tuple[Any, float | None]], given: argparse.Namespace) -> int:
    if given.json:
        print_json([{**note.as_dict(), **({"score": score} if score is not None else {})} for note, score in found])
        return 0 if found else 1
    for note, score in found:
        lead = f"{score:.3f}  " if score is not None else ""
        project = f" {note.project}" if note.project else ""
        text = " ".join(note.content.split())
        state = "archived" if note.archived else note.tier
        print(printable(f"{lead}{note.id}  {note.created_at[:16]} [{note.type}, {state}]{project} {text}"))
    return 0 if found else 1
