"""The tools of the group `knowledge`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..contract.budget import tokens
from ..contract.errors import SyntropyError, UsageError
from ..contract.identity import CITED_LINES, PROJECT_PACKAGE, Citation, place_of
from ..contract.times import iso
from ..contract.untrusted import Data
from ..read.citations import proven, standing
from ..read.documents import line_range
from ..read.folder_map import folder_map, kind_counts, left_out
from ..read.knowledge import Knowledge
from ..store.database import Database
from .desk import CONCISE_TOKENS, DETAILED_TOKENS, Desk, following, page
from .packs import MIN_BUDGET, context_pack

PACK_SHARE = 0.9
MARKS = 12
"""Of the budget of `get_context`, for the text at first; less where JSON and the citations take more than the rest."""

MOST_RELATED = 20

MOST_AT_ONCE = 8
"""Documents in one call: each has the room of a passage then."""


def get_overview(desk: Desk, *, detailed: bool = False, cursor: str = "") -> dict[str, Any]:
    """A map: counts by kind, folders with what lies in them, what is not held; `detailed`: all documents in pages."""
    database, meta = desk.knowledge.database, desk.knowledge.meta
    answer: dict[str, Any] = {
        "project": meta["project"],
        "build": desk.build,
        "published": published(database),
        "counts": kind_counts(database),
        "rules": int(database.rows("SELECT count(*) FROM rules")[0][0]),
    }
    if detailed or cursor:
        rows = database.rows(
            "SELECT kind, package, path, title FROM documents ORDER BY kind, package <> ?, package, path",
            [PROJECT_PACKAGE],
        )
        kinds: dict[str, list[str]] = {}
        for kind, package, path, title in rows:
            kinds.setdefault(kind, []).append(f"{place_of(package, path)}: {title}")
        whole = "\n".join(f"## {kind}\n" + "\n".join(lines) for kind, lines in kinds.items())
        shown = page(whole, desk, cursor, DETAILED_TOKENS)
        return {**answer, "documents": Data(shown.text), **following(shown.next_cursor)}
    if desk.beside:
        answer["beside"] = {name: int(other.meta["documents"]) for name, other in desk.beside.items()}
    answer["documents"] = Data(page(knowledge_map(database), desk, "", CONCISE_TOKENS).text)
    answer["next"] = "search_knowledge finds passages; detailed=true lists all documents"
    return answer


def knowledge_map(database: Database) -> str:
    """Lines: folders with kinds, counts and some titles; then what was met and is not held."""
    lines = [folder.line() for folder in folder_map(database)]
    missing = left_out(database)
    return "\n".join([*lines, *(["Not held:", *(f"- {line}" for line in missing)] if missing else [])])


def published(database: Database) -> str:
    """When the database was published: the time of its file, ISO 8601."""
    return iso(datetime.fromtimestamp(database.stamp[2] / 1e9, UTC))


def get_document(
    desk: Desk,
    *,
    path: str | Sequence[str],
    scope: str = "",
    lines: str = "",
    detailed: bool = False,
    cursor: str = "",
) -> dict[str, Any]:
    """A document or some of its lines, in pages; several at once share the room. Raises UsageError."""
    room = DETAILED_TOKENS if detailed else CONCISE_TOKENS
    if isinstance(path, str):
        return _document(desk, path, scope=scope, lines=lines, detailed=detailed, cursor=cursor, room=room)
    wanted = list(dict.fromkeys(path))
    if not 1 <= len(wanted) <= MOST_AT_ONCE or cursor:
        hint = "read on with one path and its cursor" if cursor else "ask for fewer"
        raise UsageError(f"{len(wanted)} documents in one call", hint=f"give 1 to {MOST_AT_ONCE}; {hint}")
    found: list[dict[str, Any]] = []
    for place in wanted:
        try:
            found.append(
                _document(desk, place, scope=scope, lines=lines, detailed=False, cursor="", room=room // len(wanted))
            )
        except SyntropyError as error:  # the others are there all the same
            found.append({"asked": place, "error": error.message, "next": error.hint})
        if "next_cursor" in found[-1]:
            del found[-1]["next_cursor"]  # a cursor belongs to its own arguments
            found[-1]["next"] = "get_document with this path alone reads on"
    return {"documents_read": found}


def _document(
    desk: Desk, path: str, *, scope: str, lines: str, detailed: bool, cursor: str, room: int
) -> dict[str, Any]:
    knowledge, owner, path = desk.owner_of(path)
    span = CITED_LINES.search(path)
    if not lines and span:
        lines = f"{span['start']}-{span['end'] or span['start']}"
    find = {"system": knowledge.system_doc, "user": knowledge.user_doc}.get(scope, knowledge.document)
    document = find(CITED_LINES.sub("", path))
    every = document.text.split("\n")
    first, last = line_range(lines) if lines else (1, len(every))
    if first > document.line_count:
        raise UsageError(
            f"{document.path} has {document.line_count} lines, none from {first} on",
            hint=f"give lines of 1-{document.line_count}",
        )
    wanted = "\n".join(every[first - 1 : last])
    shown = page(wanted, desk, cursor, room)
    start = first + wanted.count("\n", 0, shown.start)
    end = start + shown.text.rstrip("\n").count("\n")
    citation = Citation(document.package, document.commit, document.path, start, end)
    prefix = f"{owner}:" if owner else ""
    desk.read.append(f"{prefix}{citation}")
    answer: dict[str, Any] = {
        **(_cited(knowledge, path) if span and span["proof"] and not cursor else {}),
        "citation": prefix + proven(citation, "\n".join(every[start - 1 : end])),
        "title": document.title,
        "kind": document.kind,
        "text": Data(shown.text),
        "lines_total": document.line_count,
        **({"same_key": [Data(place) for place in document.namesakes]} if document.namesakes else {}),
        **({"copies": [Data(place) for place in document.copies]} if detailed and document.copies else {}),
        **following(shown.next_cursor),
    }
    if detailed:
        answer |= {
            "key": document.key,
            "status": document.status,
            "tags": list(document.tags),
            "related": [f"{kind} {target}" for kind, target, _ in document.related][:MOST_RELATED],
        }
    return answer


def _cited(knowledge: Knowledge, citation: str) -> dict[str, Any]:
    """What became of a passage whose digest is cited; nothing where it says what it said."""
    found = standing(knowledge, citation).build
    if found.verdict == "current":
        return {}
    said = {
        "moved": f"the cited words stand at {found.now} now; below are the lines that were named",
        "changed": "the cited lines have changed since; below is what they say now",
    }.get(found.verdict, "the cited words are gone; below is what those lines say now")
    return {"citation_check": f"{found.verdict}: {said}"}


def get_section(desk: Desk, *, path: str, heading: str, detailed: bool = False, cursor: str = "") -> dict[str, Any]:
    """The section under a heading, in pages."""
    knowledge, owner, path = desk.owner_of(path)
    found = knowledge.section(path, heading)
    shown = page(found.text, desk, cursor, DETAILED_TOKENS if detailed else CONCISE_TOKENS)
    prefix = f"{owner}:" if owner else ""
    desk.read.append(f"{prefix}{found.citation}")
    return {
        "citation": prefix + proven(found.citation, found.text),
        "title": found.title,
        "text": Data(shown.text),
        **following(shown.next_cursor),
    }


def list_contexts(desk: Desk, *, detailed: bool = False) -> dict[str, Any]:
    """The project and the installed packages, with their sources."""
    sources = json.loads(desk.knowledge.meta.get("packages", "{}"))
    rows = desk.knowledge.database.rows(
        'SELECT package, any_value("commit"), count(*), list_sort(list_distinct(list(kind))) FROM documents '
        "GROUP BY package ORDER BY package <> ?, package",
        [PROJECT_PACKAGE],
    )
    packages = [
        {
            "package": package,
            "documents": count,
            **({"commit": commit} if commit else {}),
            **{key: value for key, value in sources.get(package, {}).items() if value},
            **({"kinds": kinds} if detailed else {}),
        }
        for package, commit, count, kinds in rows
    ]
    return {"packages": packages}


def _below(desk: Desk, file: str) -> str:
    """A file's path below the project's root, however it is given."""
    root = desk.knowledge.project
    place = Path(file)
    if root is None or not place.is_absolute():
        return file
    for top in (root, root.resolve()):
        if place.is_relative_to(top):
            return place.relative_to(top).as_posix()
    return file


def get_context(desk: Desk, *, task: str, files: Sequence[str] = (), budget: int = 2_000) -> dict[str, Any]:
    """What to know for a task (and the files it is about), packed into a budget."""
    room = int(budget * PACK_SHARE)
    while True:
        pack = context_pack(
            desk.knowledge,
            desk.graph(),
            task,
            budget=room,
            saved_rules=desk.saved_rules(),
            files=[_below(desk, file) for file in files],
            mode="fast" if desk.warming else "",
        )
        answer: dict[str, Any] = {
            **({"not_here": pack.not_here} if pack.not_here else {}),
            "context": Data(pack.text()),
            "citations": [part.citation.partition("~")[0] for part in pack.parts if part.role == "passage"],
        }
        said = "; ".join([*desk.warnings, pack.warning])
        over = tokens(json.dumps({**answer, "warning": said}, ensure_ascii=False)) - budget + MARKS
        if over <= 0 or room - over < MIN_BUDGET:
            break
        room -= over
    desk.read += [str(citation) for citation in answer["citations"]]
    if pack.warning:
        desk.warnings.append(pack.warning)
    return answer
