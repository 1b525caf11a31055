"""What people and agents write between builds: `insight`, `rules save|delete`, `notes`, `session-start`."""

from __future__ import annotations

import argparse
from datetime import timedelta
from pathlib import Path
from typing import Any

from syntropy.cli.output import print_json, printable, show, split, warn
from syntropy.cli.place import notebook_of
from syntropy.contract.errors import SyntropyError, UsageError
from syntropy.contract.times import iso, now
from syntropy.contract.untrusted import visible
from syntropy.notes import transfer
from syntropy.notes.notebook import now_utc
from syntropy.notes.rules_and_notes import Conflict

MAX_DAYS = 36_500


def insight_add(given: argparse.Namespace) -> int:
    """Store an insight."""
    with notebook_of(given) as notebook:
        added = notebook.add_insight(
            given.text, project=given.for_project, tags=split(given.tags), linked_entities=split(",".join(given.link))
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
    with notebook_of(given) as notebook:
        found = notebook.search_insights(
            given.query, limit=given.limit, superseded=given.superseded, semantic=_semantic(given)
        )

    def lines() -> None:
        for hit in found:
            _show_insight(hit.insight, f"{hit.score:.3f}  ")

    show(given, [{**f.insight.as_dict(), "score": f.score} for f in found], lines)
    return 0 if found else 1


def insight_confirm(given: argparse.Namespace) -> int:
    """Accept or reject links, or merge."""
    with notebook_of(given) as notebook:
        insight = notebook.confirm_links(
            given.id, accepted=split(given.accept), rejected=split(given.reject), merged_with=given.merge
        )
    show(given, insight.as_dict(), lambda: _show_insight(insight, ""))
    return 0


def insight_list(given: argparse.Namespace) -> int:
    """All insights."""
    with notebook_of(given) as notebook:
        found = notebook.insights().all(superseded=given.superseded)

    def lines() -> None:
        for insight in found:
            _show_insight(insight, "")

    show(given, [insight.as_dict() for insight in found], lines)
    return 0 if found else 1


def insight_show(given: argparse.Namespace) -> int:
    """One insight with everything known of it."""
    with notebook_of(given) as notebook:
        insight = notebook.insights().get(given.id)
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
    with notebook_of(given) as notebook:
        tags = split(given.tags) if given.tags is not None else None
        insight = notebook.edit_insight(given.id, text=given.text, tags=tags)
    _show_insight(insight, "")
    return 0


def insight_delete(given: argparse.Namespace) -> int:
    """Delete an insight."""
    with notebook_of(given) as notebook:
        current_again = notebook.insights(write=True).delete(given.id, now=now_utc())
    again = f"\n  {', '.join(current_again)} superseded by it: current again" if current_again else ""
    show(given, {"deleted": given.id, "current_again": current_again}, lambda: print(f"deleted {given.id}{again}"))
    return 0


def rules_save(given: argparse.Namespace) -> int:
    """Write a rule."""
    with notebook_of(given) as notebook:
        known = {rule.label: rule.content for rule in notebook.rules(write=True).all()}
        rule = notebook.rules(write=True).save(given.label, given.text, now=now_utc())
        _, conflicts = notebook.all_rules()
    former = f"\n  in place of: {known[rule.label]}" if rule.label in known else ""
    show(given, rule.as_dict(), lambda: print(printable(f"saved rule {rule.label}: {rule.content}{former}")))
    for conflict in conflicts:
        if rule.label in (conflict.label, conflict.other):
            _warn_of(conflict)
    return 0


def rules_delete(given: argparse.Namespace) -> int:
    """Delete a saved rule."""
    with notebook_of(given) as notebook:
        notebook.rules(write=True).delete(given.label, now=now_utc())
    show(given, {"deleted": given.label}, lambda: print(f"deleted rule {given.label}"))
    return 0


def rules_list(given: argparse.Namespace) -> int:
    """Saved rules and those of the project's files."""
    with notebook_of(given) as notebook:
        rules, conflicts = notebook.all_rules()
    if given.json:
        print_json({"rules": [r._asdict() for r in rules], "conflicts": [c._asdict() for c in conflicts]})
        return 0
    for rule in rules:
        scope = f" ({', '.join(rule.applies_to)})" if rule.applies_to else ""
        print(printable(f"{rule.label}  [{rule.origin}]{scope}  {' '.join(rule.text.split())}"))
    for conflict in conflicts:
        _warn_of(conflict)
    return 0 if rules else 1


def notes_save(given: argparse.Namespace) -> int:
    """Write a note."""
    with notebook_of(given) as notebook:
        note = notebook.notes(write=True).save(
            given.type, given.text, now=now_utc(), project=given.for_project, tags=split(given.tags)
        )
    show(given, note.as_dict(), lambda: print(f"saved note {note.id} [{note.type}, {note.tier}]"))
    return 0


def notes_list(given: argparse.Namespace) -> int:
    """Notes, the newest first."""
    since = ""
    if not 0 <= given.days <= MAX_DAYS:
        raise UsageError(f"{given.days} days are out of range", hint=f"give 1 to {MAX_DAYS}")
    if given.days:
        since = iso(now() - timedelta(days=given.days))
    with notebook_of(given) as notebook:
        found = notebook.notes().all(since=since, kind=given.type, project=given.for_project, archived=given.archived)
    return _show_notes([(note, None) for note in found], given)


def notes_search(given: argparse.Namespace) -> int:
    """Find notes; what was found counts as used."""
    with notebook_of(given) as notebook:
        found = notebook.search_notes(given.query, limit=given.limit, semantic=_semantic(given))
    return _show_notes(list(found), given)


def notes_edit(given: argparse.Namespace) -> int:
    """Change a note, pin it, or let it go."""
    tags = None if given.tags is None else split(given.tags)
    pinned = True if given.pin else False if given.unpin else None
    with notebook_of(given) as notebook:
        note = notebook.notes(write=True).edit(given.id, now=now_utc(), text=given.text, tags=tags, pinned=pinned)
    show(given, note.as_dict(), lambda: print(f"changed note {note.id}{' (pinned)' if note.pinned else ''}"))
    return 0


def notes_unarchive(given: argparse.Namespace) -> int:
    """Show an archived note again."""
    with notebook_of(given) as notebook:
        note = notebook.notes(write=True).archive(given.id, now=now_utc(), archived=False)
    show(given, note.as_dict(), lambda: print(f"note {note.id} is shown again"))
    return 0


def insight_relate(given: argparse.Namespace) -> int:
    """Relate an insight to another insight, an entity or a document."""
    with notebook_of(given) as notebook:
        insight = notebook.relate(given.id, given.type, given.target)
    show(given, insight.as_dict(), lambda: print(f"{insight.id} {given.type} {given.target}"))
    return 0


def _semantic(given: argparse.Namespace) -> bool | None:
    """By meaning where --semantic demands it or an encoder is at hand; not with --words."""
    return True if getattr(given, "semantic", False) else False if given.words else None


def notes_archive(given: argparse.Namespace) -> int:
    """Hide a note."""
    with notebook_of(given) as notebook:
        known = notebook.notes(write=True).get(given.id)
        note = notebook.notes(write=True).archive(given.id, now=now_utc())
    said = f"note {note.id} was archived already" if known.archived else f"archived note {note.id}"
    show(given, note.as_dict(), lambda: print(said))
    return 0


def notes_export(given: argparse.Namespace) -> int:
    """All insights, rules and notes as JSON lines."""
    with notebook_of(given) as notebook:
        lines = list(transfer.export_lines(notebook.reader))
    if given.file:
        Path(given.file).write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"wrote {len(lines) - 1} rows to {given.file}")
    else:
        print("\n".join(lines))
    return 0


def notes_import(given: argparse.Namespace) -> int:
    """Merge an export."""
    with notebook_of(given) as notebook:
        try:
            text = Path(given.file).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            hint = "give a file of `syntropy notes export`"
            raise UsageError(f"{given.file} is not text: {error}", hint=hint) from error
        done = transfer.import_lines(notebook.writer, text.splitlines())
    show(given, done._asdict(), lambda: print(f"added or changed {done.added} rows, {done.same} were there"))
    for conflict in done.conflicts:
        warn(printable(conflict))
    return 1 if done.conflicts else 0


def session_start(given: argparse.Namespace) -> int:
    """What an agent is told at the start; silent where there is nothing to tell."""
    with notebook_of(given, alone=True) as notebook:
        told = notebook.session(budget=given.budget, now=now())
    shown = _map(given) if given.map else ""
    if given.json:
        print_json({**told.as_dict(), **({"map": shown} if given.map else {})})
    elif text := "\n\n".join(filter(None, [told.text(), shown])):
        print(text)
    return 0


def _map(given: argparse.Namespace) -> str:
    """What the knowledge holds and how to ask it; empty where nothing is published."""
    from syntropy.cli.place import opened
    from syntropy.setup.clients import server_key
    from syntropy.tools.prompts import session_map

    try:
        with opened(given) as knowledge:
            key = server_key(knowledge.project) if knowledge.project else ""
            return visible(session_map(knowledge.database, key))
    except SyntropyError:
        return ""


def _warn_of(conflict: Conflict) -> None:
    left, right = f"{conflict.label} ({conflict.text})", f"{conflict.other} ({conflict.other_text})"
    warn(printable(f"{left} and {right}: {conflict.why}"))


def _show_insight(insight: Any, lead: str) -> None:
    seen = f"confirmed {insight.last_validated[:10]}" if insight.last_validated else "never confirmed"
    old = f"  superseded by {insight.superseded_by}" if insight.superseded_by else ""
    about = f"confidence {insight.confidence:.2f}, added {insight.created_at[:10]}, {seen}"
    print(printable(f"{lead}{insight.id}  {insight.title}  ({about}){old}"))
    for kind, targets in insight.relations.items():
        print(printable(f"       {kind}: {', '.join(targets)}"))


def _show_notes(found: list[tuple[Any, float | None]], given: argparse.Namespace) -> int:
    if given.json:
        print_json([{**note.as_dict(), **({"score": score} if score is not None else {})} for note, score in found])
        return 0 if found else 1
    for note, score in found:
        lead = f"{score:.3f}  " if score is not None else ""
        project = f" {note.project}" if note.project else ""
        text = " ".join(note.content.split())
        tags = f"  ({', '.join(note.tags)})" if note.tags else ""
        state = ("archived" if note.archived else note.tier) + (
            ", pinned" if note.pinned and note.type != "rule" else ""
        )
        print(printable(f"{lead}{note.id}  {note.created_at[:16]} [{note.type}, {state}]{project} {text}{tags}"))
    return 0 if found else 1
