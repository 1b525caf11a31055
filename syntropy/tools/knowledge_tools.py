"""The tools of the group `knowledge`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ..contract.budget import tokens
from ..contract.errors import UsageError
from ..contract.identity import CITED_LINES, PROJECT_PACKAGE, Citation, place_of
from ..contract.times import iso
from ..contract.untrusted import Data
from ..notes.notebook import Fresh
from ..read.citations import proven
from ..read.documents import line_range
from ..search.filters import SOURCES
from ..search.passages import Hit
from ..store.database import Database
from .desk import CONCISE_TOKENS, DETAILED_TOKENS, Desk, fit, fitting, following, kept_in, page, position
from .packs import MIN_BUDGET, context_pack

SEARCH_TOKENS = 1_200
"""Text of one concise answer of a search; names, citations and marks of ten hits take about 500 more."""

PACK_SHARE = 0.9
MARKS = 12
"""Of the budget of `get_context`, for the text at first; less where JSON and the citations take more than the rest."""

FRESH_HITS = 3
FRESH_TOKENS = 120
"""How many insights and notes a search shows, and how much of each."""

WEAK_SCORE = 0.3
"""The demo's questions have best scores from 0.35 on (but for one in German), questions on other things up to 0.25."""

MOST_RELATED = 20
_NAMED = 5


def get_overview(desk: Desk, *, detailed: bool = False, cursor: str = "") -> dict[str, Any]:
    """Counts, packages, and documents by kind: some of each, or all of them in pages."""
    database, meta = desk.knowledge.database, desk.knowledge.meta
    rows = database.rows(
        "SELECT kind, package, path, title FROM documents ORDER BY kind, package <> ?, package, path", [PROJECT_PACKAGE]
    )
    kinds: dict[str, list[str]] = {}
    for kind, package, path, title in rows:
        kinds.setdefault(kind, []).append(f"{place_of(package, path)}: {title}")
    answer: dict[str, Any] = {
        "project": meta["project"],
        "build": desk.build,
        "published": published(desk.knowledge.database),
        "counts": {kind: len(lines) for kind, lines in kinds.items()},
        "rules": int(database.rows("SELECT count(*) FROM rules")[0][0]),
    }
    if detailed or cursor:
        whole = "\n".join(f"## {kind}\n" + "\n".join(lines) for kind, lines in kinds.items())
        shown = page(whole, desk, cursor, DETAILED_TOKENS)
        answer |= {"documents": Data(shown.text), **following(shown.next_cursor)}
    else:
        some = "\n".join(f"## {kind}\n" + "\n".join(_some(lines)) for kind, lines in kinds.items())
        answer["documents"] = Data(page(some, desk, "", CONCISE_TOKENS).text)
        listed = max(map(len, kinds.values()), default=0) <= _NAMED
        answer["next"] = "search_knowledge finds passages" + ("" if listed else "; detailed=true lists all documents")
    return answer


def published(database: Database) -> str:
    """When the database was published: the time of its file, ISO 8601."""
    return iso(datetime.fromtimestamp(database.stamp[2] / 1e9, UTC))


def search_knowledge(
    desk: Desk,
    *,
    query: str,
    mode: str = "",
    types: Sequence[str] = (),
    packages: Sequence[str] = (),
    tags: Sequence[str] = (),
    where: Mapping[str, str] | None = None,
    limit: int = 5,
    detailed: bool = False,
    cursor: str = "",
) -> dict[str, Any]:
    """Passages, best first, and fresh insights and notes where nothing filters."""
    start = position(desk, cursor)
    if packages:
        _check_packages(desk, packages)
    waiting = desk.warming and mode not in ("fast", "semantic") and not cursor
    found = desk.knowledge.search(
        query,
        mode=kept_in(cursor) or ("fast" if waiting else mode),
        sources=[name for name in types if name in SOURCES],
        kinds=[name for name in types if name not in SOURCES],
        packages=packages,
        tags=tags,
        where=dict(where or {}),
        limit=start + limit + 1,
    )
    room = DETAILED_TOKENS if detailed else SEARCH_TOKENS
    fresh = [] if types or packages or tags or where or start else _fresh(desk, query)
    hits = [_hit(hit, detailed=detailed) for hit in found.hits]
    shown, more = fitting(hits, desk, start, limit, room - FRESH_TOKENS * len(fresh), kept=found.mode)
    answer: dict[str, Any] = {"mode": found.mode, "hits": shown, **following(more)}
    if fresh:
        answer["fresh"] = [
            {
                "id": one.name,
                "kind": one.kind,
                "created": one.created_at[:10],
                "text": Data(fit(one.text, FRESH_TOKENS)),
            }
            for one in fresh
        ]
    if not found.hits:
        answer["next"] = "nothing found: say so, or try other words or fewer filters"
        if found.suggestions and not found.warning:
            answer["near_titles"] = Data(fit("; ".join(found.suggestions), FRESH_TOKENS))
    elif found.hits[0].score < WEAK_SCORE:
        answer["next"] = "the hits are weak: they may not answer this; say so, or try other words"
    if unknown := [term for term in found.unknown_terms if term not in found.corrections]:
        answer["unknown_terms"] = unknown[:MOST_RELATED]
    if found.warning:
        desk.warnings.append(found.warning)
    if waiting:
        desk.warnings.append("the encoder is being loaded: answered by words only")
    desk.warnings += [f"{word} is found nowhere, searched {near}" for word, near in found.corrections.items()]
    return answer


def get_document(
    desk: Desk, *, path: str, scope: str = "", lines: str = "", detailed: bool = False, cursor: str = ""
) -> dict[str, Any]:
    """A document or some of its lines, in pages. Raises UsageError."""
    knowledge = desk.knowledge
    if not lines and (span := CITED_LINES.search(path)):
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
    shown = page(wanted, desk, cursor, DETAILED_TOKENS if detailed else CONCISE_TOKENS)
    start = first + wanted.count("\n", 0, shown.start)
    end = start + shown.text.rstrip("\n").count("\n")
    citation = Citation(document.package, document.commit, document.path, start, end)
    answer: dict[str, Any] = {
        "citation": proven(citation, "\n".join(every[start - 1 : end])),
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


def get_section(desk: Desk, *, path: str, heading: str, detailed: bool = False, cursor: str = "") -> dict[str, Any]:
    """The section under a heading, in pages."""
    found = desk.knowledge.section(path, heading)
    shown = page(found.text, desk, cursor, DETAILED_TOKENS if detailed else CONCISE_TOKENS)
    return {
        "citation": proven(found.citation, found.text),
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


def get_context(desk: Desk, *, task: str, budget: int = 2_000) -> dict[str, Any]:
    """What to know for a task, packed into a budget."""
    room = int(budget * PACK_SHARE)
    while True:
        pack = context_pack(
            desk.knowledge,
            desk.graph(),
            task,
            budget=room,
            saved_rules=desk.saved_rules(),
            mode="fast" if desk.warming else "",
        )
        answer: dict[str, Any] = {
            "context": Data(pack.text()),
            "citations": [part.citation.partition("~")[0] for part in pack.parts if part.role == "passage"],
        }
        said = "; ".join([*desk.warnings, pack.warning])
        over = tokens(json.dumps({**answer, "warning": said}, ensure_ascii=False)) - budget + MARKS
        if over <= 0 or room - over < MIN_BUDGET:
            break
        room -= over
    if pack.warning:
        desk.warnings.append(pack.warning)
    return answer


def _hit(hit: Hit, *, detailed: bool) -> dict[str, Any]:
    one: dict[str, Any] = {
        "citation": str(hit.citation),
        "title": hit.title,
        "kind": hit.kind,
        "score": round(hit.score, 3),
    }
    if hit.headings:
        one["section"] = hit.headings.rpartition(" > ")[2]
    if not detailed:
        return {**one, "text": Data(hit.snippet)}
    one |= {"key": hit.key, "tags": list(hit.tags), "matched_on": list(hit.matched_on)}
    if hit.copies:
        one["copies"] = list(hit.copies)
    return {**one, "text": Data(hit.text)}


def _fresh(desk: Desk, query: str) -> list[Fresh]:
    """Insights and notes of the project for a query."""
    path = desk.notes_file
    if path is None or not path.is_file() or not desk.knowledge.config.notes.in_search:
        return []
    with desk.memory() as memory:
        recalled = memory.recall(query, limit=FRESH_HITS)
    if recalled.warning:
        desk.warnings.append(recalled.warning)
    return recalled.hits


def _check_packages(desk: Desk, packages: Sequence[str]) -> None:
    """Raises UsageError for packages that are not there."""
    known = [name for (name,) in desk.knowledge.database.rows("SELECT DISTINCT package FROM documents ORDER BY 1")]
    for name in packages:
        if name not in known:
            raise UsageError(f"unknown package {name!r}", hint=f"there are: {', '.join(known)}")


def _some(lines: Sequence[str]) -> list[str]:
    rest = len(lines) - _NAMED
    return [*lines[:_NAMED], f"… and {rest} more"] if rest > 0 else list(lines)
