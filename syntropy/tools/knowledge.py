"""The tools of the group `knowledge`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..citing import proven
from ..context import context_pack
from ..errors import UsageError
from ..filters import SOURCES
from ..ids import PROJECT_PACKAGE, Citation, place_of
from ..memory import Fresh
from ..passages import Hit
from ..untrusted import Data
from .desk import CONCISE_TOKENS, DETAILED_TOKENS, Desk, fitting, following, page, position

SEARCH_TOKENS = 1_200
"""Text of one concise answer of a search; names, citations and marks of ten hits take about 500 more."""

PACK_SHARE = 0.85
"""Of the budget of `get_context`, for the text; JSON and the list of citations take the rest."""

FRESH_HITS = 3
_NAMED = 5
_LINES = re.compile(r"#L(\d+)(?:-L?(\d+))?(?:~[0-9a-f]+)?$")


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
        answer["next"] = "search_knowledge finds passages; detailed=true lists all documents"
    return answer


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
    waiting = desk.warming and mode not in ("fast", "semantic")
    found = desk.knowledge.search(
        query,
        mode="fast" if waiting else mode,
        sources=[name for name in types if name in SOURCES],
        kinds=[name for name in types if name not in SOURCES],
        packages=packages,
        tags=tags,
        where=dict(where or {}),
        limit=start + limit + 1,
    )
    hits = [_hit(hit, detailed=detailed) for hit in found.hits]
    shown, more = fitting(hits, desk, start, limit, DETAILED_TOKENS if detailed else SEARCH_TOKENS)
    answer: dict[str, Any] = {"mode": found.mode, "hits": shown, **following(more)}
    if not (types or packages or tags or where or start) and (fresh := _fresh(desk, query)):
        answer["fresh"] = [
            {"id": one.name, "kind": one.kind, "created": one.created_at[:10], "text": Data(one.text[:500])}
            for one in fresh
        ]
    if not found.hits:
        near = f"; titles that come near: {'; '.join(found.suggestions)}" if found.suggestions else ""
        answer["next"] = f"nothing found: say so, or try other words or fewer filters{near}"
    if found.warning:
        desk.warnings.append(found.warning)
    if waiting:
        desk.warnings.append("the encoder is being loaded: answered by words only")
    desk.warnings += [f"{word} is found nowhere, searched {near}" for word, near in found.corrections.items()]
    return answer


def get_document(
    desk: Desk, *, path: str, scope: str = "", lines: str = "", detailed: bool = False, cursor: str = ""
) -> dict[str, Any]:
    """A document or some of its lines, in pages."""
    knowledge = desk.knowledge
    if not lines and (span := _LINES.search(path)):
        lines = f"{span.group(1)}-{span.group(2) or span.group(1)}"
    find = {"system": knowledge.system_doc, "user": knowledge.user_doc}.get(scope, knowledge.document)
    document = find(_LINES.sub("", path))
    every = document.text.split("\n")
    first, last = _span(lines) if lines else (1, len(every))
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
        **following(shown.next_cursor),
    }
    if detailed:
        answer |= {
            "key": document.key,
            "status": document.status,
            "tags": list(document.tags),
            "related": [f"{kind} {target}" for kind, target, _ in document.related][:20],
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
    pack = context_pack(
        desk.knowledge,
        desk.graph(),
        task,
        budget=int(budget * PACK_SHARE),
        saved_rules=desk.saved_rules(),
        mode="fast" if desk.warming else "",
    )
    if pack.warning:
        desk.warnings.append(pack.warning)
    return {
        "context": Data(pack.text()),
        "citations": [part.citation.partition("~")[0] for part in pack.parts if part.role == "passage"],
    }


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
        return memory.recall(query, limit=FRESH_HITS).hits


def _some(lines: Sequence[str]) -> list[str]:
    rest = len(lines) - _NAMED
    return [*lines[:_NAMED], f"… and {rest} more"] if rest > 0 else list(lines)


def _span(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"L?(\d+)(?:-L?(\d+))?", text.strip())
    first, last = (int(match.group(1)), int(match.group(2) or match.group(1))) if match else (0, 0)
    if not 1 <= first <= last:
        raise UsageError(f"lines {text!r} are no range", hint="give them as 10-20, from 1")
    return first, last
